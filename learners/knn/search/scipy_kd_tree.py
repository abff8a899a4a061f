"""SciPy's kd-tree as a source of candidates.

A tree search visits few rows of each query one after another, which NumPy cannot do fast; SciPy's cKDTree does it in
C++.  Its distances are added up in another order than ours, so it proposes, and our distances decide: the rows it left
out are at least as far as the last it gave, and where our k-th distance is not clearly smaller, more are asked for.

Cost: O(en log n) to build; a query O(e log n) on average in few dimensions.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.spatial import cKDTree

from bakeoff.learners.knn.metric.minkowski import MinkowskiMetric, has_missing
from bakeoff.learners.knn.search.base import Search
from bakeoff.learners.knn.search.brute_force import CELLS_PER_BLOCK, BruteForce
from bakeoff.learners.knn.search.ranking import rank_pairs

ROUNDING = 1 - 1e-12
"""Two float64 sums of the same terms agree to better than this."""


class SciPyKDTree(Search):
    """Neighbours proposed by SciPy's cKDTree.

    Parameters
    ----------
    metric : MinkowskiMetric
    T : ndarray of shape (e, n)
        Complete numeric coordinates.
    leaf_size : int
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
        """Return what is worth saving: the tree grows again from the rows."""
        return {"metric": self.metric, "T": self.T, "leaf_size": self.leaf_size}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore the rows and grow the tree."""
        self.__dict__.update(state)
        self._build_tree()

    def choose_block_size(self, *, whole_ties: bool) -> int:
        """Return how many queries to give at once."""
        return max(1, CELLS_PER_BLOCK // self.T.shape[1]) if whole_ties else 4096

    def find_nearest(self, Q: np.ndarray, k: int, *, whole_ties: bool) -> tuple[np.ndarray, np.ndarray]:
        """Return the k nearest of Q (e, m); see `Search.find_nearest`."""
        if has_missing(Q):
            return self._search_exhaustively(Q, k, whole_ties)
        rows, distances, sure = self._query_tree(Q, k, k + 1, whole_ties)
        wanted = 4 * (k + 2)
        while not sure.all() and wanted <= self.T.shape[1] // 50:  # many rows at one distance: ask for more of them
            if whole_ties:  # a table as wide as its widest row is made anew
                rows, distances, sure = self._query_tree(Q, k, wanted, True)
            else:
                again = np.flatnonzero(~sure)
                rows[again], distances[again], sure[again] = self._query_tree(Q[:, again], k, wanted, False)
            wanted *= 4
        if whole_ties and not sure.all():
            return self._search_exhaustively(Q, k, True)
        again = np.flatnonzero(~sure)
        if again.size:
            rows[again], distances[again] = self._search_exhaustively(Q[:, again], k, False)
        return rows, distances

    def _query_tree(
        self, Q: np.ndarray, k: int, wanted: int, whole_ties: bool
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the k nearest among those wanted from the tree, and for which queries that is sure."""
        m, n = Q.shape[1], self.T.shape[1]
        wanted = min(wanted, n)
        reach, row = self._tree.query(Q.T, k=np.arange(1, wanted + 1), p=self.metric.p)
        row = np.sort(row, axis=1).ravel()
        query = np.repeat(np.arange(m), wanted)
        distance = self.metric.measure_pairs(Q, query, self.T, row, missing=False)
        rows, distances = rank_pairs(query, row, distance, m, k, whole_ties=whole_ties)
        return rows, distances, (distances[:, k - 1] < reach[:, -1] * ROUNDING) | (wanted == n and not whole_ties)

    def _search_exhaustively(self, Q: np.ndarray, k: int, whole_ties: bool) -> tuple[np.ndarray, np.ndarray]:
        if whole_ties:  # blocks are small then
            return self._brute_force.find_nearest(Q, k, whole_ties=True)
        step = self._brute_force.choose_block_size(whole_ties=False)
        starts = range(0, Q.shape[1], step)
        parts = [self._brute_force.find_nearest(Q[:, start : start + step], k, whole_ties=False) for start in starts]
        rows, distances = (np.concatenate(part) for part in zip(*parts, strict=True))
        return rows, distances
