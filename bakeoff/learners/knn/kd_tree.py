"""A kd-tree: rows are halved recursively at the median of the widest column, and boxes too far away are skipped.

A node contains a slice of the rows and their bounding box. All queries descend together. Each query first goes to a
small node nearby, the start leaf, whose k-th distance bounds its radius. Then pairs of query and node descend level
by level from the root, and a pair is dropped if the node's box lies beyond the query's radius.

Cost: O(en log n) to build; a query O(e log n) on average in few dimensions, O(en) in many.

Reference: J. L. Bentley, "Multidimensional binary search trees used for associative searching", CACM 18, 1975.

A search of this tree visits few rows for each query, one after another. This is slow in NumPy. A second source of
candidates is SciPy's cKDTree, which is implemented in C++. It sums the terms of a distance in a different order, so its
rows are only candidates, which are ranked by the distances of the metric. The rows that it does not return are at least
as far away as the last one it returns: if the k-th distance is not clearly smaller, more candidates are requested.

Cost: O(en log n) to build; a query O(e log n) on average in few dimensions.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.spatial import cKDTree

from bakeoff.learners.knn.brute_force import CELLS_PER_BLOCK, BruteForce
from bakeoff.learners.knn.metrics import MinkowskiMetric, has_missing
from bakeoff.learners.knn.ranking import Search, bound_ties, rank_pairs, sort_pairs

RADIUS_MARGIN = 1 + 1e-12
"""The factor that widens a radius, since two ways to compute one power may differ in the last bits."""

LEAF = 0
"""The child of a leaf: 0, because the root is not a child of any node."""


class KDTree(Search):
    """A tree of boxes over complete numeric coordinates.

    Parameters
    ----------
    metric : MinkowskiMetric
    T : ndarray of shape (e, n)
    leaf_size : int
        A node with at most this number of rows is not divided.

    Attributes
    ----------
    order : ndarray of shape (n,), int
        The rows, arranged so that each node contains a slice.
    start, stop : ndarrays of shape (nodes,), int
        The slice of ``order`` that each node contains.
    child : ndarray of shape (nodes,), int
        The first of a node's two children, which are adjacent in the list of nodes; `LEAF` for a leaf.
    low, high : ndarrays of shape (e, nodes)
        The corners of each node's box.
    """

    def __init__(self, metric: MinkowskiMetric, T: np.ndarray, leaf_size: int) -> None:
        super().__init__(metric, T)
        self.metric: MinkowskiMetric = metric
        self._divide_rows(leaf_size)

    def _divide_rows(self, leaf_size: int) -> None:
        """Build the nodes, level by level."""
        n = self.T.shape[1]
        self.order = np.arange(n)
        slices = [(0, n)]
        children = []
        lows = []
        highs = []
        for start, stop in slices:  # the loop also visits the slices that it appends
            points = self.T[:, self.order[start:stop]]  # (e, rows)
            low = points.min(axis=1)
            high = points.max(axis=1)
            lows.append(low)
            highs.append(high)
            widest = int(np.argmax(high - low))
            if stop - start <= leaf_size or high[widest] == low[widest]:
                children.append(LEAF)
                continue
            children.append(len(slices))
            middle = self._divide_slice(start, stop, points[widest])
            slices.append((start, middle))
            slices.append((middle, stop))
        self.start, self.stop = np.array(slices).T.copy()
        self.child = np.array(children)
        self.low = np.array(lows).T.copy()
        self.high = np.array(highs).T.copy()

    def _divide_slice(self, start: int, stop: int, cells: np.ndarray) -> int:
        """Put the rows of a slice with the smaller half of cells (rows,) first; return where the halves meet."""
        half = (stop - start) // 2
        around_median = np.argpartition(cells, half)
        self.order[start:stop] = self.order[start:stop][around_median]
        return start + half

    def choose_block_size(self, *, whole_ties: bool) -> int:
        """Return the number of queries to search for at once."""
        return max(1, CELLS_PER_BLOCK // self.T.shape[1])

    def find_nearest(self, Q: np.ndarray, k: int, *, whole_ties: bool) -> tuple[np.ndarray, np.ndarray]:
        """Return the k nearest rows of each query in Q (e, m); see `Search.find_nearest`."""
        # The k-th nearest row of any node is at least as far away as the k-th nearest row of all.
        every_query = np.arange(Q.shape[1])
        start_leaf = self._find_start_leaves(Q, k)
        _, distances = self._rank_leaf_rows(every_query, start_leaf, Q, k, slack=None)
        radius = distances[:, k - 1] * RADIUS_MARGIN  # (m,)
        slack = self.measure_slack(Q, whole_ties=whole_ties)
        if slack is not None:
            radius = radius + slack

        query, leaf = self._find_leaves_in_reach(Q, radius)
        return self._rank_leaf_rows(query, leaf, Q, k, slack)

    def _find_start_leaves(self, Q: np.ndarray, k: int) -> np.ndarray:
        """Descend to the nearer box while it contains k rows; return a node for each query: (m,)."""
        query = np.arange(Q.shape[1])  # the queries still descending
        node = np.zeros(query.size, dtype=np.intp)  # (m,)
        while query.size:
            query = query[self.child[node[query]] != LEAF]
            left = self.child[node[query]]
            left_distance = self._measure_box_distances(Q, query, left)
            right_distance = self._measure_box_distances(Q, query, left + 1)
            nearer = left + (right_distance < left_distance)

            # A child with fewer than k rows has no k-th nearest row, so the query stays at the parent.
            large_enough = self.stop[nearer] - self.start[nearer] >= k
            query = query[large_enough]
            node[query] = nearer[large_enough]
        return node

    def _find_leaves_in_reach(self, Q: np.ndarray, radius: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the pairs of query and leaf whose box intersects the query's radius."""
        query = np.arange(Q.shape[1])
        node = np.zeros(query.size, dtype=np.intp)
        queries = []
        leaves = []
        while query.size:
            in_reach = self._measure_box_distances(Q, query, node) <= radius[query]
            query = query[in_reach]
            node = node[in_reach]
            is_leaf = self.child[node] == LEAF
            queries.append(query[is_leaf])
            leaves.append(node[is_leaf])

            # Each other node is replaced by its two children.
            query = np.repeat(query[~is_leaf], 2)
            node = np.repeat(self.child[node[~is_leaf]], 2)
            node[1::2] += 1
        return np.concatenate(queries), np.concatenate(leaves)

    def _measure_box_distances(self, Q: np.ndarray, query: np.ndarray, node: np.ndarray) -> np.ndarray:
        """Return the distance from each query to the box of the node paired with it: shape of ``query``."""

        def exceed_box(j: int) -> np.ndarray:
            q = Q[j][query]
            below = self.low[j][node] - q
            above = q - self.high[j][node]
            return np.maximum(np.maximum(below, above), 0.0)

        return self.metric.compute_norm(exceed_box)

    def _rank_leaf_rows(
        self, query: np.ndarray, leaf: np.ndarray, Q: np.ndarray, k: int, slack: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Rank all rows of the leaves paired with each query."""
        size = self.stop[leaf] - self.start[leaf]
        first = np.cumsum(size) - size
        place = np.arange(size.sum()) - np.repeat(first, size)  # of each row within its leaf
        row = self.order[np.repeat(self.start[leaf], size) + place]
        query = np.repeat(query, size)
        query, row = sort_pairs(query, row, self.T.shape[1])
        distance = self.metric.measure_pairs(Q, query, self.T, row, missing=False)
        return rank_pairs(query, row, distance, Q.shape[1], k, slack)


REACH_MARGIN = 1 - 1e-12
"""Two float64 sums of the same terms agree to better than this factor."""

QUERIES_PER_BLOCK = 4096
"""Number of queries passed to the tree at once."""

MIN_ROWS_PER_CANDIDATE = 50
"""With fewer rows for each candidate, brute force is faster than requesting the candidates from a tree."""


class SciPyKDTree(Search):
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
