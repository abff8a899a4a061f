"""Learners that solve for weights find those of their definitions: to 1e-8 in what is minimised, or step by step."""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

import numpy as np
import pytest
from example_counts import examples
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning
from small_tables import grid, labels_of, quiet

from bakeoff.learners import SVC, LogisticRegression, MLPClassifier, MLPRegressor
from bakeoff.learners.definitions import logistic_regression, mlp, svm
from bakeoff.learners.definitions.svm import gaussian, linear, polynomial
from bakeoff.learners.linear.log_likelihood import LogLikelihood
from bakeoff.learners.mlp.network import Network

SEEDS = st.integers(0, 10**6)
INF = float("inf")

# Support vector machine

KERNELS: list[tuple[dict[str, Any], Any]] = [
    ({"kernel": "linear"}, linear),
    ({"kernel": "poly", "degree": 2, "gamma": 1.0, "coef0": 1.0}, partial(polynomial, p=2)),
    ({"kernel": "rbf", "gamma": 0.5}, partial(gaussian, sigma=1.0)),
]


@examples(60)
@given(seed=SEEDS, n=st.integers(2, 9), d=st.integers(1, 3), apart=st.booleans(), kernel=st.sampled_from(KERNELS))
def test_the_hard_margin_fulfils_the_conditions_or_there_is_none(
    seed: int, n: int, d: int, apart: bool, kernel: Any
) -> None:
    X, y = grid(seed, n, d), labels_of(seed, n, 2)
    X[:, 0] += 5 * y * apart
    parameters, defined = kernel
    signs = np.where(y == 1, 1, -1)
    K = defined(X, X)
    found = svm.hard_margin(K, signs)
    fast = SVC(C=INF, **parameters)
    if found is None:
        with pytest.raises(ValueError, match="C=inf"):
            fast.fit(X, y)
        return
    alpha, b = found
    objective = 0.5 * (alpha * signs) @ K @ (alpha * signs)
    fast.fit(X, y)
    assert fast.primal_objective_[0] == pytest.approx(objective, rel=1e-8)
    assert fast.margin_[0] == pytest.approx(1 / np.sqrt(2 * objective), rel=1e-8)
    np.testing.assert_allclose(fast.decision_function(X), K @ (alpha * signs) + b, atol=1e-5)


# Logistic regression and least squares


def with_ones(X: np.ndarray) -> np.ndarray:
    """Return rows (n, d + 1) with a 1 at the end."""
    return np.column_stack([X, np.ones(len(X))])


@examples(40)
@given(seed=SEEDS, d=st.integers(1, 3), c=st.integers(2, 4), C=st.sampled_from([0.1, 1.0, 10.0, INF]))
def test_the_likeliest_weights_are_newtons(seed: int, d: int, c: int, C: float) -> None:
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(40, d)), labels_of(seed, 40, c)
    fast = LogisticRegression(C=C, form="reference", tol=1e-9, max_iter=2000)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        try:
            fast.fit(X, y)
        except ConvergenceWarning as warning:
            assume("no optimum" not in str(warning))
            raise
    # Of two classes the first is the reference, of more the last.
    codes = 1 - y if c == 2 else y
    learned = np.column_stack([fast.coef_, fast.intercept_])[: c - 1]
    defined = logistic_regression.newton(with_ones(X), codes, np.zeros((c - 1, d + 1)), 1 / C)
    best = logistic_regression.log_likelihood(with_ones(X), codes, defined, 1 / C)
    assert logistic_regression.log_likelihood(with_ones(X), codes, learned, 1 / C) == pytest.approx(best, rel=1e-8)
    np.testing.assert_allclose(learned, defined, rtol=1e-5, atol=1e-6)
    probability = logistic_regression.probabilities(with_ones(X), defined)
    np.testing.assert_allclose(fast.predict_proba(X), probability[:, ::-1] if c == 2 else probability, atol=1e-6)


@examples(30)
@given(seed=SEEDS, d=st.integers(1, 3), c=st.integers(2, 4), penalty=st.sampled_from([0.0, 2.0]))
def test_likelihood_gradient_and_curvature_are_as_defined(seed: int, d: int, c: int, penalty: float) -> None:
    rng = np.random.default_rng(seed)
    X, y, w = with_ones(rng.normal(size=(20, d))), labels_of(seed, 20, c), rng.normal(size=(c - 1, d + 1))
    penalties = np.append(np.full(d, penalty), 0.0) / 20
    fast = LogLikelihood(X, y, np.full(20, 1 / 20), penalties, c, reference=True)  # minus the mean over rows
    point = fast.evaluate(w)
    assert -20 * point.value == pytest.approx(logistic_regression.log_likelihood(X, y, w, penalty))
    np.testing.assert_allclose(-20 * point.gradient, logistic_regression.gradient(X, y, w, penalty), atol=1e-10)
    hessian = 20 * fast.compute_hessian(point)
    np.testing.assert_allclose(hessian, logistic_regression.curvature(X, w, penalty), atol=1e-10)


def test_a_step_of_newton_that_would_lower_the_likelihood_is_halved() -> None:
    X, y = with_ones(np.repeat([[0.0], [1.0]], 3, axis=0)), np.array([0, 0, 1, 0, 1, 1])
    far = logistic_regression.newton(X, y, np.array([[5.0, 0.0]]))
    np.testing.assert_allclose(far, [[-2 * np.log(2), np.log(2)]])


