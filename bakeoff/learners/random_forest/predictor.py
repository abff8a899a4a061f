"""Prediction with many trees at once: their nodes form one table, and all rows descend through all trees together.

A numeric split sends a row to the first child or to the next one; a nominal split sends it to the child given by the
route for the value's code. The code of a missing cell is the number of values. A leaf is its own child, so that a row
that has reached it stays there.

`bakeoff.learners.definitions.random_forest` makes the same predictions row by row and tree by tree.

Cost: O(T m depth) for T trees and m rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise

import numpy as np

from bakeoff.learners.trees import Tree

MAX_PATHS_PER_CHUNK = 1 << 15
"""Number of paths, each of one row through one tree, that descend together, so that they stay in cache."""

NODES_PER_GROUP = 1 << 14
"""Trees share a table of about this number of nodes, which stays in cache as well."""

MIN_PATHS_TO_COMPACT = 256
"""Up to this number, paths that have ended are carried on to the end of the longest one."""

STEPS_PER_COMPACTION = 4
"""Paths that have ended are removed at intervals of this number of steps."""

UNKNOWN_CODE = -1.0
"""The code of a nominal value that no training row has."""

Step = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""Maps the nodes of paths and the cells read there to the next nodes, all of the same shape."""


def average_over_trees(trees: list[Tree], X: np.ndarray, predictions: list[np.ndarray]) -> np.ndarray:
    """Return the average prediction of the trees for each row.

    Parameters
    ----------
    trees : list of T Tree
    X : ndarray of shape (m, d)
        Nominal cells are codes, missing cells NaN.
    predictions : list of T ndarray of shape (nodes of the tree, width)
        The prediction of each node.

    Returns
    -------
    ndarray of shape (m, width)
    """
    codes = encode_cells(X, trees[0].n_values)  # (m, d)
    width = predictions[0].shape[1]
    total = np.zeros((X.shape[0], width))
    for group in divide_into_groups(trees):
        predictor = ForestPredictor(trees[group])
        predictor.add_predictions(codes, predictions[group], total)
    return total / len(trees)


def divide_into_groups(trees: list[Tree]) -> Iterator[slice]:
    """Divide the trees, in order, into groups of about `NODES_PER_GROUP` nodes."""
    n_nodes_so_far = np.cumsum([tree.node_count for tree in trees])
    group = n_nodes_so_far // NODES_PER_GROUP
    ends = np.flatnonzero(np.diff(group)) + 1
    for first, end in pairwise([0, *ends.tolist(), len(trees)]):
        yield slice(first, end)


def encode_cells(X: np.ndarray, n_values: np.ndarray) -> np.ndarray:
    """Assign codes to missing and unknown nominal cells.

    Parameters
    ----------
    X : ndarray of shape (m, d)
    n_values : ndarray of shape (d,)
        The number of values of each nominal feature, which becomes the code of a missing cell; 0 for a numeric one.

    Returns
    -------
    ndarray of shape (m, d)
        Integers if all features are nominal.
    """
    if not n_values.any():
        return np.ascontiguousarray(X)
    nominal = n_values > 0
    codes = np.where(nominal & np.isnan(X), n_values, X)  # (m, d)
    codes[nominal & (codes > n_values)] = UNKNOWN_CODE
    return codes.astype(np.intp) if nominal.all() else codes


