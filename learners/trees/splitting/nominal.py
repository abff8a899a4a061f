"""Splits of nominal features: a branch for every value, or the best two groups of values.

*Multiway* (ID3, C4.5): as many branches as the node has values; below, the feature is constant and never chosen again.
*Binary* (CART): values are put in the order of their mean target (share of class 1; for more than two classes, share of
the node's commonest class), and cut where the gain is largest.  For two classes and for targets no grouping is better
(Breiman et al. 1984, theorem 4.5).  A missing cell is a value of its own.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from bakeoff.learners.trees.criteria import Criterion, class_weights
from bakeoff.learners.trees.rows.class_target import ClassTarget
from bakeoff.learners.trees.splitting.feature_block import (
    BranchLimits,
    FeatureBlock,
    Splits,
    choose_features,
    compute_split_information,
    find_first_best,
)

MAX_TABLE_CELLS_PER_ROW = 4
"""Values are counted in a table that has no more than so many places for each row."""


class ValueGroups(ABC):
    """Abstract: rows of one node with one value of one nominal feature, for many (feature, node) pairs.

    Attributes
    ----------
    pair : ndarray of shape (q,)
        slot * m + node; ascending.
    node, rows : ndarray of shape (q,)
    sums : ndarray of shape (p, q)
    total : ndarray of shape (p, q)
        Of the node.
    begin : ndarray of int
        Where each pair's groups begin.
    """

    pair: np.ndarray
    node: np.ndarray
    rows: np.ndarray
    sums: np.ndarray
    total: np.ndarray
    begin: np.ndarray

    @staticmethod
    def of(block: FeatureBlock, wanted: np.ndarray) -> ValueGroups:
        """Return the groups of the wanted pairs (b, m)."""
        values = block.frontier.nominal_values
        few = values > 0 and block.m * values <= MAX_TABLE_CELLS_PER_ROW * block.n
        return HistogramGroups(block, wanted, values) if few else SortedGroups(block, wanted)

    @abstractmethod
    def codes(self) -> np.ndarray:
        """Return the value of each group (q,), of one feature for each node."""

    @abstractmethod
    def spread(self, of_group: np.ndarray) -> np.ndarray:
        """Give every row of the first feature's order what its group has (q,); -1 where it is in none: (n,)."""


class SortedGroups(ValueGroups):
    """Groups from rows sorted by value, so that a group is a run."""

    def __init__(self, block: FeatureBlock, wanted: np.ndarray) -> None:
        self.block = block
        is_last = block.changes.copy()
        is_last[:, block.start + block.frontier.rows_in_node - 1] = True
        at = np.flatnonzero(is_last & (wanted if wanted.shape[1] == 1 else wanted[:, block.node]))
        self.place = at % block.n
        self.node, self.pair = block.pairs(at)
        opens = np.concatenate([[True], self.pair[1:] != self.pair[:-1]])
        self.begin = np.flatnonzero(opens)
        upto = block.sum_left(at, self.pair)
        self.sums = np.diff(upto, axis=1, prepend=0.0)
        self.sums[:, opens] = upto[:, opens]
        count = self.place + 1 - block.start.take(self.node)
        self.rows = np.where(opens, count, np.diff(count, prepend=0))
        self.total = block.total[:, self.node]

    def codes(self) -> np.ndarray:
        return self.block.cells(self.place, self.block.feature_at(self.place, self.node), self.node)

    def spread(self, of_group: np.ndarray) -> np.ndarray:
        frontier = self.block.frontier
        by_row = np.full(frontier.target.weight.size, -1)
        places = np.repeat(self.place + 1 - self.rows, self.rows)
        places += np.arange(places.size) - np.repeat(np.cumsum(self.rows) - self.rows, self.rows)
        by_row[self.block.order[0, places]] = np.repeat(of_group, self.rows)
        return by_row.take(frontier.order[0])


class HistogramGroups(ValueGroups):
    """Groups from a table of all pairs and all values that columns have: nothing is sorted."""

    def __init__(self, block: FeatureBlock, wanted: np.ndarray, values: int) -> None:
        self.block, frontier, b = block, block.frontier, block.feature.shape[0]
        size = b * block.m * values
        self.key = frontier.gather_bin_codes(block.feature) + block.node * values  # (b, n)
        self.key += np.arange(0, size, block.m * values)[:, None]
        if not wanted.all():
            self.key[~np.broadcast_to(wanted if wanted.shape[1] == 1 else wanted[:, block.node], self.key.shape)] = size
        self.size = size
        sums = frontier.target.sum_by_key(frontier.order[0], self.key, size + 1)[:, :size]
        self.at = np.flatnonzero(sums[0])
        self.sums = sums.take(self.at, axis=1)
        self.pair = self.at // values
        self.node = self.pair % block.m
        self.begin = np.flatnonzero(np.concatenate([[True], self.pair[1:] != self.pair[:-1]]))
        by_weight = block.unit or frontier.target.weights_are_counts
        self.rows = self.sums[0] if by_weight else np.bincount(self.key.ravel(), minlength=size).take(self.at)
        self.total = block.total.take(self.node, axis=1)

    def codes(self) -> np.ndarray:
        frontier, place = self.block.frontier, np.empty(self.size + 1, dtype=np.intp)
        place[self.key[0]] = np.arange(self.block.n)  # any row of a group tells its value
        zero = frontier.column_offset(self.block.feature[0]).take(self.node)
        return frontier.columns.ravel().take(frontier.order[0].take(place.take(self.at)) + zero)

    def spread(self, of_group: np.ndarray) -> np.ndarray:
        table = np.full(self.size + 1, -1)
        table[self.at] = of_group
        return table.take(self.key[0])


