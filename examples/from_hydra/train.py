"""A project as many are: Hydra for the configuration, scikit-learn for the models, MLflow for the results."""

from pathlib import Path

import hydra
import mlflow
import numpy as np
import pandas as pd
from hydra.utils import instantiate
from omegaconf import DictConfig
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.model_selection import StratifiedKFold, cross_validate
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

HERE = Path(__file__).parent


def make_model(config: DictConfig) -> Pipeline:
    """Return the preprocessing of the columns, and the model."""
    numeric = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
    nominal = OneHotEncoder(handle_unknown="ignore")
    columns = [("numeric", numeric, list(config.data.numeric)), ("nominal", nominal, list(config.data.nominal))]
    return make_pipeline(ColumnTransformer(columns), instantiate(config.model))


@hydra.main(version_base=None, config_path="conf", config_name="config")
def main(config: DictConfig) -> None:
    """Cross-validate the model, and log the scores of the folds."""
    table = pd.read_csv(HERE / config.data.path)
    folds = StratifiedKFold(config.cv.n_splits, shuffle=True, random_state=config.seed)
    scores = cross_validate(
        make_model(config), table, table[config.data.target], cv=folds, scoring=list(config.metrics)
    )
    mlflow.set_tracking_uri(config.mlflow.tracking_uri)
    with mlflow.start_run():
        mlflow.log_params({"model": config.model._target_, "seed": config.seed})
        for metric in config.metrics:
            mlflow.log_metric(metric, np.mean(scores[f"test_{metric}"]))
            for fold, score in enumerate(scores[f"test_{metric}"]):
                mlflow.log_metric(f"fold_{metric}", score, step=fold)


if __name__ == "__main__":
    main()
