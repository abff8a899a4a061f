"""Brute force: every distance is computed, or shown not to matter.

For Euclidean distances ‖q - x‖² = ‖q‖² - 2 q·x + ‖x‖² makes the n scores ‖x‖² - 2 q·x of a query one row of a matrix
product, which in float32 is many times faster than differences.  It is inexact, but by no more than a known bound E,
so rows with a score above the k-th smallest + 2E cannot be neighbours; the few others get exact float64 distances.
All other metrics compute every distance, in tiles that fit the cache.

Cost: O(mnd) time, O(block) memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from bakeoff.learners.knn.metric.minkowski import Metric, MinkowskiMetric, has_missing
from bakeoff.learners.knn.search.base import Search
from bakeoff.learners.knn.search.ranking import rank_pairs, select_candidates, select_nearest, sort_pairs

CELLS_PER_BLOCK = 2**20
"""Scores that are wanted at once: 4 MiB in float32, near the cache."""

MAX_CELLS = 2**23
"""Scores that are held at once at most: matrix products want 64 rows, but not at any price."""

CELLS_PER_TILE = 2**16
"""Exact distances computed at once: 512 KiB in float64."""

MIN_PREFILTER_ROWS = 100
"""Fewer rows are as soon compared as filtered."""


class Float32Prefilter:
    """Float32 scores of stored rows, with their error bound.

    The bound grows with the largest norm, so a few rows far out, which would spoil it for all, are kept out and are
    always candidates.

    Parameters
    ----------
    T : ndarray of shape (e, n)
        Complete coordinates.

    Attributes
    ----------
    centre : ndarray of shape (e,)
        The medians of about a hundred rows: near most rows, whatever the rest do.
    near, far : ndarrays of int
        The rows with scores, and those without.
    radius : float
        The largest distance of near rows from the centre.
    right : ndarray of shape (e + 1, near), float32
        [z; ‖z‖²], z = (x - centre) / radius.
    """

    def __init__(self, T: np.ndarray) -> None:
        e, n = T.shape
        sample = np.sort(T[:, :: n // 100 + 1], axis=1)
        self.centre = sample[:, sample.shape[1] // 2]
        squares = np.empty(n)
        for part, gap in self._gaps(T, None):
            np.add.reduce(np.square(gap, out=gap), axis=0, out=squares[part])
        outlying = squares > 64 * np.partition(squares, n // 2)[n // 2]  # more than 8 times the usual distance
        if np.count_nonzero(outlying) > n // 64:
            outlying[:] = False
        self.near, self.far = np.flatnonzero(~outlying), np.flatnonzero(outlying)
        kept = self.near if self.far.size else slice(None)
        self.radius = float(np.sqrt(squares[kept].max())) or 1.0
        self.right = np.empty((e + 1, self.near.size), dtype=np.float32)
        for part, gap in self._gaps(T, self.near if self.far.size else None):
            np.divide(gap, self.radius, out=self.right[:-1, part], casting="same_kind")
        self.right[-1] = squares[kept] / self.radius**2

    def _gaps(self, T: np.ndarray, rows: np.ndarray | None) -> Iterator[tuple[slice, np.ndarray]]:
        """Yield some of the rows of T (e, n), all unless given, less the centre: where they are, and a new array."""
        step = max(1, CELLS_PER_TILE // T.shape[0])
        for start in range(0, T.shape[1] if rows is None else rows.size, step):
            part = slice(start, start + step)
            yield part, T[:, part if rows is None else rows[part]] - self.centre[:, None]

    def candidates(self, Q: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray] | None:
        """Return pairs of query and row that hold the k nearest of each of Q (e, m); None if they are too many to help.

        A float32 sum of e + 1 products errs by at most (e + 1)ε Σ|terms|, ε = 2⁻²⁴, the rounding of what is
        multiplied adds 2ε, and Σ|terms| ≤ 2‖q‖‖z‖ + ‖z‖² ≤ 2‖q‖ + 1: hence E, rounded up generously.
        """
        e, m, n = Q.shape[0], Q.shape[1], self.near.size
        left = np.ones((m, e + 1), dtype=np.float32)  # [-2q, 1]
        q = (Q.T - self.centre) / self.radius
        length = np.sqrt(np.einsum("me,me->m", q, q))
        if length.max() > 1e6:  # so far from all rows that the bound says nothing
            return None
        left[:, :-1] = -2 * q
        error = 1.1 * (e + 8) * 2.0**-24 * (2 * length + 1)
        query, row = select_candidates(left @ self.right, k, 2 * error)
        if query.size > m * (4 * k + n // 16):
            return None
        if not self.far.size:
            return query, row  # near has all rows, in their order
        every = np.repeat(np.arange(m), self.far.size)
        return np.concatenate([query, every]), np.concatenate([self.near[row], np.tile(self.far, m)])


class BruteForce(Search):
    """Compare every query with every stored row.

    Parameters
    ----------
    metric : Metric
    T : ndarray of shape (e, n)
    """

    def __init__(self, metric: Metric, T: np.ndarray) -> None:
        super().__init__(metric, T)
        euclidean = isinstance(metric, MinkowskiMetric) and metric.p == 2 and not metric.nominal.any()
        self.filtered = euclidean and not self.missing
        self._filter: Float32Prefilter | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Return what is worth saving: the filter is made from the rows when it is first wanted."""
        return {**self.__dict__, "_filter": None}

    def choose_block_size(self, *, whole_ties: bool) -> int:
        """Return how many queries to give at once."""
        n = self.T.shape[1]
        return (
            max(1, CELLS_PER_BLOCK // n) if whole_ties else max(1, min(max(64, CELLS_PER_BLOCK // n), MAX_CELLS // n))
        )

    def find_nearest(self, Q: np.ndarray, k: int, *, whole_ties: bool) -> tuple[np.ndarray, np.ndarray]:
        """Return the k nearest of Q (e, m); see `Search.find_nearest`."""
        m, n = Q.shape[1], self.T.shape[1]
        missing = self.missing or has_missing(Q)
        pairs = None
        if self.filtered and not missing and n >= MIN_PREFILTER_ROWS and k <= n // 8:
            self._filter = self._filter or Float32Prefilter(self.T)
            pairs = self._filter.candidates(Q, k)
        if pairs is None:
            query, row, distance = self._all_pairs(Q, k, missing, whole_ties)
        else:
            query, row = sort_pairs(*pairs, n)
            distance = self.metric.measure_pairs(Q, query, self.T, row, missing=False)
        return rank_pairs(query, row, distance, m, k, whole_ties=whole_ties)

    def _all_pairs(
        self, Q: np.ndarray, k: int, missing: bool, whole_ties: bool
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Compute every distance, tile by tile; keep the pairs as near as each query's k-th."""
        step = max(1, CELLS_PER_TILE // self.T.shape[1])
        kept = []
        for start in range(0, Q.shape[1], step):
            distances = self.metric.measure_all_pairs(Q[:, start : start + step], self.T, missing=missing)
            query, row = select_nearest(distances, k, whole_ties=whole_ties)
            kept.append((query + start, row, distances[query, row]))
        query, row, distance = (np.concatenate(parts) for parts in zip(*kept, strict=True))
        return query, row, distance
