"""Locally weighted linear regression: the prediction for a query is the value there of a plane through its neighbours.

    1. let N be the k rows nearest to the query q, with votes w_i, as in `k_nearest_neighbors`
    2. minimise  Σ_i w_i (y_i - a - b·x_i)²  over a and b, for i in N
    3. predict a + b·q

Relative to the weighted means x̄ and ȳ, the slope solves A b = c, and the prediction is ȳ + b·(q - x̄), where

    A = Σ_i w_i (x_i - x̄)(x_i - x̄)ᵀ,      c = Σ_i w_i (x_i - x̄)(y_i - ȳ)

Few or collinear neighbours have many such planes. The one with the smallest slope is used, with each feature in units
of its largest deviation from the mean.

Cost: O(k d²) for each query, in addition to the search.

Reference: W. S. Cleveland and S. J. Devlin, "Locally weighted regression", Journal of the American Statistical
Association 83, 1988.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from bakeoff.learners.definitions.majority_vote import average, write_prediction
from bakeoff.learners.definitions.steps import Problem, Step, write_point, write_products

MIN_SINGULAR_VALUE = 1e-10


def fit_plane(X: np.ndarray, y: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray, float, np.ndarray]:
    """Return the weighted means x̄ (d,) and ȳ of rows X (k, d) and targets y (k,), and the slope b (d,).

    >>> fit_plane(np.array([[1.0], [2.0], [3.0]]), np.array([3.0, 5.0, 7.0]), np.ones(3))[2].round(12)
    array([2.])
    """
    has_vote = weight > 0
    X, y, weight = X[has_vote], y[has_vote], weight[has_vote]
    mean, level = np.average(X, axis=0, weights=weight), average(y, weight)
    deviation = X - mean  # (k, d)
    # A constant column has no slope.
    unit = np.where(np.ptp(X, axis=0) > 0, abs(deviation).max(axis=0), np.inf)  # (d,)
    # Weighted squares are the squares of rows that are multiplied by the roots of their weights.
    root = np.sqrt(weight)
    inverse = np.linalg.pinv(deviation / unit * root[:, None], rcond=MIN_SINGULAR_VALUE)  # (d, k)
    return mean, level, inverse @ (root * (y - level)) / unit


def predict_plane(X: np.ndarray, y: np.ndarray, weight: np.ndarray, q: np.ndarray) -> float:
    """Return the value of the plane through rows X (k, d) at a query q (d,)."""
    mean, level, b = fit_plane(X, y, weight)
    return float(level + b @ (q - mean))


def work_plane(X: np.ndarray, y: np.ndarray, weight: Any, q: np.ndarray, problem: Problem) -> Iterator[Step]:
    """Yield the means, the slope and the value of the plane through the neighbours X (k, d) of a query q (d,)."""
    weight = np.ones(len(y)) if weight is None else weight
    mean, level, b = fit_plane(X, y, weight)
    yield Step(
        "Compute the means of the neighbours, weighted by their votes.",
        f"x̄ = Σ w·x / Σ w = {write_point(mean)}, ȳ = Σ w·y / Σ w = {level}",
    )
    deviation = X - mean  # (k, d)
    A, c = deviation.T * weight @ deviation, deviation.T * weight @ (y - level)
    names = problem.features
    yield Step(
        "Solve A b = c for the slope b; of several solutions, take the smallest.",
        "A = Σ w (x-x̄)(x-x̄)ᵀ, c = Σ w (x-x̄)(y-ȳ)",
        table=(("A", *names, "c", "b"), *zip(names, *A, c, b, strict=True)),
    )
    answer = predict_plane(X, y, weight, q)
    formula = f"ŷ = ȳ + b·(q-x̄) = {level} + {write_products(b, q - mean)} = {answer}"
    yield write_prediction("Compute the value of the plane at the query.", formula, answer, problem.target)
