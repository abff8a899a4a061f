"""Simple matching of nominal columns: count, in one matrix product, the columns in which two rows agree.

A row is encoded one-hot: a vector of zeros with a one for the value that it has in each column. The product of two
such vectors is the number s of columns in which the rows agree. With nominal columns of equal weight, the distance
depends only on the number e - s of columns that differ, and increases with it. So the neighbours are the rows with
the smallest

    key = (e - s) n + row,

which also orders rows at equal distances. No two keys of a query are equal, so there are no ties at the k-th place.
Keys are sums of integers below 2²⁴, which float32 represents exactly: the fastest matrix product is exact.

Cost: O(mnv) time for v values of all columns together, O(nv) memory.

Reference: R. R. Sokal and C. D. Michener, "A statistical method for evaluating systematic relationships", University of
Kansas Science Bulletin 38, 1958 (the simple matching coefficient s/e).
"""

from __future__ import annotations

from typing import Any, TypeGuard

import numpy as np

from bakeoff.learners.base.input_checks import as_small_integers
from bakeoff.learners.knn.brute_force import BruteForce
from bakeoff.learners.knn.metrics import Metric, has_missing
from bakeoff.learners.knn.minkowski import MinkowskiMetric
from bakeoff.learners.knn.ranking import rank_pairs, select_candidates, sort_pairs

MAX_EXACT_INTEGER = 2**24
"""float32 represents all integers up to this one."""

MAX_ONE_HOT_CELLS = 2**24
"""Cells of the training rows' vectors: 64 MiB."""

MAX_VALUES_PER_COLUMN = 32
"""With more values per column, comparing codes is as fast."""


def can_count_matches(metric: Metric, T: np.ndarray) -> TypeGuard[MinkowskiMetric]:
    """Return whether counting matches yields the distances between rows T (e, n), at less cost than comparing."""
    if not isinstance(metric, MinkowskiMetric):
        return False
    if metric.p not in (1.0, 2.0) or not metric.nominal.all():
        return False
    e, n = T.shape
    largest_key = (e + 1) * n
    equal_weights = not np.ptp(metric.factor)
    if not equal_weights or largest_key >= MAX_EXACT_INTEGER:
        return False
    if as_small_integers(T) is None:
        return False
    v = int(_count_codes(T).sum())
    few_values = 0 < v <= MAX_VALUES_PER_COLUMN * e
    return few_values and (v + 1) * n <= MAX_ONE_HOT_CELLS


class SimpleMatchingSearch(BruteForce):
    """A search that compares every query with every stored row by the number of columns in which they agree.

    Parameters
    ----------
    metric : MinkowskiMetric
    T : ndarray of shape (e, n)
        Codes without a missing cell, for which `can_count_matches`.
    """

    def __init__(self, metric: MinkowskiMetric, T: np.ndarray) -> None:
        super().__init__(metric, T)
        self._codes_per_column = _count_codes(T)  # (e,)
        self._key_matrix: np.ndarray | None = None  # (v + 1, n) float32: the rows' vectors and, last, e n + row
        mismatches = np.arange(T.shape[0] + 1)

        # Computed as for two rows that differ in the first columns, so that distances agree to the last bit.
        self._distance_by_mismatches = metric.compute_norm(lambda j: (mismatches > j) * metric.factor[j])  # (e + 1,)

    def __getstate__(self) -> dict[str, Any]:
        """Return the state to save, without the rows' vectors, which the first search builds."""
        return {**super().__getstate__(), "_key_matrix": None}

    def find_nearest(self, Q: np.ndarray, k: int, *, whole_ties: bool) -> tuple[np.ndarray, np.ndarray]:
        """Return the k nearest rows of each query in Q (e, m); see `Search.find_nearest`."""
        if has_missing(Q):
            return super().find_nearest(Q, k, whole_ties=whole_ties)
        n = self.T.shape[1]
        keys = self._compute_keys(Q)  # (m, n)
        slack = np.zeros(len(keys))
        if whole_ties:
            # The bound rises to the largest key of a row that has as many mismatches as the k-th.
            kth_key = np.partition(keys, k - 1, axis=1)[:, k - 1]  # (m,)
            kth_row = kth_key % n
            slack = n - 1 - kth_row
        query, row = sort_pairs(*select_candidates(keys, k, slack), n)
        mismatches = (keys[query, row] // n).astype(np.intp)
        distance = self._distance_by_mismatches[mismatches]
        ties = self.measure_slack(Q, whole_ties=whole_ties)
        return rank_pairs(query, row, distance, len(keys), k, ties)

    def _compute_keys(self, Q: np.ndarray) -> np.ndarray:
        """Return the key of each query of Q (e, m) and each row: shape (m, n), float32."""
        e, n = self.T.shape
        if self._key_matrix is None:
            vectors = self._encode_one_hot(self.T, 1.0)
            no_matches = np.arange(e * n, (e + 1) * n, dtype=np.float32)  # the keys of rows that agree in no column
            self._key_matrix = np.vstack([vectors, no_matches])

        # Each match subtracts n from the key.
        vectors = self._encode_one_hot(Q, -float(n))
        ones = np.ones(Q.shape[1], dtype=np.float32)
        queries = np.vstack([vectors, ones])  # (v + 1, m)
        keys: np.ndarray = queries.T @ self._key_matrix
        return keys

    def _encode_one_hot(self, codes: np.ndarray, one: float) -> np.ndarray:
        """Encode rows of codes (e, m) as vectors (v, m) with ``one`` in place of 1; unknown values become zeros."""
        sizes = self._codes_per_column
        v = int(sizes.sum())
        vectors = np.zeros((v, codes.shape[1]), dtype=np.float32)
        first = np.cumsum(sizes) - sizes  # (e,), each column's first place in a vector
        for start, size, column in zip(first, sizes, codes, strict=True):
            in_range = (column >= 0) & (column < size)
            known = np.flatnonzero(in_range & (column == np.floor(column)))
            place = start + column[known].astype(np.intp)
            vectors[place, known] = one
        return vectors


def _count_codes(T: np.ndarray) -> np.ndarray:
    """Return the number of codes of each column of T (e, n), from 0 to its largest: shape (e,)."""
    return T.max(axis=1).astype(np.intp) + 1
