"""Nominal columns of equal weight: count, in one matrix product, the columns in which two rows agree.

A row is written as a vector of zeros, with a one for the value it has in each column; the product of two such vectors
is the number s of columns in which the rows agree.  The distance grows with the e - s columns in which they do not,
and with nothing else.  So neighbours are those with the smallest

    key = (e - s) n + row,

which orders rows of equal distance too, and no two keys of a query are equal: the k-th smallest leaves no tie to be
sought in.  Keys are sums of whole numbers below 2²⁴, which float32 holds exactly: the fastest matrix product is exact.

Cost: O(mnv) time for v values of all columns together, O(nv) memory.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bakeoff.learners.base.input_checks import small_integers
from bakeoff.learners.knn.metric.minkowski import Metric, MinkowskiMetric, has_missing
from bakeoff.learners.knn.search.brute_force import BruteForce
from bakeoff.learners.knn.search.ranking import rank_pairs, select_candidates, sort_pairs

MAX_EXACT_INTEGER = 2**24
"""Whole numbers up to this are exact in float32."""

MAX_CELLS = 2**24
"""The most cells of the training rows' vectors: 64 MiB."""

MAX_VALUES_PER_COLUMN = 32
"""With more values per column than this, comparing codes is as fast."""


class SimpleMatchingSearch(BruteForce):
    """Compare every query with every stored row, by the values they share.

    Parameters
    ----------
    metric : MinkowskiMetric
    T : ndarray of shape (e, n)
        Codes, without a missing cell; see `over`.
    """

    def __init__(self, metric: MinkowskiMetric, T: np.ndarray) -> None:
        super().__init__(metric, T)
        self._sizes = _count_codes(T)
        self._right: np.ndarray | None = None  # (v + 1, n) float32: the vectors and, last, e n + row
        disagreeing = np.arange(T.shape[0] + 1)  # columns
        self._distance = metric.compute_norm(
            lambda j: (disagreeing > j) * metric.factor[j]
        )  # of so many, to the last bit

    @classmethod
    def over(cls, metric: Metric, T: np.ndarray) -> BruteForce:
        """Return this search, if it is for such a metric and rows and likely the fastest, else plain brute force."""
        if isinstance(metric, MinkowskiMetric) and metric.nominal.all() and metric.p in (1.0, 2.0):
            e, n = T.shape
            same = not np.ptp(metric.factor) and (e + 1) * n < MAX_EXACT_INTEGER and small_integers(T) is not None
            v = int(_count_codes(T).sum()) if same else 0
            if 0 < v <= MAX_VALUES_PER_COLUMN * e and (v + 1) * n <= MAX_CELLS:
                return cls(metric, T)
        return BruteForce(metric, T)

    def __getstate__(self) -> dict[str, Any]:
        """Return what is worth saving: the vectors are made from the rows when they are first wanted."""
        return {**super().__getstate__(), "_right": None}

    def find_nearest(self, Q: np.ndarray, k: int, *, whole_ties: bool) -> tuple[np.ndarray, np.ndarray]:
        """Return the k nearest of Q (e, m); see `Search.find_nearest`."""
        if has_missing(Q):
            return super().find_nearest(Q, k, whole_ties=whole_ties)
        n = self.T.shape[1]
        keys = self._keys(Q)
        slack = np.zeros(len(keys))
        if whole_ties:  # every key of as many disagreeing columns as the k-th has
            slack = n - 1 - np.partition(keys, k - 1, axis=1)[:, k - 1] % n
        query, row = sort_pairs(*select_candidates(keys, k, slack), n)
        distance = self._distance[(keys[query, row] // n).astype(np.intp)]
        return rank_pairs(query, row, distance, len(keys), k, whole_ties=whole_ties)

    def _keys(self, Q: np.ndarray) -> np.ndarray:
        """Return the key of each query and row, of shape (m, n), float32."""
        e, n = self.T.shape
        if self._right is None:
            self._right = np.vstack([self._vectors(self.T, 1.0), np.arange(e * n, (e + 1) * n, dtype=np.float32)])
        left = np.vstack([self._vectors(Q, -float(n)), np.ones(Q.shape[1], dtype=np.float32)])
        keys: np.ndarray = left.T @ self._right
        return keys

    def _vectors(self, codes: np.ndarray, one: float) -> np.ndarray:
        """Return rows of codes (e, m) as vectors (v, m), with this number for one; an unknown value has no place."""
        vectors = np.zeros((int(self._sizes.sum()), codes.shape[1]), dtype=np.float32)
        for first, size, column in zip(np.cumsum(self._sizes) - self._sizes, self._sizes, codes, strict=True):
            known = np.flatnonzero((column >= 0) & (column < size) & (column == np.floor(column)))
            vectors[first + column[known].astype(np.intp), known] = one
        return vectors


def _count_codes(T: np.ndarray) -> np.ndarray:
    """Return how many codes each column of T (e, n) has, from 0 to its largest: shape (e,)."""
    return T.max(axis=1).astype(np.intp) + 1
