"""The k nearest of candidate rows: selection with a margin, and the order of neighbours.

Neighbours are ordered by distance, equal distances by row: with the same distances every search gives the same answer.
"""

from __future__ import annotations

import numpy as np

PADDING_ROW = -1
"""The row where a query has fewer neighbours than another of its block."""


def select_candidates(scores: np.ndarray, k: int, slack: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Find, in each row, all columns that may be among the k smallest if every score errs by at most slack / 2.

    Scanning all n scores for the k-th smallest is dear, so columns are dealt into piles and the piles' minima are
    scanned: k piles whose minimum is at most t hold k scores of at most t, so the k-th smallest minimum is at least the
    k-th smallest score, and a pile whose minimum is above that + slack holds no neighbour.

    Parameters
    ----------
    scores : ndarray of shape (m, n)
    k : int
        From 1 to n.
    slack : ndarray of shape (m,)

    Returns
    -------
    query, column : ndarrays of equal length
        At least k columns for each query, ties at the k-th place among them; ``query`` does not decrease.
    """
    lowest, height = _compute_bucket_minima(scores, k)
    n, width = scores.shape[1], scores.shape[1] // height
    bound = np.partition(lowest, k - 1, axis=1)[:, k - 1] + slack.astype(scores.dtype)  # (m,)
    # Flat positions all along: with them NumPy looks things up in half the time that pairs of indices take.
    query, pile = np.divmod(np.flatnonzero(lowest <= bound[:, None]), lowest.shape[1])
    column = pile[:, None] + width * np.arange(height)  # (piles, height)
    single = np.flatnonzero(pile >= width)
    column[single] = pile[single, None] + (height - 1) * width
    place = column + (query * n)[:, None]
    near = scores.ravel().take(place) <= bound.take(query)[:, None]
    near[single, 1:] = False
    return np.divmod(place.ravel().take(np.flatnonzero(near)), n)


def select_nearest(distances: np.ndarray, k: int, *, whole_ties: bool) -> tuple[np.ndarray, np.ndarray]:
    """Find, in each row of exact distances (m, n), columns that hold the k smallest and few others.

    Returns
    -------
    query, column : ndarrays of equal length
        Sorted.  All ties at the k-th place are among them with ``whole_ties``, else at least as many as are wanted.
    """
    lowest, _ = _compute_bucket_minima(distances, k)
    bound = np.partition(lowest, k - 1, axis=1)[:, k - 1 : k]  # (m, 1), as in `select_candidates`
    near = distances <= bound
    if not whole_ties and np.count_nonzero(near) > 4 * k * near.shape[0]:
        tied = distances == bound  # of which the first k are enough, and there may be thousands
        near &= ~tied | (np.cumsum(tied, axis=1, dtype=np.int32) <= k)
    return np.divmod(np.flatnonzero(near), near.shape[1])


def _compute_bucket_minima(scores: np.ndarray, k: int) -> tuple[np.ndarray, int]:
    """Deal columns into piles of one height, at least k of them, the last few columns each for itself.

    Returns the piles' minima and the height; column j lies on pile j mod width, width = n // height.
    """
    m, n = scores.shape
    height = max(1, int(np.sqrt(n / (2 * k))))
    width = n // height
    piles = scores[:, : height * width].reshape(m, height, width)
    return np.concatenate([piles.min(axis=1), scores[:, height * width :]], axis=1), height


def sort_pairs(query: np.ndarray, row: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Sort pairs of query and row (of n) by query, then row."""
    key = query * n + row
    key.sort()
    return np.divmod(key, n)


def rank_pairs(
    query: np.ndarray, row: np.ndarray, distance: np.ndarray, m: int, k: int, *, whole_ties: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Arrange candidate pairs, sorted by query and row, as a table of neighbours for each of m queries.

    Parameters
    ----------
    query, row, distance : ndarrays of equal length
        At least k pairs for each query.
    m, k : int
    whole_ties : bool
        Keep every row as near as the k-th, not the first k.

    Returns
    -------
    row : ndarray of shape (m, K), int
        By distance, then row; `PADDING_ROW` behind the last.
    distance : ndarray of shape (m, K)
        Infinite behind the last.
    """
    counts = np.bincount(query, minlength=m)
    place = np.arange(query.size) - np.repeat(np.cumsum(counts) - counts, counts)
    rows = np.full((m, counts.max()), PADDING_ROW)
    distances = np.full(rows.shape, np.inf)
    rows[query, place] = row
    distances[query, place] = distance
    order = np.argsort(distances, axis=1, kind="stable") + np.arange(0, rows.size, len(rows[0]))[:, None]
    rows, distances = rows.take(order), distances.take(order)  # positions in the whole table
    return take_top_k(rows, distances, k, whole_ties=whole_ties)


def take_top_k(rows: np.ndarray, distances: np.ndarray, k: int, *, whole_ties: bool) -> tuple[np.ndarray, np.ndarray]:
    """Cut ranked tables (m, K) after the k-th neighbour, or after all that are as near; see `rank_pairs`."""
    if not whole_ties:
        return rows[:, :k], distances[:, :k]
    beyond = distances > distances[:, k - 1 : k]
    rows, distances = np.where(beyond, PADDING_ROW, rows), np.where(beyond, np.inf, distances)
    width = int((rows != PADDING_ROW).sum(axis=1).max())
    return rows[:, :width], distances[:, :width]
