"""Collinear columns far from zero: the rank is decided by the rounding of the cells, and the weights stay small."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
import sklearn.linear_model
from example_counts import examples
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import LinAlgWarning

from bakeoff.learners import LinearRegression, Ridge
from bakeoff.learners.base.scaling import RELATIVE_CELL_ROUNDING
from bakeoff.learners.linear.linear_regression import find_independent_columns

UNPENALISED = [LinearRegression(), Ridge(alpha=0)]
ADDED: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "sum": lambda A: A.sum(axis=1),
    "mean": lambda A: A.mean(axis=1),
    "rounded sum": lambda A: np.round(A.sum(axis=1), 2),
    "mirror": lambda A: 2024 - A[:, 0],
    "other unit": lambda A: A[:, 0] * 9 / 5 + 32,
    "combination": lambda A: A @ np.round(np.linspace(-2.11, 3.07, A.shape[1]), 2) + 17.3,
}


def solve_exactly(A: list[list[Fraction]], b: list[Fraction]) -> list[Fraction]:
    """Solve Ax = b in exact arithmetic; unknowns without an equation of their own are 0."""
    n_unknowns = len(A[0])
    rows = [[*row, value] for row, value in zip(A, b, strict=True)]
    pivots: list[int] = []
    for j in range(n_unknowns):
        at = next((i for i in range(len(pivots), len(rows)) if rows[i][j]), None)
        if at is None:
            continue
        first = len(pivots)
        rows[first], rows[at] = rows[at], rows[first]
        rows[first] = [cell / rows[first][j] for cell in rows[first]]
        for i in range(len(rows)):
            if i != first and rows[i][j]:
                factor = rows[i][j]
                rows[i] = [cell - factor * pivot for cell, pivot in zip(rows[i], rows[first], strict=True)]
        pivots.append(j)
    x = [Fraction(0)] * n_unknowns
    for i, j in enumerate(pivots):
        x[j] = rows[i][-1]
    return x


def shortest_weights(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the weights of least squares of minimum norm for the cells as they are, in exact arithmetic.

    With G = XᵀX of centred rows, w = Gv for any v with G²v = Xᵀy: such a w is in the row space of X.
    """
    n, d = X.shape
    columns = [[Fraction(float(cell)) for cell in X[:, j]] for j in range(d)]
    columns = [[cell - sum(column) / n for cell in column] for column in columns]
    target = [Fraction(float(value)) for value in y]
    G = [[dot(one, two) for two in columns] for one in columns]
    moment = [dot(column, target) for column in columns]
    v = solve_exactly([[dot(row, column) for column in G] for row in G], moment)
    return np.array([float(dot(row, v)) for row in G])


def dot(one: list[Fraction], two: list[Fraction]) -> Fraction:
    return sum((a * b for a, b in zip(one, two, strict=True)), Fraction(0))


@pytest.mark.parametrize("learner", UNPENALISED)
@pytest.mark.parametrize("added", ADDED)
def test_a_column_made_of_others_far_from_zero_changes_no_prediction(
    learner: LinearRegression | Ridge, added: str
) -> None:
    for seed in range(60):
        rng = np.random.default_rng(seed)
        offset = 10.0 ** rng.uniform(0, 8)
        A = np.round(offset + rng.normal(size=(60, 3)), 2)
        noise = rng.normal(size=(60, 1))
        X = np.column_stack([A, ADDED[added](A), noise])
        y = (A - offset) @ [1.0, -2.0, 0.5] + rng.normal(size=60)
        weight = rng.uniform(0.1, 3, 60) if seed % 2 else np.ones(60)
        weight[40:] = 0
        model = learner.fit(X, y, weight)
        near = np.column_stack([A - offset, noise, np.ones(60)])
        root = np.sqrt(weight)
        w = np.linalg.lstsq(near * root[:, None], y * root, rcond=None)[0]
        assert np.abs(model.coef_).max() < 10
        np.testing.assert_allclose(model.predict(X), near @ w, atol=1e-12 * offset + 1e-10)


@pytest.mark.parametrize(("n", "d"), [(5, 5), (4, 4), (3, 6), (6, 4)])
def test_with_as_many_rows_as_columns_the_weights_are_the_shortest(n: int, d: int) -> None:
    for seed in range(15):
        rng = np.random.default_rng(seed)
        X = 100 + rng.normal(size=(n, d))
        y = rng.normal(size=n) + 50
        np.testing.assert_allclose(LinearRegression().fit(X, y).coef_, shortest_weights(X, y), rtol=1e-7, atol=1e-9)


@pytest.mark.filterwarnings("ignore:Some columns are almost collinear")
@given(st.integers(0, 10**6), st.floats(0, 6), st.floats(-8, -1))
@examples(40)
def test_nearly_collinear_columns_keep_their_own_weights(seed: int, size: float, distance: float) -> None:
    rng = np.random.default_rng(seed)
    n = 10
    first = 10.0**size + rng.normal(size=n)
    X = np.column_stack([first, 2 * first + 10.0**distance * rng.normal(size=n), rng.normal(size=n)])
    y = rng.normal(size=n)
    exact = shortest_weights(X, y)
    # The weights are known to the rounding of the cells, divided by the distance of the columns.
    relative_error = 2e-13 * 10.0 ** (size - distance)
    if relative_error < 0.1:
        tolerance = max(relative_error, 1e-9) * np.abs(exact).max()
        np.testing.assert_allclose(LinearRegression().fit(X, y).coef_, exact, rtol=0, atol=tolerance)


