"""The frontier of a growing tree: the open nodes of one level, and their rows, which can be sorted by any feature.

If nodes consider all features, rows are presorted once by each feature. From one level to the next, the rows of
each node are selected by branch, which keeps their order, so no further sorting is needed: O(n d log n) once, then
O(n d) per level. If nodes draw a few of many features, rows are ordered only by node, and are sorted at each level by
the drawn features: node, bin code and the kind of the row (see `Kinds`) form one integer, and integers are sorted
without moving or looking up anything else.

If columns have few values, the first levels do not require sorting: histograms count rows by node and bin (see
`cuts`). As soon as there are too many nodes for that, rows are presorted, or sorted by the drawn features.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from bakeoff.learners.trees.criteria import Criterion
from bakeoff.learners.trees.target import NodeStats, Target
from bakeoff.learners.trees.training_table import TrainingTable, divide_columns, narrow_rows

MAX_BRANCHES_SELECTED = 4
"""Up to this number of branches, selecting the rows of each takes less time than sorting rows by branch."""

MAX_CELLS_COMPARED = 1 << 20
"""Up to this number of cells, comparing all of them takes less time than searching features that have one value."""

MAX_COUNTED_BRANCHES = 1 << 15
"""NumPy sorts integers of 16 bits by counting, much faster than others."""

MAX_SMALL_KEY = 1 << 32
"""Integers below this are sorted twice as fast as others."""

MAX_KEY = 1 << 64
"""Integers below this can be sorted at all."""

MIN_ROWS_PER_HISTOGRAM_CELL = 4
"""Histograms are used as long as there is this number of rows for each combination of a node and a bin."""


@dataclass
class Frontier:
    """The n rows of the m open nodes of one level, in one tree or in several that share the table.

    Row i of the table is row i + t n0 of tree t. A position is a place in the order of rows, 0, …, n - 1.

    Attributes
    ----------
    table : TrainingTable
    target : Target
        The target of all rows of all trees.
    order : ndarray of shape (d, n) or (1, n), int
        For each feature, the rows sorted by node and within a node by value, in the smallest sufficient dtype; sorted
        only by node if the table has bin codes.
    n_positions : ndarray of shape (m,), int
        The number of positions of each node. Nodes are contiguous, at the same positions for every feature.
    tree : ndarray of shape (m,), int
    sums : ndarray of shape (p, m)
        The target's sums in each node; not yet available at the roots.
    start : ndarray of shape (m,), int
        The first position of each node.
    node_of_position : ndarray of shape (n,), int
    has_several_trees : bool
    """

    table: TrainingTable
    target: Target
    order: np.ndarray
    n_positions: np.ndarray
    tree: np.ndarray
    sums: np.ndarray

    def __post_init__(self) -> None:
        self.has_several_trees = self.target.weight.size > self.table.n_rows
        self.start = self.n_positions.cumsum() - self.n_positions
        self.node_of_position = np.arange(self.n_positions.size).repeat(self.n_positions)

    @classmethod
    def from_roots(
        cls,
        table: TrainingTable,
        target: Target,
        order: np.ndarray,
        n_positions: np.ndarray,
    ) -> Frontier:
        """Return the frontier of the roots of several trees, each with the rows at its positions in ``order``."""
        n_trees = n_positions.size
        tree = np.arange(n_trees)
        no_sums = np.empty((0, n_trees))
        return cls(table, target, order, n_positions, tree, no_sums)

    @classmethod
    def from_rows(cls, X: np.ndarray, nominal: np.ndarray, target: Target, *, draws_features: bool) -> Frontier:
        """Return the frontier of one root, which has all n rows of X (n, d)."""
        table = TrainingTable.from_rows(
            X,
            nominal,
            draws_features=draws_features,
            allows_histogram=target.allows_histogram,
        )
        return cls.from_roots(table, target, table.order, np.array([table.n_rows]))

    @cached_property
    def values(self) -> np.ndarray | None:
        """The values (d, v) of the columns, as long as rows are counted by value."""
        values = self.table.values
        if values is None or not (self.table.has_few_values and self.target.allows_histogram):
            return None
        n_histogram_cells = self.tree.size * values.shape[1]
        has_few_cells = self.order.shape[1] >= MIN_ROWS_PER_HISTOGRAM_CELL * n_histogram_cells
        return values if has_few_cells else None

    @property
    def node_weights(self) -> np.ndarray:
        """The weight of each node in fixed point, shape (m,)."""
        weights = self.n_positions if self.target.fixed_point_weight is None else self.sums[0]
        return weights.astype(np.float64)

    @cached_property
    def mean_error(self) -> np.ndarray:
        """The round-off of branch means times the weight of each node, shape (m,)."""
        return self.node_weights * self.target.mean_error

    def bound_ties(self, criterion: Criterion, largest: np.ndarray, node: np.ndarray | None = None) -> np.ndarray:
        """Return the smallest merit that ties with the largest one of these nodes (k,), or of all nodes: (k,)."""
        if self.target.mean_error == 0:
            return criterion.bound_ties(largest)
        mean_error = self.mean_error if node is None else self.mean_error.take(node)
        return criterion.bound_ties(largest, mean_error)

    def column_offset(self, feature: np.ndarray) -> np.ndarray:
        """Return, for features (..., m) of each node, what is added to a row to find its cell in ``table.cells``."""
        offset: np.ndarray = feature * self.table.n_rows
        if self.has_several_trees:
            offset = offset - self.tree * self.table.n_rows
        return offset

    def sort_rows(self, feature: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Sort the rows of every node by each of b features.

        Parameters
        ----------
        feature : ndarray of shape (b, 1) or (b, m)
            The features for all nodes, or for each node.

        Returns
        -------
        order : ndarray of shape (b, n), int
            The rows, sorted by node and value; with bin codes, other rows of the same kinds.
        keys : ndarray of shape (b, n)
            Their cells; with bin codes, integers from which `read_keys` reads the cells.
        """
        if self.table.bin_codes is None:
            return self._look_up_presorted(feature)
        kinds = self.target.kinds
        kind, keys = self._sort_by_codes(feature, kinds.of_row.take(self.order[0]))
        return kinds.example.take(kind), keys

    def _look_up_presorted(self, feature: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return presorted rows and their cells: both (b, n)."""
        b = feature.shape[0]
        n = self.order.shape[1]
        if feature.shape[1] > 1:
            feature_of_position = feature.take(self.node_of_position, axis=1)
            in_order = feature_of_position * n + np.arange(n)  # (b, n), in the flattened order
            order = self.order.ravel().take(in_order)
        else:
            first = int(feature[0, 0])
            last = int(feature[-1, 0])
            # Neighbouring features are a view of the order; other features are copied.
            are_neighbours = last - first + 1 == b
            order = self.order[first : last + 1] if are_neighbours else self.order[feature[:, 0]]
        # NumPy would convert rows of a small dtype at each use, so they are converted once.
        order = order.astype(np.intp)
        cells = self.table.cells.take(order + self._spread_offset(feature))
        return order, cells

    def _sort_by_codes(self, feature: np.ndarray, kind: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the kinds of rows (n,), sorted by node and bin code, and these two as one integer: both (b, n)."""
        assert self.table.values is not None
        n_codes = self.table.values.shape[1]
        kind_bits = int(kind.max()).bit_length()
        end = self.n_positions.size * n_codes << kind_bits
        dtype = np.uint32 if end <= MAX_SMALL_KEY else np.uint64

        # Sorting integers by themselves is many times faster than sorting positions by integers.
        shift = dtype(kind_bits)
        key = self.gather_bin_codes(feature, dtype)  # (b, n)
        key += (self.node_of_position * n_codes).astype(dtype)
        if end > MAX_KEY:
            by_key = key.argsort(axis=1)
            return kind.take(by_key), np.take_along_axis(key, by_key, axis=1)
        key <<= shift
        key |= kind.astype(dtype)
        key.sort(axis=1)
        kind_in_order = key & dtype((1 << kind_bits) - 1)
        key >>= shift
        return kind_in_order, key

    def read_keys(self, key: np.ndarray, feature: np.ndarray, node: np.ndarray) -> np.ndarray:
        """Return the cells of keys from `sort_rows` under these features and in these nodes: all of a common shape."""
        if self.table.values is None:
            return key
        n_codes = self.table.values.shape[1]
        code = key.astype(np.intp) - node * n_codes
        return self.table.values.ravel().take(feature * n_codes + code)

    def gather_bin_codes(self, feature: np.ndarray, dtype: type[np.integer] = np.intp) -> np.ndarray:
        """Return the bin codes of features (b, 1) or (b, m), with rows sorted by node: (b, n)."""
        assert self.table.bin_codes is not None
        if feature.shape[1] == 1 and not self.has_several_trees:
            return self.table.bin_codes[feature[:, 0]].take(self.order[0], axis=1).astype(dtype)
        cell = self.order + self._spread_offset(feature)
        return self.table.bin_codes.ravel().take(cell).astype(dtype)

    def mark_varying_features(self) -> np.ndarray:
        """Return whether a node has different values of a feature: (d, m); True for all if there are too many cells."""
        d = self.table.columns.shape[0]
        if d * self.order.shape[1] > MAX_CELLS_COMPARED:
            return np.ones((d, self.n_positions.size), dtype=bool)
        codes = self.gather_bin_codes(np.arange(d)[:, None])  # (d, n)
        smallest = np.minimum.reduceat(codes, self.start, axis=1)  # (d, m)
        return np.maximum.reduceat(codes, self.start, axis=1) > smallest

    def _spread_offset(self, feature: np.ndarray) -> np.ndarray:
        """Return `column_offset` by position: (b, n), or (b, 1) if it is the same everywhere."""
        offset = self.column_offset(feature)
        if offset.shape[1] > 1:
            offset = offset.repeat(self.n_positions, axis=1)
        return offset

    def make_next_level(
        self,
        rows: np.ndarray,
        branch: np.ndarray,
        tree: np.ndarray,
        stats: NodeStats,
    ) -> Frontier:
        """Return the frontier of the next level.

        Parameters
        ----------
        rows : ndarray of shape (k,), int
            The rows that are still split, sorted by node of the next level.
        branch, tree : ndarray of shape (m,), int
            The branch that leads to each node of the next level, and its tree. Nodes are sorted by branch, and within a
            branch by parent.
        stats : NodeStats
            The statistics of these nodes.
        """
        order = rows[None, :]
        if self.order.shape[0] > 1:
            order = self._select_presorted(rows, branch.repeat(stats.n_positions))
        sums = stats.sums.T  # (p, m)
        level = Frontier(self.table, self.target, order, stats.n_positions, tree, sums)
        # With many nodes, histograms have more cells than there are rows, so rows are presorted from here on.
        if self.table.has_few_values and not self.table.draws_features and level.values is None:
            level = level._presort_rows()
        return level

    def _select_presorted(self, rows: np.ndarray, branch: np.ndarray) -> np.ndarray:
        """Return the presorted order of the rows that are still split, sorted by branch: (d, k)."""
        d, n = self.order.shape
        n_branches = int(branch[-1]) + 1  # rows are sorted by branch
        if n_branches == 1 and rows.size == n:
            return self.order
        # A table of branches by row fits into cache if its entries are narrow.
        dtype = np.int8 if n_branches < 127 else np.int32
        n_rows = self.target.weight.size
        branch_of_row = np.full(n_rows, -1, dtype=dtype)
        branch_of_row[rows] = branch
        parts = []
        for block in divide_columns(d, n):
            order = self.order[block]
            branch_in_order = branch_of_row.take(order)
            parts.append(group_by_branch(order, branch_in_order, n_branches))
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def _presort_rows(self) -> Frontier:
        """Return this frontier with its rows sorted by every feature, for levels that no longer use histograms."""
        d = self.table.columns.shape[0]
        n = self.order.shape[1]
        n_rows = self.target.weight.size
        parts = []
        for block in divide_columns(d, n):
            features = np.arange(block.start, block.stop)[:, None]
            order, _ = self._sort_by_codes(features, self.order[0])
            parts.append(narrow_rows(order, n_rows))
        table = replace(self.table, bin_codes=None, values=None, has_few_values=False)
        return replace(self, table=table, order=np.concatenate(parts))

    def select_nodes(self, nodes: np.ndarray) -> Frontier:
        """Return the frontier of some of the nodes (k,), ascending."""
        is_selected = np.zeros(self.n_positions.size, dtype=bool)
        is_selected[nodes] = True
        order = self.order[:, is_selected[self.node_of_position]]
        n_positions = self.n_positions[nodes]
        tree = self.tree[nodes]
        sums = self.sums[:, nodes]
        return Frontier(self.table, self.target, order, n_positions, tree, sums)


def group_by_branch(rows: np.ndarray, branch: np.ndarray, n_branches: int) -> np.ndarray:
    """Return the rows (b, n) of branch 0, then of branch 1, …, in their previous order and without branch -1: (b, k).

    Under every feature, a branch has the same number of rows.
    """
    b = rows.shape[0]
    if n_branches <= MAX_BRANCHES_SELECTED:
        flat_rows = rows.ravel()
        parts = []
        for k in range(n_branches):
            selected = (branch == k).ravel().nonzero()[0]
            rows_of_branch = flat_rows.take(selected)
            parts.append(rows_of_branch.reshape(b, -1))
        return np.concatenate(parts, axis=1)
    # A stable sort keeps the order of rows within a branch, and puts branch -1 first.
    dtype = np.int16 if n_branches < MAX_COUNTED_BRANCHES else np.int64
    by_branch = np.argsort(branch.astype(dtype, copy=False), axis=1, kind="stable")
    n_dropped = np.count_nonzero(branch[0] < 0)
    grouped = np.take_along_axis(rows, by_branch, axis=1)
    return grouped[:, n_dropped:]
