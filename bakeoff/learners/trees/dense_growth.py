"""Growing one tree on a small table: Split(R, T) for all nodes of a level, in fewer and simpler steps.

The loop in `grower` works for any table. On a few thousand cells, the number of its steps matters more than the size of
their arrays. If all features are numeric and complete, all rows have weight 1 and all nodes try all features, seven
tenths of its calls of compiled functions and half of its calls of Python functions suffice: rows stay presorted by
every feature, and every position of every feature is a possible cut, so that one expression of prefix sums gives all
gains of a level. The trees are the same, to the last bit.

Cost: O(n d log n) to sort, then O(n d c) per level, with a small constant.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np

from bakeoff.learners.trees.builder import TreeBuilder
from bakeoff.learners.trees.criteria import SquaredDistance
from bakeoff.learners.trees.frontier import group_by_branch
from bakeoff.learners.trees.splitting.dense_scan import LARGEST_MERIT, find_first_positions
from bakeoff.learners.trees.splitting.numeric import compute_midpoint
from bakeoff.learners.trees.splitting.partition import Partition
from bakeoff.learners.trees.splitting.splits import Splits
from bakeoff.learners.trees.target import NodeStats, Target
from bakeoff.learners.trees.training_table import presort_columns
from bakeoff.learners.trees.tree import Tree

MAX_DENSE_ROWS = 1 << 13
"""The fourth power of a number of rows up to this bounds the squares in a gain, so that they are exact as floats."""

MAX_DENSE_SUMS = 1 << 16
"""Up to this number of prefix sums, whole arrays of them stay in cache."""


class OpenNodes(NamedTuple):
    """The m nodes of a level that may be split, and their n rows.

    Attributes
    ----------
    size : ndarray of shape (m,), int
        The number of rows of each node.
    sums : ndarray of shape (p, m)
        The target's sums.
    gain_unit : ndarray of shape (m,)
        As in `NodeStats`.
    order : ndarray of shape (d, n), int
        For each feature, the rows sorted by node and within a node by value.
    start : ndarray of shape (m,), int
        The first position of each node.
    node : ndarray of shape (n,), int
        The node at each position of a feature.
    rows_up_to : ndarray of shape (n,), int
        The number of rows of the node up to and including each position.
    """

    size: np.ndarray
    sums: np.ndarray
    gain_unit: np.ndarray
    order: np.ndarray
    start: np.ndarray
    node: np.ndarray
    rows_up_to: np.ndarray

    @classmethod
    def select(cls, nodes: np.ndarray, stats: NodeStats, order: np.ndarray) -> OpenNodes:
        """Return the chosen nodes (m,) of a level, given the order (d, n) of their rows."""
        size = stats.n_rows.take(nodes)
        start = size.cumsum() - size
        node = np.arange(size.size).repeat(size)
        rows_up_to = np.arange(1, node.size + 1) - start.take(node)
        return cls(size, stats.sums[nodes].T, stats.gain_unit.take(nodes), order, start, node, rows_up_to)


class Children(NamedTuple):
    """All q nodes of a level: the left children of all nodes above, then the right ones.

    Attributes
    ----------
    number, branch, size : ndarray of shape (q,), int
        The number of each node in the tree, the branch that leads to it, and its number of rows.
    rows : ndarray of shape (n,), int
        The rows, node after node.
    """

    number: np.ndarray
    branch: np.ndarray
    size: np.ndarray
    rows: np.ndarray


class DenseGrower:
    """A table of n0 rows and d numeric features without missing cells, on which one tree grows.

    Parameters
    ----------
    X : ndarray of shape (n0, d)
    target : Target
        Of weight 1 in every row.
    criterion : SquaredDistance
        Gini impurity or the variance.
    min_samples_leaf : int
    """

    def __init__(self, X: np.ndarray, target: Target, criterion: SquaredDistance, min_samples_leaf: int) -> None:
        n0, d = X.shape
        self._columns = np.ascontiguousarray(X.T)  # (d, n0)
        self._cells = self._columns.ravel()
        self._first_cell = np.arange(d) * n0  # (d,), of each column
        self._target = target
        self._criterion = criterion
        self._min_samples_leaf = min_samples_leaf

    def grow(self, min_rows: int, max_depth: float) -> Tree:
        """Return the tree in which only nodes of at least ``min_rows`` rows are split."""
        d, n0 = self._columns.shape
        builder = TreeBuilder(np.zeros(d, dtype=np.intp), self._target)
        order = presort_columns(self._columns).astype(np.intp)  # (d, n0)
        root = np.zeros(1, dtype=np.intp)
        level = Children(number=root, branch=root, size=np.array([n0]), rows=order[0])
        # After the last row of a node, the right side of a cut is empty, and its gain is 0 / 0.
        with np.errstate(divide="ignore", invalid="ignore"):
            while True:
                stats = builder.add_nodes(level.number, np.zeros_like(level.number), level.rows, level.size)
                is_open = (level.size >= min_rows) & ~stats.pure
                if builder.depth >= max_depth or not is_open.any():
                    break
                if builder.depth > 0:
                    order = _select_rows(order, level, is_open, n0)
                chosen = is_open.nonzero()[0]
                nodes = OpenNodes.select(chosen, stats, order)
                splits, left_rows = self._find_splits(nodes)
                partition = self._partition_rows(nodes, splits, left_rows)
                first_child = builder.add_splits(level.number.take(chosen), splits, partition)
                if not partition.n_branches.any():
                    break
                level = _list_children(order[:1], partition, first_child)
        return builder.finish_trees(np.inf)[0]

    def _find_splits(self, nodes: OpenNodes) -> tuple[Splits, np.ndarray]:
        """Return the best cut of each node, and the number of rows on its left: (m,)."""
        gain = self._compute_gains(nodes)  # (d, n)
        cells = self._cells.take(nodes.order + self._first_cell[:, None])  # (d, n)
        # The gain after the last row of a node is NaN.
        gain[:, :-1] -= (cells[:, 1:] == cells[:, :-1]) * LARGEST_MERIT
        if self._min_samples_leaf > 1:
            right_rows = nodes.size.take(nodes.node) - nodes.rows_up_to
            gain[:, np.minimum(nodes.rows_up_to, right_rows) < self._min_samples_leaf] = -np.inf

        mean_error = nodes.size * self._target.mean_error if self._target.mean_error else None  # (m,)
        bound_ties = partial(self._criterion.bound_ties, mean_error=mean_error)
        first = find_first_positions(gain, nodes.start, nodes.node, bound_ties)
        # Without a cut, the position is -1: the last one of feature -1.
        feature, position = np.divmod(first, nodes.node.size)
        has_cut = first >= 0
        cells = cells.ravel()
        decrease = self._scale_gains(np.where(has_cut, gain.take(first), 0.0), nodes)
        splits = Splits(
            merit=decrease,
            gain=decrease,
            feature=feature,
            threshold=compute_midpoint(cells.take(first), cells.take(first + 1, mode="clip")),
            missing_left=~has_cut,
        )
        return splits, nodes.rows_up_to.take(position)

    def _compute_gains(self, nodes: OpenNodes) -> np.ndarray:
        """Return the gain of a cut after every position: (d, n)."""
        sums = self._target.sum_up_to(nodes.order, nodes.sums, nodes.size, nodes.node)
        left = [nodes.rows_up_to, *sums]
        total = np.empty((len(left), nodes.size.size))  # (p, m), as floats
        total[0] = nodes.size
        total[1:] = nodes.sums
        return self._criterion.cut_gain(left, total.take(nodes.node, axis=1))

    def _scale_gains(self, gain: np.ndarray, nodes: OpenNodes) -> np.ndarray:
        """Return gains (m,) as decreases of impurity times the weight of the node: (m,)."""
        weight = nodes.size.astype(np.float64)
        gain *= self._criterion.gain_unit(weight)
        gain *= nodes.gain_unit
        gain *= weight
        return gain

    def _partition_rows(self, nodes: OpenNodes, splits: Splits, left_rows: np.ndarray) -> Partition:
        """Send the rows of every node that has a cut to its sides."""
        is_split = splits.feature >= 0
        first_cell = self._first_cell.take(splits.feature, mode="clip")  # (m,)
        cells = self._cells.take(nodes.order[0] + first_cell.take(nodes.node))  # (n,)
        branch = (cells >= splits.threshold.take(nodes.node)).view(np.int8)
        if not is_split.all():
            branch[~is_split.take(nodes.node)] = -1
        right_rows = nodes.size - left_rows
        return Partition(
            branch=branch,
            n_branches=is_split * 2,
            branch_rows=np.array([left_rows, right_rows]),
            missing_branch=(right_rows >= left_rows).astype(np.intp),
        )


def _select_rows(order: np.ndarray, level: Children, is_open: np.ndarray, n0: int) -> np.ndarray:
    """Return the rows of open nodes (q,) in the order (d, n) of the level above, out of n0 rows: (d, k)."""
    branch_of_row = np.full(n0, -1, dtype=np.int8)
    branch_of_row[level.rows] = np.where(is_open, level.branch, -1).repeat(level.size)
    return group_by_branch(order, branch_of_row.take(order), 2)


def _list_children(order: np.ndarray, partition: Partition, first_child: np.ndarray) -> Children:
    """Return the children of m nodes, given the order (1, n) of their rows and the numbers of first children (m,)."""
    parents = partition.n_branches.nonzero()[0]
    left_child = first_child.take(parents)
    return Children(
        number=np.concatenate([left_child, left_child + 1]),
        branch=np.arange(2).repeat(parents.size),
        size=partition.branch_rows.take(parents, axis=1).ravel(),
        rows=group_by_branch(order, partition.branch[None, :], 2)[0],
    )
