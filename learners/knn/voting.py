r"""Votes: the weight of each neighbour in a prediction.

For a query whose neighbours have distances d_1 ≤ d_2 ≤ …, a vote is

    uniform 1,        distance 1/d_i,        gaussian exp(-d_i² / 2h²) / √(2π),        h the bandwidth,

times the row's sample weight. Only the proportions matter, so votes are computed relative to the nearest neighbour's:
d_1/d_i and exp(-(d_i² - d_1²) / 2h²), which neither overflow nor all underflow. If d_1 = 0, only exact matches vote
with the former.

Cost: O(mk) for m queries.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


def compute_vote_shares(
    distance: np.ndarray, sample_weight: np.ndarray, weights: str | Callable[[np.ndarray], Any], bandwidth: float
) -> np.ndarray:
    """Return each neighbour's share of its query's vote.

    Parameters
    ----------
    distance : ndarray of shape (m, K)
        Not decreasing along a row.
    sample_weight : ndarray of shape (m, K)
        0 for rows that do not vote.
    weights : {"uniform", "distance", "gaussian"} or callable
        A callable receives the array of distances and returns one of the same shape, finite and not negative.
    bandwidth : float
        In the unit of the distances.

    Returns
    -------
    ndarray of shape (m, K)
        Rows sum to 1.

    Raises
    ------
    ValueError
        A callable returns anything else, or all votes for a query are zero.
    """
    if weights == "uniform":
        votes = sample_weight
    else:
        distance = _repeat_last_distance(distance, sample_weight)
        votes = sample_weight * _compute_votes(distance, weights, bandwidth)
    shares: np.ndarray = votes / votes.sum(axis=1, keepdims=True)
    return shares


def _repeat_last_distance(distance: np.ndarray, sample_weight: np.ndarray) -> np.ndarray:
    """Replace the distances of rows that do not vote, so that functions need not handle infinite ones: (m, K)."""
    takes_part = sample_weight > 0  # (m, K)
    last = takes_part.sum(axis=1) - 1  # (m,)
    last_distance = distance[np.arange(last.size), last]  # (m,)
    return np.where(takes_part, distance, last_distance[:, None])


def _compute_votes(distance: np.ndarray, weights: str | Callable[[np.ndarray], Any], bandwidth: float) -> np.ndarray:
    if callable(weights):
        return _call_weights(weights, distance)
    if weights == "distance":
        return _compute_inverse_votes(distance)
    return _compute_gaussian_votes(distance, bandwidth)


def _compute_inverse_votes(distance: np.ndarray) -> np.ndarray:
    """Return d_1 / d_i: shape (m, K)."""
    nearest = distance[:, :1]  # (m, 1)
    comparable = (distance > nearest) & np.isfinite(distance)
    ratio = nearest / np.where(comparable, distance, 1.0)
    farther_votes = np.where(comparable, ratio, 0.0)
    return np.where(distance == nearest, 1.0, farther_votes)


def _compute_gaussian_votes(distance: np.ndarray, bandwidth: float) -> np.ndarray:
    """Return exp(-(d_i² - d_1²) / 2h²): shape (m, K)."""
    with np.errstate(over="ignore", invalid="ignore"):
        scaled = distance / bandwidth
        nearest = scaled[:, :1]  # (m, 1)
        exponent = (scaled - nearest) * (scaled + nearest) / 2
    exponent = np.where(np.isnan(exponent), np.inf, exponent)  # of infinite distances
    as_near = distance == distance[:, :1]
    return np.where(as_near, 1.0, np.exp(-exponent))


def _call_weights(weights: Callable[[np.ndarray], Any], distance: np.ndarray) -> np.ndarray:
    votes = np.asarray(weights(distance.copy()), dtype=np.float64)
    valid = np.isfinite(votes) & (votes >= 0)
    if votes.shape != distance.shape or not valid.all():
        raise ValueError(
            f"weights: the callable must turn distances of shape {distance.shape} into as many finite numbers "
            f"of at least 0; it gave an array of shape {votes.shape} (is there a 1/d at d = 0?)."
        )
    if not votes.any(axis=1).all():
        raise ValueError(
            "All neighbors of some sample is getting zero weights. Please modify 'weights' to avoid this case if you "
            "are using a user-defined function."
        )
    return votes
