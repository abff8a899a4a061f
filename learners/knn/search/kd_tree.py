"""A kd-tree: halve the rows at the median of the widest column, again and again; whole boxes are then too far away.

A node holds a slice of the rows and the box around them.  Queries go down together: each first goes to a small node
nearby, whose k-th distance bounds its radius; then a front of pairs (query, node) sinks level by level from the root,
and a pair whose box is beyond the query's radius falls out.

Cost: O(dn log n) to build; a query O(d log n) on average in few dimensions, O(dn) in many.

Reference: J. L. Bentley, "Multidimensional binary search trees used for associative searching", CACM 18, 1975.
"""

from __future__ import annotations

import numpy as np

from bakeoff.learners.knn.metric.minkowski import MinkowskiMetric
from bakeoff.learners.knn.search.base import Search
from bakeoff.learners.knn.search.brute_force import CELLS_PER_BLOCK
from bakeoff.learners.knn.search.ranking import rank_pairs, sort_pairs

ROUNDING = 1 + 1e-12
"""Radii are widened by this, as two ways to compute one power may differ in the last bits."""


class KDTree(Search):
    """A tree of boxes over complete numeric coordinates.

    Parameters
    ----------
    metric : MinkowskiMetric
    T : ndarray of shape (e, n)
    leaf_size : int
        A node of at most so many rows is not divided.

    Attributes
    ----------
    order : ndarray of shape (n,), int
        The rows, such that each node holds a slice.
    start, stop : ndarrays of shape (nodes,), int
    child : ndarray of shape (nodes,), int
        The first of a node's two children, which stand side by side; 0 in a leaf.
    low, high : ndarrays of shape (e, nodes)
    """

    def __init__(self, metric: MinkowskiMetric, T: np.ndarray, leaf_size: int) -> None:
        super().__init__(metric, T)
        self.metric: MinkowskiMetric = metric
        self.order = np.arange(T.shape[1])
        slices, children, lows, highs = [(0, T.shape[1])], [], [], []
        for start, stop in slices:  # grows while it is walked: level by level
            points = T[:, self.order[start:stop]]
            low, high = points.min(axis=1), points.max(axis=1)
            widest = int(np.argmax(high - low))
            inner = stop - start > leaf_size and high[widest] > low[widest]
            children.append(len(slices) if inner else 0)
            lows.append(low)
            highs.append(high)
            if inner:
                middle = (stop - start) // 2
                self.order[start:stop] = self.order[start:stop][np.argpartition(points[widest], middle)]
                slices += [(start, start + middle), (start + middle, stop)]
        self.start, self.stop = np.array(slices).T.copy()
        self.child = np.array(children)
        self.low, self.high = np.array(lows).T.copy(), np.array(highs).T.copy()

    def choose_block_size(self, *, whole_ties: bool) -> int:
        """Return how many queries to give at once."""
        return max(1, CELLS_PER_BLOCK // self.T.shape[1])

    def find_nearest(self, Q: np.ndarray, k: int, *, whole_ties: bool) -> tuple[np.ndarray, np.ndarray]:
        """Return the k nearest of Q (e, m); see `Search.find_nearest`."""
        m = Q.shape[1]
        home = self._find_start_leaves(Q, k)
        first = self._rank_leaf_rows(np.arange(m), home, Q, k, whole_ties=False)[1][:, k - 1]
        query, node = self._find_leaves_in_reach(Q, first * ROUNDING)
        return self._rank_leaf_rows(query, node, Q, k, whole_ties=whole_ties)

    def _find_start_leaves(self, Q: np.ndarray, k: int) -> np.ndarray:
        """Follow the nearer box down while it holds k rows: a node for each query, of shape (m,)."""
        query = np.arange(Q.shape[1])
        home = np.zeros(query.size, dtype=np.intp)
        while query.size:
            query = query[self.child[home[query]] > 0]
            child = self.child[home[query]]
            left, right = (self._box_distance(Q, query, child + side) for side in (0, 1))
            nearer = child + (right < left)
            deeper = self.stop[nearer] - self.start[nearer] >= k
            query = query[deeper]
            home[query] = nearer[deeper]
        return home

    def _find_leaves_in_reach(self, Q: np.ndarray, radius: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the pairs of query and leaf whose box reaches into the query's radius."""
        query = np.arange(Q.shape[1])
        node = np.zeros(query.size, dtype=np.intp)
        found = []
        while query.size:
            near = self._box_distance(Q, query, node) <= radius[query]
            query, node = query[near], node[near]
            leaf = self.child[node] == 0
            found.append((query[leaf], node[leaf]))
            query, node = np.repeat(query[~leaf], 2), np.repeat(self.child[node[~leaf]], 2)
            node[1::2] += 1
        queries, nodes = (np.concatenate(parts) for parts in zip(*found, strict=True))
        return queries, nodes

    def _box_distance(self, Q: np.ndarray, query: np.ndarray, node: np.ndarray) -> np.ndarray:
        def outside(j: int) -> np.ndarray:
            q = Q[j][query]
            return np.maximum(np.maximum(self.low[j][node] - q, q - self.high[j][node]), 0.0)

        return self.metric.compute_norm(outside)

    def _rank_leaf_rows(
        self, query: np.ndarray, node: np.ndarray, Q: np.ndarray, k: int, *, whole_ties: bool
    ) -> tuple[np.ndarray, np.ndarray]:
        """Rank all rows of the nodes paired with each query."""
        size = self.stop[node] - self.start[node]
        within = np.arange(size.sum()) - np.repeat(np.cumsum(size) - size, size)
        row = self.order[np.repeat(self.start[node], size) + within]
        query, row = sort_pairs(np.repeat(query, size), row, self.T.shape[1])
        distance = self.metric.measure_pairs(Q, query, self.T, row, missing=False)
        return rank_pairs(query, row, distance, Q.shape[1], k, whole_ties=whole_ties)