def nominal_splits(
    block: FeatureBlock, wanted: np.ndarray, criterion: Criterion, limits: BranchLimits, *, multiway: bool
) -> Splits:
    """Return the best split of each node on the wanted (feature, node) pairs (b, m)."""
    groups = ValueGroups.of(block, wanted)
    if multiway:
        return _multiway_splits(block, groups, criterion, limits)
    _, gain, left = _ordered_cuts(block, groups, criterion, limits)
    where = find_first_best(gain, groups.pair)
    merit = gain[where]
    if criterion.by_ratio:
        merit = merit / compute_split_information(left[0, where] / groups.total[0, where])
    return choose_features(block, groups.pair[where], merit, gain[where], np.full(where.size, np.nan), False)


def branches_of(
    block: FeatureBlock, wanted: np.ndarray, criterion: Criterion, limits: BranchLimits, *, multiway: bool
) -> tuple[ValueGroups, np.ndarray]:
    """Return the groups of a block of one feature per node, where wanted (1, m), and the branch of each group (q,)."""
    groups = ValueGroups.of(block, wanted)
    if multiway:
        number = np.arange(groups.pair.size)
        length = np.diff(groups.begin, append=number.size)
        return groups, number - np.repeat(groups.begin, length)
    by_mean, gain, _ = _ordered_cuts(block, groups, criterion, limits)
    cut = np.full(block.m, -1)
    where = find_first_best(gain, groups.pair)
    cut[groups.pair[where]] = where
    branch = np.empty(groups.pair.size, dtype=np.intp)
    branch[by_mean] = np.arange(by_mean.size) > cut[groups.pair]
    return groups, branch


def _multiway_splits(block: FeatureBlock, groups: ValueGroups, criterion: Criterion, limits: BranchLimits) -> Splits:
    begin = groups.begin
    pair, n_branches = groups.pair[begin], np.diff(begin, append=groups.pair.size)
    gain = np.add.reduceat(criterion.branch(groups.sums, groups.total), begin)
    enough = (groups.rows >= limits.min_rows) & (groups.sums[0] >= limits.min_weight)
    gain[(n_branches < 2) | ~np.logical_and.reduceat(enough, begin)] = -np.inf
    merit = gain.copy()
    if criterion.by_ratio:
        share = groups.sums[0] / groups.total[0]
        bits = np.add.reduceat(-share * np.log2(share), begin)
        merit = np.where(n_branches > 1, gain / np.where(bits > 0, bits, 1.0), -np.inf)
    return choose_features(block, pair, merit, gain, np.full(pair.size, np.nan), False)


def _ordered_cuts(
    block: FeatureBlock, groups: ValueGroups, criterion: Criterion, limits: BranchLimits
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the groups ordered by mean target within their pair, the gain of cutting after each, and the left sums."""
    by_mean = np.lexsort((_mean_target(block, groups), groups.pair))
    # Whole numbers: subtracting what came before a pair is exact, even if sums along all pairs overflow.
    own = groups.sums.astype(np.int64)[:, by_mean]
    upto = np.cumsum(own, axis=1)
    rows = np.cumsum(groups.rows[by_mean])
    length = np.diff(groups.begin, append=groups.pair.size)
    upto -= np.repeat((upto - own)[:, groups.begin], length, axis=1)
    rows -= np.repeat((rows - groups.rows[by_mean])[groups.begin], length)
    rest = np.add.reduceat(groups.rows, groups.begin).repeat(length) - rows
    valid = (rows >= limits.min_rows) & (rest >= max(limits.min_rows, 1))
    valid &= (upto[0] >= limits.min_weight) & (groups.total[0] - upto[0] >= limits.min_weight)
    gain = np.full(groups.pair.size, -np.inf)
    gain[valid] = criterion.cut(upto[:, valid].astype(np.float64), groups.total[:, valid])
    return by_mean, gain, upto


def _mean_target(block: FeatureBlock, groups: ValueGroups) -> np.ndarray:
    if isinstance(block.frontier.target, ClassTarget) and groups.sums.shape[0] > 2:
        commonest = np.argmax(class_weights(groups.total), axis=0)
        here = class_weights(groups.sums)
        return np.take_along_axis(here, commonest[None, :], axis=0)[0] / groups.sums[0]
    return groups.sums[1] / groups.sums[0] if groups.sums.shape[0] > 1 else groups.sums[0]
