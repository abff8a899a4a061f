"""Columns that tell the target by where they have cells, number the rows, or say the same as others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from wheel_data import TARGETS, wheel_frame

from bakeoff.pipeline.audit.columns import (
    find_columns,
    find_in_table,
    find_row_numbers,
    find_same_columns,
    find_telling_presence,
)
from bakeoff.pipeline.stages.dataset import Dataset, load_frame, read_table

N = 400
DRAW = np.random.default_rng(0)
DIED = DRAW.random(N) < 0.6
LABELS = np.where(DIED, "died", "lived")


def tell(column: Any, y: np.ndarray = LABELS) -> list[str]:
    """Return the clauses about one column."""
    return [clause for _, clause in find_telling_presence(pd.DataFrame({"x": column}), y, "fate")]


def with_cells(where: np.ndarray) -> np.ndarray:
    return np.where(where, DRAW.normal(size=N), np.nan)


def numbers_and(**columns: Any) -> pd.DataFrame:
    return pd.DataFrame({"noise": DRAW.normal(size=N), **columns})


# Presence


def test_cells_that_only_one_class_has_tell_it() -> None:
    some_dead = DIED & (np.arange(N) % 5 == 0)
    (clause,) = tell(with_cells(some_dead))
    share = 100 * DIED.mean()
    assert (
        clause == f"all {some_dead.sum()} rows that have a value in this column have fate=died, "
        f"compared with {share:.3g} % of all rows"
    )
    (clause,) = tell(with_cells(~some_dead))
    assert "that lack a value in this column have fate=died" in clause


def test_a_few_errors_do_not_hide_that_cells_tell_the_class() -> None:
    filled = ~DIED
    filled[np.flatnonzero(DIED)[:3]] = True
    filled[np.flatnonzero(~DIED)[:40]] = False
    (clause,) = tell(pd.Series("boat", index=range(N)).where(filled))
    assert clause.startswith(
        f"{(~DIED).sum() - 40} of the {(~DIED).sum() - 37} rows that have a value in this column have fate=lived"
    )
    filled[np.flatnonzero(DIED)[3:60]] = True
    assert tell(with_cells(filled)) == []


@pytest.mark.parametrize("fraction", [0.01, 0.2, 0.5, 0.9])
def test_cells_missing_at_random_tell_nothing(fraction: float) -> None:
    for seed in range(50):
        where = np.random.default_rng(1000 + seed).random(N) < fraction
        assert tell(np.where(where, 1.0, np.nan)) == []


def test_cells_of_a_common_class_tell_nothing_new() -> None:
    rare = np.where(np.arange(N) == 7, "rare", "common")
    assert tell(with_cells(np.arange(N) % 2 == 0), rare) == []
    assert tell(with_cells(np.arange(N) % 2 == 0), np.full(N, "one")) == []


def test_numbers_are_told_by_a_shared_value() -> None:
    paid = np.where(DIED, 0.0, DRAW.lognormal(size=N))
    (clause,) = tell(with_cells(DIED), paid)
    assert "have fate=0.0" in clause
    assert tell(with_cells(DIED), DRAW.normal(size=N)) == []


# Row numbers


def test_different_integers_in_a_small_range_number_the_rows_in_any_order() -> None:
    shuffled = DRAW.permutation(N) + 1.0
    part = np.sort(DRAW.choice(5 * N, N, replace=False)) + 1000.0
    names = [name for name, _ in find_row_numbers(numbers_and(shuffled=shuffled, part=part))]
    assert names == ["shuffled", "part"]
    ((_, clause),) = find_row_numbers(numbers_and(shuffled=shuffled))
    assert clause == f"holds {N} different integers between 1 and {N}, which look like row numbers"


@pytest.mark.parametrize(
    "column",
    [
        DRAW.normal(size=N).round(3),
        DRAW.integers(0, 10**6, N).astype(float),
        DRAW.integers(0, N, N).astype(float),
        np.r_[np.nan, np.arange(1.0, N)],
        np.r_[0.5, np.arange(1.0, N)],
        np.r_[np.inf, np.arange(1.0, N)],
    ],
    ids=["decimals", "a wide range", "repeated", "a missing cell", "a decimal", "infinity"],
)
def test_measured_numbers_do_not_number_the_rows(column: np.ndarray) -> None:
    assert list(find_row_numbers(numbers_and(x=column))) == []


def test_the_only_column_is_a_grid_and_not_a_number_of_rows() -> None:
    assert list(find_row_numbers(pd.DataFrame({"x": np.arange(100.0)}))) == []


# Columns that say the same


def test_equal_numbers_and_recoded_values_are_found_together() -> None:
    size = DRAW.normal(size=N)
    size[:5] = np.nan
    town = pd.Categorical(DRAW.choice(["Oslo", "Rome", "Bern"], N))
    X = numbers_and(
        cm=size,
        again=size,
        town=town,
        code=town.rename_categories({"Oslo": "1", "Rome": "2", "Bern": "3"}),
        town_copy=town,
    )
    found = dict(find_same_columns(X))
    assert found == {
        ("cm", "again"): "contain the same values",
        ("town", "code", "town_copy"): "have values that correspond one to one",
    }


def test_columns_that_differ_in_a_cell_do_not_say_the_same() -> None:
    size = DRAW.normal(size=N)
    other = size.copy()
    other[3] += 0.001
    gap = size.copy()
    gap[3] = np.nan
    constant = np.ones(N)
    X = numbers_and(size=size, other=other, gap=gap, first=constant, second=constant)
    assert list(find_same_columns(X)) == []


# Together


def dataset(y: np.ndarray = LABELS, **columns: Any) -> Dataset:
    task = "regression" if y.dtype.kind == "f" else "classification"
    return Dataset("made", numbers_and(**columns), y, task, "fate")


def test_a_column_is_named_for_the_strongest_sign_alone() -> None:
    (finding,) = find_columns(dataset(np.sort(LABELS), number=np.arange(float(N))))
    code, columns, clause, _ = finding
    assert (code, columns, "reveals the target on its own" in clause) == ("BK01", ("number",), True)


def test_dates_and_text_that_the_user_took_in_are_examined_too() -> None:
    days = pd.Series(pd.date_range("2020-01-01", periods=N))
    days = days.where(days.index >= 3)
    comments = pd.Series(LABELS, dtype="string")
    (sentence,) = map(str, find_in_table(dataset(day=days, comment=comments)))
    assert "'comment'" in sentence
    (sentence,) = map(str, find_in_table(dataset(np.sort(LABELS), day=days)))
    assert "'day' reveals the target on its own" in sentence


# Real files, as runs read them


def wheel_dataset(folder: Path, name: str, **keys: Any) -> Dataset:
    file = folder / f"{name}.csv"
    wheel_frame(name).to_csv(file, index=False)
    return read_table(str(file), TARGETS[name], **keys)


def test_boat_and_body_of_titanic_are_found_by_where_they_have_cells(tmp_path: Path) -> None:
    boat, body = map(str, find_in_table(wheel_dataset(tmp_path, "titanic")))
    assert "column 'boat' reveals the target through its missing cells: 477 of the 486 rows" in boat
    assert boat.endswith("leave the column out with dataset.drop=[boat].")
    assert "column 'body' reveals the target through its missing cells: all 121 rows" in body
    # The names play no part.
    frame = wheel_frame("titanic").rename(columns={"boat": "c1", "body": "c2"})
    found = [columns for _, columns, _, _ in find_columns(load_frame(frame, "survived"))]
    assert found == [("c1",), ("c2",)]
    assert list(find_in_table(wheel_dataset(tmp_path, "titanic", drop=["boat", "body"]))) == []


@pytest.mark.parametrize("name", ["zoo", "krvskp", "penguins", "cpu", "iris", "glass2"])
def test_no_feature_of_other_real_tables_is_suspect(tmp_path: Path, name: str) -> None:
    assert list(find_in_table(wheel_dataset(tmp_path, name))) == []
