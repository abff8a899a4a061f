"""Profiles of training columns, against NumPy and pandas."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import pytest

from bakeoff.pipeline.model.training_record import count_in_bins, profile_column

RANDOM = np.random.default_rng(0)
COLUMNS = {
    "continuous": RANDOM.normal(size=997),
    "with missing cells": np.where(RANDOM.random(500) < 0.3, np.nan, RANDOM.exponential(size=500)),
    "many": np.sort(RANDOM.normal(size=25_001)),
    "two values": RANDOM.integers(0, 2, 300).astype(float),
    "mostly zero": np.where(RANDOM.random(400) < 0.95, 0.0, RANDOM.normal(size=400)),
    "one value": np.full(50, 3.0),
    "one cell": np.array([2.0]),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_numbers_are_counted_between_distinct_deciles(name: str) -> None:
    cells = COLUMNS[name]
    present = cells[~np.isnan(cells)]
    profile = profile_column(pd.Series(cells), "numeric")
    assert (profile.n, profile.n_missing) == (len(cells), len(cells) - len(present))
    assert (profile.minimum, profile.maximum) == (present.min(), present.max())
    bounds = [-np.inf, *profile.edges, np.inf]
    counts = [int(((present >= low) & (present < high)).sum()) for low, high in pairwise(bounds)]
    assert list(profile.counts) == counts
    # An empty bin would make every later cell in it infinitely unlikely.
    assert min(counts) > 0
    assert set(profile.edges) <= set(present)
    if name in ("continuous", "many"):
        below = [(present < edge).mean() for edge in profile.edges]
        np.testing.assert_allclose(below, np.arange(1, 10) / 10, atol=0.001 + 1 / len(present))


def test_cells_of_other_rows_are_counted_in_the_same_bins() -> None:
    profile = profile_column(pd.Series(np.arange(100.0)), "numeric")
    assert count_in_bins(profile.edges, np.arange(100.0)).tolist() == list(profile.counts)
    assert count_in_bins(profile.edges, np.array([-5.0, np.nan, 1e9])).tolist() == [1, 0, 0, 0, 0, 0, 0, 0, 0, 1]


def test_values_are_counted_also_those_without_cells() -> None:
    column: pd.Series[Any] = pd.Series(pd.Categorical(["a", None, "b", "a"], ["a", "b", "c"]))
    profile = profile_column(column, "nominal")
    assert dict(profile.values) == {"a": 2, "b": 1, "c": 0}
    assert (profile.n, profile.n_missing) == (4, 1)


def test_dates_are_days_since_1970() -> None:
    dates = pd.Series(["1970-01-02", None, "1970-01-04 12:00"], dtype="datetime64[ns]")
    profile = profile_column(dates, "date")
    assert (profile.minimum, profile.maximum, profile.n_missing) == (1.0, 3.5, 1)


@pytest.mark.parametrize(("kind", "dtype"), [("numeric", "float64"), ("date", "datetime64[ns]"), ("text", "string")])
def test_a_column_without_cells_has_no_range(kind: str, dtype: str) -> None:
    profile = profile_column(pd.Series([None] * 3, dtype=dtype), kind)
    assert (profile.n, profile.n_missing, profile.minimum) == (3, 3, None)
    assert len(profile.counts) == 0
