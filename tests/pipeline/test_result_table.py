"""The tables at the end of a sweep: ranks and marks within a dataset, failures as cells, and legible layouts."""

from __future__ import annotations

import re
from dataclasses import replace
from io import StringIO

import numpy as np
import pytest
from scipy import stats

from bakeoff.pipeline.sweep.jobs import FAILED, FINISHED, NOT_RUN, REFUSED, SKIPPED, STOPPED, JobCell, JobOutcome
from bakeoff.pipeline.sweep.result_table import MAX_ROWS, ResultTable, make_tables, show_table
from bakeoff.pipeline.tables.table import BEST_SIGN
from bakeoff.pipeline.text.terminal import make_console


def outcome(
    number: int, row: str, column: str, score: float = 0.5, metric: str = "test_accuracy", deviation: float = 0.01
) -> JobOutcome:
    """Return the outcome of a job that finished."""
    return JobOutcome(
        number, f"{row} {column}", FINISHED, headlines=(metric,),
        greater_is_better="rmse" not in metric, metrics={metric: score, f"{metric}_std": deviation},
        cell=JobCell(row, column, f"digest of {column}"),
    )  # fmt: skip


def failed(number: int, row: str, column: str, reason: str, kind: str = FAILED) -> JobOutcome:
    """Return the outcome of a job without a score."""
    cell = JobCell(row, column, f"digest of {column}")
    return JobOutcome(number, f"{row} {column}", kind, reason, cell=cell)


def random_table(n_rows: int, n_columns: int, seed: int = 0) -> ResultTable:
    """Return a table of random scores, some of which are tied."""
    generator = np.random.default_rng(seed)
    scores = generator.integers(50, 99, (n_rows, n_columns)) / 100
    rows = tuple(f"configuration_{row}" for row in range(n_rows))
    columns = tuple(f"dataset_{column}" for column in range(n_columns))
    results = {
        (name, dataset): outcome(0, name, dataset, float(scores[row, column]), deviation=0.0123)
        for row, name in enumerate(rows)
        for column, dataset in enumerate(columns)
    }
    return ResultTable("test_accuracy", True, rows, columns, results)


def printed(table: ResultTable, width: int = 80) -> str:
    """Return what is printed of a table, without colours."""
    stream = StringIO()
    show_table(table, make_console(file=stream, width=width, color_system=None))
    return stream.getvalue()


# Values


@pytest.mark.parametrize("unit", [1.0, 1e6, 1e-9])
def test_scores_that_only_rounding_tells_apart_share_a_rank_in_every_unit(unit: float) -> None:
    one = 0.6 * unit
    other = float(np.nextafter(one, np.inf))
    results = {
        ("a", "data"): outcome(0, "", "data", one, "test_rmse"),
        ("b", "data"): outcome(0, "", "data", other, "test_rmse"),
        ("c", "data"): outcome(0, "", "data", one * 2, "test_rmse"),
    }
    table = ResultTable("test_rmse", False, ("a", "b", "c"), ("data",), results)
    assert table.ranks[:, 0].tolist() == [1.5, 1.5, 3.0]
    assert table.is_best[:, 0].tolist() == [True, True, False]


def test_ranks_are_scipys_and_the_mean_is_over_datasets() -> None:
    table = random_table(6, 9)
    oracle = np.column_stack([stats.rankdata(-column) for column in table.scores.T])
    np.testing.assert_array_equal(table.ranks, oracle)
    assert table.mean_ranks is not None
    np.testing.assert_allclose(table.mean_ranks, oracle.mean(axis=1))
    lower = replace(table, greater_is_better=False)
    np.testing.assert_array_equal(lower.ranks, np.column_stack([stats.rankdata(column) for column in table.scores.T]))


