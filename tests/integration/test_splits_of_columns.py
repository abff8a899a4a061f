"""Splits by what a file says of its rows, as docs/evaluation.md shows them: the rows that they test."""

from __future__ import annotations

from io import StringIO

import numpy as np
import pandas as pd
import pytest
from command import Bakeoff

N = 120
FILE = ("dataset=file", "dataset.path=my.csv", "dataset.target=y", "tracking.models=false")
QUICK = ("learner=naive_bayes", "preprocessing=none")


def make_rows() -> pd.DataFrame:
    """Return rows in no order of time, with a column for each role."""
    generator = np.random.default_rng(0)
    x = generator.normal(size=N)
    rows = pd.DataFrame({
        "x": x,
        "y": np.where(x + generator.normal(size=N) > 0, "yes", "no"),
        "part": np.repeat(["train", "validation", "test"], [70, 20, 30]),
        "fold": np.arange(N) % 4 - (np.arange(N) % 12 == 0),
        "day": pd.date_range("2024-01-01", periods=N // 2).repeat(2).strftime("%Y-%m-%d"),
        "site": np.arange(N) // 10 + 100,
    })  # fmt: skip
    return rows.sample(frac=1, random_state=0, ignore_index=True)


@pytest.fixture
def rows(bakeoff: Bakeoff) -> pd.DataFrame:
    """Write the rows to my.csv, and return them."""
    made = make_rows()
    made.to_csv(bakeoff.folder / "my.csv", index=False)
    return made


def run(bakeoff: Bakeoff, *words: str) -> dict[int, list[int]]:
    """Run the command on the file, and return the rows that it tested in each fold."""
    answer = bakeoff(*FILE, *QUICK, *words)
    assert answer.status == 0, answer.err
    table = pd.read_csv(StringIO(bakeoff.artifact(bakeoff.runs()[0], "predictions.csv")))
    return {int(str(fold)): own["row"].tolist() for fold, own in table.groupby("fold")}


def test_the_column_of_parts_says_which_rows_are_tested(bakeoff: Bakeoff, rows: pd.DataFrame) -> None:
    tested = run(bakeoff, "dataset.split=part", "evaluation=fixed", "pruning=none")
    assert tested == {0: np.flatnonzero(rows["part"] == "test").tolist()}
    params = bakeoff.runs()[0].data.params
    assert params["evaluation"] == "fixed"
    assert "validation_accuracy" in bakeoff.runs()[0].data.metrics


def test_the_column_of_folds_says_in_which_fold_a_row_is_tested(bakeoff: Bakeoff, rows: pd.DataFrame) -> None:
    tested = run(bakeoff, "dataset.folds=fold", "evaluation=fixed_folds")
    expected = {fold: np.flatnonzero(rows["fold"] == fold).tolist() for fold in range(4)}
    assert tested == expected


def test_the_column_of_times_orders_rows_that_are_in_no_order(bakeoff: Bakeoff, rows: pd.DataFrame) -> None:
    tested = run(bakeoff, "dataset.time=day", "evaluation=time_series", "evaluation.test_size=5", "evaluation.gap=1")
    days = sorted(rows["day"].unique())
    expected = {
        fold: sorted(np.flatnonzero(rows["day"].isin(days[start : start + 5])).tolist())
        for fold, start in enumerate(range(len(days) - 25, len(days), 5))
    }
    assert {fold: sorted(numbers) for fold, numbers in tested.items()} == expected


def test_a_bootstrap_is_repeated_bit_by_bit_and_its_tuning_sees_no_copies(bakeoff: Bakeoff, rows: pd.DataFrame) -> None:
    words = ("evaluation=bootstrap", "evaluation.repeats=3", "dataset.drop=[part,fold,day,site]", "tuning=grid")
    tested = run(bakeoff, *words, "tuning.folds=3", "learner=knn", "space.n_neighbors=[1,5]")
    assert len(tested) == 3
    answer = bakeoff("replay", "latest")
    assert (answer.status, "identical" in answer.out) == (0, True), answer.out
