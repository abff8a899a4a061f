"""The best split of every node of a level, over all features or over features drawn for each; and who goes where."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bakeoff.learners.trees.criteria import Criterion
from bakeoff.learners.trees.rows.frontier import Frontier
from bakeoff.learners.trees.rows.presort import MAX_CELLS_PER_BLOCK
from bakeoff.learners.trees.splitting.feature_block import BranchLimits, FeatureBlock, Splits
from bakeoff.learners.trees.splitting.histogram import HistogramBlock
from bakeoff.learners.trees.splitting.nominal import branches_of, nominal_splits
from bakeoff.learners.trees.splitting.numeric import find_histogram_splits, find_numeric_splits

HISTOGRAM_BLOCK_FACTOR = 4
"""To count a cell takes so many times less of the cache than to sort it."""


def find_best_splits(
    frontier: Frontier, features: np.ndarray, criterion: Criterion, limits: BranchLimits, *, multiway: bool
) -> Splits:
    """Return the best split of every node.

    Parameters
    ----------
    front : Front
        n rows in m nodes.
    features : ndarray of shape (b, 1) or (b, m)
        The features to try, ascending: for all nodes, or for each node.
    """
    most = max(1, MAX_CELLS_PER_BLOCK // frontier.order.shape[1]) * (
        1 if frontier.bins is None else HISTOGRAM_BLOCK_FACTOR
    )
    step = -(-features.shape[0] // -(-features.shape[0] // most))  # as many passes as it takes, of about the same size
    found: list[Splits] = []
    for first in range(0, features.shape[0], step):
        if frontier.bins is not None:
            counted = HistogramBlock(frontier, features[first : first + step], frontier.bins)
            found.append(find_histogram_splits(counted, criterion, limits))
            continue
        block = FeatureBlock(frontier, features[first : first + step])
        nominal = frontier.nominal[block.feature] if frontier.has_nominal else None
        if nominal is None or not nominal.all():
            numeric = None if nominal is None else ~nominal
            found.append(find_numeric_splits(block, numeric, criterion, limits, missing_left=False))
            if frontier.has_missing and block.missing.any():
                wanted = block.missing > 0 if numeric is None else numeric & (block.missing > 0)
                found.append(find_numeric_splits(block, wanted, criterion, limits, missing_left=True))
        if nominal is not None and nominal.any():
            found.append(nominal_splits(block, nominal, criterion, limits, multiway=multiway))
    best = found[0]
    for other in found[1:]:
        best.improve(other)
    return best


NO_ROUTES = (np.empty(0, dtype=np.intp), np.empty(0), np.empty(0, dtype=np.intp))


class Partition(NamedTuple):
    """How the nodes of a level that are split send their rows on.

    branch : (n,) branch of the rows of the first feature's order, -1 where the node is not split;
    n_branches : (m,), 0 if not split; rows : (widest, m), of each branch; threshold : (m,), NaN if nominal;
    missing_branch : (m,);
    routes : (node, value code, branch), one entry for each value of a nominal split; the code of a missing cell is inf.
    """

    branch: np.ndarray
    n_branches: np.ndarray
    branch_rows: np.ndarray
    threshold: np.ndarray
    missing_branch: np.ndarray
    routes: tuple[np.ndarray, np.ndarray, np.ndarray]

    def keep_splits(self, split: np.ndarray, node: np.ndarray) -> Partition:
        """Return the decision that splits no nodes but those marked (m,), given the node of each row (n,)."""
        branch = np.where(split[node], self.branch, -1)
        return self._replace(branch=branch, n_branches=np.where(split, self.n_branches, 0))


def partition_rows(
    frontier: Frontier, splits: Splits, criterion: Criterion, limits: BranchLimits, *, multiway: bool
) -> Partition:
    """Carry out the splits: nodes with feature -1 are done."""
    node, rows, used = frontier.node_of_position, frontier.order[0], splits.feature >= 0
    feature = np.maximum(splits.feature, 0)
    values = frontier.columns.ravel().take(rows + frontier.column_offset(feature).take(node))  # (n,)
    right = values >= splits.threshold.take(node)
    if frontier.has_missing:
        missing = np.isinf(values)
        right &= ~(missing & splits.missing_left.take(node))
    right_rows = np.add.reduceat(right, frontier.start, dtype=np.intp)
    missing_branch = (2 * right_rows >= frontier.rows_in_node).astype(np.intp)
    if frontier.has_missing:
        seen = np.logical_or.reduceat(missing, frontier.start)
        missing_branch[seen] = ~splits.missing_left[seen]
    branch = right.view(np.int8)
    if not used.all():
        branch[~used.take(node)] = -1
    n_branches, sizes = used * 2, np.array([frontier.rows_in_node - right_rows, right_rows])
    nominal = used & frontier.nominal[feature] if frontier.has_nominal else used
    if not frontier.has_nominal or not nominal.any():
        return Partition(branch, n_branches, sizes, splits.threshold, missing_branch, NO_ROUTES)
    block = FeatureBlock(frontier, feature[None, :])
    groups, group_branch = branches_of(block, nominal[None, :], criterion, limits, multiway=multiway)
    branch = np.where(nominal.take(node), groups.spread(group_branch), branch)
    n_branches[nominal] = np.maximum.reduceat(group_branch, groups.begin) + 1
    splits.threshold[nominal] = np.nan
    m, on = used.size, np.flatnonzero(branch >= 0)
    sizes = np.bincount((branch * m + node).take(on), minlength=m * int(n_branches.max())).reshape(-1, m)
    routes = (groups.node, groups.codes(), group_branch)
    return Partition(branch, n_branches, sizes, splits.threshold, missing_branch, routes)
