"""The tables at the end of a sweep: order and marks within a dataset, and failures as cells."""

from __future__ import annotations

import re
from dataclasses import replace
from io import StringIO

import numpy as np
import pytest
from scipy import stats

from bakeoff.pipeline.sweep.display import ResultTable, make_tables, tabulate_results
from bakeoff.pipeline.sweep.jobs import FAILED, FINISHED, REFUSED, SKIPPED, STOPPED, JobCell, JobOutcome
from bakeoff.pipeline.tables.table import BEST_SIGN, print_table
from bakeoff.pipeline.text.wording import make_console


def outcome(number: int, row: str, column: str, score: float = 0.5, metric: str = "test_accuracy") -> JobOutcome:
    """Return the outcome of a job that finished."""
    return JobOutcome(
        number, f"{row} {column}", FINISHED, headlines=(metric,),
        greater_is_better="rmse" not in metric, metrics={metric: score, f"{metric}_std": 0.01},
        cell=JobCell(row, column, f"digest of {column}"),
    )  # fmt: skip


def failed(number: int, row: str, column: str, reason: str, kind: str = FAILED) -> JobOutcome:
    """Return the outcome of a job without a score."""
    cell = JobCell(row, column, f"digest of {column}")
    return JobOutcome(number, f"{row} {column}", kind, reason, cell=cell)


def make_table(scores: np.ndarray, metric: str = "test_accuracy") -> ResultTable:
    """Return the table of scores of shape (configurations, datasets)."""
    cells = np.ndenumerate(scores)
    (table,) = make_tables([
        outcome(number, f"c{row}", f"d{column}", float(score), metric)
        for number, ((row, column), score) in enumerate(cells)
    ])  # fmt: skip
    return table


def find_best(table: ResultTable) -> set[tuple[str, str]]:
    scores = table.scores
    places = np.argwhere(table.is_best.to_numpy())
    return {(str(scores.index[row]), str(scores.columns[column])) for row, column in places}


@pytest.mark.parametrize("unit", [1.0, 1e6, 1e-9])
def test_scores_that_only_rounding_tells_apart_are_all_the_best_in_every_unit(unit: float) -> None:
    one = 0.6 * unit
    scores = np.array([[one], [np.nextafter(one, np.inf)], [one * 2]])
    assert find_best(make_table(scores, "test_rmse")) == {("c0", "d0"), ("c1", "d0")}
    assert find_best(make_table(scores)) == {("c2", "d0")}


@pytest.mark.parametrize("n_columns", [1, 4])
def test_the_best_come_first_by_mean_rank(n_columns: int) -> None:
    scores = np.random.default_rng(0).integers(50, 99, (6, n_columns)) / 100
    ranks = np.column_stack([stats.rankdata(-column) for column in scores.T]).mean(axis=1)
    expected = [f"c{row}" for row in np.argsort(ranks, kind="stable")]
    assert list(make_table(scores).scores.index) == expected
    errors = [f"c{row}" for row in np.argsort(n_columns + 7 - ranks, kind="stable")]
    assert list(make_table(scores, "test_rmse").scores.index) == errors


def test_a_configuration_without_any_score_is_the_last() -> None:
    outcomes = [outcome(number, "ab"[number % 2], f"d{number // 2}", number / 10) for number in range(6)]
    refused = [failed(6 + number, "mean", f"d{number}", "not a classifier", REFUSED) for number in range(3)]
    (table,) = make_tables([*refused, *outcomes])
    assert list(table.scores.index) == ["b", "a", "mean"]


def test_scores_of_other_metrics_or_tasks_have_their_own_table() -> None:
    iris = [outcome(0, "knn", "iris"), outcome(1, "svm", "iris", 0.6)]
    cars = [outcome(2, "ridge", "cars", 12.0, "test_rmse"), outcome(3, "mean", "cars", 20.0, "test_rmse")]
    crossed = failed(4, "ridge", "iris", "a regressor", REFUSED)
    accuracy, rmse = make_tables([*iris, *cars, crossed])
    assert (accuracy.metric, list(accuracy.scores.index)) == ("test_accuracy", ["svm", "knn", "ridge"])
    assert (rmse.metric, list(rmse.scores.index)) == ("test_rmse", ["ridge", "mean"])
    assert find_best(rmse) == {("ridge", "cars")}


def test_different_data_under_one_name_and_two_jobs_of_one_name_are_kept_apart() -> None:
    first, second = outcome(0, "knn", "iris"), outcome(1, "knn", "iris", 0.9)
    (twice,) = make_tables([first, second])
    assert list(twice.scores.index) == ["knn #1", "knn"]
    elsewhere = replace(second, cell=JobCell("knn", "iris", "other digest"))
    (table,) = make_tables([first, elsewhere])
    assert list(table.scores.columns) == ["iris dige", "iris othe"]


def test_stopped_jobs_and_jobs_without_a_place_are_left_out() -> None:
    assert make_tables([JobOutcome(0, "seed=x", REFUSED, "not an integer")]) == []
    assert make_tables([failed(0, "knn", "iris", "after 1 of 5 folds", STOPPED)]) == []
    assert make_tables([failed(0, "knn", "iris", "RuntimeError: broken")]) == []


def test_every_reason_is_a_cell() -> None:
    outcomes = [
        outcome(0, "fine", "iris"),
        replace(outcome(1, "earlier", "iris"), kind=SKIPPED),
        replace(outcome(2, "undefined", "iris"), metrics={"test_accuracy": float("nan")}),
        failed(3, "slow", "iris", "TimedOut: the job took longer than timeout=1 seconds"),
        failed(4, "dead", "iris", "its process ended by signal SIGKILL", "killed"),
        failed(6, "lost", "iris", "", SKIPPED),
    ]
    (table,) = make_tables(outcomes)
    file = StringIO()
    print_table(tabulate_results(table), make_console(file=file, width=160))
    text = "\n".join(line.rstrip() for line in file.getvalue().splitlines())
    for cell in ("undefined", "failed", "killed", "no scores"):
        assert re.search(rf"^\w+ +{cell}$", text, re.M), cell
    assert text.count(f"{BEST_SIGN} 0.5000 ± 0.0100") == 2
