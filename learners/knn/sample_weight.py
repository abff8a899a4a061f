"""Sample weights in k nearest neighbours: k counts weight, so that a row of weight 2 is the same as the row twice.

Neighbours are taken until they weigh k together, and the last of them only with the weight that is still needed.

Cost: O(mk) for m queries.
"""

from __future__ import annotations

import numpy as np

from bakeoff.learners.knn.search.ranking import PADDING_ROW

SUM_MARGIN = 1e-12
"""The relative error that a sum of fractions may have."""


def count_rows_needed(k: int, cumulative_weight: np.ndarray) -> int:
    """Return the number of rows that surely weigh k together: as many as the lightest rows need.

    Parameters
    ----------
    k : int
    cumulative_weight : ndarray of shape (n,)
        The weight of the i + 1 lightest rows together.

    Raises
    ------
    ValueError
        All rows together weigh less than k.
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
        Every row at the distance where k is reached takes part with its whole weight.

    Returns
    -------
    ndarray of shape (m, K)
        0 for rows that do not take part.
    """
    padding = rows == PADDING_ROW
    own = np.where(padding, 0.0, weight[rows])  # (m, K)
    total = np.cumsum(own, axis=1)  # (m, K)
    if not whole_ties:
        still_needed = k - (total - own)
        return np.clip(still_needed, 0.0, own)

    # Of the row at which k is reached only the distance matters: all rows up to it vote.
    last = np.argmax(total >= k * (1 - SUM_MARGIN), axis=1)  # (m,)
    last_distance = distance[np.arange(last.size), last]  # (m,)
    return np.where(distance <= last_distance[:, None], own, 0.0)


def describe_too_few_rows(k: int, n: int, most: int) -> str:
    """Return the message for n_neighbors=k with n training rows, of which at most ``most`` can be neighbours."""
    samples = "sample" if n == 1 else "samples"
    others = "" if most == n else ", and none is its own neighbour"
    return (
        f"n_neighbors={k} is too large: training has {n} {samples}{others}. "
        f"Take n_neighbors of at most {most}, or more rows."
    )


def describe_too_little_weight(k: int, n: int, weight: float) -> str:
    """Return the message for n_neighbors=k with n training rows, of other weights than 1, that weigh less together."""
    samples = "sample" if n == 1 else "samples"
    most = int(weight * (1 + SUM_MARGIN))
    fewer = f"Take n_neighbors of at most {most}, or multiply" if most else "Multiply"
    return (
        f"n_neighbors={k} is too large: training has {n} {samples} that weigh {weight:.3g} together. "
        f"{fewer} sample_weight so that it sums to {k} or more: n_neighbors counts weight, and 1 is one row."
    )
