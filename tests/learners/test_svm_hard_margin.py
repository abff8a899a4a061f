"""The hard margin of a linear kernel: the widest margin or a proof that there is none, in any units of the columns."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import linprog
from sklearn.datasets import load_breast_cancer

from bakeoff.learners import SVC
from bakeoff.learners.svm.hard_margin_primal import HullsMeet, solve_hard_margin_primal

INF = float("inf")


def a_plane_separates(X: np.ndarray, signs: np.ndarray) -> bool:
    """Whether some w, b have y (w·x + b) ≥ 1, by linear programming."""
    scaled = X / np.abs(X).max(axis=0).clip(1e-9)
    rows = -signs[:, None] * np.column_stack([scaled, np.ones(signs.size)])
    return bool(linprog(np.zeros(rows.shape[1]), A_ub=rows, b_ub=-np.ones(signs.size), bounds=(None, None)).status == 0)


def made(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Classes that overlap, touch or lie apart, of columns in units far apart, some of them of few values."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(4, 40)), int(rng.integers(1, 5))
    signs = np.where(np.arange(n) % 2, 1.0, -1.0)
    X = rng.normal(size=(n, d)) * 10.0 ** rng.integers(-4, 5, d)
    X[:, 0] += signs * rng.uniform(0, 2) * np.abs(X[:, 0]).max()
    return (np.round(X) if rng.random() < 0.3 else X), signs


def lower_bound(X: np.ndarray, signs: np.ndarray, alpha: np.ndarray) -> float:
    """The dual objective Σα - ½‖Σ α y x‖² in exact arithmetic, less than the least ½‖w‖² by weak duality."""
    exact = {int(i): Fraction(alpha[i]) for i in np.flatnonzero(alpha > 0)}
    excess = sum((Fraction(signs[i]) * a for i, a in exact.items()), Fraction(0))
    last = next(i for i, a in exact.items() if signs[i] * excess < a)
    exact[last] -= Fraction(signs[last]) * excess  # now Σ α y = 0
    w = [sum((a * Fraction(signs[i] * X[i, j]) for i, a in exact.items()), Fraction(0)) for j in range(X.shape[1])]
    return float(sum(exact.values()) - sum(value * value for value in w) / 2)


@pytest.mark.parametrize("standardized", [False, True])
def test_the_margin_is_the_widest_for_columns_in_very_different_units(standardized: bool) -> None:
    X, y = load_breast_cancer(return_X_y=True)
    signs = 2.0 * y - 1
    X = (X - X.mean(axis=0)) / (X.std(axis=0) if standardized else 1.0)
    assert a_plane_separates(X, signs)
    machine = SVC(C=INF, kernel="linear").fit(X, y)
    margin = signs * machine.decision_function(X)
    assert margin.min() >= 1 - 1e-9
    np.testing.assert_allclose(margin[machine.support_], 1.0, atol=1e-8)
    alpha = np.zeros(y.size)
    alpha[machine.support_] = signs[machine.support_] * machine.dual_coef_[0]
    objective = 0.5 * float(machine.coef_[0] @ machine.coef_[0])
    np.testing.assert_allclose(lower_bound(X, signs, alpha), objective, rtol=1e-7)
    np.testing.assert_allclose(machine.margin_, 1 / np.linalg.norm(machine.coef_[0]))
    assert machine.kkt_residual_[0] <= machine.tol
    if standardized:
        np.testing.assert_allclose(machine.margin_, SVC(C=1e6, kernel="linear").fit(X, y).margin_, rtol=1e-6)


def test_the_unscaled_table_is_separated_and_with_permuted_labels_it_is_not() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    assert SVC(C=INF, kernel="linear").fit(X, y).score(X, y) == 1.0
    other = np.random.default_rng(0).permutation(y)
    assert not a_plane_separates(X, 2.0 * other - 1)
    with pytest.raises(ValueError, match="none exists"):
        SVC(C=INF, kernel="linear").fit(X, other)


def test_separability_agrees_with_linear_programming() -> None:
    silent = 0
    for seed in range(300):
        X, signs = made(seed)
        found = solve_hard_margin_primal(X, signs)
        if found is None:
            silent += 1
            continue
        assert isinstance(found, HullsMeet) != a_plane_separates(X, signs), seed
        if not isinstance(found, HullsMeet):
            margin = signs * (X @ found.normal + found.intercept)
            assert margin.min() >= 1 - 1e-7, seed
            objective = 0.5 * float(found.normal @ found.normal)
            np.testing.assert_allclose(lower_bound(X, signs, found.alpha), objective, rtol=1e-6, err_msg=str(seed))
    assert silent <= 3


def test_a_proof_that_the_hulls_meet_is_a_point_of_both() -> None:
    X, signs = np.array([[0.0, 0.0], [1e6, 1e-6], [0.0, 1e-6], [1e6, 0.0]]), np.array([-1.0, -1.0, 1.0, 1.0])
    found = solve_hard_margin_primal(X, signs)
    assert isinstance(found, HullsMeet)


def test_fewer_rows_than_columns_in_very_different_units_are_separated() -> None:
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(30, 40)) * 10.0 ** rng.integers(-4, 5, 40), np.arange(30) % 2
    machine = SVC(C=INF, kernel="linear").fit(X, y)
    assert ((2 * y - 1) * machine.decision_function(X)).min() >= 1 - 1e-6
    assert machine.fit_status_ == 0


def test_kernel_values_without_enough_digits_are_reported_as_such() -> None:
    X, y = np.arange(8.0)[:, None], np.arange(8) % 2
    with pytest.raises(
        ValueError,
        match=r"(at most .* of the spread of the rows|not) apart.* as far as the kernel values show.*finite C",
    ):
        SVC(C=INF, kernel="rbf", gamma=1e-6).fit(X, y)  # values so alike that the classes, in truth apart, are not
