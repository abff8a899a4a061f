"""Sample weights in k nearest neighbours: k is a weight, so that a row of weight 2 is equivalent to two equal rows.

Neighbours are added until their total weight is k; of the last one, only the weight that is still needed is used.

Cost: O(mk) for m queries.
"""

from __future__ import annotations

import numpy as np

from bakeoff.learners.knn.search.ranking import PADDING_ROW, bound_ties

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
