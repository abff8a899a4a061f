"""Linear and ridge regression: the least squares, in every unit, with every kind of column."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn.linear_model

from bakeoff.learners import LinearRegression, Ridge

LEARNERS = [LinearRegression(), Ridge(alpha=0.7)]


def made(n: int, d: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return a table whose columns have means, targets with noise, and row weights."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * rng.uniform(0.1, 10, d) + rng.normal(size=d)
    return X, X @ rng.normal(size=d) + rng.normal(size=n) + 5, rng.uniform(0.1, 3, n)


def test_a_line_through_three_points_by_hand() -> None:
    model = LinearRegression().fit([[0], [1], [2]], [1, 2, 2])
    assert model.coef_ == pytest.approx([0.5])
    assert model.intercept_ == pytest.approx(7 / 6)


def test_ridge_by_hand_divides_by_the_squares_plus_alpha() -> None:
    model = Ridge(alpha=3).fit([[-1], [0], [1]], [-2, 0, 2])
    assert model.coef_ == pytest.approx([4 / 5])


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize(("n", "d"), [(200, 7), (30, 30), (20, 50), (1, 3)])
def test_the_coefficients_are_scikit_learns(n: int, d: int, weighted: bool, fit_intercept: bool) -> None:
    X, y, weight = made(n, d)
    sample_weight = weight if weighted else None
    for ours, theirs in [
        (LinearRegression(fit_intercept), sklearn.linear_model.LinearRegression(fit_intercept=fit_intercept)),
        (Ridge(2.5, fit_intercept), sklearn.linear_model.Ridge(2.5, fit_intercept=fit_intercept)),
    ]:
        ours.fit(X, y, sample_weight)
        theirs.fit(X, y, sample_weight)
        np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-8, atol=1e-8)
        assert ours.intercept_ == pytest.approx(theirs.intercept_, abs=1e-8)
        np.testing.assert_allclose(ours.predict(X), theirs.predict(X), atol=1e-8)


def test_ridge_without_penalty_is_linear_regression() -> None:
    X, y, _ = made(50, 4)
    np.testing.assert_array_equal(Ridge(alpha=0).fit(X, y).coef_, LinearRegression().fit(X, y).coef_)


@pytest.mark.parametrize("value", [0.0, 0.1, 1e300, -3.0])
@pytest.mark.parametrize("learner", LEARNERS)
def test_a_constant_column_has_weight_zero(learner: LinearRegression | Ridge, value: float) -> None:
    X, y, weight = made(33, 2)
    without = learner.fit(X, y, weight).coef_
    np.testing.assert_allclose(learner.fit(np.column_stack([X, np.full(33, value)]), y, weight).coef_, [*without, 0])


@pytest.mark.parametrize("column_scale", [1e-150, 1e-9, 1.0, 1e9, 1e150])
@pytest.mark.parametrize("target_scale", [1e-150, 1.0, 1e150])
def test_units_change_the_coefficients_and_nothing_else(column_scale: float, target_scale: float) -> None:
    X, y, _ = made(60, 3)
    plain = LinearRegression().fit(X, y)
    scale = np.array([column_scale, 1.0, 1.0])
    scaled = LinearRegression().fit(X * scale, y * target_scale)
    np.testing.assert_allclose(scaled.coef_, plain.coef_ / scale * target_scale, rtol=1e-9)
    np.testing.assert_allclose(scaled.predict(X * scale), plain.predict(X) * target_scale, rtol=1e-9)


def test_a_weight_beyond_floats_is_refused_in_a_sentence() -> None:
    with pytest.raises(ValueError, match=r"a weight overflows.*rescale"):
        LinearRegression().fit([[1e-200], [2e-200]], [1e200, 3e200])


@pytest.mark.parametrize("scale", [1e-150, 1e150])
def test_ridge_in_absurd_units_is_the_limit_of_its_formula(scale: float) -> None:
    X, y, _ = made(60, 3)
    expected = np.zeros(3) if scale < 1 else LinearRegression().fit(X, y).coef_ / scale
    np.testing.assert_allclose(Ridge().fit(X * scale, y).coef_, expected, rtol=1e-9, atol=1e-140 * (scale < 1))


@pytest.mark.parametrize(("n", "d"), [(20, 3), (3, 20)])
@pytest.mark.parametrize(("factor", "alpha"), [(1e-300, 1.0), (1e-300, 1e300), (1.0, 1e300), (1e-150, 1e150)])
def test_a_penalty_out_of_reach_of_the_columns_leaves_no_weight(n: int, d: int, factor: float, alpha: float) -> None:
    X, y, _ = made(n, d)
    np.testing.assert_allclose(Ridge(alpha).fit(X * factor, y).coef_, 0, atol=1e-100)


@pytest.mark.filterwarnings("ignore:Some columns are almost collinear")
def test_nearly_collinear_columns_do_not_lose_the_digits_of_the_normal_equations() -> None:
    grid = np.linspace(0, 1, 200)
    X = np.vander(grid, 10)[:, :-1]  # condition number 1e7 and more
    w = np.arange(1.0, 10.0)
    np.testing.assert_allclose(LinearRegression().fit(X, X @ w + 3).coef_, w, rtol=1e-6)


@pytest.mark.parametrize("scale", [1e-150, 1e150])
@pytest.mark.parametrize("learner", LEARNERS[:1])
def test_only_the_ratio_of_weights_matters_without_penalty(learner: LinearRegression, scale: float) -> None:
    X, y, weight = made(30, 3)
    np.testing.assert_allclose(learner.fit(X, y, weight * scale).coef_, learner.fit(X, y, weight).coef_, rtol=1e-9)
