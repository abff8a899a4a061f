"""Groups of rows that became worse, and the probability of the true class."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from bakeoff.pipeline.comparison.changed_rows import _read_confidence, find_groups

N_ROWS = 200


def make_columns() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    town = pd.Categorical(np.where(np.arange(N_ROWS) < 50, "New York", "Rome"))
    return pd.DataFrame({"town": town, "noise": rng.normal(size=N_ROWS)})


def test_a_value_that_separates_broken_rows_is_described() -> None:
    X = make_columns()
    is_broken = (X["town"] == "New York").to_numpy() & (np.arange(N_ROWS) % 5 > 0)
    groups = find_groups(X, is_broken, X, 0.05)
    assert any("New York" in group.conditions or "Rome" in group.conditions for group in groups)
    assert all(group.p_value <= 0.05 for group in groups)


@pytest.mark.parametrize("names", [["town"], ["noise"]])
def test_columns_of_one_kind_are_enough(names: list[str]) -> None:
    X = make_columns()[names]
    is_broken = np.arange(N_ROWS) < 40
    assert isinstance(find_groups(X, is_broken, X, 0.05), list)


def test_columns_without_numbers_or_frequent_values_tell_nothing_apart() -> None:
    X = pd.DataFrame({"name": pd.Categorical([f"row {i}" for i in range(N_ROWS)])})
    assert find_groups(X, np.arange(N_ROWS) < 40, X, 0.05) == []


def test_the_probability_of_a_class_with_spaces_is_found() -> None:
    table = pd.DataFrame({
        "truth": ["very good", "bad"],
        "predicted": ["bad", "bad"],
        "probability_very good": [0.4, 0.1],
        "probability_bad": [0.6, 0.9],
    })  # fmt: skip
    assert _read_confidence(table).tolist() == [0.4, 0.9]
    # A class that no training part contains has no probability.
    assert _read_confidence(table.drop(columns="probability_bad")).tolist() == [0.0, 1.0]