@examples(8)
@given(seed=SEEDS, c=st.integers(2, 3))
def test_gradient_ascent_reaches_the_same_likelihood(seed: int, c: int) -> None:
    X, y = np.random.default_rng(seed).normal(size=(40, 2)), labels_of(seed, 40, c)
    fast = LogisticRegression(form="reference", solver="gradient_descent", tol=1e-7, max_iter=20_000).fit(X, y)
    codes = 1 - y if c == 2 else y
    learned = np.column_stack([fast.coef_, fast.intercept_])[: c - 1]
    defined = logistic_regression.gradient_ascent(with_ones(X), codes, np.zeros((c - 1, 3)), 0.05, 1000, 1.0)
    best = logistic_regression.log_likelihood(with_ones(X), codes, defined, 1.0)
    assert logistic_regression.log_likelihood(with_ones(X), codes, learned, 1.0) == pytest.approx(best, rel=1e-8)


# Multilayer perceptron, from the same starting weights and batches


def targets_of(y: np.ndarray, output: str, outputs: int) -> np.ndarray:
    """Return what the outputs (n, o) should be: a 1 for the class, or the target itself."""
    return np.eye(outputs)[y] if output == "softmax" else y[:, None].astype(float)


@examples(60)
@given(
    seed=SEEDS,
    hidden=st.lists(st.integers(1, 5), max_size=3),
    curve=st.sampled_from(["identity", "logistic", "relu", "tanh"]),
    output=st.sampled_from(["identity", "logistic", "softmax"]),
    alpha=st.sampled_from([0.0, 0.5]),
)
def test_the_gradient_is_that_of_backpropagation(
    seed: int, hidden: list[int], curve: str, output: str, alpha: float
) -> None:
    rng = np.random.default_rng(seed)
    outputs = 3 if output == "softmax" else 1
    X, y = rng.normal(size=(7, 4)), rng.normal(size=7) if output == "identity" else labels_of(seed, 7, max(outputs, 2))
    fast = Network([4, *hidden, outputs], curve, output, alpha, 7, np.random.RandomState(seed))
    layers = list(zip(fast.coefs, fast.intercepts, strict=True))
    network, targets = mlp.Network(layers, curve, output, alpha), targets_of(y, output, outputs)
    loss = fast.compute_loss_and_gradient(X, y, np.arange(7))
    assert loss == pytest.approx(mlp.batch_loss(network, X, targets), rel=1e-12)
    gradient = zip(*fast.view_layers(fast.gradient), strict=True)
    for own, defined in zip(gradient, mlp.batch_gradient(network, X, targets), strict=True):
        for part, expected in zip(own, defined, strict=True):
            np.testing.assert_allclose(part, expected, rtol=1e-10, atol=1e-12)


@examples(30)
@given(
    seed=SEEDS,
    n=st.integers(3, 20),
    c=st.integers(0, 3),
    curve=st.sampled_from(["logistic", "relu", "tanh"]),
    size=st.integers(1, 20),
    shuffle=st.booleans(),
)
def test_training_takes_the_same_steps(seed: int, n: int, c: int, curve: str, size: int, shuffle: bool) -> None:
    X, passes, alpha = np.random.default_rng(seed).normal(size=(n, 3)), 3, 0.1
    y = labels_of(seed, n, c) if c > 1 else np.random.default_rng(seed).normal(size=n)
    output, outputs = {2: ("logistic", 1), 3: ("softmax", 3)}.get(c, ("identity", 1))
    with quiet():
        fast = (MLPClassifier if c > 1 else MLPRegressor)(
            (4, 3), curve, solver="sgd", momentum=0.0, nesterovs_momentum=False, learning_rate_init=0.2, alpha=alpha,
            batch_size=size, max_iter=passes, shuffle=shuffle, random_state=seed,
        ).fit(X, y)  # fmt: skip
    random = np.random.RandomState(seed)  # the starting weights, then an order of the rows for each pass
    start = Network([3, 4, 3, outputs], curve, output, alpha, n, random)
    network = mlp.Network(list(zip(start.coefs, start.intercepts, strict=True)), curve, output, alpha)
    targets, order, losses = targets_of(y, output, outputs), np.arange(n), []
    for _ in range(passes):
        order = order[random.permutation(n)] if shuffle else order
        batches = [order[first : first + size] for first in range(0, n, size)]
        total = 0.0
        for rows in batches:
            total += mlp.batch_loss(network, X[rows], targets[rows]) * len(rows)
            mlp.train(network, X, targets, [rows], rate=0.2)
        losses.append(total / n)
    np.testing.assert_allclose(fast.loss_curve_, losses, rtol=1e-10)
    for coef, intercept, (W, b) in zip(fast.coefs_, fast.intercepts_, network.layers, strict=True):
        np.testing.assert_allclose(coef, W, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(intercept, b, rtol=1e-9, atol=1e-12)
    if c == 3:
        expected = [mlp.predict(network, mlp.forward(network, x)[-1]) for x in X]
        np.testing.assert_allclose(fast.predict_proba(X), expected, rtol=1e-9)
