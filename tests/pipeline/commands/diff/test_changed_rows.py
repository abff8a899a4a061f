"""Groups of rows that became worse, and the probability of the true class."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from conditions import find_rows

from bakeoff.pipeline.commands.diff.changed_rows import _read_confidence, find_groups

N_ROWS = 200


def make_columns() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    town = pd.Categorical(np.where(np.arange(N_ROWS) < 50, "New York", "Rome"))
    return pd.DataFrame({"town": town, "noise": rng.normal(size=N_ROWS)})


@pytest.mark.parametrize("name", ["town", "noise"])
def test_columns_of_one_kind_are_enough(name: str) -> None:
    X = make_columns()[[name]]
    is_broken = (X[name] == "New York").to_numpy() if name == "town" else X[name].to_numpy() > 0
    (group,) = find_groups(X, is_broken, X, 0.05)
    assert (group.conditions, group.n_broken, group.n_rows) == {
        "town": ("town = New York", 50, 50),
        "noise": (group.conditions, is_broken.sum(), is_broken.sum()),
    }[name]


def test_columns_without_numbers_or_frequent_values_tell_nothing_apart() -> None:
    X = pd.DataFrame({"name": pd.Categorical([f"row {i}" for i in range(N_ROWS)])})
    assert find_groups(X, np.arange(N_ROWS) < 40, X, 0.05) == []


def make_broken(number: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Return columns of all kinds with missing cells, and rows that broke for a reason in one or two of them."""
    rng = np.random.default_rng(number)
    n = 400
    town = pd.Series(rng.choice(["Oslo", "Rome", "New York", "Bern"], n)).where(rng.random(n) > 0.2).astype("category")
    X = pd.DataFrame({
        "age": np.where(rng.random(n) < 0.3, np.nan, rng.integers(1, 80, n) / 2),
        "fare": rng.lognormal(3, 1, n).round(4),
        "id": 1.7e9 + rng.integers(0, 500, n),
        "town": town,
        "is_new": rng.random(n) < 0.5,
        "rank": pd.Categorical(rng.choice(["low", "high"], n), ["low", "high"], ordered=True),
    })  # fmt: skip
    reasons = [
        X["age"].isna(),
        X["age"].gt(20) | X["age"].isna(),
        ~X["town"].eq("Rome"),
        X["town"].eq("Rome") & X["fare"].gt(20),
        ~X["town"].eq("New York") & X["age"].lt(15),
        X["fare"].between(15, 30),
        X["is_new"] & X["rank"].eq("low"),
        X["id"].gt(1.7e9 + 250),
    ]
    noise = rng.random(n)
    return X, np.where(reasons[number], noise < 0.7, noise < 0.1)


@pytest.mark.parametrize("number", range(8))
def test_the_rows_of_a_group_are_those_that_its_words_describe(number: int) -> None:
    X, is_broken = make_broken(number)
    could_break = np.random.default_rng(number).random(len(X)) < 0.8
    groups = find_groups(X[could_break], is_broken[could_break], X, 0.05)
    assert groups
    for group in groups:
        assert group.p_value <= 0.05
        holds = find_rows(group.conditions.split(" and "), X)
        assert int((holds & could_break).sum()) == group.n_rows, group.conditions
        assert int((is_broken & holds & could_break).sum()) == group.n_broken, group.conditions
        assert group.share == pytest.approx(holds.mean()), group.conditions


def test_a_cell_that_equals_the_threshold_of_the_tree_is_on_the_side_of_the_words() -> None:
    # The threshold is halfway between 20 and 21, where a third of all rows are that could not break.
    X = pd.DataFrame({"age": np.repeat([20.0, 21.0, 20.5], 60)})
    groups = find_groups(X[:120], np.arange(120) >= 60, X, 0.05)
    (group,) = groups
    assert group.conditions == "age ≥ 20.75"
    assert group.share == pytest.approx(1 / 3)


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