@pytest.mark.filterwarnings("ignore:Some columns are almost collinear")
def test_a_polynomial_of_degree_ten_keeps_its_digits() -> None:
    grid = np.linspace(-9, -3, 40)  # as Filip of NIST StRD, whose table has a condition number of 2e15
    X = np.vander(grid, 11, increasing=True)[:, 1:]
    y = np.sin(grid)
    np.testing.assert_allclose(LinearRegression().fit(X, y).coef_, shortest_weights(X, y), rtol=1e-6)


@pytest.mark.parametrize("learner", UNPENALISED)
@pytest.mark.parametrize("mean", [0, 10])
@pytest.mark.parametrize("difference", [1e-13, 1e-10, 1e-8])
def test_weights_of_almost_equal_columns_are_warned_of(
    learner: LinearRegression | Ridge, mean: float, difference: float
) -> None:
    X, y = make_almost_equal_columns(mean, difference)
    with pytest.warns(LinAlgWarning, match=r"almost collinear.*after the sixth.*leave out one.*Ridge"):
        learner.fit(X, y)
    assert np.abs(learner.coef_).max() > 1e5
    assert np.abs(sklearn.linear_model.LinearRegression().fit(X, y).coef_).max() < 1  # leaves the difference out


@pytest.mark.parametrize("difference", [0, 1e-16, 1e-5, 1e-2])
def test_equal_and_clearly_different_columns_are_not_warned_of(difference: float) -> None:
    X, y = make_almost_equal_columns(0, difference)
    LinearRegression().fit(X, y)
    Ridge().fit(*make_almost_equal_columns(0, 1e-13))


def make_almost_equal_columns(mean: float, difference: float) -> tuple[np.ndarray, np.ndarray]:
    """Return two columns (100, 2) that differ by a small multiple of noise, and a target."""
    rng = np.random.default_rng(0)
    column = rng.normal(mean, size=100)
    return np.column_stack([column, column + difference * rng.normal(size=100)]), column + rng.normal(size=100)


def test_a_column_that_changes_in_its_last_digit_only_is_constant() -> None:
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=30), np.where(rng.random(30) < 0.5, 0.3, 0.1 + 0.2)])
    y = rng.normal(size=30)
    model = LinearRegression().fit(X, y)
    assert model.coef_[1] == 0
    assert model.coef_[0] == pytest.approx(LinearRegression().fit(X[:, :1], y).coef_[0])


@pytest.mark.parametrize("offset", [1e3, 1e9, 1e12])
def test_columns_far_from_zero_that_are_no_combination_keep_their_weights(offset: float) -> None:
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(50, 3)), 1)
    origin = np.array([offset, -3 * offset, 0])
    far = X + origin
    X = far - origin  # what the rounding of the cells has left of the columns
    y = rng.normal(size=50)
    np.testing.assert_allclose(
        LinearRegression().fit(far, y).coef_, LinearRegression().fit(X, y).coef_, rtol=1e-9, atol=1e-9
    )


def test_a_faint_penalty_leaves_collinear_columns_far_from_zero_their_small_weights() -> None:
    rng = np.random.default_rng(0)
    A = np.round(1000 + rng.normal(size=(40, 2)), 2)
    X = np.column_stack([A, A.sum(axis=1), rng.normal(size=40)])
    y = A[:, 0] - 1000 + rng.normal(size=40)
    none = LinearRegression().fit(X, y).coef_
    for alpha in (1e-300, 1e-30, 1e-18, 1e-12):
        np.testing.assert_allclose(Ridge(alpha).fit(X, y).coef_, none, atol=1e-9)


def test_the_shortest_weights_are_those_of_the_columns_as_given_in_every_unit() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    y = rng.normal(size=40)
    alone = LinearRegression().fit(X, y)
    table = np.column_stack([X[:, 0] * 1e-150, X[:, 0] * 3e-150, X[:, 1]])
    coef = LinearRegression().fit(table, y).coef_
    np.testing.assert_allclose(coef, [alone.coef_[0] * 1e149, alone.coef_[0] * 3e149, alone.coef_[1]], rtol=1e-9)


@pytest.mark.parametrize(("n", "d", "rank"), [(40, 10, 10), (40, 10, 7), (5, 12, 5), (40, 200, 13)])
def test_all_columns_are_combinations_of_the_independent_ones(n: int, d: int, rank: int) -> None:
    rng = np.random.default_rng(0)
    table = rng.normal(size=(n, rank)) @ rng.normal(size=(rank, d))
    table /= np.linalg.norm(table, axis=0)
    independent = find_independent_columns(table)
    if rank == d:
        assert independent is None
        return
    assert independent is not None
    assert len(independent.columns) == rank
    np.testing.assert_allclose(
        table[:, independent.columns] @ independent.shares, table, atol=1e3 * RELATIVE_CELL_ROUNDING
    )
