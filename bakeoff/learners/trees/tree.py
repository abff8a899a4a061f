"""A grown tree: flat arrays with one entry for each node, and the descent of rows from the root to the leaves.

Nodes are numbered level by level from the root, 0, and the children of a node have consecutive numbers. A row stops
at a leaf, or at a node that has no branch for its nominal value: the node's own majority (or mean) is the prediction.

*The descent*: all rows descend together, through one tree or through all trees of a forest, whose nodes form one table.
A numeric split sends a row to the first child or to the next one; a nominal split sends it to the child given by the
route for the value's code. The code of a missing cell is the number of values. A leaf is its own child, so that a row
that has reached it stays there. Cost: O(T m depth) for T trees and m rows.

*Partial dependence* of a regression tree is its mean prediction where some features are given and the others are not.
At a question about a given feature, the branch of the answer is followed; at any other question, both branches are
followed, weighted by their shares of the training weight. Cost: O(k g) for k nodes and g points.

Reference: J. H. Friedman, "Greedy function approximation: a gradient boosting machine", Annals of Statistics 29, 2001,
section 8.2 (weighted traversals of trees).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from itertools import pairwise

import numpy as np

MAX_PATHS_PER_CHUNK = 1 << 15
"""Number of paths, each of one row through one tree, that descend together, so that they stay in cache."""

MIN_PATHS_TO_COMPACT = 256
"""Up to this number, paths that have ended are carried on to the end of the longest one."""

STEPS_PER_COMPACTION = 4
"""Paths that have ended are removed at intervals of this number of steps."""

UNKNOWN_CODE = -1.0
"""The code of a nominal value that no training row has."""

Step = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""Maps the nodes of paths and the cells read there to the next nodes, all of the same shape."""


