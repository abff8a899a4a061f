"""Scores of linear models, and several classes from two."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bakeoff.learners.base.estimator import label_one_against_rest
from bakeoff.learners.base.scaling import Standardized
from bakeoff.learners.linear.base import TILE_ROWS, linear_scores
from bakeoff.learners.linear.linear_regression import CenteredRows


@pytest.mark.parametrize(("d", "k"), [(1, 1), (2, 1), (20, 1), (5, 3), (64, 10), (300, 2)])
def test_scores_of_a_row_do_not_depend_on_the_other_rows(d: int, k: int) -> None:
    rng = np.random.default_rng(d)
    X, coef, intercept = rng.normal(size=(3 * TILE_ROWS + 7, d)), rng.normal(size=(k, d)), rng.normal(size=k)
    scores = linear_scores(X, coef, intercept)
    np.testing.assert_allclose(scores, X @ coef.T + intercept, rtol=1e-12, atol=1e-12)
    for rows in ([5], [198], range(10, 100), rng.permutation(len(X)), [3] * 70):
        np.testing.assert_array_equal(linear_scores(X[rows], coef, intercept), scores[rows])
    np.testing.assert_array_equal(linear_scores(np.asfortranarray(X), coef, intercept), scores)


@given(st.lists(st.integers(0, 4), min_size=1, max_size=20))
@settings(deadline=None)
def test_every_row_is_positive_in_the_problem_of_its_class_alone(codes: list[int]) -> None:
    signs = label_one_against_rest(np.array(codes), 5)
    assert signs.shape == (5, len(codes))
    assert signs.argmax(axis=0).tolist() == codes
    assert (signs.sum(axis=0) == -3).all()


@pytest.mark.parametrize("value", [0.1, 1e9 + 0.3, -1e150])
def test_centring_makes_a_constant_column_exactly_zero(value: float) -> None:
    rng = np.random.default_rng(0)
    X = np.column_stack([np.full(1000, value), rng.normal(size=1000)])
    share = rng.dirichlet(np.ones(1000))
    columns = Standardized(X, share, 0.0, fit_intercept=True)
    assert not columns[:][:, 0].any()
    coef, intercept = columns.to_original(np.array([[1.0, 0.0, 0.0]]))
    assert intercept == -coef[0, 0] * value
    rows = CenteredRows(X, rng.normal(size=1000), share, True)
    assert rows.mean[0] * rows.unit[0] == value
    assert rows.solve(np.zeros(2))[0] == 0


@pytest.mark.parametrize("offset", [0.1, 1e9, 1e12])
def test_a_column_that_changes_in_its_last_digit_only_is_standardized_to_nothing(offset: float) -> None:
    cells = offset * (1 + np.array([0, 1, 2, 0, 1, 0, 2, 1]) * np.finfo(float).eps)
    columns = Standardized(cells[:, None], np.full(8, 1 / 8), 0.0, fit_intercept=True)
    assert np.abs(columns[:][:, 0]).max() < 1e-15


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("penalty", [0.0, 0.3])
def test_a_standardized_table_has_the_same_scores_and_the_same_penalty(fit_intercept: bool, penalty: float) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 4)) * [1e-120, 1.0, 1e5, 1e120] + [0, 3, 0, 0]
    columns = Standardized(X, np.full(50, 1 / 50), penalty, fit_intercept=fit_intercept)
    theta = rng.normal(size=(3, 4 + fit_intercept))
    coef, intercept = columns.to_original(theta)
    np.testing.assert_allclose(X @ coef.T + intercept, columns[:] @ theta.T, rtol=1e-9, atol=1e-9)
    ordinary = [1, 2]  # of the others the squared weights are no floats
    np.testing.assert_allclose(
        (columns.penalty[:4] * theta[:, :4] ** 2)[:, ordinary], penalty * coef[:, ordinary] ** 2, rtol=1e-9
    )


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("offset", [0.0, 500.0, 1e6, 1e12])
def test_scores_and_their_derivatives_are_those_of_the_standardized_table(fit_intercept: bool, offset: float) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 3)) * [1.0, 1e3, 1e-3] + [offset, 0, 7]
    columns = Standardized(X, rng.dirichlet(np.ones(50)), 0.1, fit_intercept=fit_intercept)
    theta, residual, rows = rng.normal(size=(2, 3 + fit_intercept)), rng.normal(size=(2, 30)), slice(10, 40)
    table = columns[:][rows]
    np.testing.assert_allclose(columns[rows], table)
    np.testing.assert_allclose(columns.compute_scores(theta, rows), theta @ table.T, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(columns.multiply_residual(residual, rows), residual @ table, rtol=1e-9, atol=1e-9)
