"""Logistic regression: the weights that maximise the likelihood of the training labels.

With a 1 appended to each row x for the intercept, and weights ω_k for all classes but the last,

    P(Y = k | x) = exp(ω_k·x) / (1 + Σ_l exp(ω_l·x)),  k = 1, …, c - 1        P(Y = c | x) = 1 / (1 + Σ_l exp(ω_l·x))

For two classes this is P(Y = 1 | x) = exp(ω·x) / (1 + exp(ω·x)). The learned weights maximise the

    log-likelihood   L(ω)     = Σ_i log P(y_i | x_i) - λ/2 ‖ω‖²          λ = 0 in the lecture; intercepts are not
    penalised with gradient    ∂L/∂ω_k  = Σ_i ([y_i = k] - P(k | x_i)) x_i - λ ω_k

by gradient ascent, which steps along the gradient, or by Newton's method, which steps to the maximum of the quadratic
approximation of L at ω. L is concave, so both methods find the global maximum if there is one. There is none if a
hyperplane separates the classes and λ = 0, because larger weights then always have a higher likelihood.

Cost: O(n d c) for a gradient, O(n (d c)² + (d c)³) for a Newton step.

Reference: T. Hastie, R. Tibshirani, J. Friedman, "The Elements of Statistical Learning", 2009, section 4.4.
"""

from __future__ import annotations

import numpy as np

ROUNDING = 1e-10
"""The rounding error of a gradient that is 0, and of a difference of likelihoods."""


def probabilities(X: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Return P(Y = k | x) for rows X (n, D), the last column being 1, and weights w (c - 1, D): shape (n, c)."""
    odds = np.exp(X @ w.T)  # (n, c - 1), relative to the last class
    last = 1 / (1 + odds.sum(axis=1))  # (n,)
    return np.column_stack([odds * last[:, None], last])


def log_likelihood(X: np.ndarray, y: np.ndarray, w: np.ndarray, penalty: float = 0.0) -> float:
    """Return L for rows X (n, D), class codes y (n,) from 0 to c - 1, and weights w (c - 1, D)."""
    own = probabilities(X, w)[np.arange(len(y)), y]  # (n,)
    return float(np.log(own).sum() - penalty / 2 * (w[:, :-1] ** 2).sum())


def gradient(X: np.ndarray, y: np.ndarray, w: np.ndarray, penalty: float = 0.0) -> np.ndarray:
    """Return the gradient of L, with the shape of w (c - 1, D)."""
    is_class = y[:, None] == np.arange(len(w))  # (n, c - 1)
    slope = (is_class - probabilities(X, w)[:, :-1]).T @ X
    slope[:, :-1] -= penalty * w[:, :-1]
    return np.asarray(slope)


def curvature(X: np.ndarray, w: np.ndarray, penalty: float = 0.0) -> np.ndarray:
    """Return minus the second derivatives of L, of shape ((c - 1) D, (c - 1) D)."""
    penalised = np.ones(w.shape)  # all but the intercepts
    penalised[:, -1] = 0
    bend = np.diag(penalty * penalised.ravel())
    for x, p in zip(X, probabilities(X, w)[:, :-1], strict=True):
        bend += np.kron(np.diag(p) - np.outer(p, p), np.outer(x, x))
    return bend


def gradient_ascent(
    X: np.ndarray, y: np.ndarray, w: np.ndarray, rate: float, steps: int, penalty: float = 0.0
) -> np.ndarray:
    """Return the weights (c - 1, D) after the given number of steps from w along the gradient."""
    for _ in range(steps):
        w = w + rate * gradient(X, y, w, penalty)
    return w


def newton(X: np.ndarray, y: np.ndarray, w: np.ndarray, penalty: float = 0.0, max_steps: int = 50) -> np.ndarray:
    """Return the weights (c - 1, D) after Newton steps from w, each halved until it increases L.

    >>> X, y = np.array([[0, 1], [0, 1], [0, 1], [1, 1], [1, 1], [1, 1]]), np.array([0, 0, 1, 0, 1, 1])
    >>> probabilities(X, newton(X, y, np.zeros((1, 2))))[-1].round(6).tolist()
    [0.333333, 0.666667]
    """
    for _ in range(max_steps):
        slope = gradient(X, y, w, penalty)
        if np.abs(slope).max() <= ROUNDING:
            break
        step = np.linalg.solve(curvature(X, w, penalty), slope.ravel()).reshape(w.shape)
        while log_likelihood(X, y, w + step, penalty) < log_likelihood(X, y, w, penalty) - ROUNDING:
            step = step / 2
        w = w + step
    return w
