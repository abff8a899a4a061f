"""The best split of every node of a level, as in Split(R, T) of the lectures, and the partition of the rows by it.

The splitter hands the features to the search in blocks that fit into cache: numeric features to a dense scan, a sparse
scan or histograms, nominal ones to groups of values. The partition then sends each row into its branch.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from bakeoff.learners.trees.criteria import Criterion
from bakeoff.learners.trees.rows.frontier import Frontier
from bakeoff.learners.trees.rows.presort import MAX_CELLS_PER_BLOCK
from bakeoff.learners.trees.splitting.feature_block import FeatureBlock
from bakeoff.learners.trees.splitting.histogram import HistogramBlock
from bakeoff.learners.trees.splitting.nominal import find_nominal_splits
from bakeoff.learners.trees.splitting.numeric import find_histogram_splits, find_numeric_splits
from bakeoff.learners.trees.splitting.splits import BranchLimits, Routes, Splits

MAX_CELLS_PER_HISTOGRAM_BLOCK = 4 * MAX_CELLS_PER_BLOCK
"""To count a cell takes a quarter of the cache that sorting it takes."""


def find_best_splits(
    frontier: Frontier, features: np.ndarray, criterion: Criterion, limits: BranchLimits, *, multiway: bool
) -> Splits:
    """Return the best split of every node.

    Parameters
    ----------
    frontier : Frontier
        n rows in m nodes.
    features : ndarray of shape (b, 1) or (b, m)
        The features to try, ascending: for all nodes, or for each node.
    criterion : Criterion
    limits : BranchLimits
    multiway : bool
        Whether a nominal feature gives a branch to every value, or splits its values into two groups.

    Returns
    -------
    Splits
        Of each node; of equal splits that of the lowest feature.
    """
    best: Splits | None = None
    for some_features in _divide_features(frontier, features):
        if frontier.bins is not None:
            histogram = HistogramBlock(frontier, some_features, frontier.bins)
            found = [find_histogram_splits(histogram, criterion, limits)]
        else:
            block = FeatureBlock(frontier, some_features)
            found = list(_search_block(block, criterion, limits, multiway=multiway))
        for splits in found:
            if best is None:
                best = splits
            else:
                best.improve(splits)
    assert best is not None
    return best


def _divide_features(frontier: Frontier, features: np.ndarray) -> Iterator[np.ndarray]:
    """Yield the features in as many blocks as needed, of about the same size."""
    max_cells = MAX_CELLS_PER_BLOCK if frontier.bins is None else MAX_CELLS_PER_HISTOGRAM_BLOCK
    max_features = max(1, max_cells // frontier.order.shape[1])
    n_features = features.shape[0]
    n_blocks = -(-n_features // max_features)
    step = -(-n_features // n_blocks)
    for first in range(0, n_features, step):
        yield features[first : first + step]


def _search_block(
    block: FeatureBlock, criterion: Criterion, limits: BranchLimits, *, multiway: bool
) -> Iterator[Splits]:
    """Yield the best numeric splits, those with missing cells on the left, and the best nominal splits."""
    table = block.frontier.table
    nominal = table.nominal[block.feature] if table.has_nominal else None  # (b, m) or (b, 1)
    if nominal is None or not nominal.all():
        numeric = None if nominal is None else ~nominal
        yield find_numeric_splits(block, numeric, criterion, limits, missing_left=False)
        if table.has_missing and block.n_missing.any():
            has_missing = block.n_missing > 0  # (b, m)
            wanted = has_missing if numeric is None else numeric & has_missing
            yield find_numeric_splits(block, wanted, criterion, limits, missing_left=True)
    if nominal is not None and nominal.any():
        yield find_nominal_splits(block, nominal, criterion, limits, multiway=multiway)


class Partition(NamedTuple):
    """The branch of every row of a level.

    Attributes
    ----------
    branch : ndarray of shape (n,), int
        Of the rows in the order of the first feature; -1 where the node is not split.
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
    is_split = splits.feature >= 0  # (m,)
    feature = np.maximum(splits.feature, 0)
    node = frontier.node_of_position
    offset = frontier.column_offset(feature).take(node)
    cells = frontier.table.columns.ravel().take(frontier.order[0] + offset)  # (n,)
    goes_right = cells >= splits.threshold.take(node)
    if frontier.table.has_missing:
        is_missing = np.isinf(cells)
        goes_right &= ~(is_missing & splits.missing_left.take(node))
    right_rows = np.add.reduceat(goes_right, frontier.start, dtype=np.intp)  # (m,)

    # Where training has no missing cells, later ones go to the branch that holds more rows.
    missing_branch = (2 * right_rows >= frontier.n_positions).astype(np.intp)
    if frontier.table.has_missing:
        has_missing = np.logical_or.reduceat(is_missing, frontier.start)
        missing_branch[has_missing] = ~splits.missing_left[has_missing]

    branch = goes_right.view(np.int8)
    if not is_split.all():
        branch[~is_split.take(node)] = -1
    n_branches = is_split * 2
    branch_rows = np.array([frontier.n_positions - right_rows, right_rows])
    if splits.routes.node.size:
        branch = _follow_routes(splits.routes, cells, node, branch)
        is_nominal = np.zeros(is_split.size, dtype=bool)
        is_nominal[splits.routes.node] = True
        n_branches[is_nominal] = 0
        np.maximum.at(n_branches, splits.routes.node, splits.routes.branch + 1)
        branch_rows = _count_rows(branch, node, n_branches)
    return Partition(branch, n_branches, branch_rows, missing_branch)


def _follow_routes(routes: Routes, cells: np.ndarray, node: np.ndarray, branch: np.ndarray) -> np.ndarray:
    """Return the branches (n,) in which the rows of nominal splits take the branch of their value."""
    # Lay the routes out in one table: for each node its codes from 0 up, and last the missing cell.
    is_missing = np.isinf(routes.code)
    code = np.where(is_missing, 0, routes.code).astype(np.intp)
    width = np.zeros(int(node[-1]) + 1, dtype=np.intp)  # (m,)
    np.maximum.at(width, routes.node, code + 2)
    last = width.cumsum() - 1
    first = last + 1 - width
    table = np.empty(int(width.sum()), dtype=np.intp)
    table[np.where(is_missing, last.take(routes.node), first.take(routes.node) + code)] = routes.branch

    rows = np.flatnonzero(width.take(node))  # those of nominal splits
    node = node.take(rows)
    cells = cells.take(rows)
    is_missing = np.isinf(cells)
    code = np.where(is_missing, 0, cells).astype(np.intp)
    followed = branch.astype(np.intp)
    followed[rows] = table.take(np.where(is_missing, last.take(node), first.take(node) + code))
    return followed


def _count_rows(branch: np.ndarray, node: np.ndarray, n_branches: np.ndarray) -> np.ndarray:
    """Return the number of rows in each branch of each node: (most branches, m)."""
    m = n_branches.size
    max_branches = int(n_branches.max())
    is_split = np.flatnonzero(branch >= 0)
    key = (branch * m + node).take(is_split)
    return np.bincount(key, minlength=m * max_branches).reshape(max_branches, m)
