"""Cells of typed sources: every type becomes one of a few, and no value changes."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any
from uuid import UUID

import pandas as pd
import pyarrow as pa
import pytest

from bakeoff.pipeline.stages.dataset.source import make_source


def unified(cells: Any, dtype: Any = object) -> tuple[pd.Series, tuple[str, ...]]:
    source = make_source(pd.DataFrame({"x": pd.Series(cells, dtype=dtype)}), "table", "here")
    return source.frame["x"], source.notes


def values(column: pd.Series) -> list[Any]:
    """Return the cells, None where missing."""
    return [None if pd.isna(cell) else cell for cell in column]


@pytest.mark.parametrize(
    ("cells", "dtype", "expected"),
    [
        ([1, 2], "int64", [1, 2]),
        ([1, None], "Int64", [1, None]),
        ([1, 2.5, None], "float64", [1, 2.5, None]),
        ([Decimal("0.1"), 1, None], "float64", [0.1, 1, None]),
        ([2**70, None], "string", ["1180591620717411303424", None]),
        ([Decimal(2**53 + 1), Decimal("0.5")], "string", ["9007199254740993", "0.5"]),
        ([2**53 + 1, 0.5], "string", ["9007199254740993", "0.5"]),
        ([True, False], "bool", [True, False]),
        ([True, None], "boolean", [True, None]),
        (["007", None, ""], "string", ["007", None, ""]),
        ([None, float("nan")], "string", [None, None]),
        ([dt.date(2024, 2, 29), None], "datetime64[ms]", [pd.Timestamp(2024, 2, 29), None]),
        ([dt.datetime(2024, 2, 29, 12), dt.datetime(1, 1, 1)], "datetime64[us]",
         [pd.Timestamp(2024, 2, 29, 12), pd.Timestamp(dt.datetime(1, 1, 1))]),
        ([dt.time(9, 30)], "string", ["09:30:00"]),
        ([UUID(int=7)], "string", ["00000000-0000-0000-0000-000000000007"]),
    ],
)  # fmt: skip
def test_objects_of_one_kind_become_a_column_of_that_kind(cells: list[Any], dtype: str, expected: list[Any]) -> None:
    column, notes = unified(cells)
    assert (str(column.dtype), values(column), notes) == (dtype, expected, ())


def test_objects_of_several_kinds_are_text_in_one_spelling() -> None:
    column, _ = unified([39.1, 40, 5.0, "?", True, None, dt.date(2024, 1, 2)])
    assert values(column) == ["39.1", "40", "5", "?", "true", None, "2024-01-02"]


@pytest.mark.parametrize(
    ("dtype", "cells", "expected"),
    [
        ("Int64", [1, 2], "int64"),
        ("Int64", [1, None], "Int64"),
        ("Float64", [1.5, None], "float64"),
        ("boolean", [True, False], "bool"),
        ("float32", [0.5, 2], "float32"),
        (pd.ArrowDtype(pa.int64()), [1, None], "Int64"),
        (pd.ArrowDtype(pa.string()), ["a", None], "string"),
        (pd.ArrowDtype(pa.bool_()), [True, None], "boolean"),
        (pd.ArrowDtype(pa.decimal128(5, 2)), [Decimal("1.10"), None], "float64"),
        (pd.ArrowDtype(pa.date32()), [dt.date(2024, 1, 2), None], "datetime64[ms]"),
    ],
)
def test_types_of_pandas_and_arrow_become_the_same_few(dtype: Any, cells: list[Any], expected: str) -> None:
    column, notes = unified(cells, dtype)
    assert (str(column.dtype), notes) == (expected, ())
    plain = [float(cell) if isinstance(cell, Decimal) else cell for cell in cells]
    moments = [pd.Timestamp(cell) if isinstance(cell, dt.date) else cell for cell in plain]
    assert values(column) == moments


@pytest.mark.parametrize(
    ("categories", "expected"),
    [([3, 1], ["3", "1"]), ([3.0, 1.5], ["3", "1.5"]), ([True, False], ["true", "false"]), (["b", "a"], ["b", "a"])],
)
def test_categories_are_text_in_their_order(categories: list[Any], expected: list[str]) -> None:
    cells = pd.Categorical([*categories, None], categories=categories, ordered=True)
    column, _ = unified(cells, None)
    assert (list(column.cat.categories), column.cat.ordered) == (expected, True)
    assert values(column) == [*expected, None]


def test_categories_that_are_spelled_alike_are_one_value() -> None:
    column, _ = unified(pd.Categorical([1, "1", 2], categories=[1, "1", 2]), None)
    assert (list(column.cat.categories), values(column)) == (["1", "2"], ["1", "1", "2"])


@pytest.mark.parametrize(
    ("cells", "note"),
    [
        ([[1], None], "Column 'x': cells of type list are not supported; it is left out."),
        ([{"a": 1}, 2], "Column 'x': cells of type dict are not supported; it is left out."),
        ([b"a", b"b"], "Column 'x': cells of type bytes are not supported; it is left out."),
        ([pd.Interval(0, 1)], "Column 'x': cells of type Interval are not supported; it is left out."),
        ([dt.timedelta(days=1)], "Column 'x': durations are read as seconds."),
        ([pd.Timestamp("2024-01-02", tz="Asia/Tokyo")], "Column 'x': times of other zones are read as times of UTC."),
    ],
)
def test_what_is_left_out_or_changes_its_meaning_is_said(cells: list[Any], note: str) -> None:
    source = make_source(pd.DataFrame({"x": cells, "y": 1}), "table", "here")
    assert source.notes == (note,)
    assert ("x" in source.frame) == ("left out" not in note)


def test_a_moment_is_the_same_moment_in_utc() -> None:
    tokyo = pd.Timestamp("2024-01-02 03:00", tz="Asia/Tokyo")
    for cells in (pd.Series([tokyo]), pd.Series([tokyo], dtype=object)):
        column, _ = unified(cells, None)
        assert values(column) == [pd.Timestamp("2024-01-01 18:00")]
