"""The partition of a level: the branch of every row, after the split of its node has been chosen."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bakeoff.learners.trees.frontier import Frontier
from bakeoff.learners.trees.splitting.splits import Routes, Splits


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