@dataclass
class Tree:
    """A tree of k nodes, grown on d features.

    Attributes
    ----------
    feature : ndarray of shape (k,), int
        The feature that the node tests; -1 at a leaf.
    threshold : ndarray of shape (k,)
        x < threshold goes to branch 0, else to branch 1; NaN where the feature is nominal and at leaves.
    missing_branch : ndarray of shape (k,), int
        The branch of a missing numeric cell: the better side in training, or the larger one if none was missing.
    first_child, n_children : ndarray of shape (k,), int
        The child of branch b is first_child + b; -1 and 0 at leaves.
    route_start : ndarray of shape (k,), int
        For a nominal split, the start of its entries in ``route``, one for each value and one for missing; else -1.
    route : ndarray of int
        The branch, or -1 if there is none.
    n_values : ndarray of shape (d,), int
        The number of values of each nominal feature; 0 for a numeric one.
    depth, n_node_samples : ndarray of shape (k,), int
    weighted_n_node_samples, impurity : ndarray of shape (k,)
    value : ndarray of shape (k, c) or (k, 1)
        Class fractions, or the mean.
    gain : ndarray of shape (k,)
        The decrease of impurity by the split, times the node's weight; 0 at leaves.
    """

    feature: np.ndarray
    threshold: np.ndarray
    missing_branch: np.ndarray
    first_child: np.ndarray
    n_children: np.ndarray
    route_start: np.ndarray
    route: np.ndarray
    n_values: np.ndarray
    depth: np.ndarray
    n_node_samples: np.ndarray
    weighted_n_node_samples: np.ndarray
    impurity: np.ndarray
    value: np.ndarray
    gain: np.ndarray

    @property
    def node_count(self) -> int:
        """The number of nodes, leaves included."""
        return self.feature.size

    @property
    def is_leaf(self) -> np.ndarray:
        """Mask of shape (k,)."""
        return self.feature < 0

    @property
    def n_leaves(self) -> int:
        """The number of leaves."""
        return int(np.count_nonzero(self.feature < 0))

    @property
    def max_depth(self) -> int:
        """The number of questions on the longest path."""
        return int(self.depth.max())

    @property
    def parent(self) -> np.ndarray:
        """The parent of each node, shape (k,); -1 for the root."""
        parent = np.full(self.node_count, -1)
        inner = np.flatnonzero(~self.is_leaf)
        # The order of children is that of their parents only within a level, so each family's range is written out.
        n_children = self.n_children[inner]
        children = _concatenate_ranges(self.first_child[inner], n_children)
        parent[children] = np.repeat(inner, n_children)
        return parent

    def levels(self) -> list[slice]:
        """Return the nodes of depth 1, 2, … as slices, since each level is contiguous."""
        depths = np.arange(1, self.max_depth + 2)
        bounds = np.searchsorted(self.depth, depths).tolist()
        return [slice(first, end) for first, end in pairwise(bounds)]

    def children(self, node: int) -> range:
        """Return the children of a node."""
        first = self.first_child[node]
        return range(first, first + self.n_children[node])

    def apply(self, X: np.ndarray) -> np.ndarray:
        """Return the node where each row of X (m, d) stops: shape (m,)."""
        codes = encode_cells(X, self.n_values)  # (m, d)
        stop = np.empty(codes.shape[0], dtype=np.intp)
        for chunk, stops in NodeTable([self]).iterate_stops(codes):
            stop[chunk] = stops[0]
        return stop

    def find_branch(self, node: np.ndarray, cell: np.ndarray) -> np.ndarray:
        """Return the branch that each cell (r,) takes at its inner node (r,), or -1 if there is none: shape (r,)."""
        is_missing = np.isnan(cell)
        branch = np.where(is_missing, self.missing_branch[node], cell >= self.threshold[node])
        nominal = np.flatnonzero(self.route_start[node] >= 0)
        at = node[nominal]
        n_values = self.n_values[self.feature[at]]
        # The code of a missing cell is the number of values; values not seen in training have no code.
        code = np.where(is_missing[nominal], n_values, cell[nominal])
        code = code.astype(np.intp)
        is_known = (code >= 0) & (code <= n_values)
        entry = self.route_start[at] + np.where(is_known, code, 0)
        branch[nominal] = np.where(is_known, self.route[entry], -1)
        return branch

    def sum_over_subtrees(self, at_nodes: np.ndarray) -> np.ndarray:
        """Add the entries of all descendants to the entry of each node, of shape (k,) or (k, r): same shape."""
        total = at_nodes.copy()
        parent = self.parent
        for level in reversed(self.levels()):
            np.add.at(total, parent[level], total[level])
        return total

    def compute_feature_importances(self) -> np.ndarray:
        """Return the share of each feature in the decrease of impurity.

        The decrease at a node is its weight times its impurity, minus the same product for each child.

        Returns
        -------
        ndarray of shape (d,)
            Sums to 1; all 0 if the tree has no split.
        """
        d = self.n_values.size
        # Impurities are taken relative to the root's, because products with the impurity of targets may overflow.
        scale = self.impurity[0] if self.impurity[0] > 0 else 1.0
        weighted = self.impurity / scale * self.weighted_n_node_samples  # (k,)
        parent = np.maximum(self.parent, 0)
        of_children = np.bincount(parent[1:], weights=weighted[1:], minlength=self.node_count)
        inner = ~self.is_leaf
        decrease = (weighted - of_children)[inner]
        importances = np.bincount(self.feature[inner], weights=decrease, minlength=d)
        total = importances.sum()
        return importances / total if total > 0 else importances

    def cut_at_depth(self, depth: float) -> Tree:
        """Return a copy with the nodes of at most this depth; the arrays of routes and values are shared."""
        k = int(np.searchsorted(self.depth, depth, side="right"))
        copies = {name: getattr(self, name)[:k].copy() for name in NODE_FIELDS}
        tree = replace(self, **copies)
        tree._make_leaves(np.flatnonzero(tree.depth == depth))
        return tree

    def collapsed_at(self, nodes: np.ndarray) -> Tree:
        """Return a copy in which the given nodes are leaves."""
        tree = self.cut_at_depth(np.inf)
        if nodes.size:
            tree.collapse(nodes)
        return tree

    def _make_leaves(self, nodes: np.ndarray) -> None:
        for name, entry in AT_LEAVES.items():
            getattr(self, name)[nodes] = entry

    def collapse(self, nodes: np.ndarray) -> None:
        """Turn the given nodes into leaves, in place: nodes below them are removed, and the others are renumbered."""
        is_collapsed = np.zeros(self.node_count, dtype=bool)
        is_collapsed[nodes] = True
        is_removed = np.zeros(self.node_count, dtype=bool)
        parent = self.parent
        # From the top down: a node is removed if its parent is collapsed or removed.
        for level in self.levels():
            above = parent[level]
            is_removed[level] = is_collapsed[above] | is_removed[above]
        self._make_leaves(is_collapsed)
        is_kept = ~is_removed
        new_number = np.cumsum(is_kept) - 1  # (k,)
        for name in NODE_FIELDS:
            setattr(self, name, getattr(self, name)[is_kept])
        inner = ~self.is_leaf
        self.first_child[inner] = new_number[self.first_child[inner]]


