"""k nearest neighbours: the prediction for a query is based on the k training rows nearest to it.

    1. compute the distances ‖x_i - q‖ of all training rows i = 1, …, n from the query q
    2. let N be the k rows with the smallest distances
    3. predict Average{y_i : i in N}  or  MajorityVote{y_i : i in N}

Nothing is learned before the first query (a lazy learner). Votes may be weighted by the distance d: by 1/d, in which
case only rows at distance 0 vote if there are any, or by the Gaussian exp(-d²/2). Among rows at equal distances,
either the first in the table counts as the nearest, or all rows that are as near as the k-th vote. For the latter,
distances are equal if they differ by at most `TIE_PRECISION` of the distance plus the magnitude of the query, which is
its distance from the origin: .1 and .3 are equally far from .2.

Distances are the p-norm (Σ_j |x_j - q_j|^p)^(1/p) with p = 2 (Euclidean), p = 1 (Manhattan) or p = ∞ (the largest
difference), the fraction of features that differ (Hamming), or √((x-q)ᵀ V⁻¹ (x-q)) with the covariance V (Mahalanobis).

Cost: O(n d + n log n) for each query.

Reference: T. Cover and P. Hart, "Nearest neighbor pattern classification", IEEE Transactions on Information Theory 13,
1967.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from bakeoff.learners.definitions.majority_vote import majority_vote

TIE_PRECISION = 2.0**-48


def minkowski(X: np.ndarray, q: np.ndarray, p: float = 2) -> np.ndarray:
    """Return the p-norm distances of rows X (n, d) from a query q (d,): shape (n,)."""
    differences = [abs(X[:, j] - q[j]) for j in range(X.shape[1])]
    if p == math.inf:
        return np.max(differences, axis=0)
    return np.asarray(sum(difference**p for difference in differences) ** (1 / p))


def hamming(X: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Return the fraction of features in which each of the rows X (n, d) differs from a query q (d,): shape (n,)."""
    return np.not_equal(X, q).mean(axis=1)


def mahalanobis(X: np.ndarray, q: np.ndarray, V: np.ndarray) -> np.ndarray:
    """Return the distances of rows X (n, d) from a query q (d,) in the metric of a covariance V (d, d): shape (n,)."""
    return np.array([math.sqrt((x - q) @ np.linalg.inv(V) @ (x - q)) for x in X])


def nearest(distance: np.ndarray, k: int, *, all_ties: bool = False, magnitude: float = 0.0) -> np.ndarray:
    """Return the k rows at the smallest distances (n,), nearest first, or all that are as near as the k-th.

    >>> nearest(abs(np.array([0.1, 0.3, 0.4]) - 0.2), 1, all_ties=True, magnitude=0.2)
    array([1, 0])
    """
    order = np.argsort(distance, kind="stable")  # equal distances keep the order of the table
    if all_ties:
        kth_distance = distance[order[k - 1]]
        return order[distance[order] <= kth_distance + TIE_PRECISION * (kth_distance + magnitude)]
    return order[:k]


def uniform(distance: np.ndarray) -> np.ndarray:
    """Return one vote for each neighbour: shape (k,)."""
    return np.ones(len(distance))


def inverse(distance: np.ndarray) -> np.ndarray:
    """Return votes 1/d for distances (k,); if there are exact matches, only they vote: shape (k,)."""
    if (distance == 0).any():
        return np.where(distance == 0, 1.0, 0.0)
    return 1 / distance


def gaussian(distance: np.ndarray) -> np.ndarray:
    """Return votes exp(-d²/2) / √2π for distances (k,): shape (k,)."""
    return np.exp(-(distance**2) / 2) / math.sqrt(2 * math.pi)


def predict_row(
    X: np.ndarray,
    y: np.ndarray,
    q: np.ndarray,
    k: int,
    *,
    combine: Callable[[np.ndarray, np.ndarray], Any] = majority_vote,
    weights: Callable[[np.ndarray], np.ndarray] = uniform,
    distances: Callable[[np.ndarray, np.ndarray], np.ndarray] = minkowski,
    all_ties: bool = False,
) -> Any:
    """Combine the targets y (n,) of the k rows of X (n, d) nearest to a query q (d,) by majority vote or average.

    >>> X, y = np.array([[-1, 3], [2, 1], [-2, 2], [-1, 2], [-1, 0], [1, 1]]), np.array([*"RBRBBR"])
    >>> [str(predict_row(X, y, np.array([1, 2]), k)) for k in (1, 3, 5)]
    ['R', 'B', 'B']
    """
    distance = distances(X, q)
    origin = np.zeros((1, len(q)))
    neighbours = nearest(distance, k, all_ties=all_ties, magnitude=distances(origin, q)[0])
    return combine(y[neighbours], weights(distance[neighbours]))
