"""A grown tree: flat arrays with one entry for each node, and the descent of rows from the root to the leaves.

Nodes are numbered level by level from the root, 0, and the children of a node have consecutive numbers. A row stops
at a leaf, or at a node that has no branch for its nominal value: the node's own majority (or mean) is the prediction.
Cost of `Tree.apply`: O(m depth).

*Partial dependence* of a regression tree is its mean prediction where some features are given and the others are not.
At a question about a given feature, the branch of the answer is followed; at any other question, both branches are
followed, weighted by their shares of the training weight. Cost: O(k g) for k nodes and g points.

Reference: J. H. Friedman, "Greedy function approximation: a gradient boosting machine", Annals of Statistics 29, 2001,
section 8.2 (weighted traversals of trees).
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from itertools import pairwise

import numpy as np

ROWS_PER_CHUNK = 1 << 15
"""Number of rows that descend together: few enough that their nodes and cells stay in cache."""

MIN_ROWS_TO_COMPACT = 256
"""Up to this number, rows that have stopped are carried on to the end of the longest path."""

STEPS_PER_COMPACTION = 4
"""Rows that have stopped are removed at intervals of this number of steps."""


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
        needs_routes = self.n_values.any() or np.isnan(X).any()
        descend = self._descend if needs_routes else self._descend_numeric
        X = np.ascontiguousarray(X)
        m = X.shape[0]
        if m <= ROWS_PER_CHUNK:
            return descend(X)
        starts = range(0, m, ROWS_PER_CHUNK)
        return np.concatenate([descend(X[start : start + ROWS_PER_CHUNK]) for start in starts])

    def _descend_numeric(self, X: np.ndarray) -> np.ndarray:
        """Move all rows down together, one level per step, if all features are numeric and no cell is missing."""
        m, d = X.shape
        leaf = self.is_leaf
        # A leaf is its own child: no cell of any feature is >= NaN, so a row stays there.
        child = np.where(leaf, np.arange(leaf.size), self.first_child)  # (k,)
        cells = X.ravel()
        first_cell = np.arange(m) * d  # (m,), where each row begins
        rows = np.arange(m)
        stop = np.zeros(m, dtype=np.intp)
        node = stop
        for step in range(1, self.max_depth + 1):
            goes_right = cells.take(first_cell + self.feature.take(node)) >= self.threshold.take(node)
            node = child.take(node)
            node += goes_right
            if rows.size > MIN_ROWS_TO_COMPACT and step % STEPS_PER_COMPACTION == 0:
                # Rows that have reached a leaf need not be processed any further.
                stop[rows] = node
                moving = np.flatnonzero(~leaf.take(node))
                rows = rows.take(moving)
                first_cell = first_cell.take(moving)
                node = node.take(moving)
        stop[rows] = node
        return stop

    def _descend(self, X: np.ndarray) -> np.ndarray:
        """Descend with features of any kind: only the rows that still move take each step."""
        m = X.shape[0]
        stop = np.zeros(m, dtype=np.intp)
        if self.feature[0] < 0:
            return stop
        rows = np.arange(m)
        while rows.size:
            node = stop[rows]
            branch = self.find_branch(node, X[rows, self.feature[node]])
            # A row whose nominal value has no branch stays where it is.
            has_branch = branch >= 0
            rows = rows[has_branch]
            child = (self.first_child[node] + branch)[has_branch]
            stop[rows] = child
            rows = rows[self.feature[child] >= 0]
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
