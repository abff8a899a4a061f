"""Files as people have them: from the raw table to trustworthy scores, with the few hints that each test names."""

from __future__ import annotations

import shutil
from io import StringIO
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from command import Bakeoff
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from vega_datasets import local_data
from wheel_data import TARGETS, wheel_file, wheel_frame

FIVE_FOLDS = ("evaluation=kfold", "tracking.models=false")
MISSING_SPELLINGS = ("?", "-", "n.a.")

OURS = "glob(*,exclude=sklearn_*)"
N_ROWS = 500
"""With more of them, Gaussian processes take a minute."""


def copy_file(name: str, folder: Path) -> str:
    """Copy a table of scikit-learn's wheel into a folder, and return the words that name it as a dataset."""
    path = folder / f"{name}.arff.gz"
    shutil.copy(wheel_file(name), path)
    return f"dataset.path={path.name}"


def write_rows(name: str, folder: Path) -> str:
    """Write at most 500 rows of a table as CSV, and return the words that name it as a dataset."""
    frame = local_data.seattle_weather() if name == "weather" else wheel_frame(name)
    rows = frame.sample(min(N_ROWS, len(frame)), random_state=0).sort_index()
    rows.to_csv(folder / f"{name}.csv", index=False)
    return f"dataset.path={name}.csv"


def read_scores(bakeoff: Bakeoff) -> dict[str, float]:
    """Return the accuracy of each learner of the store."""
    return {run.data.params["learner"]: run.data.metrics["test_accuracy"] for run in bakeoff.runs()}


def test_raw_titanic_is_learned_without_names_and_tickets(bakeoff: Bakeoff) -> None:
    path = copy_file("titanic", bakeoff.folder)
    words = ("dataset=file", path, "dataset.target=survived", "dataset.drop=[boat,body]", *FIVE_FOLDS)
    answer = bakeoff("-m", "learner=decision_tree,random_forest,svm,logistic_regression", *words)
    assert answer.status == 0, answer.err
    scores = read_scores(bakeoff)
    assert scores["decision_tree"] >= 0.77
    assert max(scores.values()) >= 0.80


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


def test_a_run_warns_of_columns_that_are_filled_in_after_the_target(bakeoff: Bakeoff) -> None:
    frame = wheel_frame("titanic").rename(columns={"boat": "a", "body": "b"})
    frame.to_csv(bakeoff.folder / "renamed.csv", index=False)
    answer = bakeoff("dataset=file", "dataset.path=renamed.csv", "dataset.target=survived", "tracking=none")
    assert answer.status == 0, answer.err
    warnings = [line for line in answer.err.splitlines() if line.startswith("audit:")]
    assert any("'a'" in line for line in warnings)
    assert any("'b'" in line for line in warnings)
    suspected = [name for name in frame.columns if any(f"column {name!r}" in line for line in warnings)]
    assert set(suspected) <= {"a", "b", "sex"}


def test_a_run_names_the_columns_that_it_leaves_out_and_the_key_that_takes_them_in(bakeoff: Bakeoff) -> None:
    path = copy_file("titanic", bakeoff.folder)
    words = ("dataset=file", path, "dataset.target=survived", "tracking=none")
    answer = bakeoff(*words)
    notes = [line for line in (answer.out + answer.err).splitlines() if line.startswith("dataset: Left out")]
    identifiers = next(note for note in notes if "identifiers" in note)
    free_text = next(note for note in notes if "free text" in note)
    assert "dataset.keep=[ticket,cabin]" in identifiers
    assert "dataset.text=[name,home.dest]" in free_text
    kept = bakeoff(*words, "dataset.keep=[ticket,cabin]", "dataset.text=[name,home.dest]", "dataset.drop=[boat,body]")
    assert kept.status == 0, kept.err
    assert "Left out" not in kept.out + kept.err


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


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "learners"),
    [("zoo", "glob(*)"), ("weather", OURS), ("titanic", OURS), ("krvskp", OURS)],
)
def test_every_learner_of_the_task_runs_on_a_raw_file_without_an_option(
    bakeoff: Bakeoff, name: str, learners: str
) -> None:
    path = write_rows(name, bakeoff.folder)
    target = "weather" if name == "weather" else TARGETS[name]
    answer = bakeoff(
        "-m",
        f"learner={learners}",
        "dataset=file",
        path,
        f"dataset.target={target}",
        "tracking.models=false",
        "on_invalid=skip",
    )
    assert answer.status == 0, answer.err
    scores = read_scores(bakeoff)
    assert {"knn", "decision_tree", "naive_bayes", "svm", "mlp"} <= set(scores)
    assert not any(learner.endswith(("regressor", "mean", "ridge", "linear_regression")) for learner in scores)
    # A learner that got what it cannot use would be no better than the majority class. A plane does not separate the
    # weather, and the precipitation of sunny days has no variance.
    excused = ("majority", "perceptron", "naive_bayes") if name == "weather" else ("majority",)
    informed = {learner: score for learner, score in scores.items() if not learner.endswith(excused)}
    floor = scores["majority"]
    assert min(informed.values()) > floor, (floor, informed)


def test_a_space_on_the_command_line_replaces_the_default_one(bakeoff: Bakeoff) -> None:
    words = ("dataset=iris", "learner=knn", "tuning=grid", "evaluation.validation=0.2", "space.n_neighbors=[1,5,9]")
    assert bakeoff(*words).status == 0
    (run,) = bakeoff.runs()
    candidates = pd.read_csv(StringIO(bakeoff.artifact(run, "candidates.csv")))
    assert candidates["n_neighbors"].tolist() == [1, 5, 9]
    assert "weights" not in candidates
