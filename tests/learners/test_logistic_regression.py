"""Logistic regression: the likeliest weights, in both forms, by each way down; and data that have no likeliest."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import sklearn.linear_model
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import scale

from bakeoff.learners import LogisticRegression
from bakeoff.learners.linear import log_likelihood
from bakeoff.learners.linear.log_likelihood import LogLikelihood

INF = float("inf")
TIGHT: dict[str, Any] = {"tol": 1e-10, "max_iter": 20000}


def mixed(n: int = 200, d: int = 3, c: int = 3, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return classes that no plane separates."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.argmax(X @ rng.normal(size=(d, c)) + rng.gumbel(size=(n, c)), axis=1)


def theirs(**parameters: Any) -> Any:
    return sklearn.linear_model.LogisticRegression(solver="newton-cg", tol=1e-10, max_iter=10000, **parameters)


def assert_same_coefficients(ours: LogisticRegression, other: Any) -> None:
    np.testing.assert_allclose(ours.coef_, other.coef_, atol=1e-5, rtol=1e-5)
    np.testing.assert_allclose(ours.intercept_, other.intercept_, atol=1e-5, rtol=1e-5)


def test_with_one_yes_no_column_the_weights_are_log_odds() -> None:
    X = np.repeat([[0], [1]], 4, axis=0)
    model = LogisticRegression(C=INF, tol=1e-12).fit(X, [0, 0, 0, 1, 0, 1, 1, 1])
    assert model.intercept_ == pytest.approx([np.log(1 / 3)])
    assert model.coef_ == pytest.approx(np.array([[np.log(3) - np.log(1 / 3)]]))
    np.testing.assert_allclose(model.predict_proba([[0], [1]]), [[3 / 4, 1 / 4], [1 / 4, 3 / 4]])


@pytest.mark.parametrize("load", [load_iris, load_wine, load_breast_cancer])
@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
@pytest.mark.parametrize("solver", ["newton", "lbfgs"])
def test_penalised_coefficients_are_scikit_learns(load: Any, C: float, solver: str) -> None:
    X, y = load(return_X_y=True)
    X = scale(X)
    assert_same_coefficients(LogisticRegression(C=C, solver=solver, **TIGHT).fit(X, y), theirs(C=C).fit(X, y))


@pytest.mark.parametrize("c", [2, 3])
@pytest.mark.parametrize("solver", ["newton", "lbfgs", "gradient_descent"])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_unpenalised_coefficients_are_scikit_learns(c: int, solver: str, fit_intercept: bool) -> None:
    X, y = mixed(c=c)
    X += 1
    ours = LogisticRegression(C=INF, solver=solver, fit_intercept=fit_intercept, **TIGHT).fit(X, y)
    assert_same_coefficients(ours, theirs(C=INF, fit_intercept=fit_intercept).fit(X, y))


@pytest.mark.parametrize("class_weight", [None, "balanced", {0: 2.0, 1: 0.5}])
def test_weights_of_rows_and_classes_are_scikit_learns(class_weight: Any) -> None:
    X, y = mixed()
    weight = np.random.default_rng(1).uniform(0, 3, len(y))
    ours = LogisticRegression(class_weight=class_weight, **TIGHT).fit(X, y, weight)
    assert_same_coefficients(ours, theirs(class_weight=class_weight).fit(X, y, weight))


def test_without_penalty_the_two_forms_are_one_model() -> None:
    X, y = mixed(c=4, n=400)
    softmax, reference = (LogisticRegression(C=INF, form=form, **TIGHT).fit(X, y) for form in ("softmax", "reference"))
    np.testing.assert_allclose(reference.predict_proba(X), softmax.predict_proba(X), atol=1e-8)
    np.testing.assert_allclose(softmax.coef_.sum(axis=0), 0, atol=1e-8)
    np.testing.assert_allclose(reference.coef_, softmax.coef_ - softmax.coef_[-1], atol=1e-7)


@pytest.mark.parametrize("form", ["softmax", "reference"])
def test_two_classes_have_one_row_of_weights_in_either_form(form: str) -> None:
    X, y = mixed(c=2)
    model = LogisticRegression(form=form).fit(X, y)
    assert model.coef_.shape == (1, 3)
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], 1 / (1 + np.exp(-model.decision_function(X))))


@pytest.mark.parametrize("reference", [True, False])
@pytest.mark.parametrize("c", [2, 4])
def test_gradient_and_hessian_are_the_derivatives(c: int, reference: bool) -> None:
    rng = np.random.default_rng(0)
    X, y = mixed(30, 3, c)
    loss = LogLikelihood(X, y, rng.dirichlet(np.ones(30)), rng.uniform(size=3), c, reference=reference)
    theta = rng.normal(size=(loss.n_free_classes, 3))
    theta -= 0 if reference else theta.mean(axis=0)
    point, hessian, step = loss.evaluate(theta), loss.compute_hessian(loss.evaluate(theta)), 1e-6
    for index in range(theta.size):
        nudge = np.zeros(theta.size)
        nudge[index] = step
        up, down = loss.evaluate(theta + nudge.reshape(theta.shape)), loss.evaluate(theta - nudge.reshape(theta.shape))
        assert point.gradient.flat[index] == pytest.approx((up.value - down.value) / (2 * step), abs=1e-8)
        if reference:  # the softmax form's has curvature added along the flat direction
            np.testing.assert_allclose(hessian[index], (up.gradient - down.gradient).ravel() / (2 * step), atol=1e-7)


def test_the_bound_bends_more_than_the_likelihood_anywhere() -> None:
    rng = np.random.default_rng(0)
    X, y = mixed(50, 3, 2)
    loss = LogLikelihood(X, 1 - y, np.full(50, 0.02), np.zeros(3), 2, reference=True)
    for _ in range(20):
        excess = loss.bound_curvature() - loss.compute_hessian(loss.evaluate(rng.normal(size=(1, 3))))
        assert np.linalg.eigvalsh(excess).min() >= -1e-12


@pytest.mark.parametrize("c", [2, 3])
@pytest.mark.parametrize("solver", ["newton", "lbfgs", "gradient_descent"])
def test_separable_classes_without_penalty_end_in_a_warning_and_finite_weights(c: int, solver: str) -> None:
    X = np.arange(6.0 * c).reshape(-1, 2) ** (2 if c == 3 else 1)
    y = np.repeat(np.arange(c), 3)
    model = LogisticRegression(C=INF, solver=solver, max_iter=2000)
    with pytest.warns(ConvergenceWarning, match="no optimum: the classes are perfectly separable.*finite C"):
        model.fit(X, y)
    assert np.isfinite(model.coef_).all()
    assert (model.predict(X) == y).all()


QUASI_SEPARATED = {
    "two rows at the border": ([[0.0], [1.0], [1.0], [2.0]], [0, 0, 1, 1]),
    "one of three classes apart": ([[0.0], [1.0], [0.5], [0.7], [9.0], [9.5]], [0, 0, 1, 1, 2, 2]),
    "a column that is 0 outside one class": ([[0.0], [0.0], [0.0], [1.0], [1.0]], [0, 0, 1, 1, 1]),
}


@pytest.mark.parametrize("rows", QUASI_SEPARATED)
def test_classes_that_touch_but_do_not_mix_are_not_called_perfectly_separable(rows: str) -> None:
    X, y = QUASI_SEPARATED[rows]
    model = LogisticRegression(C=INF)
    with pytest.warns(ConvergenceWarning, match="no optimum: the classes touch without overlapping") as warned:
        model.fit(X, y)
    assert "perfectly" not in str(warned[0].message)
    deviance = -2 * np.log(model.predict_proba(X)[np.arange(len(y)), y]).sum()
    assert deviance > 1


@pytest.mark.parametrize("tol", [0.3, 1e-2, 1e-4, 1e-8])
def test_classes_that_mix_are_not_taken_for_separable(tol: float) -> None:
    X, y = mixed(c=2)
    LogisticRegression(C=INF, tol=tol).fit(X, y)
    rng = np.random.default_rng(0)
    X[:, 2] = X[:, 0] + 1e-4 * rng.normal(size=len(X))
    LogisticRegression(C=INF, tol=tol).fit(X, y)


def test_separable_classes_with_a_penalty_have_an_optimum() -> None:
    LogisticRegression(C=1e6, max_iter=1000).fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])


@pytest.mark.parametrize("solver", ["newton", "lbfgs", "gradient_descent"])
def test_too_few_steps_are_warned_of(solver: str) -> None:
    X, y = mixed()
    with pytest.warns(ConvergenceWarning, match="after 1 iterations: the gradient"):
        assert LogisticRegression(solver=solver, max_iter=1, tol=1e-9).fit(X, y).n_iter_ == 1


@pytest.mark.parametrize("solver", ["newton-cg", "newton-cholesky", "sag", "saga"])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_other_names_of_solvers_find_the_optimum_of_scikit_learn(solver: str, fit_intercept: bool) -> None:
    X, y = mixed()
    given: dict[str, Any] = {"C": 0.5, "fit_intercept": fit_intercept}
    ours = LogisticRegression(solver=solver, random_state=1, **given, **TIGHT).fit(X, y)
    assert_same_coefficients(ours, theirs(**given).fit(X, y))
    assert ours.n_iter_.shape == (1,)


def test_without_steps_all_classes_are_equally_likely() -> None:
    X, y = mixed()
    with pytest.warns(ConvergenceWarning, match="after 0 iterations"):
        model = LogisticRegression(max_iter=0).fit(X, y)
    assert model.n_iter_ == [0]
    np.testing.assert_allclose(model.predict_proba(X), 1 / 3)


def test_a_C_without_effect_is_told() -> None:
    X, y = mixed()
    with pytest.warns(UserWarning, match="penalty=None will ignore the C"):
        model = LogisticRegression(penalty=None, C=0.1).fit(X, y)
    np.testing.assert_array_equal(model.coef_, LogisticRegression(C=INF).fit(X, y).coef_)


@pytest.mark.parametrize("solver", ["newton", "lbfgs", "gradient_descent"])
def test_a_tolerance_below_rounding_ends(solver: str) -> None:
    X, y = mixed()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = LogisticRegression(solver=solver, max_iter=500, tol=1e-300).fit(X, y)
    np.testing.assert_allclose(model.coef_, LogisticRegression(tol=1e-9).fit(X, y).coef_, atol=1e-6)


@pytest.mark.parametrize("solver", ["newton", "lbfgs"])
@pytest.mark.parametrize("factor", [1e-150, 1e-6, 1e6, 1e150])
def test_units_of_the_columns_do_not_matter_without_penalty(solver: str, factor: float) -> None:
    X, y = mixed()
    factors = np.array([factor, 1.0, 1.0])
    plain = LogisticRegression(C=INF, solver=solver, tol=1e-9).fit(X, y)
    scaled = LogisticRegression(C=INF, solver=solver, tol=1e-9).fit(X * factors, y)
    np.testing.assert_allclose(scaled.coef_ * factors, plain.coef_, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize(("factor", "C"), [(1e-150, 1.0), (1e-300, 1e-300), (1.0, 1e-300)])
def test_a_column_too_small_for_its_penalty_has_weight_zero(factor: float, C: float) -> None:
    X, y = mixed()
    model = LogisticRegression(C=C).fit(X * factor, y)
    np.testing.assert_allclose(model.coef_, 0, atol=1e-100)
    np.testing.assert_allclose(model.predict_proba(X[:1] * factor)[0], np.bincount(y) / len(y), atol=1e-4)


def test_a_weight_beyond_floats_is_refused_in_a_sentence() -> None:
    X, y = mixed()
    with pytest.raises(ValueError, match=r"a weight overflows.*rescale"):
        LogisticRegression(C=INF).fit(X * 1e-309, y)


@pytest.mark.parametrize("solver", ["newton", "lbfgs", "gradient_descent"])
@pytest.mark.parametrize("C", [1.0, INF])
def test_constant_and_repeated_columns_change_no_probability(solver: str, C: float) -> None:
    X, y = mixed()
    plain = LogisticRegression(C=C, solver=solver, **TIGHT).fit(X, y)
    constant = np.column_stack([X, np.full(len(X), 0.1)])
    with_constant = LogisticRegression(C=C, solver=solver, **TIGHT).fit(constant, y)
    np.testing.assert_allclose(with_constant.coef_[:, 3], 0, atol=1e-12)
    np.testing.assert_allclose(with_constant.predict_proba(constant), plain.predict_proba(X), atol=1e-7)
    if C == INF:
        repeated = np.column_stack([X, X[:, 0]])
        model = LogisticRegression(C=C, solver=solver, **TIGHT).fit(repeated, y)
        np.testing.assert_allclose(model.predict_proba(repeated), plain.predict_proba(X), atol=1e-7)
        np.testing.assert_allclose(model.coef_[:, 3], model.coef_[:, 0], atol=1e-6)


@pytest.mark.parametrize("solver", ["newton", "lbfgs"])
@pytest.mark.parametrize("c", [2, 3])
def test_a_table_of_which_no_copy_is_made_has_the_same_weights(
    c: int, solver: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = mixed(300, 3, c)
    X = X + np.array([2000.0, 1e7, 0.0])
    weight = np.random.default_rng(0).integers(0, 3, 300)
    model = LogisticRegression(solver=solver, tol=1e-8, max_iter=1000)
    kept = clone(model).fit(X, y, weight)
    monkeypatch.setattr(log_likelihood, "MAX_COPIED_CELLS", 0)
    monkeypatch.setattr(log_likelihood, "TILE_CELLS", 0)  # as few rows at a time as there may be
    free = clone(model).fit(X, y, weight)
    np.testing.assert_allclose(free.coef_, kept.coef_, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(free.predict_proba(X), kept.predict_proba(X), atol=1e-7)


@pytest.mark.parametrize("C", [1.0, np.inf])
def test_rounding_of_a_column_separates_no_classes(C: float) -> None:
    rng = np.random.default_rng(0)
    is_second = rng.random(60) < 0.5
    X = np.column_stack([rng.normal(size=60), np.where(is_second, 0.3, 0.1 + 0.2)])
    model = LogisticRegression(C=C).fit(X, is_second)
    assert abs(model.coef_[0, 1]) < 1e-9
    np.testing.assert_allclose(
        model.predict_proba(X), LogisticRegression(C=C).fit(X[:, :1], is_second).predict_proba(X[:, :1])
    )