class ForestPredictor:
    """The k nodes of T trees in one table, tree after tree.

    Parameters
    ----------
    trees : list of Tree
    """

    def __init__(self, trees: list[Tree]) -> None:
        node_counts = np.array([tree.node_count for tree in trees])  # (T,)
        self._root = np.cumsum(node_counts) - node_counts  # (T,)
        self._tree_start = np.repeat(self._root, node_counts)  # (k,)
        self._max_depth = max(tree.max_depth for tree in trees)
        self._n_values = trees[0].n_values
        self._join_children(trees)
        if self._n_values.any():
            self._join_routes(trees, node_counts)
        if not self._n_values.all():
            self._join_thresholds(trees)

    def _join_children(self, trees: list[Tree]) -> None:
        self._feature = _join_arrays(trees, "feature")  # (k,)
        self._is_leaf = self._feature < 0
        # A leaf reads an arbitrary cell and ignores it.
        self._feature[self._is_leaf] = 0
        self._first_child = _join_arrays(trees, "first_child") + self._tree_start
        self._first_child[self._is_leaf] = np.flatnonzero(self._is_leaf)

    def _join_thresholds(self, trees: list[Tree]) -> None:
        self._threshold = _join_arrays(trees, "threshold")
        # No cell is as large as infinity, so leaves and nominal splits always lead to the first child.
        self._threshold[np.isnan(self._threshold)] = np.inf
        self._missing_child = self._first_child + _join_arrays(trees, "missing_branch")

    def _join_routes(self, trees: list[Tree], node_counts: np.ndarray) -> None:
        route_sizes = np.array([tree.route.size for tree in trees])  # (T,)
        first_route = np.cumsum(route_sizes) - route_sizes
        # Nodes without a route use zeros after the last route, so every code, including -1, leads to the first child.
        n_zeros = int(self._n_values.max()) + 2
        routes = [tree.route for tree in trees]
        routes.append(np.zeros(n_zeros, dtype=np.intp))
        self._route = np.concatenate(routes)
        self._has_all_branches = bool((self._route >= 0).all())
        self._route_start = _join_arrays(trees, "route_start")  # (k,)
        self._is_nominal = self._route_start >= 0
        self._route_start += np.repeat(first_route, node_counts)
        self._route_start[~self._is_nominal] = route_sizes.sum() + 1

    def add_predictions(self, codes: np.ndarray, predictions: list[np.ndarray], total: np.ndarray) -> None:
        """Add the predictions of all trees for each row.

        Parameters
        ----------
        codes : ndarray of shape (m, d)
            From `encode_cells`.
        predictions : list of T ndarray of shape (nodes of the tree, width)
        total : ndarray of shape (m, width)
            Changed in place.
        """
        n_rows = max(1, MAX_PATHS_PER_CHUNK // self._root.size)
        for first in range(0, codes.shape[0], n_rows):
            chunk = slice(first, first + n_rows)
            stop = self.find_stops(codes[chunk])  # (T, rows of the chunk)
            stop -= self._root[:, None]
            # Add tree by tree, so that rounding does not depend on how trees are grouped.
            for stop_in_tree, prediction in zip(stop, predictions, strict=True):
                total[chunk] += prediction.take(stop_in_tree, axis=0)

    def find_stops(self, codes: np.ndarray) -> np.ndarray:
        """Return the node of the table where each row of codes (m, d) stops in each tree: shape (T, m)."""
        take_step = self._choose_step(codes)
        m, d = codes.shape
        n_trees = self._root.size
        cells = codes.ravel()
        stop = np.repeat(self._root, m)  # (T m,)
        paths = np.arange(stop.size)
        first_cell_of_row = np.arange(0, m * d, d)  # (m,)
        first_cell = np.tile(first_cell_of_row, n_trees)  # (T m,)
        node = stop
        for step in range(1, self._max_depth + 1):
            cell = cells.take(first_cell + self._feature.take(node))
            node = take_step(node, cell)
            if node.size > MIN_PATHS_TO_COMPACT and step % STEPS_PER_COMPACTION == 0:
                # Paths that have ended at a leaf need not be processed any further.
                stop[paths] = node
                moving = np.flatnonzero(~self._is_leaf.take(node))
                paths = paths.take(moving)
                first_cell = first_cell.take(moving)
                node = node.take(moving)
        stop[paths] = node
        return stop.reshape(n_trees, m)

    def _choose_step(self, codes: np.ndarray) -> Step:
        """Return the cheapest step that supports all nodes and all cells."""
        if self._n_values.all():
            return self._step_by_routes
        if self._n_values.any():
            return self._step_by_routes_or_thresholds
        if np.isnan(codes).any():
            return self._step_by_thresholds_or_missing
        return self._step_by_thresholds

    def _step_by_thresholds(self, node: np.ndarray, cell: np.ndarray) -> np.ndarray:
        goes_right = cell >= self._threshold.take(node)
        child: np.ndarray = self._first_child.take(node)
        child += goes_right
        return child

    def _step_by_thresholds_or_missing(self, node: np.ndarray, cell: np.ndarray) -> np.ndarray:
        child = self._step_by_thresholds(node, cell)
        missing_child = self._missing_child.take(node)
        return np.where(np.isnan(cell), missing_child, child)

    def _step_by_routes(self, node: np.ndarray, code: np.ndarray) -> np.ndarray:
        branch = self._route.take(self._route_start.take(node) + code)
        child: np.ndarray = self._first_child.take(node)
        child += branch
        is_unknown = code < 0
        if self._has_all_branches and not is_unknown.any():
            return child
        # A row whose value has no branch stops where it is; a leaf is its own child for any value.
        is_stuck = is_unknown & ~self._is_leaf.take(node)
        is_stuck |= branch < 0
        return np.where(is_stuck, node, child)

    def _step_by_routes_or_thresholds(self, node: np.ndarray, cell: np.ndarray) -> np.ndarray:
        is_nominal = self._is_nominal.take(node)
        code = np.where(is_nominal, cell, 0.0).astype(np.intp)
        by_route = self._step_by_routes(node, code)
        by_threshold = self._step_by_thresholds_or_missing(node, cell)
        return np.where(is_nominal, by_route, by_threshold)


def _join_arrays(trees: list[Tree], name: str) -> np.ndarray:
    """Return an array with one entry for each node of all trees: shape (k, ...)."""
    return np.concatenate([getattr(tree, name) for tree in trees])
