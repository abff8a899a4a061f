"""A block of features for a whole level, and the partition of the level into the branches of the chosen splits.

*A block* has the rows sorted by each of its features, and prefix sums at every position. A (feature, node) pair is
numbered slot * m + node, so that pairs ascend along the sorted frontier, and one segmented maximum finds the best
candidates of all pairs.

*A partition* is the branch of every row, after the split of its node has been chosen.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np

from bakeoff.learners.trees.frontier import Frontier
from bakeoff.learners.trees.splitting.splits import Routes, Splits


class FeatureBlock:
    """The frontier under b features, the same for every node or drawn for each.

    Positions are numbered along the flattened table of b features by n rows.

    Attributes
    ----------
    feature : ndarray of shape (b, m) or (b, 1), int
        The feature of each slot, in each node or in all of them.
    node : ndarray of shape (n,), int
        The node at each position of a feature.
    start : ndarray of shape (m,), int
        The first position of each node.
    total : ndarray of shape (p, m)
        The sums of each node, the weight first.
    has_unit_weights : bool
        Whether every weight is 1, in which case the target's sums omit the weight.
    """

    def __init__(self, frontier: Frontier, feature: np.ndarray) -> None:
        self.frontier = frontier
        self.feature = feature
        self.b = feature.shape[0]
        self.m = frontier.n_positions.size
        self.n = frontier.order.shape[1]
        self.node = frontier.node_of_position
        self.start = frontier.start
        self.has_unit_weights = frontier.target.fixed_point_weight is None
        # With unit weights, the sums omit the weight, which is the number of rows.
        p = frontier.sums.shape[0] + self.has_unit_weights
        self.total = np.empty((p, self.m))  # (p, m)
        self.total[0] = frontier.n_positions
        self.total[self.has_unit_weights :] = frontier.sums

    @cached_property
    def _sorted(self) -> tuple[np.ndarray, np.ndarray]:
        return self.frontier.sort_rows(self.feature)

    @property
    def order(self) -> np.ndarray:
        """Rows sorted by node and value, or rows of the same kinds (see `Kinds`), shape (b, n)."""
        return self._sorted[0]

    @cached_property
    def changes(self) -> np.ndarray:
        """Whether the next position holds another value, or with bin codes another node, shape (b, n), bool."""
        keys = self._sorted[1]
        changes = np.empty(keys.shape, dtype=bool)
        changes[:, -1] = True
        np.not_equal(keys[:, 1:], keys[:, :-1], out=changes[:, :-1])
        return changes

    @property
    def cells(self) -> np.ndarray:
        """The cells at all positions, infinite where missing: (b, n)."""
        feature = self.spread_over_positions(self.feature)
        return self.frontier.read_keys(self._sorted[1], feature, self.node)

    @cached_property
    def n_missing(self) -> np.ndarray:
        """The number of missing cells of each pair, shape (b, m), int."""
        is_missing = np.isinf(self.cells)
        return np.add.reduceat(is_missing, self.start, axis=1, dtype=np.intp)

    @cached_property
    def rows_up_to(self) -> np.ndarray:
        """The number of rows of the node up to and including each position, the same for every feature: (n,)."""
        up_to = np.arange(1, self.n + 1)
        return up_to - self.start.take(self.node)

    def spread_over_positions(self, of_pair: np.ndarray) -> np.ndarray:
        """Return entries of pairs (b, m), or of slots (b, 1), for each position: (b, n) or (b, 1)."""
        if of_pair.shape[1] == 1:
            return of_pair
        return of_pair.take(self.node, axis=1)

    def feature_of_slot(self, slot: np.ndarray, node: np.ndarray) -> np.ndarray:
        """Return the features in these slots of these nodes: all (q,)."""
        if self.feature.shape[1] > 1:
            return self.feature[slot, node]
        return self.feature[:, 0].take(slot)

    def feature_at(self, position: np.ndarray, node: np.ndarray) -> np.ndarray:
        """Return the features at positions (q,) in these nodes (q,): shape (q,)."""
        return self.feature_of_slot(position // self.n, node)

    def read_cells(self, position: np.ndarray, feature: np.ndarray, node: np.ndarray) -> np.ndarray:
        """Return the cells at positions (..., q), which belong to these features and nodes (q,): shape (..., q)."""
        key = self._sorted[1].ravel().take(position)
        return self.frontier.read_keys(key, feature, node)

    def read_cut_values(self, position: np.ndarray, feature: np.ndarray, node: np.ndarray) -> np.ndarray:
        """Return the values below and above the cuts after positions (q,) of these features and nodes: (2, q)."""
        both_sides = np.array([position, position + 1])  # (2, q)
        return self.read_cells(both_sides, feature, node)

    def find_pairs(self, position: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the node of each position (q,), and its pair."""
        slot = position // self.n
        node = self.node.take(position - slot * self.n)
        return node, slot * self.m + node

    def sum_before_pairs(self, of_node: np.ndarray) -> np.ndarray:
        """Return the sums over all pairs before each of the b m pairs, given the sum of each node (m,)."""
        # All features sort the same rows, so a node has the same sum under each of them.
        up_to = np.cumsum(of_node)  # (m,)
        slot = np.arange(self.b, dtype=of_node.dtype)[:, None]
        before_slot = slot * up_to[-1]  # (b, 1)
        before_node = up_to - of_node  # (m,)
        before: np.ndarray = before_slot + before_node  # (b, m)
        return before.ravel()

    def sum_left(self, position: np.ndarray, pair: np.ndarray) -> np.ndarray:
        """Return the sums of the node's rows up to and including each of the ascending positions (q,): (p, q)."""
        target = self.frontier.target
        sums_of_node = target.pack_sums(self.frontier.sums, self.frontier.n_positions)
        prefix_sums = target.iter_prefix_sums(self.order.ravel())
        # Process one word after another, because prefix sums over all rows need much memory.
        words = []
        for prefix_sum, of_node in zip(prefix_sums, sums_of_node, strict=True):
            before_pair = self.sum_before_pairs(of_node)
            words.append(prefix_sum.take(position) - before_pair.take(pair))
        left = np.empty((self.total.shape[0], position.size))  # (p, q)
        if self.has_unit_weights:
            before_pair = self.sum_before_pairs(self.frontier.n_positions)
            np.subtract(position + 1, before_pair.take(pair), out=left[0])
        # The fields of words are unpacked only for the chosen positions.
        sums_of_target = left[self.has_unit_weights :]
        for row, sums in zip(sums_of_target, target.unpack_sums(words), strict=True):
            row[:] = sums
        return left

    def sum_left_densely(self) -> list[np.ndarray]:
        """Return the sums of the node's rows up to and including every position, the weight first: (b, n) or (n,)."""
        frontier = self.frontier
        sums = frontier.target.sum_up_to(self.order, frontier.sums, frontier.n_positions, self.node)
        return [self.rows_up_to, *sums] if self.has_unit_weights else sums


