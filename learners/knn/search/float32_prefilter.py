"""A float32 prefilter for Euclidean neighbours: filter in single precision, refine in double.

In ‖q - x‖² = ‖q‖² - 2 q·x + ‖x‖² the first term is the same for all rows x, so the scores ‖x‖² - 2 q·x order the rows
as their distances do. The scores of all rows are one matrix product, which in float32 is many times faster than exact
differences. The error of a score is at most a known bound E, so a row whose score exceeds the k-th smallest by more
than 2E is not a neighbour. The few other rows are candidates, and the caller ranks them by exact distances.

Cost: O(mne) time, in float32; O(ne) memory.

Reference: C. Böhm, S. Berchtold and D. A. Keim, "Searching in high-dimensional spaces", ACM Computing Surveys 33, 2001
(filter and refinement).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from bakeoff.learners.knn.search.ranking import select_candidates

CELLS_PER_TILE = 2**16
"""Coordinates centred at once: 512 KiB in float64, which fits the cache."""

CENTRE_SAMPLE_ROWS = 100
"""Rows, about, whose medians are the centre."""

MIN_OUTLIER_SQUARE_RATIO = 64
"""A row is far if its squared distance from the centre is more than this many times the median (8 times as far)."""

MIN_ROWS_PER_OUTLIER = 64
"""If there are fewer rows than this for each far one, then the data are spread widely, and no row is set apart."""

MAX_QUERY_NORM = 1e6
"""A query farther than this many radii from the centre has scores whose error hides all differences."""

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
            By how much a row may be farther than the k-th and still be included.

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

        # The k-th smallest score and that of a neighbour may err in opposite directions.
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
