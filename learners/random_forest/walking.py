"""Many rows down many trees at once: nodes of several trees in one table, and states (tree, row) that step together.

A question has an answer, a small whole number, and the table tells for each node and answer where to go: for a numeric
one 0 below the threshold, 1 from there on, 2 if the cell is missing; for a nominal one the code of the value, or the
next two numbers for a missing and for an unknown value.  Who has nowhere to go stays.

Cost: O(T m depth) for T trees and m rows.
"""

from __future__ import annotations

import numpy as np

from learners.decision_tree.tree import Tree

STATES = 1 << 15
"""States that step together: what is known of them stays in cache."""

NODES = 1 << 14
"""Trees stand in one table up to so many nodes, which stay in cache too."""

FEW = 256
"""So many states go on to the end of the longest path."""


def woods(trees: list[Tree]) -> list[Wood]:
    """Return the trees in their order, as many together as are small enough."""
    upto = np.cumsum([tree.node_count for tree in trees])
    groups = np.split(np.arange(len(trees)), np.flatnonzero(np.diff(upto // NODES)) + 1)
    return [Wood([trees[t] for t in group]) for group in groups]


def coded(X: np.ndarray, n_values: np.ndarray) -> np.ndarray:
    """Return X (m, d) with answers in nominal cells and a last column of zeros, for leaves; X if no cell is nominal."""
    if not n_values.any():
        return np.ascontiguousarray(X)
    table = np.zeros((X.shape[0], X.shape[1] + 1))
    table[:, :-1] = X
    for column, v in zip(table.T, n_values.tolist(), strict=False):
        if v > 0:
            missing = np.isnan(column)
            column[(column < 0) | (column >= v)] = v + 1
            column[missing] = v
    return table.astype(np.intp) if n_values.all() else table


class Wood:
    """The k nodes of T trees, tree after tree.

    Parameters
    ----------
    trees : list of Tree
    """

    def __init__(self, trees: list[Tree]) -> None:
        sizes = np.array([tree.node_count for tree in trees])
        self.root = np.cumsum(sizes) - sizes  # (T,)
        self.max_depth = max(tree.max_depth for tree in trees)
        self.n_values = trees[0].n_values
        names = ("feature", "threshold", "first_child", "missing_branch", "route_start")
        joined = {name: np.concatenate([getattr(tree, name) for tree in trees]) for name in names}
        self.value = np.concatenate([tree.value for tree in trees])  # (k, c) or (k, 1)
        self.leaf = joined["feature"] < 0  # (k,)
        self.feature = np.where(self.leaf, 0, joined["feature"])
        own, offset = np.arange(self.leaf.size), np.repeat(self.root, sizes)
        self.first_child = np.where(self.leaf, own, joined["first_child"] + offset)
        self.nominal = joined["route_start"] >= 0
        self.threshold = np.where(self.leaf | self.nominal, np.inf, joined["threshold"])
        self.missing_child = self.first_child + joined["missing_branch"]
        if self.n_values.any():
            self._lay_out_answers(trees, joined["route_start"])

    def _lay_out_answers(self, trees: list[Tree], route_start: np.ndarray) -> None:
        """Write ``child``, where each answer leads, and ``start``, where a node's answers begin in it."""
        k = self.leaf.size
        width = np.where(self.nominal, self.n_values[self.feature] + 2, 3)
        self.feature[self.leaf] = self.n_values.size  # a column of zeros, so that the answer is 0
        self.start = np.cumsum(width) - width
        self.child = np.repeat(np.arange(k), width)  # nowhere to go
        numeric = np.flatnonzero(~self.nominal & ~self.leaf)
        for answer, child in enumerate((self.first_child, self.first_child + 1, self.missing_child)):
            self.child[self.start[numeric] + answer] = child[numeric]
        nominal = np.flatnonzero(self.nominal)
        length = width[nominal] - 1  # routes have no entry for an unknown value
        node = np.repeat(nominal, length)
        answer = np.arange(node.size) - np.repeat(np.cumsum(length) - length, length)
        routes = np.array([tree.route.size for tree in trees])
        before = np.repeat(np.cumsum(routes) - routes, [tree.node_count for tree in trees])
        branch = np.concatenate([tree.route for tree in trees])[(before + route_start)[node] + answer]
        self.child[self.start[node] + answer] = np.where(branch >= 0, self.first_child[node] + branch, node)

    def add_up(self, table: np.ndarray, answers: np.ndarray, total: np.ndarray) -> None:
        """Add to the total (m, c), for rows of a coded table (m, ·), the answers (k, c) of the nodes where they stop."""
        step = max(1, STATES // self.root.size)
        for first in range(0, table.shape[0], step):
            part = slice(first, first + step)
            for said in answers.take(self.stops(table[part]), axis=0):  # tree by tree, so that sums are always the same
                total[part] += said

    def stops(self, X: np.ndarray) -> np.ndarray:
        """Return the node where each row of a coded table (m, ·) stops in each tree: shape (T, m)."""
        if self.n_values.any():
            step = self._step_by_answers
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

    def _step_by_answers(self, node: np.ndarray, cell: np.ndarray) -> np.ndarray:
        if cell.dtype.kind == "f":
            answer = np.where(self.nominal.take(node), cell, cell >= self.threshold.take(node))
            answer[np.isnan(cell)] = 2
            cell = answer.astype(np.intp)
        child: np.ndarray = self.child.take(self.start.take(node) + cell)
        return child
