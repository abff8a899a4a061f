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

SMALL = 1 << 16
"""Whole numbers below this are sorted as such."""


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
    sums : ndarray of shape (p, m)
        The target's sums in each node; none yet at the roots.
    """

    columns: np.ndarray
    nominal: np.ndarray
    order: np.ndarray
    rows_in_node: np.ndarray
    target: Target
    has_missing: bool
    sums: np.ndarray

    @classmethod
    def of(cls, X: np.ndarray, nominal: np.ndarray, target: Target) -> Front:
        """Put all n rows of X (n, d) into one node."""
        columns = np.ascontiguousarray(X.T)
        missing = np.isnan(columns)
        has_missing = bool(missing.any())
        if has_missing:
            columns = np.where(missing, np.inf, columns)
        rows, no_sums = np.array([X.shape[0]]), np.empty((0, 1))
        return cls(columns, nominal, sorting(columns), rows, target, has_missing, no_sums)

    @cached_property
    def has_nominal(self) -> bool:
        """Whether any feature is nominal."""
        return bool(self.nominal.any())

    @property
    def weight(self) -> np.ndarray:
        """The weight of each node in whole units, shape (m,)."""
        return (self.rows_in_node if self.target.whole is None else self.sums[0]).astype(np.float64)

    @cached_property
    def start(self) -> np.ndarray:
        """Where each node's rows begin, shape (m,)."""
        return np.cumsum(self.rows_in_node) - self.rows_in_node

    @cached_property
    def node_of_place(self) -> np.ndarray:
        """The node that stands at each place, shape (n,)."""
        return np.repeat(np.arange(self.rows_in_node.size), self.rows_in_node)

    def sorted_by(self, feature: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows sorted by each of b features, and their cells: both (b, n).

        ``feature`` is (b, 1), or (b, m) if nodes look at features of their own.
        """
        if feature.shape[1] > 1:
            feature = feature.take(self.node_of_place, axis=1)
            order = self.order.ravel().take(feature * self.order.shape[1] + np.arange(self.order.shape[1]))
        else:
            first, last = int(feature[0, 0]), int(feature[-1, 0])
            neighbours = last - first + 1 == feature.shape[0]
            order = self.order[first : last + 1] if neighbours else self.order[feature[:, 0]]
        return order, self.columns.ravel().take(order + feature * self.columns.shape[1])

    def descend(self, branch: np.ndarray, rows_in_node: np.ndarray, sums: np.ndarray) -> Front:
        """Return the next level.

        Parameters
        ----------
        branch : ndarray of shape (n,), int
            The branch that each row of the first feature's order takes; -1 for rows that are done.
        rows_in_node, sums : ndarray of shape (m,) and (p, m)
            Of the next level's nodes, which go branch by branch, and within a branch by parent.
        """
        by_row = np.empty(self.columns.shape[1], dtype=np.int8 if branch.max() < 127 else np.int32)
        by_row[self.order[0]] = branch
        widest = int(branch.max()) + 1
        step = max(1, BLOCK // self.order.shape[1])
        blocks = [self.order[first : first + step] for first in range(0, self.order.shape[0], step)]
        parts = [_select(rows, by_row.take(rows), widest) for rows in blocks]
        order = parts[0] if len(parts) == 1 else np.concatenate(parts)
        return replace(self, order=order, rows_in_node=rows_in_node, sums=sums)

    def only(self, nodes: np.ndarray) -> Front:
        """Return the front of some of the nodes alone."""
        chosen = np.zeros(self.rows_in_node.size, dtype=bool)
        chosen[nodes] = True
        places = chosen[self.node_of_place]
        rows_in_node, sums = self.rows_in_node[nodes], self.sums[:, nodes]
        return replace(self, order=self.order[:, places], rows_in_node=rows_in_node, sums=sums)


def _select(rows: np.ndarray, branch: np.ndarray, widest: int) -> np.ndarray:
    """Rows of branch 0, then of branch 1, …, each in the order they had; those of branch -1 are left out: (b, kept)."""
    b = rows.shape[0]
    if widest <= FEW_BRANCHES:  # every feature has the same number of rows in a branch
        flat, parts = rows.ravel(), [np.flatnonzero(branch == k) for k in range(widest)]
        return np.concatenate([flat.take(part).reshape(b, -1) for part in parts], axis=1)
    places = np.argsort(branch, axis=1, kind="stable")
    return np.take_along_axis(rows, places, axis=1)[:, np.count_nonzero(branch[0] < 0) :]


def sorting(columns: np.ndarray) -> np.ndarray:
    """Return the rows of columns (d, n), +inf where missing, sorted by each: (d, n)."""
    if columns.size and columns.min() >= 0 and columns.max() < SMALL and (columns == np.rint(columns)).all():
        # Small whole numbers sort by counting, much faster than floats.
        return np.argsort(columns.astype(np.uint16), axis=1, kind="stable")
    return np.argsort(columns, axis=1)
