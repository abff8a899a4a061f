"""A grown tree: flat arrays, one entry a node, and the way of a row down it.

Nodes are numbered level by level from the root, 0, and the children of a node stand side by side.  A row stops at a
leaf, or at a node that has no branch for its nominal value: the node's own majority (or mean) is the prediction.
Cost of `apply`: O(m depth).
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from itertools import pairwise

import numpy as np

CHUNK = 1 << 15
"""Rows that descend together: their nodes and cells stay in cache."""

FEW = 256
"""So many rows go on to the end of the longest path."""


@dataclass
class Tree:
    """k nodes.

    Attributes
    ----------
    feature : ndarray of shape (k,), int
        The feature asked; -1 at a leaf.
    threshold : ndarray of shape (k,)
        x < threshold goes to branch 0, else to branch 1; NaN where the feature is nominal and at leaves.
    missing_branch : ndarray of shape (k,), int
        Where a missing numeric cell goes: the better side in training, the fuller side if none was missing there.
    first_child, n_children : ndarray of shape (k,), int
        Child of branch b is first_child + b; -1 and 0 at leaves.
    route_start : ndarray of shape (k,), int
        Of a nominal split, where its entries in ``route`` begin, one for each value and one for missing; else -1.
    route : ndarray of int
        The branch, or -1 where there is none.
    n_values : ndarray of shape (d,), int
        The number of values of each nominal feature; 0 for a numeric one.
    depth, n_node_samples : ndarray of shape (k,), int
    weighted_n_node_samples, impurity : ndarray of shape (k,)
    value : ndarray of shape (k, c) or (k, 1)
        Class fractions, or the mean.
    gain : ndarray of shape (k,)
        By how much the split lowers the impurity, times the node's weight; 0 at leaves.
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
        # Children stand in the order of their parents only level by level: write each family's range.
        families = np.repeat(inner, self.n_children[inner])
        parent[_ranges(self.first_child[inner], self.n_children[inner])] = families
        return parent

    def levels(self) -> list[slice]:
        """Return the nodes of depth 1, 2, …: nodes are numbered level by level."""
        bounds = np.searchsorted(self.depth, np.arange(1, self.max_depth + 2))
        return [slice(a, b) for a, b in pairwise(bounds.tolist())]

    def children(self, node: int) -> range:
        """Return the children of a node."""
        return range(self.first_child[node], self.first_child[node] + self.n_children[node])

    def apply(self, X: np.ndarray) -> np.ndarray:
        """Return the node where each row of X (m, d) stops, shape (m,)."""
        plain = not (self.n_values.any() or np.isnan(X).any())
        walk = self._walk_numbers if plain else self._walk
        X = np.ascontiguousarray(X)
        parts = [walk(X[first : first + CHUNK]) for first in range(0, max(X.shape[0], 1), CHUNK)]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def _walk_numbers(self, X: np.ndarray) -> np.ndarray:
        """All rows take a step at once; at a leaf no cell is >= NaN, whatever is asked, and the child is the leaf."""
        leaf = self.is_leaf
        child = np.where(leaf, np.arange(leaf.size), self.first_child)
        cells, base = X.ravel(), np.arange(X.shape[0]) * X.shape[1]
        node = np.zeros(X.shape[0], dtype=np.intp)
        stop, rows = node, np.arange(X.shape[0])
        for step in range(1, self.max_depth + 1):
            right = cells.take(base + self.feature.take(node)) >= self.threshold.take(node)
            node = child.take(node)
            node += right
            if rows.size > FEW and step % 4 == 0:  # let go of the rows that have arrived
                on = np.flatnonzero(~leaf.take(node))
                stop[rows] = node
                rows, base, node = rows.take(on), base.take(on), node.take(on)
        stop[rows] = node
        return stop

    def _walk(self, X: np.ndarray) -> np.ndarray:
        stop = np.zeros(X.shape[0], dtype=np.intp)
        rows = np.arange(X.shape[0]) if self.feature[0] >= 0 else np.empty(0, dtype=np.intp)
        while rows.size:
            node = stop[rows]
            branch = self._branch(node, X[rows, self.feature[node]])
            on = branch >= 0
            rows, child = rows[on], (self.first_child[node] + branch)[on]
            stop[rows] = child
            rows = rows[self.feature[child] >= 0]
        return stop

    def _branch(self, node: np.ndarray, cell: np.ndarray) -> np.ndarray:
        missing = np.isnan(cell)
        branch = np.where(missing, self.missing_branch[node], cell >= self.threshold[node])
        nominal = np.flatnonzero(self.route_start[node] >= 0)
        at = node[nominal]
        n_values = self.n_values[self.feature[at]]
        code = np.where(missing[nominal], n_values, cell[nominal]).astype(np.intp)
        known = (code >= 0) & (code <= n_values)
        route = self.route[self.route_start[at] + np.where(known, code, 0)]
        branch[nominal] = np.where(known, route, -1)
        return branch

    def sum_over_subtrees(self, at_nodes: np.ndarray) -> np.ndarray:
        """Add to each node what stands at all nodes below it: (k,) or (k, r), same shape."""
        total = at_nodes.copy()
        parent = self.parent
        for here in reversed(self.levels()):
            np.add.at(total, parent[here], total[here])
        return total

    def cut_at_depth(self, depth: float) -> Tree:
        """Return a copy of the nodes of at most this depth; the arrays of routes and values are shared."""
        k = int(np.searchsorted(self.depth, depth, side="right"))
        tree = replace(self, **{name: getattr(self, name)[:k].copy() for name in NODE_FIELDS})
        tree._make_leaves(np.flatnonzero(tree.depth == depth))
        return tree

    def collapsed_at(self, nodes: np.ndarray) -> Tree:
        """Return a copy in which the given nodes are leaves."""
        tree = self.cut_at_depth(np.inf)
        if nodes.size:
            tree.collapse(nodes)
        return tree

    def _make_leaves(self, nodes: np.ndarray) -> None:
        self.feature[nodes], self.first_child[nodes], self.n_children[nodes] = -1, -1, 0
        self.threshold[nodes], self.route_start[nodes] = np.nan, -1
        self.missing_branch[nodes], self.gain[nodes] = 0, 0

    def collapse(self, nodes: np.ndarray) -> None:
        """Make leaves of the given nodes, in place: what is below them goes, and the rest moves together."""
        gone = np.zeros(self.node_count, dtype=bool)
        gone[nodes] = True
        parent = self.parent
        removed = np.zeros(self.node_count, dtype=bool)
        for here in self.levels():
            removed[here] = gone[parent[here]] | removed[parent[here]]
        self._make_leaves(gone)
        kept = ~removed
        position = np.cumsum(kept) - 1
        for name in NODE_FIELDS:
            setattr(self, name, getattr(self, name)[kept])
        inner = ~self.is_leaf
        self.first_child[inner] = position[self.first_child[inner]]


NODE_FIELDS = [field.name for field in fields(Tree) if field.name not in {"route", "n_values"}]


def _ranges(start: np.ndarray, length: np.ndarray) -> np.ndarray:
    """Concatenate start_i, start_i + 1, …, start_i + length_i - 1 over all i."""
    offset = np.cumsum(length) - length
    return np.arange(length.sum()) + np.repeat(start - offset, length)
