"""The nearest rows in order, and their votes.

A search stores training coordinates and finds the rows nearest to queries. Every search returns the same rows and
bit-identical distances; searches differ only in cost.

Notation, in all searches: n stored rows, m query rows, e coordinates, k requested and K returned neighbours.

Neighbours are ordered by distance, and equal distances by row, so that searches with the same distances return the
same neighbours.

*Ties*: if columns are numeric, rows at the same distance are rare. If they are nominal, there are only as many
distances as columns, and a choice among dozens of equally near rows would be arbitrary, so all of them vote.

*Sample weights*: k is a weight, so that a row of weight 2 is equivalent to two equal rows. Neighbours are added until
their total weight is k; the last one contributes only the weight that is still needed.

*Votes*: for a query whose neighbours have distances d_1 ≤ d_2 ≤ …, a vote is

    uniform 1,        distance 1/d_i,        gaussian exp(-d_i² / 2h²) / √(2π)        with bandwidth h,

times the row's sample weight. Only the proportions matter, so votes are computed relative to the nearest neighbour's:
d_1/d_i and exp(-(d_i² - d_1²) / 2h²), which neither overflow nor all underflow. With the former, only exact matches
vote if d_1 = 0.

Cost: O(mk) for m queries.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np

from bakeoff.learners.knn.metrics import Metric, MinkowskiMetric, has_missing


class Search(ABC):
    """Abstract: a search for neighbours among stored rows.

    Parameters
    ----------
    metric : Metric
    T : ndarray of shape (e, n)
        Training coordinates, column by column.

    Attributes
    ----------
    missing : bool
        Whether any coordinate of T is missing.
    """

    def __init__(self, metric: Metric, T: np.ndarray) -> None:
        self.metric = metric
        self.T = T
        self.missing = has_missing(T)

    def measure_slack(self, Q: np.ndarray, *, whole_ties: bool) -> np.ndarray | None:
        """Bound the rounding error of distances from queries Q (e, m): (m,), or None without ``whole_ties``."""
        if not whole_ties:
            return None
        return self.metric.measure_magnitudes(Q) * TIE_PRECISION

    @abstractmethod
    def choose_block_size(self, *, whole_ties: bool) -> int:
        """Return the number of queries to search for at once, so that memory stays bounded."""

    @abstractmethod
    def find_nearest(self, Q: np.ndarray, k: int, *, whole_ties: bool) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows nearest to each query and their distances.

        Parameters
        ----------
        Q : ndarray of shape (e, m)
            The queries' coordinates, column by column.
        k : int
            From 1 to n.
        whole_ties : bool
            Whether to return all rows that are as near as the k-th, up to rounding, instead of the first k.

        Returns
        -------
        rows : ndarray of shape (m, K), int
            Sorted by distance, then by row; see `bakeoff.learners.knn.ranking.rank_pairs`. K is k without
            ``whole_ties``.
        distances : ndarray of shape (m, K)
            In the metric's unit.
        """


TIE_PRECISION = 2.0**-48
"""Distances are equal if they differ by at most this fraction of the distance and of the magnitude of the query: 16
units in the last place. The cells .1 and .3 are equally far from .2, though the difference of the floats is not."""

PADDING_ROW = -1
"""The row index used as padding if a query has fewer neighbours than another one in its block."""


def bound_ties(kth_distance: np.ndarray, slack: np.ndarray) -> np.ndarray:
    """Return the largest distance that is treated as equal to the k-th distance of each query.

    Parameters
    ----------
    kth_distance : ndarray of shape (m,)
    slack : ndarray of shape (m,)
        The rounding error of distances from each query, as returned by `Search.measure_slack`.

    Returns
    -------
    ndarray of shape (m,)
    """
    return kth_distance * (1 + TIE_PRECISION) + slack


