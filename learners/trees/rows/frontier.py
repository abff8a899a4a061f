"""The front of a growing tree: the rows of all nodes of one level, sorted by any feature.

Where nodes look at all features, rows are sorted once, feature by feature.  Going down a level, each node's rows fall
into its branches, and because the selection keeps their order, nothing is sorted again: O(n d log n) once, then O(n d)
a level.  Where nodes draw a few of many features, rows are kept by node alone, and sorted at each level by what was
drawn: node and rank make one whole number, and whole numbers sort by their digits, O(n) for each drawn feature.

Where columns have few values, the first levels need no sorting: rows are counted by node and rank (see `counting`), and
are sorted once there are too many nodes for that.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from bakeoff.learners.trees.rows.binning import Bins, count_nominal_values, encode_values
from bakeoff.learners.trees.rows.presort import (
    MAX_CELLS_PER_BLOCK,
    extract_columns,
    narrow_rows,
    presort_columns,
    radix_argsort,
)
from bakeoff.learners.trees.rows.target import Target

MAX_BRANCHES_SELECTED = 4

MIN_ROWS_PER_HISTOGRAM_CELL = 4
"""Rows are counted as long as nodes times values are no more than one for every so many rows."""


class Nodes(NamedTuple):
    """The m nodes of a front; see there."""

    rows_in_node: np.ndarray
    tree: np.ndarray
    sums: np.ndarray


@dataclass
class Frontier:
    """The n rows still being split, of the m nodes of one level; of one tree, or of several that have the same table.

    Row i of the table is row i + t n0 of tree t.

    Attributes
    ----------
    columns : ndarray of shape (d, n0)
        The whole table by features; missing cells are +inf, so that they come last.
    rank : ndarray of shape (d, n0), int, or None
        The position of each cell among the distinct values of its column, if rows are sorted by it at each level.
    nominal : ndarray of shape (d,), bool
    order : ndarray of shape (d, n) or (1, n), int
        For each feature the rows by node and within a node by value, in as few bytes as will do; with ranks just the
        rows by node.
    rows_in_node : ndarray of shape (m,), int
        Nodes stand one after the other, for every feature at the same places.
    tree : ndarray of shape (m,), int
    target : Target
        Of all rows of all trees.
    nominal_values : int
        The most values that a nominal column has, if there are ranks; else 0.
    has_nominal, has_missing : bool
        Whether any feature is nominal, and whether any cell of the table is missing.
    sums : ndarray of shape (p, m)
        The target's sums in each node; none yet at the roots.
    bins : Bins or None
        As long as rows are counted by value.
    start : ndarray of shape (m,)
        Where each node's rows begin.
    node_of_place : ndarray of shape (n,)
        The node that stands at each place.
    """

    columns: np.ndarray
    bin_codes: np.ndarray | None
    nominal: np.ndarray
    order: np.ndarray
    rows_in_node: np.ndarray
    tree: np.ndarray
    target: Target
    nominal_values: int
    has_nominal: bool
    has_missing: bool
    sums: np.ndarray
    bins: Bins | None = None

    def __post_init__(self) -> None:
        self.start = self.rows_in_node.cumsum() - self.rows_in_node
        self.node_of_position = np.arange(self.rows_in_node.size).repeat(self.rows_in_node)

    @classmethod
    def from_table(cls, X: np.ndarray, nominal: np.ndarray, target: Target, *, draws_features: bool) -> Frontier:
        """Put all n rows of X (n, d) into one node; with ``draws_features`` nodes draw some of the features."""
        columns, has_missing = extract_columns(X)
        has_nominal = bool(nominal.any())
        rows, root, no_sums = np.array([X.shape[0]]), np.array([0]), np.empty((0, 1))
        by_node = np.arange(X.shape[0])[None, :]
        allows_histogram = target.allows_histogram and not (draws_features or has_missing or has_nominal)
        bins = Bins.from_columns(columns) if allows_histogram else None
        if bins is not None:
            return cls(columns, bins.codes, nominal, by_node, rows, root, target, 0, False, False, no_sums, bins)
        order = presort_columns(columns)
        bin_codes = encode_values(columns, order) if draws_features else None
        order = by_node if draws_features else order
        values = count_nominal_values(bin_codes, nominal)
        return cls(columns, bin_codes, nominal, order, rows, root, target, values, has_nominal, has_missing, no_sums)

    @property
    def node_weights(self) -> np.ndarray:
        """The weight of each node in whole units, shape (m,)."""
        return (self.rows_in_node if self.target.fixed_point_weight is None else self.sums[0]).astype(np.float64)

    def column_offset(self, feature: np.ndarray) -> np.ndarray:
        """Return, for features (..., m) of each node, what is added to a row to find its cell in the flat table."""
        first: np.ndarray = feature * self.columns.shape[1]
        return first - self.tree * self.columns.shape[1] if self.has_several_trees else first

    @property
    def has_several_trees(self) -> bool:
        """Whether rows are those of several trees."""
        return self.target.weight.size > self.columns.shape[1]

    def sort_rows(self, feature: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows sorted by each of b features, and whether the next place holds another cell: both (b, n).

        ``feature`` is (b, 1), or (b, m) if nodes look at features of their own.
        """
        b, n = feature.shape[0], self.order.shape[1]
        zero = self._column_offset_by_position(feature)
        if self.bin_codes is not None:
            key, largest = self._make_sort_keys(zero + self.order)
            places = radix_argsort(key, largest)
            order = self.order[0].take(places)
            places += np.arange(0, b * n, n)[:, None]
            cells = key.ravel().take(places)
        else:
            if feature.shape[1] > 1:
                mine = feature.take(self.node_of_position, axis=1)
                order = self.order.ravel().take(mine * n + np.arange(n))
            else:
                first, last = int(feature[0, 0]), int(feature[-1, 0])
                order = self.order[first : last + 1] if last - first + 1 == b else self.order[feature[:, 0]]
            order = order.astype(np.intp)  # what NumPy would make of it at each use
            cells = self.columns.ravel().take(order + zero)
        changes = np.empty(cells.shape, dtype=bool)
        changes[:, -1] = True
        np.not_equal(cells[:, 1:], cells[:, :-1], out=changes[:, :-1])
        return order, changes

    def _column_offset_by_position(self, feature: np.ndarray) -> np.ndarray:
        zero = self.column_offset(feature)
        return zero.take(self.node_of_position, axis=1) if zero.shape[1] > 1 else zero

    def gather_bin_codes(self, feature: np.ndarray) -> np.ndarray:
        """Return the ranks of the cells of features (b, 1) or (b, m), rows by node, if there are ranks: (b, n)."""
        assert self.bin_codes is not None
        at = self._column_offset_by_position(feature) + self.order
        return self.bin_codes.ravel().take(at).astype(np.intp)

    def _make_sort_keys(self, at: np.ndarray) -> tuple[np.ndarray, int]:
        """Return node and rank as one whole number, given cells of the flat table (b, n), and the largest possible."""
        assert self.bin_codes is not None
        ranks_of_column = int(self.bin_codes.max()) + 1
        largest = self.rows_in_node.size * ranks_of_column - 1
        dtype = np.min_scalar_type(max(largest, 1 << 15))
        key = self.bin_codes.ravel().take(at).astype(dtype, copy=False)
        key += (self.node_of_position * ranks_of_column).astype(dtype)
        return key, largest

    def make_next_level(self, rows: np.ndarray, branch: np.ndarray, nodes: Nodes) -> Frontier:
        """Return the next level.

        Parameters
        ----------
        rows : ndarray of shape (k,), int
            Those that are still being split, by the next level's nodes.
        branch : ndarray of shape (k,), int
            The branch that each of them takes.
        nodes : Nodes
            The next level's, which go branch by branch, and within a branch by parent.
        """
        if self.order.shape[0] == 1:
            frontier = self._with_nodes(rows[None, :], nodes)
            too_many = (
                self.bins and MIN_ROWS_PER_HISTOGRAM_CELL * nodes.tree.size * self.bins.values.shape[1] > rows.size
            )
            return frontier._presort_rows() if too_many else frontier
        widest, order = int(branch[-1]) + 1, self.order  # branch by branch: the last row has the largest
        if widest > 1 or rows.size < order.shape[1]:
            by_row = np.full(self.target.weight.size, -1, dtype=np.int8 if widest < 127 else np.int32)
            by_row[rows] = branch
            step = max(1, MAX_CELLS_PER_BLOCK // order.shape[1])
            blocks = [order[first : first + step] for first in range(0, order.shape[0], step)]
            parts = [group_by_branch(block, by_row.take(block), widest) for block in blocks]
            order = parts[0] if len(parts) == 1 else np.concatenate(parts)
        return self._with_nodes(order, nodes)

    def _with_nodes(self, order: np.ndarray, nodes: Nodes) -> Frontier:
        table = self.columns, self.bin_codes, self.nominal, order, nodes.rows_in_node, nodes.tree, self.target
        return Frontier(*table, self.nominal_values, self.has_nominal, self.has_missing, nodes.sums, self.bins)

    def _presort_rows(self) -> Frontier:
        """Return this front with its rows sorted by every feature, no longer to be counted."""
        d, step = self.columns.shape[0], max(1, MAX_CELLS_PER_BLOCK // self.order.shape[1])
        features = [np.arange(first, min(first + step, d))[:, None] for first in range(0, d, step)]
        order = np.concatenate(
            [narrow_rows(self.sort_rows(feature)[0], self.target.weight.size) for feature in features]
        )
        return replace(self, order=order, bin_codes=None, bins=None)

    def select_nodes(self, nodes: np.ndarray) -> Frontier:
        """Return the front of some of the nodes alone."""
        chosen = np.zeros(self.rows_in_node.size, dtype=bool)
        chosen[nodes] = True
        order = self.order[:, chosen[self.node_of_position]]
        return self._with_nodes(order, Nodes(self.rows_in_node[nodes], self.tree[nodes], self.sums[:, nodes]))


def group_by_branch(rows: np.ndarray, branch: np.ndarray, widest: int) -> np.ndarray:
    """Return the rows (b, n) of branch 0, then of branch 1, …, each in the order they had, without branch -1: (b, k).

    Every feature has the same number of rows in a branch.
    """
    b = rows.shape[0]
    if widest <= MAX_BRANCHES_SELECTED:
        flat, parts = rows.ravel(), [(branch == k).ravel().nonzero()[0] for k in range(widest)]
        return np.concatenate([flat.take(part).reshape(b, -1) for part in parts], axis=1)
    places = np.argsort(branch, axis=1, kind="stable")
    return np.take_along_axis(rows, places, axis=1)[:, np.count_nonzero(branch[0] < 0) :]