class Partition(NamedTuple):
    """The branch of every row of a level.

    Attributes
    ----------
    branch : ndarray of shape (n,), int
        The branches of the rows in the order of the first feature; -1 where the node is not split.
    n_branches : ndarray of shape (m,), int
        0 where a node is not split.
    branch_rows : ndarray of shape (most branches, m), int
        The number of positions of each branch.
    missing_branch : ndarray of shape (m,), int
        The branch of a missing numeric cell.
    """

    branch: np.ndarray
    n_branches: np.ndarray
    branch_rows: np.ndarray
    missing_branch: np.ndarray

    def keep_splits(self, kept: np.ndarray, node: np.ndarray) -> Partition:
        """Return the partition that splits only the nodes marked (m,), given the node of each position (n,)."""
        branch = np.where(kept[node], self.branch, -1)
        n_branches = np.where(kept, self.n_branches, 0)
        return self._replace(branch=branch, n_branches=n_branches)


def partition_rows(frontier: Frontier, splits: Splits) -> Partition:
    """Send the rows of every node that has a split into its branches."""
    # Numeric splits come first: cells at or above the threshold go right. With a NaN threshold, no cell does.
    is_split = splits.feature >= 0  # (m,)
    node = frontier.node_of_position  # (n,)
    cells = _read_split_cells(frontier, splits)  # (n,)
    goes_right = cells >= splits.threshold.take(node)
    if frontier.table.has_missing:
        goes_left = np.isinf(cells) & splits.missing_left.take(node)
        goes_right &= ~goes_left
    right_rows = np.add.reduceat(goes_right, frontier.start, dtype=np.intp)  # (m,)
    left_rows = frontier.n_positions - right_rows

    # If there are no missing cells in training, those in prediction follow the branch with more rows.
    missing_branch = (right_rows >= left_rows).astype(np.intp)
    if frontier.table.has_missing:
        has_missing = np.logical_or.reduceat(np.isinf(cells), frontier.start)
        missing_branch[has_missing] = ~splits.missing_left[has_missing]

    branch = goes_right.view(np.int8)
    if not is_split.all():
        branch[~is_split.take(node)] = -1
    n_branches = is_split * 2
    branch_rows = np.array([left_rows, right_rows])

    # Nominal splits follow: each value has its branch.
    routes = splits.routes
    if routes.node.size:
        branch = _follow_routes(routes, cells, node, branch)
        n_branches[routes.node] = 0
        np.maximum.at(n_branches, routes.node, routes.branch + 1)
        branch_rows = _count_rows(branch, node, n_branches)
    return Partition(branch, n_branches, branch_rows, missing_branch)


