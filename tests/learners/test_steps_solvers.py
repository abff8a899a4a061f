"""The steps of learners that solve for weights end with the answers of the fitted learners and of the definitions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from example_counts import examples
from hypothesis import assume, given
from hypothesis import strategies as st
from small_tables import grid, labels_of, quiet

from bakeoff.learners import REGISTRY
from bakeoff.learners.definitions import least_squares, svm
from bakeoff.learners.definitions.calculations import CALCULATIONS, SINGLE_STEPS
from bakeoff.learners.definitions.steps import Problem, Step

SEEDS = st.integers(0, 10**6)
INF = float("inf")


def draw_rows(seed: int, n: int, d: int, *, whole: bool) -> np.ndarray:
    """Return rows (n, d) of small integers, or of normal numbers."""
    return grid(seed, n, d) if whole else np.random.default_rng(seed).normal(size=(n, d))


def work(name: str, X: np.ndarray, y: np.ndarray, **parameters: Any) -> tuple[Any, list[Step]]:
    """Fit a learner and calculate its predictions of the same rows; return the learner and the steps."""
    with quiet():
        learner = REGISTRY[name](**parameters).fit(X, y)
    problem = Problem(X, y, X, tuple(f"x{j}" for j in range(X.shape[1])), "y")
    return learner, list(CALCULATIONS[name].work(learner, problem))


def assert_same(name: str, X: np.ndarray, y: np.ndarray, **parameters: Any) -> list[Step]:
    """Assert that answers and responses are those of the learner, and return the steps."""
    learner, steps = work(name, X, y, **parameters)
    calculation = CALCULATIONS[name]
    answers = [step for step in steps if step.answer is not None]
    learned = getattr(learner, calculation.response)(X)
    responses = np.array([step.response for step in answers]).reshape(learned.shape)
    tolerance = calculation.tolerance
    np.testing.assert_allclose(responses, learned, rtol=tolerance, atol=tolerance)
    predicted = np.array([step.answer for step in answers])
    if calculation.response == "predict":
        np.testing.assert_allclose(predicted, learner.predict(X), rtol=tolerance, atol=tolerance)
        return steps
    # The sign of a response that is 0 but for rounding is not defined, nor is the largest of two equal ones.
    top = np.sort(responses.reshape(len(X), -1), axis=1)
    gap = np.abs(responses) if responses.ndim == 1 else top[:, -1] - top[:, -2]
    is_clear = gap > 10 * tolerance
    np.testing.assert_array_equal(predicted[is_clear], learner.predict(X)[is_clear])
    return steps


@examples(60)
@given(
    seed=SEEDS,
    n=st.integers(3, 12),
    d=st.integers(1, 3),
    c=st.integers(2, 3),
    whole=st.booleans(),
    averaged=st.booleans(),
    pocket=st.booleans(),
    shuffle=st.booleans(),
    max_iter=st.integers(1, 20),
    eta0=st.sampled_from([1.0, 0.5]),
    start=st.sampled_from([None, 1.0]),
)
def test_the_perceptron_moves_its_planes_as_the_learner(
    seed: int, n: int, d: int, c: int, whole: bool, start: float | None, **parameters: Any
) -> None:
    X, y = draw_rows(seed, n, d, whole=whole), labels_of(seed, n, c)
    parameters |= {"random_state": seed, "coef_init": start, "intercept_init": start}
    assert_same("perceptron", X, y, **parameters)


@examples(60)
@given(
    seed=SEEDS,
    n=st.integers(3, 14),
    d=st.integers(1, 3),
    whole=st.booleans(),
    C=st.sampled_from([0.1, 1.0, 10.0, INF]),
    kernel=st.sampled_from(
        [
            {"kernel": "linear"},
            {"kernel": "poly", "degree": 2, "coef0": 1.0, "gamma": "auto"},
            {"kernel": "poly", "degree": 3, "coef0": 0.5, "gamma": 0.5},
            {"kernel": "rbf"},
            {"kernel": "rbf", "gamma": 2.0},
        ]
    ),
)
def test_multipliers_and_planes_are_those_of_the_support_vector_machine(
    seed: int, n: int, d: int, whole: bool, C: float, kernel: dict[str, Any]
) -> None:
    X, y = draw_rows(seed, n, d, whole=whole), labels_of(seed, n, 2)
    is_hard = np.isinf(C)
    if is_hard:
        X[:, 0] += 9 * y  # rows at most 8 apart are separable then
        assume(whole or np.ptp(X[:, 0] - 9 * y) < 8)
    steps = assert_same("svm", X, y, C=C, **kernel)
    if is_hard and kernel["kernel"] == "linear" and n <= 8:
        found = svm.hard_margin(X @ X.T, np.where(y == 1, 1, -1))
        assert found is not None
        np.testing.assert_allclose([step.values["b"] for step in steps if "b" in step.values], found[1], atol=1e-6)


@examples(60)
@given(
    seed=SEEDS,
    n=st.integers(8, 20),
    d=st.integers(1, 3),
    c=st.integers(2, 3),
    whole=st.booleans(),
    C=st.sampled_from([0.1, 1.0, 10.0]),
    solver=st.sampled_from(["auto", "newton-cg", "lbfgs", "gradient_descent"]),
)
def test_logistic_regression_takes_the_steps_of_the_learner(
    seed: int, n: int, d: int, c: int, whole: bool, C: float, solver: str
) -> None:
    X, y = draw_rows(seed, n, d, whole=whole), labels_of(seed, n, c)
    tol = 1e-9 if solver == "lbfgs" else 1e-4
    assert_same("logistic_regression", X, y, C=C, solver=solver, tol=tol, form="reference")


@examples(50)
@given(seed=SEEDS, n=st.integers(8, 20), d=st.integers(1, 2), c=st.integers(2, 3))
def test_without_penalty_both_forms_are_calculated(seed: int, n: int, d: int, c: int) -> None:
    X, y = draw_rows(seed, n, d, whole=False), labels_of(seed, n, c)
    assert_same("logistic_regression", X, y, penalty=None, max_iter=6)


@examples(60)
@given(seed=SEEDS, n=st.integers(5, 14), d=st.integers(1, 3), whole=st.booleans(), alpha=st.sampled_from([0.0, 1.0]))
def test_least_squares_are_those_of_the_learner(seed: int, n: int, d: int, whole: bool, alpha: float) -> None:
    X, y = draw_rows(seed, n, d, whole=whole), draw_rows(seed + 1, n, 1, whole=whole)[:, 0]
    name, parameters = ("ridge", {"alpha": alpha}) if alpha else ("linear_regression", {})
    is_unique = np.linalg.matrix_rank(np.column_stack([X, np.ones(n)])) > d
    if not (alpha or is_unique):
        with pytest.raises(ValueError, match="collinear"):
            work(name, X, y)
        return
    steps = assert_same(name, X, y, **parameters)
    w, b = least_squares.least_squares(X, y, alpha)
    assert [step.answer for step in steps if step.answer is not None] == pytest.approx((X @ w + b).tolist())


@examples(60)
@given(
    seed=SEEDS,
    n=st.integers(3, 12),
    c=st.integers(1, 3),
    whole=st.booleans(),
    hidden=st.lists(st.integers(1, 4), max_size=2),
    activation=st.sampled_from(["identity", "logistic", "relu", "tanh"]),
)
def test_passes_are_those_of_the_trained_network(
    seed: int, n: int, c: int, whole: bool, hidden: list[int], activation: str
) -> None:
    X, y = draw_rows(seed, n, 2, whole=whole), labels_of(seed, n, c)
    name = "mlp" if c > 1 else "mlp_regressor"
    steps = assert_same(name, X, y, hidden_layer_sizes=hidden, activation=activation, max_iter=3, random_state=seed)
    assert sum(len(step.values) for step in steps) == 1  # the loss


@pytest.mark.parametrize(
    ("name", "c", "parameters", "cure"),
    [
        ("svm", 3, {}, "rows="),
        ("svm", 2, {"C": 1e9, "kernel": "linear"}, "learner.C=1"),
        ("logistic_regression", 3, {}, "learner.form=reference"),
    ],
)
def test_a_problem_without_a_calculation_names_the_cure(
    name: str, c: int, parameters: dict[str, Any], cure: str
) -> None:
    X, y = draw_rows(0, 12, 2, whole=False), labels_of(0, 12, c)
    with pytest.raises(ValueError, match=cure):
        work(name, X, y, **parameters)


@pytest.mark.parametrize(
    ("step", "numbers", "name", "value"),
    [
        ("update", {"w": [0, 0], "b": 0, "x": [1, 2], "y": -1}, "margin", 0),
        ("update", {"w": [1, 1], "b": -3, "x": [3, 3], "y": 1}, "margin", 3),
    ],
)
def test_a_single_step_is_calculated_from_numbers(step: str, numbers: dict[str, Any], name: str, value: float) -> None:
    assert SINGLE_STEPS[step](**numbers).values[name] == pytest.approx(value, rel=1e-15)