def test_the_best_first_by_mean_rank_or_by_the_only_dataset() -> None:
    for n_columns in (1, 4):
        table = random_table(5, n_columns).sort_configurations()
        order = table.ranks[:, 0] if n_columns == 1 else table.mean_ranks
        assert order is not None
        assert (np.diff(order) >= 0).all()


def test_the_best_of_each_dataset_is_marked_and_tied_ones_all_are() -> None:
    scores = {("a", "iris"): 0.1 + 0.2, ("b", "iris"): 0.3, ("c", "iris"): 0.2, ("a", "wine"): 0.9, ("b", "wine"): 0.8}
    outcomes = [outcome(number, *cell, score) for number, (cell, score) in enumerate(scores.items())]
    (table,) = make_tables(outcomes)
    best = {
        cell for cell in scores if table.is_best[table.configurations.index(cell[0]), table.datasets.index(cell[1])]
    }
    assert best == {("a", "iris"), ("b", "iris"), ("a", "wine")}


def test_only_complete_datasets_are_ranked_and_how_many_are_not_is_said() -> None:
    cells = [(row, column) for column in ("d1", "d2", "d3") for row in ("a", "b")]
    outcomes = [outcome(number, *cell, score=number / 10) for number, cell in enumerate(cells)]
    outcomes[0] = failed(0, "a", "d1", "RuntimeError: it is broken")
    (table,) = make_tables(outcomes)
    assert table.complete_datasets == ("d2", "d3")
    assert "mean rank over 2 datasets, without 1 on which scores are missing" in printed(table)


def test_a_configuration_without_any_score_is_shown_and_does_not_prevent_ranks() -> None:
    outcomes = [outcome(number, "ab"[number % 2], f"d{number // 2}", number / 10) for number in range(6)]
    refused = [failed(6 + number, "mean", f"d{number}", "not a classifier", REFUSED) for number in range(3)]
    (table,) = make_tables([*outcomes, *refused])
    assert table.mean_ranks is not None
    assert table.configurations == ("b", "a", "mean")
    assert np.isnan(table.mean_ranks[2])
    text = printed(table)
    assert len(re.findall(r"refused \[1\]", text)) == 3
    assert text.count("not a classifier") == 1


def test_scores_of_other_metrics_or_tasks_have_their_own_table() -> None:
    iris = [outcome(0, "knn", "iris"), outcome(1, "svm", "iris", 0.6)]
    cars = [outcome(2, "ridge", "cars", 12.0, "test_rmse"), outcome(3, "mean", "cars", 20.0, "test_rmse")]
    crossed = failed(4, "ridge", "iris", "a regressor", REFUSED)
    accuracy, rmse = make_tables([*iris, *cars, crossed])
    assert (accuracy.metric, accuracy.configurations) == ("test_accuracy", ("svm", "knn", "ridge"))
    assert (rmse.metric, rmse.configurations) == ("test_rmse", ("ridge", "mean"))
    assert (rmse.is_best[:, 0].tolist(), "lowest of its dataset" in printed(rmse)) == ([True, False], True)


def test_different_data_under_one_name_and_two_jobs_of_one_name_are_kept_apart() -> None:
    first, second = outcome(0, "knn", "iris"), outcome(1, "knn", "iris", 0.9)
    (twice,) = make_tables([first, second])
    assert twice.configurations == ("knn #1", "knn")
    elsewhere = replace(second, cell=JobCell("knn", "iris", "other digest"))
    (table,) = make_tables([first, elsewhere])
    assert table.datasets == ("iris dige", "iris othe")


def test_stopped_jobs_and_jobs_without_a_place_are_left_out() -> None:
    assert make_tables([JobOutcome(0, "seed=x", REFUSED, "not an integer")]) == []
    assert make_tables([failed(0, "knn", "iris", "after 1 of 5 folds", STOPPED)]) == []
    assert make_tables([failed(0, "knn", "iris", "RuntimeError: broken")]) == []


