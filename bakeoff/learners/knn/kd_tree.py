"""A kd-tree: rows are halved recursively at the median of a column, and boxes too far away are skipped.

The tree is SciPy's cKDTree. A search visits few rows for each query, one after another, which is fast in C++ and would
be slow in NumPy. It sums the terms of a distance in a different order, so its rows are only candidates, which are
ranked by the distances of the metric. The rows that it does not return are at least as far away as the last one it
returns: if the k-th distance is not clearly smaller, more candidates are requested.

Cost: O(en log n) to build; a query O(e log n) on average in few dimensions, O(en) in many.

Reference: J. L. Bentley, "Multidimensional binary search trees used for associative searching", CACM 18, 1975.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.spatial import cKDTree

from bakeoff.learners.knn.brute_force import CELLS_PER_BLOCK, BruteForce
from bakeoff.learners.knn.metrics import MinkowskiMetric, has_missing
from bakeoff.learners.knn.ranking import Search, bound_ties, rank_pairs

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