def _read_split_cells(frontier: Frontier, splits: Splits) -> np.ndarray:
    """Return the cell of each row for the feature that splits its node, and for feature 0 elsewhere: (n,)."""
    feature = np.maximum(splits.feature, 0)
    offset = frontier.column_offset(feature)  # (m,)
    cell = frontier.order[0] + offset.take(frontier.node_of_position)
    return frontier.table.cells.take(cell)


class RouteTable:
    """The branches of the nominal splits of m nodes, to be looked up by node and value code.

    A node has one entry for each code from 0 to its largest one, and a final entry for missing cells.
    """

    def __init__(self, routes: Routes, m: int) -> None:
        code, is_missing = _split_off_missing(routes.code)
        self._width = np.zeros(m, dtype=np.intp)  # the number of entries; 0 for other nodes
        np.maximum.at(self._width, routes.node, code + 2)
        self._last = self._width.cumsum() - 1
        self._first = self._last + 1 - self._width
        n_entries = int(self._width.sum())
        entries = self._find_entries(routes.node, code, is_missing)
        self._branch = np.empty(n_entries, dtype=np.intp)
        self._branch[entries] = routes.branch

    def mark_nodes(self) -> np.ndarray:
        """Return a mask of the nodes that have entries: (m,)."""
        return self._width > 0

    def look_up(self, node: np.ndarray, cells: np.ndarray) -> np.ndarray:
        """Return the branches of cells (k,) in nodes (k,) that have entries."""
        code, is_missing = _split_off_missing(cells)
        entries = self._find_entries(node, code, is_missing)
        return self._branch.take(entries)

    def _find_entries(self, node: np.ndarray, code: np.ndarray, is_missing: np.ndarray) -> np.ndarray:
        entry = self._first.take(node) + code
        return np.where(is_missing, self._last.take(node), entry)


def _split_off_missing(cells: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return value codes as integers, 0 for missing cells, and which cells are missing: both (k,)."""
    is_missing = np.isinf(cells)
    code = np.where(is_missing, 0, cells)
    return code.astype(np.intp), is_missing


def _follow_routes(routes: Routes, cells: np.ndarray, node: np.ndarray, branch: np.ndarray) -> np.ndarray:
    """Return the branches (n,), with nominal splits resolved by the value of each row."""
    m = int(node[-1]) + 1
    table = RouteTable(routes, m)
    is_nominal = table.mark_nodes()
    rows = np.flatnonzero(is_nominal.take(node))
    followed = branch.astype(np.intp)
    node = node.take(rows)
    followed[rows] = table.look_up(node, cells.take(rows))
    return followed


def _count_rows(branch: np.ndarray, node: np.ndarray, n_branches: np.ndarray) -> np.ndarray:
    """Return the number of rows in each branch of each node: (most branches, m)."""
    m = n_branches.size
    max_branches = int(n_branches.max())
    is_split = branch >= 0
    key = (branch * m + node)[is_split]
    counts = np.bincount(key, minlength=max_branches * m)
    return counts.reshape(max_branches, m)
