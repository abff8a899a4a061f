"""Files as people have them: from the raw table to trustworthy scores, with the few hints that each test names."""

from __future__ import annotations

from io import StringIO

import numpy as np
import pandas as pd
import pytest
from command import Bakeoff
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from wheel_data import wheel_frame

FIVE_FOLDS = ("evaluation=kfold", "tracking.models=false")
MISSING_SPELLINGS = ("?", "-", "n.a.")


def test_raw_titanic_has_the_probabilities_of_a_pipeline_that_is_written_by_hand(bakeoff: Bakeoff) -> None:
    frame = wheel_frame("titanic")
    frame.to_csv(bakeoff.folder / "titanic.csv", index=False)
    words = ("dataset=file", "dataset.path=titanic.csv", "dataset.target=survived", "dataset.drop=[boat,body]")
    assert bakeoff(*words, "learner=sklearn_logistic_regression", *FIVE_FOLDS).status == 0
    predictions = pd.read_csv(StringIO(bakeoff.artifact(bakeoff.runs()[0], "predictions.csv")))
    table = pd.read_csv(bakeoff.folder / "titanic.csv")
    scaled = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
    columns = make_column_transformer(
        (scaled, ["pclass", "age", "sibsp", "parch", "fare"]),
        (OneHotEncoder(handle_unknown="ignore"), ["sex", "embarked"]),
    )
    model = make_pipeline(columns, LogisticRegression(max_iter=300))
    assert sorted(predictions["row"]) == list(range(1309))
    for _, fold in predictions.groupby("fold"):
        is_tested = table.index.isin(fold["row"])
        model.fit(table[~is_tested], table["survived"][~is_tested])
        expected = model.predict_proba(table.loc[fold["row"]])[:, 1]  # (m,)
        assert np.abs(expected - fold["probability_1"]).max() < 1e-12


@pytest.mark.parametrize("spelling", MISSING_SPELLINGS)
def test_penguins_score_the_same_however_a_missing_cell_is_spelled(bakeoff: Bakeoff, spelling: str) -> None:
    frame = wheel_frame("penguins").replace("_", None)
    is_numeric = [name for name in frame.columns if name.endswith(("_mm", "_g"))]
    spelled = frame.copy()
    spelled[is_numeric] = spelled[is_numeric].fillna(spelling)
    for name, table in {"empty": frame, "spelled": spelled}.items():
        table.to_csv(bakeoff.folder / f"{name}.csv", index=False)
        words = ("dataset=file", f"dataset.path={name}.csv", "dataset.target=species")
        assert bakeoff(*words, "learner=decision_tree", *FIVE_FOLDS).status == 0
    metrics = [
        {name: value for name, value in run.data.metrics.items() if name.startswith("test_")} for run in bakeoff.runs()
    ]
    assert metrics[0] == metrics[1]
    assert metrics[0]["test_accuracy"] > 0.9
