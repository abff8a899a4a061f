"""What a stage is given in tests: rows that know their number, a learner that writes down its rows, compositions."""

from __future__ import annotations

from functools import cache
from typing import Any, Self

import numpy as np
import pandas as pd
from hydra import compose, initialize_config_dir
from omegaconf import DictConfig
from sklearn.base import BaseEstimator, ClassifierMixin, OneToOneFeatureMixin, TransformerMixin

from bakeoff.pipeline import preflight
from bakeoff.pipeline.config.build import build_object
from bakeoff.pipeline.config.options import CONF
from bakeoff.pipeline.config.schema import register_schema
from bakeoff.pipeline.config.settle import resolve_config
from bakeoff.pipeline.experiment import Experiment
from bakeoff.pipeline.stages.dataset import Dataset
from bakeoff.pipeline.stages.pruning import NoPruning
from bakeoff.pipeline.stages.scoring import choose_metrics
from bakeoff.pipeline.stages.splitting import Holdout, Splits
from bakeoff.pipeline.stages.tuning import NoTuning


class Log(list[tuple[str, list[int]]]):
    """(what was done, the numbers of the rows). Cloning a learner copies its parameters; this one stays the same."""

    def __deepcopy__(self, memo: Any) -> Self:
        return self

    def of(self, deed: str) -> list[list[int]]:
        """Return the rows of each such deed."""
        return [rows for done, rows in self if done == deed]


class Recorder(ClassifierMixin, BaseEstimator):
    """Predicts the first class in sorted order; once pruned, the commonest of training.

    Parameters
    ----------
    log : Log
    mark : int
        Written on each fit, so that candidates of a space can be told apart.
    """

    def __init__(self, log: Log | None = None, mark: int = 0, random_state: int | None = None) -> None:
        self.log = log
        self.mark = mark
        self.random_state = random_state

    def fit(self, X: pd.DataFrame, y: np.ndarray) -> Self:
        self._write(f"fit {self.mark}" if self.mark else "fit", X)
        self.classes_, counts = np.unique(y, return_counts=True)
        self.answer_, self.commonest_ = self.classes_[0], self.classes_[counts.argmax()]
        return self

    def predict(self, X: pd.DataFrame) -> np.ndarray:
        self._write("predict", X)
        return np.full(len(X), self.answer_)

    def prune(self, X: pd.DataFrame | None, y: np.ndarray, method: str) -> Self:
        self._write(f"prune {method}", X)
        self.pruned_on_ = None if X is None else (X["row"].astype(int).tolist(), y.tolist())
        self.answer_ = self.commonest_
        self.pruning_path_ = {"leaves": [3, 2, 1], "depth": [2, 1, 0], "score": [0.25, 0.5, 0.75]}
        return self

    def _write(self, deed: str, X: pd.DataFrame | np.ndarray | None) -> None:
        if self.log is not None:
            self.log.append((deed, [] if X is None else np.asarray(X)[:, 0].astype(int).tolist()))


class RecordingStep(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Changes nothing, and writes down the rows that it was fitted on."""

    def __init__(self, log: Log) -> None:
        self.log = log

    def fit(self, X: pd.DataFrame, y: Any = None) -> Self:
        self.log.append(("prepare", X["row"].astype(int).tolist()))
        self.n_features_in_, self.feature_names_in_ = X.shape[1], X.columns.to_numpy(dtype=object)
        return self

    def transform(self, X: pd.DataFrame) -> pd.DataFrame:
        return X


def numbered(n: int = 40, labels: str = "abbb") -> Dataset:
    """Return n rows whose first column is their number; the labels repeat."""
    y = np.array([labels[row % len(labels)] for row in range(n)])
    X = pd.DataFrame({"row": np.arange(float(n)), "x": np.sin(np.arange(float(n)))})
    return Dataset("numbered", X, y, "classification", "y", positive="b" if set(labels) == {"a", "b"} else None)


def experiment(dataset: Dataset | None = None, learner: Any = None, **parts: Any) -> Experiment:
    """Return an experiment of a recorder on numbered rows, held out, but for the parts that are given."""
    dataset = numbered() if dataset is None else dataset
    learner = Recorder() if learner is None else learner
    names = parts.pop("metrics", None)
    stages: dict[str, Any] = {
        "preprocessing": None,
        "tuning": NoTuning(),
        "pruning": NoPruning(),
        "splitter": Holdout(),
        "seed": 0,
    }
    return Experiment(
        dataset=dataset, learner=learner, metrics=choose_metrics(names, dataset.task, learner), **(stages | parts)
    )


def check_and_split(experiment: Experiment) -> Splits:
    """Check an experiment as a job does, and return its splits."""
    preflight.check_experiment(experiment)
    splits = experiment.make_splits()
    preflight.check_splits(experiment, splits)
    return splits


@cache
def composed(*words: str) -> DictConfig:
    """Return what Hydra composes of conf/ with these overrides; not to be written to."""
    register_schema()
    with initialize_config_dir(config_dir=str(CONF), version_base="1.3"):
        return compose("config", overrides=list(words))


def preset(name: str) -> Any:
    """Return the transformer of conf/preprocessing/NAME.yaml."""
    spec = resolve_config(composed("learner=majority", f"preprocessing={name}"))
    return build_object(spec["preprocessing"], "preprocessing", [])
