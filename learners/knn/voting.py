r"""How much each neighbour's vote counts.

With distances d_1 ≤ d_2 ≤ … of a query's neighbours a vote is

    uniform 1,        distance 1/d_i,        gaussian exp(-d_i² / 2h²) / √(2π),        h the bandwidth,

times the row's sample weight.  Only the proportions matter, so votes are given relative to the nearest neighbour's:
d_1/d_i and exp(-(d_i² - d_1²) / 2h²), which neither overflow nor vanish all together.  At d_1 = 0 the former leaves the
exact matches alone to decide.

k counts sample weight: neighbours are taken until they weigh k together, and the last only with what is still
wanted.  A row of weight 2 is then the same as the row twice.  Cost: O(mk).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from bakeoff.learners.knn.search.ranking import PADDING_ROW


def select_sample_weights(
    rows: np.ndarray, distance: np.ndarray, weight: np.ndarray, k: float, *, whole_ties: bool
) -> np.ndarray:
    """Return the sample weight with which each neighbour takes part.

    Parameters
    ----------
    rows, distance : ndarrays of shape (m, K)
        As from a search.
    weight : ndarray of shape (n,)
        Positive.
    k : float
        The weight wanted.
    whole_ties : bool
        Every row at the distance where k is reached takes part, whole.

    Returns
    -------
    ndarray of shape (m, K)
        0 for those that do not take part.
    """
    mass = np.where(rows == PADDING_ROW, 0.0, weight[rows])  # (m, K)
    total = np.cumsum(mass, axis=1)
    if not whole_ties:
        return np.clip(k - (total - mass), 0.0, mass)
    last = np.argmax(total >= k * (1 - 1e-12), axis=1)  # the sum of fractions may fall short by rounding
    return np.where(distance <= distance[np.arange(last.size), last][:, None], mass, 0.0)


def compute_vote_shares(
    distance: np.ndarray, mass: np.ndarray, weights: str | Callable[[np.ndarray], Any], bandwidth: float
) -> np.ndarray:
    """Return each neighbour's share of its query's vote.

    Parameters
    ----------
    distance : ndarray of shape (m, K)
        Not decreasing along a row.
    mass : ndarray of shape (m, K)
    weights : {"uniform", "distance", "gaussian"} or callable
        A callable takes the array of distances and returns one of the same shape, finite and not negative.
    bandwidth : float
        In the unit of the distances.

    Returns
    -------
    ndarray of shape (m, K)
        Rows sum to 1.

    Raises
    ------
    ValueError
        A callable that returns something else, or no vote at all for a query.
    """
    if weights == "uniform":
        vote = mass
    else:
        last = distance[np.arange(mass.shape[0]), (mass > 0).sum(axis=1) - 1]
        distance = np.where(mass > 0, distance, last[:, None])  # a callable need not know of padding
        if callable(weights):
            vote = mass * _call_weights(weights, distance)
        else:
            vote = mass * (
                _compute_inverse_votes(distance)
                if weights == "distance"
                else _compute_gaussian_votes(distance, bandwidth)
            )
    shares: np.ndarray = vote / vote.sum(axis=1, keepdims=True)
    return shares


def _compute_inverse_votes(distance: np.ndarray) -> np.ndarray:
    """d_1 / d_i: shape (m, K)."""
    nearest = distance[:, :1]
    comparable = (distance > nearest) & np.isfinite(distance)
    ratio = nearest / np.where(comparable, distance, 1.0)
    return np.where(distance == nearest, 1.0, np.where(comparable, ratio, 0.0))


def _compute_gaussian_votes(distance: np.ndarray, bandwidth: float) -> np.ndarray:
    """exp(-(d_i² - d_1²) / 2h²): shape (m, K)."""
    with np.errstate(over="ignore", invalid="ignore"):
        u = distance / bandwidth
        exponent = (u - u[:, :1]) * (u + u[:, :1]) / 2
    return np.where(distance == distance[:, :1], 1.0, np.exp(-np.where(np.isnan(exponent), np.inf, exponent)))


def _call_weights(weights: Callable[[np.ndarray], Any], distance: np.ndarray) -> np.ndarray:
    vote = np.asarray(weights(distance.copy()), dtype=np.float64)
    if vote.shape != distance.shape or not (np.isfinite(vote).all() and (vote >= 0).all()):
        raise ValueError(
            f"weights: the callable must turn distances of shape {distance.shape} into as many finite numbers "
            f"of at least 0; it gave an array of shape {vote.shape} (is there a 1/d at d = 0?)."
        )
    if not vote.any(axis=1).all():
        raise ValueError("weights: the callable gave every neighbour of a query weight 0; one must count.")
    return vote
