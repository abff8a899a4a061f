"""Shapley values: by the definition over all orders, by a formula for linear models, and what they add up to."""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations

import numpy as np
import pandas as pd
import pytest

from bakeoff.pipeline.explanation.shapley import (
    Predict,
    ShapleyValues,
    compute_exact_values,
    compute_shapley_values,
    sample_values,
)

LETTERS = pd.CategoricalDtype(["a", "b", "c"])
GENERATOR = np.random.default_rng(0)


def make_table(n: int, d: int) -> pd.DataFrame:
    """Return numbers in all columns but the last, which is nominal and has missing cells."""
    table = pd.DataFrame(GENERATOR.normal(size=(n, d - 1)), columns=[f"x{j}" for j in range(d - 1)])
    # The code -1 is that of a missing cell.
    table["letter"] = pd.Categorical.from_codes(GENERATOR.integers(-1, 3, n), dtype=LETTERS)
    return table


def predict_with_interactions(X: pd.DataFrame) -> np.ndarray:
    """Return two outputs that no sum of functions of single columns gives."""
    numbers = X.drop(columns="letter").to_numpy()
    is_a = (X["letter"] == "a").to_numpy()
    first = numbers[:, 0] * numbers[:, 1] + is_a * numbers[:, 2] + X["letter"].isna().to_numpy()
    return np.column_stack([first, np.maximum(numbers.max(axis=1), is_a)])


def average_over_orders(predict: Predict, row: pd.DataFrame, background: pd.DataFrame) -> np.ndarray:
    """Return the values by their definition: the mean gain of each column over all orders and background rows."""
    names = list(row.columns)
    orders = list(permutations(range(len(names))))
    gains = np.zeros(1)
    for order in orders:
        mixed = background.copy()
        before = predict(mixed).mean(axis=0)
        of_order = np.empty((len(names), len(before)))
        for column in order:
            value = row[names[column]].iloc[0]
            mixed[names[column]] = pd.Series([value] * len(mixed)).astype(background[names[column]].dtype)
            after = predict(mixed).mean(axis=0)
            of_order[column] = after - before
            before = after
        gains = gains + of_order
    return gains / len(orders)


def draw_values(n_repeats: int) -> Callable[[Predict, pd.DataFrame, pd.DataFrame], ShapleyValues]:
    return lambda predict, row, background: sample_values(predict, row, background, n_repeats, np.random.default_rng(1))


def test_exact_values_are_the_mean_gains_over_all_orders() -> None:
    background = make_table(12, 5)
    row = make_table(1, 5)
    found = compute_exact_values(predict_with_interactions, row, background)
    expected = average_over_orders(predict_with_interactions, row, background)
    np.testing.assert_allclose(found.values, expected, atol=1e-12)


def test_sampled_values_agree_with_exact_ones_within_their_errors() -> None:
    background = make_table(40, 6)
    row = make_table(1, 6)
    exact = compute_exact_values(predict_with_interactions, row, background)
    sampled = draw_values(50)(predict_with_interactions, row, background)
    assert sampled.errors.max() < 0.1
    # Of twelve normal variables, the largest is hardly ever more than four deviations away.
    assert (np.abs(sampled.values - exact.values) <= 4 * sampled.errors + 1e-12).all()
    np.testing.assert_allclose(sampled.mean, exact.mean)
    np.testing.assert_allclose(sampled.prediction, exact.prediction)


@pytest.mark.parametrize("compute", [compute_exact_values, draw_values(1), draw_values(3)])
def test_values_add_up_to_the_prediction_less_the_mean_of_the_background(
    compute: Callable[[Predict, pd.DataFrame, pd.DataFrame], ShapleyValues],
) -> None:
    background = make_table(30, 6)
    row = make_table(1, 6)
    found = compute(predict_with_interactions, row, background)
    expected = predict_with_interactions(row)[0] - predict_with_interactions(background).mean(axis=0)
    np.testing.assert_allclose(found.values.sum(axis=0), expected, atol=1e-12)


def test_a_linear_model_has_its_coefficients_times_the_distances_from_the_means() -> None:
    background = make_table(700, 31).drop(columns="letter")
    row = make_table(1, 31).drop(columns="letter")
    weights = GENERATOR.normal(size=30)
    found = compute_shapley_values(
        lambda X: X.to_numpy() @ weights[:, np.newaxis], row, background, np.random.default_rng(0)
    )
    expected = weights * (row.to_numpy()[0] - background.to_numpy().mean(axis=0))
    assert not found.is_exact
    # Without interactions, each background row gives the same gain in all orders, and each is used as often.
    np.testing.assert_allclose(found.values[:, 0], expected, atol=1e-9)


def test_a_column_that_the_model_does_not_read_contributes_nothing() -> None:
    background = make_table(20, 12)
    row = make_table(1, 12)
    found = sample_values(lambda X: X[["x0"]].to_numpy() ** 2, row, background, 2, np.random.default_rng(0))
    assert np.abs(found.values[1:]).max() == 0.0


def test_a_value_that_the_background_does_not_have_reaches_the_model() -> None:
    background = pd.DataFrame({"letter": pd.Categorical(["a", "b"]), "x": [1.0, 2.0]})
    row = pd.DataFrame({"letter": pd.Categorical(["z"]), "x": [5.0]})
    found = compute_shapley_values(
        lambda X: (X["letter"] == "z").to_numpy()[:, np.newaxis] * 1.0,
        row,
        background,
        np.random.default_rng(0),
    )
    assert found.values[:, 0].tolist() == [1.0, 0.0]


def test_of_many_rows_and_columns_as_many_predictions_are_made_as_are_affordable() -> None:
    counts = []

    def count(X: pd.DataFrame) -> np.ndarray:
        counts.append(len(X))
        return X.to_numpy()[:, :1]

    background = make_table(3000, 9).drop(columns="letter")
    found = compute_shapley_values(count, background.iloc[[0]], background, np.random.default_rng(0))
    assert found.n_background == 1000
    assert not found.is_exact
    assert 40_000 < sum(counts) < 60_000
