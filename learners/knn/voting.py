"""The vote of the neighbours: which rows at the k-th distance take part, and the weight of each in a prediction.

*Ties*: where columns are numbers, rows at the same distance are rare. Where they are nominal, there are only as many
distances as columns, and a choice among dozens of equally near rows would be one of chance: all of them vote.

*Sample weights*: k is a weight, so that a row of weight 2 is equivalent to two equal rows. Neighbours are added until
their total weight is k; of the last one, only the weight that is still needed is used.

*Votes*: for a query whose neighbours have distances d_1 ≤ d_2 ≤ …, a vote is

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

from bakeoff.learners.knn.metrics import Metric
from bakeoff.learners.knn.minkowski import MinkowskiMetric
from bakeoff.learners.knn.ranking import PADDING_ROW, bound_ties


def choose_ties(ties: str, metric: Metric, *, any_nominal: bool) -> str:
    """Return the rule that ``ties`` names; "auto" is "all" if a nominal column enters the distance, else "first".

    Parameters
    ----------
    ties : {"auto", "first", "all", "random"}
    metric : Metric
        Fitted to the training rows.
    any_nominal : bool
        Whether X has a nominal column.
    """
    if ties != "auto":
        return ties
    enters = any_nominal
    # The columns of a p-norm are those of positive weight, and for Hamming all of them are compared as nominal ones.
    if isinstance(metric, MinkowskiMetric):
        enters = bool(metric.nominal.any())
    return "all" if enters else "first"


SUM_MARGIN = 1e-12
"""The relative error that a sum of fractions may have."""


def count_rows_needed(k: int, cumulative_weight: np.ndarray) -> int:
    """Return a number of rows whose total weight is certainly at least k, even if they have the smallest weights.

    Parameters
    ----------
    k : int
    cumulative_weight : ndarray of shape (n,)
        The total of the i + 1 smallest weights.

    Raises
    ------
    ValueError
        The total weight of all rows is less than k.
    """
    n = cumulative_weight.size
    total = float(cumulative_weight[-1])
    enough = k * (1 - SUM_MARGIN)
    if total < enough and total == n:
        raise ValueError(describe_too_few_rows(k, n, n))
    if total < enough:
        raise ValueError(describe_too_little_weight(k, n, total))
    rows = int(np.searchsorted(cumulative_weight, enough)) + 1
    return min(n, rows)


def select_sample_weights(
    rows: np.ndarray, distance: np.ndarray, weight: np.ndarray, k: float, slack: np.ndarray | None
) -> np.ndarray:
    """Return the sample weight of each neighbour in the vote.

    Parameters
    ----------
    rows, distance : ndarrays of shape (m, K)
        As from a search.
    weight : ndarray of shape (n,)
        Positive.
    k : float
        The total weight of the neighbours.
    slack : ndarray of shape (m,) or None
        With the rounding of distances, every row at the distance at which k is reached votes with its whole weight.

    Returns
    -------
    ndarray of shape (m, K)
        0 for rows that do not vote.
    """
    padding = rows == PADDING_ROW
    own = np.where(padding, 0.0, weight[rows])  # (m, K)
    total = np.cumsum(own, axis=1)  # (m, K)
    if slack is None:
        still_needed = k - (total - own)
        return np.clip(still_needed, 0.0, own)

    # Only the distance of the row at which k is reached matters: all rows up to that distance vote.
    last = np.argmax(total >= k * (1 - SUM_MARGIN), axis=1)  # (m,)
    last_distance = distance[np.arange(last.size), last]  # (m,)
    bound = bound_ties(last_distance, slack)  # (m,)
    return np.where(distance <= bound[:, None], own, 0.0)


def describe_too_few_rows(k: int, n: int, most: int) -> str:
    """Return the message for n_neighbors=k with n training rows, of which at most ``most`` can be neighbours."""
    samples = "sample" if n == 1 else "samples"
    others = "" if most == n else ", and none is its own neighbour"
    return (
        f"n_neighbors={k} is too large: training has {n} {samples}{others}. "
        f"Take n_neighbors of at most {most}, or more rows."
    )


def describe_too_little_weight(k: int, n: int, weight: float) -> str:
    """Return the message for n_neighbors=k with n training rows, with weights other than 1 and a smaller total."""
    samples = "sample" if n == 1 else "samples"
    most = int(weight * (1 + SUM_MARGIN))
    fewer = f"Take n_neighbors of at most {most}, or multiply" if most else "Multiply"
    return (
        f"n_neighbors={k} is too large: training has {n} {samples} that weigh {weight:.3g} together. "
        f"{fewer} sample_weight so that it sums to {k} or more: n_neighbors counts weight, and 1 is one row."
    )


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
