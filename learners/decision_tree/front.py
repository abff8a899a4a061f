"""The front of a growing tree: the rows of all nodes of one level, kept sorted by every feature.

Rows are sorted once, feature by feature.  Going down a level, each node's rows fall into its branches, and because the
selection keeps their order, nothing is sorted again: O(n d log n) once, then O(n d) a level.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from learners.decision_tree.targets import Target

BLOCK = 1 << 16
"""Cells looked at together: few enough to stay in cache, many enough that small tables need one pass."""

FEW_BRANCHES = 4


@dataclass
class Front:
    """The n rows still being split, of the m nodes of one level.

    Attributes
    ----------
    columns : ndarray of shape (d, n0)
        The whole table by features; missing cells are +inf, so that they come last.
    nominal : ndarray of shape (d,), bool
    order : ndarray of shape (d, n), int
        For each feature the rows (positions in ``columns``), by node and within a node by value.
    rows_in_node : ndarray of shape (m,), int
        Nodes stand one after the other, for every feature at the same places.
    target : Target
        Of all n0 rows.
    has_missing : bool
        Whether any cell of the table is missing.
    """

    columns: np.ndarray
    nominal: np.ndarray
    order: np.ndarray
    rows_in_node: np.ndarray
    target: Target
    has_missing: bool

    @classmethod
    def of(cls, X: np.ndarray, nominal: np.ndarray, target: Target) -> Front:
        """Put all n rows of X (n, d) into one node."""
        columns = np.ascontiguousarray(X.T)
        missing = np.isnan(columns)
        has_missing = bool(missing.any())
        if has_missing:
            columns = np.where(missing, np.inf, columns)
        return cls(columns, nominal, np.argsort(columns, axis=1), np.array([X.shape[0]]), target, has_missing)

    @cached_property
    def has_nominal(self) -> bool:
        """Whether any feature is nominal."""
        return bool(self.nominal.any())

    @cached_property
    def sums(self) -> np.ndarray:
        """The target's sums in each node, shape (p, m)."""
        return self.target.node_sums(self.order[0], self.node_of_place, self.rows_in_node.size)

    @cached_property
    def start(self) -> np.ndarray:
        """Where each node's rows begin, shape (m,)."""
        return np.cumsum(self.rows_in_node) - self.rows_in_node

    @cached_property
    def node_of_place(self) -> np.ndarray:
        """The node that stands at each place, shape (n,)."""
        return np.repeat(np.arange(self.rows_in_node.size), self.rows_in_node)

    def rows_by(self, feature: np.ndarray, node: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows sorted by each of b features, and where their cells are in ``columns.ravel()``: both (b, n).

        ``feature`` is (b, 1), or (b, m) if nodes look at features of their own; ``node`` is `node_of_place`.
        """
        if feature.shape[1] == 1:
            order = self.order[feature[:, 0]]
            return order, order + feature * self.columns.shape[1]
        feature = feature[:, node]
        order = self.order[feature, np.arange(node.size)]
        return order, order + feature * self.columns.shape[1]

    def descend(self, branch: np.ndarray, child: np.ndarray, n_children: int) -> Front:
        """Return the next level.

        Parameters
        ----------
        branch : ndarray of shape (n0,), int
            The branch that each row takes; -1 for rows that are done.
        child : ndarray of shape (n,), int
            For the rows of the first feature's order, the number of their node on the next level, or -1.  Numbers go
            branch by branch, and within a branch by parent.
        n_children : int
        """
        rows_in_node = np.bincount(child[child >= 0], minlength=n_children)
        widest = int(branch.max()) + 1
        step = max(1, BLOCK // self.order.shape[1])
        blocks = [self.order[first : first + step] for first in range(0, self.order.shape[0], step)]
        order = np.concatenate([_select(rows, branch.take(rows), widest) for rows in blocks])
        return replace(self, order=order, rows_in_node=rows_in_node)

    def only(self, nodes: np.ndarray) -> Front:
        """Return the front of some of the nodes alone."""
        chosen = np.zeros(self.rows_in_node.size, dtype=bool)
        chosen[nodes] = True
        places = chosen[self.node_of_place]
        return replace(self, order=self.order[:, places], rows_in_node=self.rows_in_node[nodes])


def _select(rows: np.ndarray, branch: np.ndarray, widest: int) -> np.ndarray:
    """Rows of branch 0, then of branch 1, …, each in the order they had; those of branch -1 are left out: (b, kept)."""
    b = rows.shape[0]
    if widest <= FEW_BRANCHES:  # every feature has the same number of rows in a branch
        return np.hstack([rows.ravel().take(np.flatnonzero(branch == k)).reshape(b, -1) for k in range(widest)])
    places = np.argsort(branch, axis=1, kind="stable")
    return np.take_along_axis(rows, places, axis=1)[:, np.count_nonzero(branch[0] < 0) :]