def test_every_reason_is_a_cell_and_a_note() -> None:
    outcomes = [
        outcome(0, "fine", "iris"),
        replace(outcome(1, "earlier", "iris"), kind=SKIPPED),
        replace(outcome(2, "undefined", "iris"), metrics={"test_accuracy": float("nan")}),
        failed(3, "slow", "iris", "TimedOut: the job took longer than timeout=1 seconds"),
        failed(4, "dead", "iris", "its process ended by signal SIGKILL", "killed"),
        failed(5, "late", "iris", "the sweep ended before it", NOT_RUN),
        failed(6, "lost", "iris", "", SKIPPED),
    ]
    (table,) = make_tables(outcomes)
    text = printed(table)
    for cell in ("undefined", "TimedOut [1]", "killed [2]", "not run [3]", "no scores [4]"):
        assert re.search(rf"^\w+ +{re.escape(cell)}", text, re.M), cell
    assert "[1] TimedOut: the job took longer than timeout=1 seconds" in text
    assert text.count("0.5000 ± 0.0100") == 2


# Layout


def test_a_table_that_fits_has_mean_and_std_and_marks_without_colour() -> None:
    text = printed(random_table(3, 2))
    assert "mean ± std over folds; • highest of its dataset; mean rank over 2 datasets" in text
    assert len(re.findall(r"0\.\d{4} ± 0\.0123", text)) == 6
    assert text.count(BEST_SIGN) >= 3
    assert "mean rank" in text.splitlines()[2]


@pytest.mark.parametrize(("n_rows", "n_columns"), [(3, 2), (10, 43), (5, 6), (12, 6), (40, 3), (2, 90), (25, 20)])
@pytest.mark.parametrize("width", [80, 120])
def test_no_line_is_wider_than_the_console_and_no_cell_is_lost(n_rows: int, n_columns: int, width: int) -> None:
    table = random_table(n_rows, n_columns).sort_configurations()
    lines = printed(table, width).splitlines()
    body = [line for line in lines if not line.startswith(("test_accuracy", "and "))]
    assert max(map(len, body)) <= width
    n_shown = min(n_rows, MAX_ROWS)
    assert sum(len(re.findall(r"0?\.[5-9]\d\d0?(?!\d)", line)) for line in body) == n_shown * n_columns
    for dataset in table.datasets:
        assert any(re.search(rf"\b{dataset}\b", line) for line in body)
    for configuration in table.configurations[:n_shown]:
        assert any(re.search(rf"\b{configuration}\b", line) for line in body)


def test_more_datasets_than_fit_stand_below_one_another() -> None:
    lines = printed(random_table(10, 43)).splitlines()
    headings = [line.split()[1:] for line in lines if line.startswith("dataset  ")]
    assert [number for heading in headings for number in heading] == [f"({number})" for number in range(1, 11)]
    assert lines[3].startswith("dataset_0 ")
    assert lines[46].startswith("mean rank")
    assert "(1) configuration_0  (2) configuration_1" in "\n".join(lines)
    assert "without std, to fit the width" in lines[1]


def test_many_configurations_are_cut_to_the_best_and_counted() -> None:
    table = random_table(MAX_ROWS + 12, 3).sort_configurations()
    text = printed(table)
    assert f"and 12 more configurations; these are the first {MAX_ROWS} by mean rank" in text
    assert table.configurations[MAX_ROWS - 1] in text
    assert f"{table.configurations[MAX_ROWS]} " not in text


def test_long_names_are_folded_and_numbers_of_any_size_are_short() -> None:
    name = "knn " + " ".join(f"some_parameter_{number}=value" for number in range(4))
    large = ResultTable(
        "test_rmse",
        False,
        (name, "mean"),
        ("cars",),
        {(name, "cars"): outcome(0, name, "cars", 123456.789, "test_rmse", 1.5)},
    )
    text = printed(large)
    assert max(map(len, text.splitlines())) <= 80
    assert "123,457 ± 1.500" in text
