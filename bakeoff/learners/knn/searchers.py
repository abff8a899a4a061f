"""The searches for the nearest rows; all find the same ones, so the fastest one that supports the rows is used.

*Brute force*: every distance is computed, or shown to be irrelevant. Euclidean distances between many complete rows go
through a float32 prefilter first, and exact distances are computed only for its candidates. For all other metrics every
distance is computed, in tiles that fit into cache. Cost: O(mne) time, O(block) memory.

*The prefilter* filters in single precision and refines in double. In ‖q - x‖² = ‖q‖² - 2 q·x + ‖x‖² the first term is
the same for all rows x, so the scores ‖x‖² - 2 q·x order the rows as their distances do. The scores of all rows are one
matrix product, which in float32 is many times faster than exact differences. The error of a score is at most a known
bound E, so a row whose score exceeds the k-th smallest by more than 2E is not a neighbour. The few other rows are
candidates, and the caller ranks them by exact distances. Cost: O(mne) time, in float32; O(ne) memory.

*A kd-tree*: rows are halved recursively at the median of a column, and boxes too far away are skipped. The tree is
SciPy's cKDTree. A search visits few rows for each query, one after another, which is fast in C++ and would be slow in
NumPy. It sums the terms of a distance in a different order, so its rows are only candidates, which are ranked by the
distances of the metric. The rows that it does not return are at least as far away as the last one it returns: if the
k-th distance is not clearly smaller, more candidates are requested. Cost: O(en log n) to build; a query O(e log n) on
average in few dimensions, O(en) in many.

*Simple matching* of nominal columns counts the columns in which two rows differ. With nominal columns of equal weight,
the distance depends only on this number, and increases with it. So it suffices to find the rows with the smallest
numbers; codes and numbers are bytes, of which a processor compares and adds dozens at once. Cost: O(mne) time, O(ne)
memory, in bytes.

*A cached search* answers requests for different numbers of neighbours. Neighbours are ranked, so the k nearest are the
first k of the K nearest, and a later request for the same queries with another k is answered from the table for the
largest k. Cost: one search for the first request; O(m(e + k)) for each subsequent one, to compare the queries.

References
----------
C. Böhm, S. Berchtold and D. A. Keim, "Searching in high-dimensional spaces", ACM Computing Surveys 33, 2001 (filter and
refinement). J. L. Bentley, "Multidimensional binary search trees used for associative searching", CACM 18, 1975.
R. R. Sokal and C. D. Michener, "A statistical method for evaluating systematic relationships", University of Kansas
Science Bulletin 38, 1958 (the simple matching coefficient s/e of s columns that agree).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
from scipy.spatial import cKDTree

from bakeoff.learners.base.input_checks import as_small_integers
from bakeoff.learners.knn.metrics import Metric, MinkowskiMetric, copy_transposed, has_missing
from bakeoff.learners.knn.ranking import (
    Search,
    bound_ties,
    rank_pairs,
    select_candidates,
    select_nearest,
    sort_pairs,
    take_top_k,
)

CELLS_PER_BLOCK = 2**21
"""Target number of scores for a block of queries: 8 MiB in float32."""

MAX_CELLS_PER_BLOCK = 2**23
"""Maximum number of scores for a block of queries."""

MIN_QUERIES_PER_PRODUCT = 64
"""Matrix products of fewer queries are slow."""

CELLS_PER_TILE = 2**16
"""Number of coordinates centred at once: 512 KiB in float64, which fits into the cache."""

MIN_PREFILTER_ROWS = 100
"""Comparing fewer rows takes no longer than filtering them."""

MIN_PREFILTER_ROWS_PER_NEIGHBOUR = 8
"""With fewer rows for each neighbour the prefilter removes too few."""


class BruteForce(Search):
    """A search that compares every query with every stored row.

    Parameters
    ----------
    metric : Metric
    T : ndarray of shape (e, n)

    Attributes
    ----------
    can_prefilter : bool
        Whether the distances between stored rows and complete queries are Euclidean.
    """

    cells_per_tile: ClassVar[int] = 2**16
    """Number of distances computed at once: 512 KiB in float64."""

    def __init__(self, metric: Metric, T: np.ndarray) -> None:
        super().__init__(metric, T)
        euclidean = isinstance(metric, MinkowskiMetric) and metric.p == 2 and not metric.nominal.any()
        self.can_prefilter = euclidean and not self.missing
        self._prefilter: Float32Prefilter | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Return the state to save, without the prefilter, which the first search that needs it builds."""
        return {**self.__dict__, "_prefilter": None}

    def choose_block_size(self, *, whole_ties: bool) -> int:
        """Return the number of queries to search for at once."""
        n = self.T.shape[1]
        queries = max(1, CELLS_PER_BLOCK // n)
        if whole_ties:
            return queries
        affordable = max(1, MAX_CELLS_PER_BLOCK // n)
        return min(max(MIN_QUERIES_PER_PRODUCT, queries), affordable)

    def find_nearest(self, Q: np.ndarray, k: int, *, whole_ties: bool) -> tuple[np.ndarray, np.ndarray]:
        """Return the k nearest rows of each query in Q (e, m); see `Search.find_nearest`."""
        m = Q.shape[1]
        missing = self.missing or has_missing(Q)
        slack = self.measure_slack(Q, whole_ties=whole_ties)
        candidates = None if missing else self._find_candidates(Q, k, slack)
        if candidates is None:
            query, row, distance = self._compare_all_pairs(Q, k, missing, slack)
        else:
            query, row = sort_pairs(*candidates, self.T.shape[1])
            distance = self.metric.measure_pairs(Q, query, self.T, row, missing=False)
        return rank_pairs(query, row, distance, m, k, slack)

    def _find_candidates(self, Q: np.ndarray, k: int, slack: np.ndarray | None) -> tuple[np.ndarray, np.ndarray] | None:
        """Return the prefilter's pairs of query and row for complete queries, or None if it does not save work."""
        n = self.T.shape[1]
        if not self.can_prefilter or n < MIN_PREFILTER_ROWS or k > n // MIN_PREFILTER_ROWS_PER_NEIGHBOUR:
            return None
        if self._prefilter is None:
            self._prefilter = Float32Prefilter(self.T)
        return self._prefilter.find_candidates(Q, k, slack)

    def _compare_all_pairs(
        self, Q: np.ndarray, k: int, missing: bool, slack: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Compute every distance, tile by tile; return query, row and distance of the pairs that may be neighbours."""
        if not self.T.flags.c_contiguous:
            self.T = copy_transposed(self.T.T)  # because distances are summed column by column
        step = max(1, self.cells_per_tile // self.T.shape[1])
        parts = []
        for start in range(0, Q.shape[1], step):
            block = Q[:, start : start + step]
            slack_of_block = None if slack is None else slack[start : start + step]
            tile = self._measure_tile(block, missing=missing)  # (block, n)
            query, row = select_nearest(tile, k, slack_of_block)
            parts.append((query + start, row, tile[query, row]))
        query, row, distance = (np.concatenate(part) for part in zip(*parts, strict=True))
        return query, row, distance

    def _measure_tile(self, Q: np.ndarray, *, missing: bool) -> np.ndarray:
        """Return the distances, or numbers that determine them, between queries Q (e, m) and all rows: (m, n)."""
        return self.metric.measure_all_pairs(Q, self.T, missing=missing)


CENTRE_SAMPLE_ROWS = 100
"""Approximate number of rows whose medians are the centre."""

MIN_OUTLIER_SQUARE_RATIO = 64
"""A row is far if its squared distance from the centre exceeds this multiple of the median (8 times as far)."""

MIN_ROWS_PER_OUTLIER = 64
"""If there are fewer rows than this for each far one, the data are widely spread, and no row is treated as far."""

MAX_QUERY_NORM = 1e6
"""The scores of a query farther than this number of radii from the centre have errors that mask all differences."""

FLOAT32_ROUNDING = 2.0**-24
"""The largest relative error of rounding to float32."""


class Float32Prefilter:
    """Stored rows in float32, and the bound on the error of their scores.

    The bound increases with the largest norm. A few outliers would make it too large for all rows, so outliers have
    no scores and are always candidates.

    Parameters
    ----------
    T : ndarray of shape (e, n)
        Complete coordinates.

    Attributes
    ----------
    centre : ndarray of shape (e,)
        The medians of about a hundred rows: a point near most rows, regardless of outliers.
    near_rows, far_rows : ndarrays of int
        The rows with scores, and those without.
    radius : float
        The largest distance of a near row from the centre.
    augmented_rows : ndarray of shape (e + 1, near rows), float32
        [z; ‖z‖²] with z = (x - centre) / radius.
    """

    def __init__(self, T: np.ndarray) -> None:
        # Rows far from all others are excluded before the radius is computed, because they would determine it.
        self.centre = _compute_sample_medians(T)
        squares = self._measure_squares(T)  # (n,)
        outlying = _find_outliers(squares)
        self.near_rows = np.flatnonzero(~outlying)
        self.far_rows = np.flatnonzero(outlying)
        near_squares = squares[self.near_rows] if self.far_rows.size else squares
        self.radius = float(np.sqrt(near_squares.max())) or 1.0
        self.augmented_rows = self._augment_rows(T, near_squares)

    def find_candidates(self, Q: np.ndarray, k: int, slack: np.ndarray | None) -> tuple[np.ndarray, np.ndarray] | None:
        """Return pairs of query and row that include the k nearest rows of each query.

        Parameters
        ----------
        Q : ndarray of shape (e, m)
        k : int
            At most the number of near rows.
        slack : ndarray of shape (m,) or None
            How much farther than the k-th row a row may be and still be included.

        Returns
        -------
        query, row : ndarrays of equal length, or None
            None if there are too many pairs to save work.
        """
        e, m = Q.shape
        scaled = (Q.T - self.centre) / self.radius  # (m, e)
        norms = np.sqrt(np.einsum("me,me->m", scaled, scaled))  # (m,)
        if norms.max() > MAX_QUERY_NORM:
            return None

        # The scores are the products of [-2q, 1] with [z; ‖z‖²].
        augmented = np.ones((m, e + 1), dtype=np.float32)
        augmented[:, :-1] = -2 * scaled
        scores = augmented @ self.augmented_rows  # (m, near rows)

        # The k-th smallest score and the score of a neighbour may err in opposite directions.
        error = _bound_score_error(norms, e)  # (m,)
        margin = 2 * error
        if slack is not None:
            # A distance is at most the sum of both norms: (d + s)² - d² = s (2d + s).
            scaled_slack = slack / self.radius
            margin += scaled_slack * (2 * (norms + 1) + scaled_slack)
        query, near = select_candidates(scores, k, margin)
        few_per_query = 4 * k + self.near_rows.size // 16
        if query.size > m * few_per_query:
            return None
        return self._add_far_rows(query, near, m)

    def _add_far_rows(self, query: np.ndarray, near: np.ndarray, m: int) -> tuple[np.ndarray, np.ndarray]:
        """Convert near-row indices to stored-row indices, and pair every query with all far rows as well."""
        if not self.far_rows.size:
            return query, near  # each near row has its own position
        every_query = np.repeat(np.arange(m), self.far_rows.size)
        far = np.tile(self.far_rows, m)
        queries = np.concatenate([query, every_query])
        rows = np.concatenate([self.near_rows[near], far])
        return queries, rows

    def _measure_squares(self, T: np.ndarray) -> np.ndarray:
        """Return the squared distance of each row of T (e, n) from the centre: shape (n,)."""
        squares = np.empty(T.shape[1])
        for part, offsets in self._iterate_offsets(T, None):
            np.square(offsets, out=offsets)
            np.add.reduce(offsets, axis=0, out=squares[part])
        return squares

    def _augment_rows(self, T: np.ndarray, near_squares: np.ndarray) -> np.ndarray:
        """Return [z; ‖z‖²] for the near rows of T (e, n): shape (e + 1, near rows), float32."""
        e = T.shape[0]
        # Column by column, whatever the layout of T: products with a table of rows take a quarter longer.
        augmented = np.empty((e + 1, self.near_rows.size), dtype=np.float32)
        rows = self.near_rows if self.far_rows.size else None
        for part, offsets in self._iterate_offsets(T, rows):
            np.divide(offsets, self.radius, out=augmented[:-1, part], casting="same_kind")
        augmented[-1] = near_squares / self.radius**2
        return augmented

    def _iterate_offsets(self, T: np.ndarray, rows: np.ndarray | None) -> Iterator[tuple[slice, np.ndarray]]:
        """Yield the positions of some of the rows of T (e, n), and a new array of those rows minus the centre."""
        n = T.shape[1] if rows is None else rows.size
        step = max(1, CELLS_PER_TILE // T.shape[0])
        for start in range(0, n, step):
            part = slice(start, start + step)
            chosen = part if rows is None else rows[part]
            yield part, T[:, chosen] - self.centre[:, None]


def _compute_sample_medians(T: np.ndarray) -> np.ndarray:
    """Return the medians of about a hundred rows of T (e, n): shape (e,)."""
    step = T.shape[1] // CENTRE_SAMPLE_ROWS + 1
    sample = np.sort(T[:, ::step], axis=1)
    return sample[:, sample.shape[1] // 2]


def _find_outliers(squares: np.ndarray) -> np.ndarray:
    """Return the mask (n,) of the rows to exclude, given squared distances from the centre (n,)."""
    n = squares.size
    median = np.partition(squares, n // 2)[n // 2]
    outlying = squares > MIN_OUTLIER_SQUARE_RATIO * median
    if np.count_nonzero(outlying) > n // MIN_ROWS_PER_OUTLIER:
        outlying[:] = False
    return np.asarray(outlying)


def _bound_score_error(norms: np.ndarray, e: int) -> np.ndarray:
    """Return the bound on the error of a score, given the norms (m,) of the scaled queries: shape (m,).

    A sum of e + 1 float32 products errs by at most (e + 1)ε Σ|terms|, ε = 2⁻²⁴; the rounding of the factors adds 2ε;
    and Σ|terms| ≤ 2‖q‖‖z‖ + ‖z‖² ≤ 2‖q‖ + 1. The bound returned is this value, rounded up generously.
    """
    return 1.1 * (e + 8) * FLOAT32_ROUNDING * (2 * norms + 1)


MAX_CACHED_NEIGHBOURS = 2**25
"""Maximum number of neighbours in the cache: half a gigabyte."""


class CachedSearch(Search):
    """A search that uses a cache for any k up to a maximum.

    Parameters
    ----------
    search : Search
        The search that finds the neighbours.
    max_k : int
        The largest number of neighbours in the cache.
    """

    def __init__(self, search: Search, max_k: int) -> None:
        super().__init__(search.metric, search.T)
        self.search = search
        self.max_k = max_k
        self._cache: dict[tuple[Any, ...], tuple[np.ndarray, ...]] = {}  # key of a block -> queries, rows, distances
        self._cached_neighbours = 0

    def __getstate__(self) -> dict[str, Any]:
        """Return the state to save, without the cache."""
        return {**self.__dict__, "_cache": {}, "_cached_neighbours": 0}

    def choose_block_size(self, *, whole_ties: bool) -> int:
        """Return the number of queries to search for at once."""
        return self.search.choose_block_size(whole_ties=whole_ties)

    def find_nearest(self, Q: np.ndarray, k: int, *, whole_ties: bool) -> tuple[np.ndarray, np.ndarray]:
        """Return the k nearest rows of each query in Q (e, m); see `Search.find_nearest`."""
        if k > self.max_k:
            return self.search.find_nearest(Q, k, whole_ties=whole_ties)
        # A block is looked up by its first query and then compared as a whole.
        key = (whole_ties, Q.shape, Q[:, 0].tobytes())
        cached = self._cache.get(key)
        if cached is not None and _have_same_bits(cached[0], Q):
            _, rows, distances = cached
        else:
            rows, distances = self.search.find_nearest(Q, self.max_k, whole_ties=whole_ties)
            self._cache_answer(key, Q, rows, distances)
        return take_top_k(rows, distances, k, self.measure_slack(Q, whole_ties=whole_ties))

    def _cache_answer(self, key: tuple[Any, ...], Q: np.ndarray, rows: np.ndarray, distances: np.ndarray) -> None:
        if self._cached_neighbours + rows.size > MAX_CACHED_NEIGHBOURS:
            self._cache = {}
            self._cached_neighbours = 0
        self._cached_neighbours += rows.size
        self._cache[key] = (Q.copy(), rows, distances)


def _have_same_bits(a: np.ndarray, b: np.ndarray) -> bool:
    """Return whether tables a and b of the same shape are bitwise equal; missing cells thus compare as equal."""
    bits_a = a.view(np.int64)
    bits_b = np.ascontiguousarray(b).view(np.int64)
    return bool((bits_a == bits_b).all())


REACH_MARGIN = 1 - 1e-12
"""Two float64 sums of the same terms agree to better than this factor."""

QUERIES_PER_BLOCK = 4096
"""Number of queries passed to the tree at once."""

MIN_ROWS_PER_CANDIDATE = 50
"""With fewer rows for each candidate, brute force is faster than requesting the candidates from a tree."""


class KDTree(Search):
    """A search among candidates from SciPy's cKDTree.

    Parameters
    ----------
    metric : MinkowskiMetric
    T : ndarray of shape (e, n)
        Complete numeric coordinates.
    leaf_size : int
        The maximum number of rows in a leaf.
    """

    def __init__(self, metric: MinkowskiMetric, T: np.ndarray, leaf_size: int) -> None:
        super().__init__(metric, T)
        self.metric: MinkowskiMetric = metric
        self.leaf_size = leaf_size
        self._build_tree()

    def _build_tree(self) -> None:
        self._tree = cKDTree(self.T.T, leafsize=self.leaf_size)
        self._brute_force = BruteForce(self.metric, self.T)

    def __getstate__(self) -> dict[str, Any]:
        """Return the state to save, without the tree, which is built again from the rows."""
        return {"metric": self.metric, "T": self.T, "leaf_size": self.leaf_size}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore the rows and build the tree."""
        self.__dict__.update(state)
        self._build_tree()

    def choose_block_size(self, *, whole_ties: bool) -> int:
        """Return the number of queries to search for at once."""
        if whole_ties:
            return max(1, CELLS_PER_BLOCK // self.T.shape[1])
        return QUERIES_PER_BLOCK

    def find_nearest(self, Q: np.ndarray, k: int, *, whole_ties: bool) -> tuple[np.ndarray, np.ndarray]:
        """Return the k nearest rows of each query in Q (e, m); see `Search.find_nearest`."""
        if whole_ties:
            return self._find_whole_ties(Q, k)
        if has_missing(Q):
            return self._search_exhaustively(Q, k)
        # One more than k, because only a farther row shows that no other row is as near as the k-th.
        rows, distances, certain = self._rank_candidates(Q, k, k + 1, slack=None)
        for candidates in self._increase_candidates(k):
            if certain.all():
                return rows, distances
            unresolved = np.flatnonzero(~certain)
            # If the last candidate is as near as the k-th, other rows may be too, so more of them are ranked.
            found = self._rank_candidates(Q[:, unresolved], k, candidates, slack=None)
            rows[unresolved], distances[unresolved], certain[unresolved] = found
        unresolved = np.flatnonzero(~certain)
        if unresolved.size:
            rows[unresolved], distances[unresolved] = self._search_exhaustively(Q[:, unresolved], k)
        return rows, distances

    def _find_whole_ties(self, Q: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Return all rows as near as the k-th; the table's width depends on all queries, so all are searched again."""
        if not has_missing(Q):
            slack = self.measure_slack(Q, whole_ties=True)
            rows, distances, certain = self._rank_candidates(Q, k, k + 1, slack)
            if certain.all():
                return rows, distances
            for candidates in self._increase_candidates(k):
                rows, distances, certain = self._rank_candidates(Q, k, candidates, slack)
                if certain.all():
                    return rows, distances
        return self._brute_force.find_nearest(Q, k, whole_ties=True)

    def _increase_candidates(self, k: int) -> Iterator[int]:
        """Yield numbers of candidates to request if many rows are equally distant, as long as the tree saves time."""
        candidates = 4 * (k + 2)
        while candidates <= self.T.shape[1] // MIN_ROWS_PER_CANDIDATE:
            yield candidates
            candidates *= 4

    def _rank_candidates(
        self, Q: np.ndarray, k: int, candidates: int, slack: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Rank the nearest rows according to the tree.

        Parameters
        ----------
        Q : ndarray of shape (e, m)
        k : int
        candidates : int
            The number of rows to request for each query.
        slack : ndarray of shape (m,) or None
            As in `rank_pairs`.

        Returns
        -------
        rows, distances : ndarrays of shape (m, K)
        certain : ndarray of shape (m,), bool
            Whether all neighbours of the query are among the candidates.
        """
        m = Q.shape[1]
        n = self.T.shape[1]
        candidates = min(candidates, n)
        places = np.arange(1, candidates + 1)
        reach, row = self._tree.query(Q.T, k=places, p=self.metric.p)  # both (m, candidates)

        # The metric's distances decide; rows that the tree did not return are at least as far as its last one.
        row = np.sort(row, axis=1).ravel()
        query = np.repeat(np.arange(m), candidates)
        distance = self.metric.measure_pairs(Q, query, self.T, row, missing=False)
        rows, distances = rank_pairs(query, row, distance, m, k, slack)
        needed = distances[:, k - 1] if slack is None else bound_ties(distances[:, k - 1], slack)
        clearly_nearer = needed < reach[:, -1] * REACH_MARGIN
        all_requested = candidates == n and slack is None
        return rows, distances, clearly_nearer | all_requested

    def _search_exhaustively(self, Q: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the k nearest rows of each query in Q (e, m) by brute force, in small enough blocks."""
        step = self._brute_force.choose_block_size(whole_ties=False)
        rows = []
        distances = []
        for start in range(0, Q.shape[1], step):
            block = Q[:, start : start + step]
            found = self._brute_force.find_nearest(block, k, whole_ties=False)
            rows.append(found[0])
            distances.append(found[1])
        return np.concatenate(rows), np.concatenate(distances)


class SimpleMatchingSearch(BruteForce):
    """A search that compares every query with every stored row by the number of columns in which they differ.

    Parameters
    ----------
    metric : MinkowskiMetric
    T : ndarray of shape (e, n)
        Codes below `MAX_SMALL_INTEGERS`, without missing cells, of nominal columns of equal weight.
    """

    cells_per_tile: ClassVar[int] = 2**18
    """256 KiB of codes, and 256 KiB of comparisons."""

    def __init__(self, metric: MinkowskiMetric, T: np.ndarray) -> None:
        super().__init__(metric, T)
        e = T.shape[0]
        self._unknown = int(T.max()) + 1  # stands for every value that no stored row has
        self._codes = T.astype(np.min_scalar_type(self._unknown))  # (e, n)
        mismatches = np.arange(e + 1)

        # Computed as for two rows that differ in the first columns, so that distances agree to the last bit.
        self._distance_by_mismatches = metric.compute_norm(lambda j: (mismatches > j) * metric.factor[j])  # (e + 1,)

    def _compare_all_pairs(
        self, Q: np.ndarray, k: int, missing: bool, slack: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        query, row, measured = super()._compare_all_pairs(Q, k, missing, slack)
        return query, row, measured if missing else self._distance_by_mismatches[measured]

    def _measure_tile(self, Q: np.ndarray, *, missing: bool) -> np.ndarray:
        """Return the numbers of columns in which queries Q (e, m) and stored rows differ: shape (m, n).

        If cells are missing, return distances.
        """
        if missing:
            return super()._measure_tile(Q, missing=missing)
        is_known = (Q >= 0) & (self._unknown > Q) & (np.floor(Q) == Q)
        codes = np.where(is_known, Q, self._unknown).astype(self._codes.dtype)  # (e, m)
        e, m = Q.shape
        mismatches = np.zeros((m, self.T.shape[1]), dtype=np.min_scalar_type(e))
        differs = np.empty(mismatches.shape, dtype=bool)
        for queries, rows in zip(codes, self._codes, strict=True):
            np.not_equal(queries[:, None], rows, out=differs)
            mismatches += differs.view(np.uint8)
        return mismatches


TREES = ("ball_tree", "kd_tree")
"""Values of ``algorithm`` for which a tree is searched."""

MIN_TREE_ROWS_BY_COLUMNS = (0, 500, 500, 500, 2000, 3000, 10000, 100000, 2**62)
"""The number of rows from which a tree is faster than brute force, by the number of columns (measured)."""

MIN_BRUTE_FORCE_COLUMNS = len(MIN_TREE_ROWS_BY_COLUMNS) - 1
"""With this number of columns or more, brute force is faster for any number of rows."""


def choose_algorithm(metric: Metric, T: np.ndarray, algorithm: str, leaf_size: int, metric_name: Any) -> Search:
    """Return the search selected by ``algorithm``, or the one that is probably the fastest.

    Parameters
    ----------
    metric : Metric
    T : ndarray of shape (e, n)
        Coordinates of the training rows.
    algorithm, leaf_size
        As in `bakeoff.learners.KNeighborsClassifier`.
    metric_name : str or callable
        The parameter ``metric``, for the error message.

    Raises
    ------
    ValueError
        If ``"kd_tree"`` is requested and does not support these rows, or ``"ball_tree"`` does not support this metric.
    """
    # A distance that leaves columns out violates the triangle inequality, on which every tree relies.
    if algorithm in TREES and isinstance(metric_name, str) and metric_name == "nan_euclidean":
        raise ValueError(
            f"algorithm={algorithm!r} supports only metrics that satisfy the triangle inequality, but "
            f"metric={metric_name!r} leaves missing cells out; use algorithm='brute'."
        )
    brute_force = choose_brute_force(metric, T)
    if not isinstance(metric, MinkowskiMetric) or metric.nominal.any() or brute_force.missing:
        if algorithm == "kd_tree":
            raise ValueError(
                f"algorithm='kd_tree' supports only numeric columns and p-norms, but metric={metric_name!r} or X does "
                "not meet this requirement; use algorithm='brute'."
            )
        return brute_force
    e, n = T.shape
    min_tree_rows = MIN_TREE_ROWS_BY_COLUMNS[min(e, MIN_BRUTE_FORCE_COLUMNS)]
    if algorithm in TREES or (algorithm == "auto" and n >= min_tree_rows):
        return KDTree(metric, T, leaf_size)
    return brute_force


def choose_brute_force(metric: Metric, T: np.ndarray) -> BruteForce:
    """Return the fastest search that compares all pairs of a query and a row of T (e, n)."""
    if isinstance(metric, MinkowskiMetric) and metric.p in (1.0, 2.0) and metric.nominal.all():
        has_equal_weights = not np.ptp(metric.factor)
        if has_equal_weights and as_small_integers(T) is not None:
            return SimpleMatchingSearch(metric, T)
    return BruteForce(metric, T)