AT_LEAVES = {
    "feature": -1,
    "threshold": np.nan,
    "missing_branch": 0,
    "first_child": -1,
    "n_children": 0,
    "route_start": -1,
    "gain": 0,
}
"""The entries of a leaf in the attributes that describe a split."""

NODE_FIELDS = [field.name for field in fields(Tree) if field.name not in {"route", "n_values"}]
"""The attributes of a tree that have an entry for each node."""


def _concatenate_ranges(start: np.ndarray, length: np.ndarray) -> np.ndarray:
    """Concatenate start_i, start_i + 1, …, start_i + length_i - 1 over all i."""
    offset = np.cumsum(length) - length
    return np.arange(length.sum()) + np.repeat(start - offset, length)


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


class NodeTable:
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

    def iterate_stops(self, codes: np.ndarray) -> Iterator[tuple[slice, np.ndarray]]:
        """Yield some rows of the cells (m, d) from `encode_cells`, and the nodes of T trees where they stop: (T, r)."""
        n_rows = max(1, MAX_PATHS_PER_CHUNK // self._root.size)
        for first in range(0, codes.shape[0], n_rows):
            chunk = slice(first, first + n_rows)
            yield chunk, self._find_stops(codes[chunk]) - self._root[:, None]

    def _find_stops(self, codes: np.ndarray) -> np.ndarray:
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


def compute_partial_dependence(tree: Tree, cells: np.ndarray, features: np.ndarray) -> np.ndarray:
    """Return the mean predictions of a tree at points.

    Parameters
    ----------
    tree : Tree
        A tree of k nodes with one value each.
    cells : ndarray of shape (g, f)
        Nominal cells are codes, missing cells NaN.
    features : ndarray of shape (f,), int
        The features that are given.

    Returns
    -------
    ndarray of shape (g,)
    """
    g = cells.shape[0]
    column_of_feature = {int(feature): cells[:, i] for i, feature in enumerate(features)}
    share = np.zeros((tree.node_count, g))  # the weighted share of each point that reaches a node
    share[0] = 1.0
    total = np.zeros(g)
    # Parents have lower numbers than their children.
    for node in range(tree.node_count):
        column = column_of_feature.get(int(tree.feature[node]))
        children = tree.children(node)
        if column is None:
            weight = tree.weighted_n_node_samples
            for child in children:
                share[child] = share[node] * (weight[child] / weight[node])
            stays = np.full(g, tree.feature[node] < 0)
        else:
            branch = tree.find_branch(np.full(g, node), column)
            for b, child in enumerate(children):
                share[child] = np.where(branch == b, share[node], 0.0)
            stays = branch < 0
        total += np.where(stays, share[node], 0.0) * tree.value[node, 0]
    return total
