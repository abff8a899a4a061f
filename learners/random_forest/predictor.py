"""Many rows down many trees at once: nodes of several trees in one table, and states (tree, row) that step together.

A numeric question sends a row to the first child or the next; a nominal one by the route of its value's code, and the
code of a missing cell is the number of values.  A leaf is a node whose question leads to itself.

Cost: O(T m depth) for T trees and m rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from bakeoff.learners.trees import Tree

STATES = 1 << 15
"""States that step together: what is known of them stays in cache."""

UNKNOWN = -1.0
"""The code of a value without a branch."""

NODES = 1 << 14
"""Trees stand in one table up to so many nodes, which stay in cache too."""

FEW = 256
"""So many states go on to the end of the longest path."""


def woods(trees: list[Tree]) -> Iterator[tuple[slice, Wood]]:
    """Yield the trees in their order, as many together as are small enough, and which these are."""
    upto = np.cumsum([tree.node_count for tree in trees])
    ends = [*(np.flatnonzero(np.diff(upto // NODES)) + 1).tolist(), len(trees)]
    for first, last in pairwise([0, *ends]):
        yield slice(first, last), Wood(trees[first:last])


def coded(X: np.ndarray, n_values: np.ndarray) -> np.ndarray:
    """Return X (m, d) with codes for missing nominal cells, -1 for unknown ones; whole numbers if all are nominal."""
    if not n_values.any():
        return np.ascontiguousarray(X)
    nominal = n_values > 0
    table = np.where(nominal & np.isnan(X), n_values, X)
    table[nominal & (table > n_values)] = UNKNOWN
    return table.astype(np.intp) if nominal.all() else table


def _joined(trees: list[Tree], name: str) -> np.ndarray:
    return np.concatenate([getattr(tree, name) for tree in trees])


class Wood:
    """The k nodes of T trees, tree after tree.

    Parameters
    ----------
    trees : list of Tree
    """

    def __init__(self, trees: list[Tree]) -> None:
        self.sizes = np.array([tree.node_count for tree in trees])
        self.root = np.cumsum(self.sizes) - self.sizes  # (T,)
        self.max_depth = max(tree.max_depth for tree in trees)
        self.n_values = trees[0].n_values
        offset = np.repeat(self.root, self.sizes)
        self.feature = _joined(trees, "feature")  # (k,)
        self.leaf = self.feature < 0
        self.feature[self.leaf] = 0
        self.first_child = _joined(trees, "first_child") + offset
        self.first_child[self.leaf] = np.flatnonzero(self.leaf)
        if self.n_values.any():
            self._join_routes(trees)
        if not self.n_values.all():
            self.threshold = _joined(trees, "threshold")
            self.threshold[np.isnan(self.threshold)] = np.inf  # no numeric question leads to the first child
            self.missing_child = self.first_child + _joined(trees, "missing_branch")

    def _join_routes(self, trees: list[Tree]) -> None:
        route_start, routes = _joined(trees, "route_start"), np.array([tree.route.size for tree in trees])
        self.nominal = route_start >= 0
        route_start += np.repeat(np.cumsum(routes) - routes, self.sizes)
        route_start[~self.nominal] = routes.sum() + 1  # by these zeros any code leads to the first child
        zeros = np.zeros(int(self.n_values.max()) + 2, dtype=np.intp)
        self.route = np.concatenate([tree.route for tree in trees] + [zeros])
        self.route_start = route_start
        self.complete = bool((self.route >= 0).all())

    def add_up(self, table: np.ndarray, answers: list[np.ndarray], total: np.ndarray) -> None:
        """Add to the total (m, c), for rows of a coded table (m, ·), what each tree's nodes answer: (nodes, c)."""
        step = max(1, STATES // self.root.size)
        for first in range(0, table.shape[0], step):
            part = slice(first, first + step)
            stops = self.stops(table[part]) - self.root[:, None]
            for stop, answer in zip(stops, answers, strict=True):  # tree by tree: the sum is always the same
                total[part] += answer.take(stop, axis=0)

    def stops(self, X: np.ndarray) -> np.ndarray:
        """Return the node where each row of a coded table (m, ·) stops in each tree: shape (T, m)."""
        if self.n_values.any():
            step = self._step_by_routes
        else:
            step = self._step_with_missing if np.isnan(X).any() else self._step_by_numbers
        m, width = X.shape
        cells, stop = X.ravel(), np.repeat(self.root, m)
        states, node, first_cell = np.arange(stop.size), stop, np.tile(np.arange(0, m * width, width), self.root.size)
        for depth in range(1, self.max_depth + 1):
            node = step(node, cells.take(first_cell + self.feature.take(node)))
            if node.size > FEW and depth % 4 == 0:  # let go of those that have arrived
                stop[states] = node
                on = np.flatnonzero(~self.leaf.take(node))
                states, first_cell, node = states.take(on), first_cell.take(on), node.take(on)
        stop[states] = node
        return stop.reshape(-1, m)

    def _step_by_numbers(self, node: np.ndarray, cell: np.ndarray) -> np.ndarray:
        """At a leaf the question is ``x >= inf`` and the child the leaf itself."""
        right = cell >= self.threshold.take(node)
        child: np.ndarray = self.first_child.take(node)
        child += right
        return child

    def _step_with_missing(self, node: np.ndarray, cell: np.ndarray) -> np.ndarray:
        return np.where(np.isnan(cell), self.missing_child.take(node), self._step_by_numbers(node, cell))

    def _step_by_routes(self, node: np.ndarray, cell: np.ndarray) -> np.ndarray:
        """Who has no branch for its value stays where it is."""
        mixed = cell.dtype.kind == "f"
        code = np.where(self.nominal.take(node), cell, 0.0).astype(np.intp) if mixed else cell
        branch = self.route.take(self.route_start.take(node) + code)
        child: np.ndarray = self.first_child.take(node)
        child += branch
        if not self.complete or code.min() < 0:
            child = np.where((branch < 0) | ((code < 0) & ~self.leaf.take(node)), node, child)
        return np.where(self.nominal.take(node), child, self._step_with_missing(node, cell)) if mixed else child