def select_candidates(scores: np.ndarray, k: int, slack: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Find, in each row, all columns that may be among the k smallest if scores have errors of at most slack / 2.

    Scanning all n scores for the k-th smallest is expensive, so columns are distributed over buckets, and only the
    minima of the buckets are scanned. If the minima of k buckets are at most t, then at least k scores are at most t.
    So the k-th smallest score is at most the k-th smallest minimum, and a bucket whose minimum exceeds that by more
    than the slack does not contain a neighbour.

    Parameters
    ----------
    scores : ndarray of shape (m, n)
    k : int
        From 1 to n.
    slack : ndarray of shape (m,)

    Returns
    -------
    query, column : ndarrays of equal length
        At least k columns for each query, including ties at the k-th place; ``query`` is in ascending order.
    """
    n = scores.shape[1]
    minima, height = _compute_bucket_minima(scores, k)
    width = n // height

    # A score up to this bound may belong to a neighbour.
    kth_minimum = np.partition(minima, k - 1, axis=1)[:, k - 1]  # (m,)
    bound = kth_minimum + slack.astype(scores.dtype)  # (m,)

    # In NumPy, indexing a flattened array takes half the time of indexing by pairs.
    near_buckets = np.flatnonzero(minima <= bound[:, None])
    query, bucket = np.divmod(near_buckets, minima.shape[1])
    column = bucket[:, None] + width * np.arange(height)  # (near buckets, height)
    single = np.flatnonzero(bucket >= width)  # the last columns, each in its own bucket
    column[single] = bucket[single, None] + (height - 1) * width

    # In the remaining buckets, each column is compared with the bound; a single column counts once.
    position = column + (query * n)[:, None]  # (near buckets, height)
    bucket_bound = bound.take(query)[:, None]
    near = scores.ravel().take(position) <= bucket_bound
    near[single, 1:] = False
    candidates = position.ravel().take(np.flatnonzero(near))
    return np.divmod(candidates, n)


def select_nearest(distances: np.ndarray, k: int, slack: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Find, in each row of distances (m, n), the columns of the k smallest values and of those that tie with the k-th.

    Returns
    -------
    query, column : ndarrays of equal length
        Sorted. If a slack of shape (m,) is given, all ties at the k-th place are included; otherwise at least k
        columns of each row.
    """
    minima, _ = _compute_bucket_minima(distances, k)
    bound = np.partition(minima, k - 1, axis=1)[:, k - 1 : k]  # (m, 1), at least the k-th smallest distance
    if slack is not None:
        bound = bound_ties(bound, slack[:, None]).astype(distances.dtype, copy=False)
    near = np.flatnonzero(distances <= bound)
    return np.divmod(near, distances.shape[1])


def _compute_bucket_minima(scores: np.ndarray, k: int) -> tuple[np.ndarray, int]:
    """Distribute columns over at least k buckets of equal height; each of the last few columns is its own bucket.

    Column j is in bucket j mod width, where width = n // height.

    Returns
    -------
    minima : ndarray of shape (m, buckets)
    height : int
    """
    m, n = scores.shape
    # About √(2kn) buckets balance the cost of scanning their minima and the columns of k buckets.
    height = max(1, int(np.sqrt(n / (2 * k))))
    width = n // height
    buckets = scores[:, : height * width].reshape(m, height, width)
    last_columns = scores[:, height * width :]
    minima = np.concatenate([buckets.min(axis=1), last_columns], axis=1)
    return minima, height


def sort_pairs(query: np.ndarray, row: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Sort pairs of a query and one of n rows by query, then by row."""
    key = query * n + row
    key.sort()
    return np.divmod(key, n)


def rank_pairs(
    query: np.ndarray, row: np.ndarray, distance: np.ndarray, m: int, k: int, slack: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """Arrange candidate pairs, sorted by query and row, as a table of neighbours for each of m queries.

    Parameters
    ----------
    query, row, distance : ndarrays of equal length
        At least k pairs for each query.
    m, k : int
    slack : ndarray of shape (m,) or None
        If given, all rows that are as near as the k-th, up to this rounding, are kept; otherwise the first k.

    Returns
    -------
    rows : ndarray of shape (m, K), int
        Sorted by distance, then by row; `PADDING_ROW` after the last.
    distances : ndarray of shape (m, K)
        Infinite after the last.
    """
    counts = np.bincount(query, minlength=m)  # (m,)
    first = np.cumsum(counts) - counts  # (m,)
    place = np.arange(query.size) - np.repeat(first, counts)  # of each pair among those of its query
    width = counts.max()
    rows = np.full((m, width), PADDING_ROW)
    distances = np.full(rows.shape, np.inf)
    rows[query, place] = row
    distances[query, place] = distance

    # A stable sort leaves rows at equal distances in ascending order.
    order = np.argsort(distances, axis=1, kind="stable")
    order += np.arange(0, rows.size, width)[:, None]  # positions in the flattened table
    return take_top_k(rows.take(order), distances.take(order), k, slack)


def take_top_k(
    rows: np.ndarray, distances: np.ndarray, k: int, slack: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """Cut ranked tables (m, K) after the k-th neighbour, or after all rows that are as near; see `rank_pairs`."""
    if slack is None:
        return rows[:, :k], distances[:, :k]
    bound = bound_ties(distances[:, k - 1], slack)  # (m,)
    beyond = distances > bound[:, None]
    rows = np.where(beyond, PADDING_ROW, rows)
    distances = np.where(beyond, np.inf, distances)
    width = int((rows != PADDING_ROW).sum(axis=1).max())
    return rows[:, :width], distances[:, :width]


def choose_ties(ties: str, metric: Metric, *, any_nominal: bool) -> str:
    """Return the rule selected by ``ties``; "auto" is "all" if a nominal column enters the distance, else "first".

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
    """Return a row count large enough to guarantee a total weight of at least k, even for the smallest weights.

    Parameters
    ----------
    k : int
    cumulative_weight : ndarray of shape (n,)
        At position i, the sum of the i + 1 smallest weights.

    Raises
    ------
    ValueError
        If the total weight of all rows is less than k.
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
        As returned by a search.
    weight : ndarray of shape (n,)
        Positive.
    k : float
        The total weight of the neighbours.
    slack : ndarray of shape (m,) or None
        If given, every row at the distance where k is reached, up to this rounding, votes with its whole weight.

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
    others = "" if most == n else ", and no sample is its own neighbour"
    return (
        f"n_neighbors={k} is too large: training has {n} {samples}{others}. "
        f"Use n_neighbors of at most {most}, or more rows."
    )


def describe_too_little_weight(k: int, n: int, weight: float) -> str:
    """Return the message for n_neighbors=k if n training rows, whose weights are not all 1, weigh less than k."""
    samples = "sample" if n == 1 else "samples"
    most = int(weight * (1 + SUM_MARGIN))
    fewer = f"Use n_neighbors of at most {most}, or multiply" if most else "Multiply"
    return (
        f"n_neighbors={k} is too large: training has {n} {samples} with a total weight of {weight:.3g}. {fewer} "
        f"sample_weight so that it sums to {k} or more: n_neighbors counts weight, and 1 is one row."
    )


def compute_vote_shares(
    distance: np.ndarray, sample_weight: np.ndarray, weights: str | Callable[[np.ndarray], Any], bandwidth: float
) -> np.ndarray:
    """Return each neighbour's share of its query's vote.

    Parameters
    ----------
    distance : ndarray of shape (m, K)
        Nondecreasing along each row.
    sample_weight : ndarray of shape (m, K)
        0 for rows that do not vote.
    weights : {"uniform", "distance", "gaussian"} or callable
        A callable receives the array of distances and returns one of the same shape, finite and nonnegative.
    bandwidth : float
        In the unit of the distances.

    Returns
    -------
    ndarray of shape (m, K)
        Each row sums to 1.

    Raises
    ------
    ValueError
        If a callable returns anything else, or all votes for a query are zero.
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
    exponent = np.where(np.isnan(exponent), np.inf, exponent)  # for infinite distances
    as_near = distance == distance[:, :1]
    return np.where(as_near, 1.0, np.exp(-exponent))


def _call_weights(weights: Callable[[np.ndarray], Any], distance: np.ndarray) -> np.ndarray:
    votes = np.asarray(weights(distance.copy()), dtype=np.float64)
    valid = np.isfinite(votes) & (votes >= 0)
    if votes.shape != distance.shape or not valid.all():
        raise ValueError(
            "weights: the callable must return finite non-negative numbers of the shape of the distances, "
            f"{distance.shape}; it returned an array of shape {votes.shape} (does it divide by a distance of 0?)."
        )
    if not votes.any(axis=1).all():
        raise ValueError(
            "All neighbors of some sample is getting zero weights. Please modify 'weights' to avoid this case if you "
            "are using a user-defined function."
        )
    return votes
