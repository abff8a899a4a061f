"""Splits of nominal features: a branch for every value, or the best two groups of values.

*Multiway* (ID3, C4.5): a node has as many branches as values; below it the feature is constant and never chosen again.
*Binary* (CART): values are ordered by their mean target (the share of class 1; for more than two classes, the share of
the node's most frequent class), and cut where the gain is largest. For two classes and for numeric targets no other
grouping is better (Breiman et al. 1984, theorem 4.5). A missing cell is treated as a separate value; but if features
compete by gain ratio, the branch of missing cells adds no gain (see `numeric`).

Both need the sums over a node's rows that have the same value of a feature. In rows sorted by value, each such group is
a run. If columns have few values, sums by key, with one key for each pair and value, yield the same groups without
sorting.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import partial
from typing import NamedTuple

import numpy as np

from bakeoff.learners.trees.criteria import ROUND_OFF, add_first_class
from bakeoff.learners.trees.splitting.partition import FeatureBlock
from bakeoff.learners.trees.splitting.splits import (
    Routes,
    SplitRules,
    Splits,
    choose_pairs,
    compute_gain_ratio,
    find_first_of_pairs,
    mark_first_of_runs,
    sum_within_runs,
)
from bakeoff.learners.trees.target import ClassTarget


class NominalCandidates(NamedTuple):
    """The best split of each of k (feature, node) pairs.

    Attributes
    ----------
    pair : ndarray of shape (k,), int
    merit, gain : ndarray of shape (k,)
    branch : ndarray of shape (q,), int
        The branch of every group of values, for these pairs and for others.
    """

    pair: np.ndarray
    merit: np.ndarray
    gain: np.ndarray
    branch: np.ndarray


def find_nominal_splits(block: FeatureBlock, wanted: np.ndarray, rules: SplitRules) -> Splits:
    """Return the best split of each node on the wanted (feature, node) pairs (b, m), with its routes."""
    # First the best split of each pair, then the best pair of each node.
    sets_missing_apart = rules.multiway and rules.criterion.by_ratio and block.frontier.table.has_missing
    groups = ValueGroups.collect(block, wanted, marks_missing=sets_missing_apart)
    split_groups = _split_by_value if rules.multiway else _split_in_two
    candidates = split_groups(groups, rules)
    bound_ties = partial(block.frontier.bound_ties, rules.criterion)
    chosen = choose_pairs(candidates.merit, candidates.pair, block.b, block.m, bound_ties)
    pair = candidates.pair[chosen]
    slot, node = np.divmod(pair, block.m)
    found = Splits(
        merit=candidates.merit[chosen],
        gain=candidates.gain[chosen],
        feature=block.feature_of_slot(slot, node),
        threshold=np.full(node.size, np.nan),
        missing_left=np.zeros(node.size, dtype=bool),
    )
    splits = Splits.spread(found, node, block.m)
    splits.routes = _list_routes(groups, pair, candidates.branch)
    return splits


def _list_routes(groups: ValueGroups, chosen_pair: np.ndarray, branch: np.ndarray) -> Routes:
    """Return the branch of every value of the chosen pairs (k,), given the branch of each group (q,)."""
    block = groups.block
    is_chosen = np.zeros(block.b * block.m, dtype=bool)
    is_chosen[chosen_pair] = True
    chosen = np.flatnonzero(is_chosen.take(groups.pair))
    return Routes(
        node=groups.node.take(chosen),
        code=groups.read_codes(chosen),
        branch=branch.take(chosen),
    )


def _split_by_value(groups: ValueGroups, rules: SplitRules) -> NominalCandidates:
    """Assign every group of a pair its own branch."""
    weight = groups.sums[0]
    if groups.is_missing is None:
        gain_of_group = rules.criterion.branch_gain(groups.sums, groups.total)
    else:
        gain_of_group = _compute_known_gains(groups, groups.is_missing, rules)
    gain = np.add.reduceat(gain_of_group, groups.begin)

    # A split is not allowed if its branches are too small, or if it has only one branch.
    is_large = (groups.n_rows >= rules.min_rows) & (weight >= rules.min_weight)
    n_large = np.add.reduceat(is_large, groups.begin, dtype=np.intp)
    n_required = np.minimum(groups.length, 2) if rules.c45.two_branches else groups.length
    is_allowed = n_large >= n_required
    is_allowed &= groups.length > 1
    gain[~is_allowed] = -np.inf
    merit = gain.copy()
    if rules.criterion.by_ratio:
        # For gain ratio, the split information is the entropy of the branch sizes.
        share = weight / groups.total[0]
        information = np.add.reduceat(-share * np.log2(share), groups.begin)
        # A gain that is 0 up to rounding would be magnified by a small split information.
        gain_or_zero = np.where(np.abs(gain) > ROUND_OFF, gain, 0.0)
        ratio = gain_or_zero / np.where(information > 0, information, 1.0)
        merit = np.where(groups.length > 1, ratio, -np.inf)

    # Branches are numbered in the order of the values.
    first_of_pair = np.repeat(groups.begin, groups.length)
    branch = np.arange(groups.pair.size) - first_of_pair
    return NominalCandidates(groups.pair[groups.begin], merit, gain, branch)


def _compute_known_gains(groups: ValueGroups, is_missing: np.ndarray, rules: SplitRules) -> np.ndarray:
    """Return the contribution of each group (q,) to the gain among the known rows of its pair, times their fraction.

    C4.5 computes the gain of a feature from known values, and counts missing cells only in the split information.
    """
    missing = np.add.reduceat(np.where(is_missing, groups.sums, 0.0), groups.begin, axis=1)  # (p, pairs)
    known = groups.total - missing.repeat(groups.length, axis=1)  # (p, q)
    is_known = np.flatnonzero(~is_missing)
    gain = rules.criterion.branch_gain(groups.sums[:, is_known], known[:, is_known])
    gain_of_group = np.zeros(is_missing.size)  # (q,)
    gain_of_group[is_known] = gain * (known[0] / groups.total[0])[is_known]
    return gain_of_group


def _split_in_two(groups: ValueGroups, rules: SplitRules) -> NominalCandidates:
    """Cut the groups of each pair, ordered by their mean target, where the gain is largest."""
    # If the groups of a pair are ordered by their mean target, the best split is one of the cuts between them.
    mean = _compute_mean_target(groups)
    by_mean = np.lexsort((mean, groups.pair))
    gain, left_weight = _compute_gains_of_cuts(groups, by_mean, rules)
    bound_ties = partial(groups.block.frontier.bound_ties, rules.criterion)
    cut = find_first_of_pairs(gain, groups.pair, groups.block.m, bound_ties)
    merit = gain[cut]
    if rules.criterion.by_ratio:
        left = left_weight[cut]
        total = groups.total[0, cut]
        merit = compute_gain_ratio(merit, [left, total - left], total)

    # Groups up to the cut of their pair go left; a pair without a cut is never chosen.
    n_pairs = groups.block.b * groups.block.m
    cut_of_pair = np.full(n_pairs, -1)
    cut_of_pair[groups.pair[cut]] = cut
    goes_right = np.arange(by_mean.size) > cut_of_pair[groups.pair]  # (q,), in the order by_mean
    branch = np.empty(groups.pair.size, dtype=np.intp)
    branch[by_mean] = goes_right
    return NominalCandidates(groups.pair[cut], merit, gain[cut], branch)


def _compute_gains_of_cuts(
    groups: ValueGroups,
    by_mean: np.ndarray,
    rules: SplitRules,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the gain of a cut after each group, and the weight to its left: both (q,), in the order ``by_mean``."""
    sums = groups.sums.astype(np.int64)[:, by_mean]
    left = sum_within_runs(sums, groups.is_first)  # (p, q)
    left_weight = left[0]
    right_weight = groups.total[0] - left_weight
    left_rows = sum_within_runs(groups.n_rows[by_mean], groups.is_first)  # (q,)
    rows_of_pair = np.add.reduceat(groups.n_rows, groups.begin)
    right_rows = rows_of_pair.repeat(groups.length) - left_rows

    # After the last group of a pair, the right side would be empty, which is never allowed.
    is_allowed = (left_rows >= rules.min_rows) & (right_rows >= max(rules.min_rows, 1))
    is_allowed &= (left_weight >= rules.min_weight) & (right_weight >= rules.min_weight)
    allowed_left = left[:, is_allowed].astype(np.float64)
    gain = np.full(groups.pair.size, -np.inf)
    gain[is_allowed] = rules.criterion.cut_gain(allowed_left, groups.total[:, is_allowed])
    return gain, left_weight


def _compute_mean_target(groups: ValueGroups) -> np.ndarray:
    """Return the sort key of the groups (q,): the mean target, or the share of the node's most frequent class."""
    weight = groups.sums[0]
    has_classes = isinstance(groups.block.frontier.target, ClassTarget)
    if has_classes and groups.sums.shape[0] > 2:
        node_classes = add_first_class(groups.total)  # (c, q)
        most_frequent = np.argmax(node_classes, axis=0)  # (q,)
        group_classes = add_first_class(groups.sums)  # (c, q)
        in_group = np.take_along_axis(group_classes, most_frequent[None, :], axis=0)[0]
        return in_group / weight
    if groups.sums.shape[0] == 1:
        return weight
    return groups.sums[1] / weight


MAX_KEYS_PER_ROW = 4
"""Rows are summed by key only if nodes times values are at most this many for each row."""


class ValueGroups(ABC):
    """Abstract: q groups of rows, each in one node and with one value of one nominal feature.

    Attributes
    ----------
    pair : ndarray of shape (q,), int
        The (feature, node) pair, slot * m + node; ascending.
    node : ndarray of shape (q,), int
    n_rows : ndarray of shape (q,)
    sums : ndarray of shape (p, q)
    total : ndarray of shape (p, q)
        The sums of the whole node.
    begin : ndarray of int
        The first group of each pair.
    length : ndarray of int
        The number of groups of each pair.
    is_first : ndarray of shape (q,), bool
        Whether a group is the first of its pair.
    is_missing : ndarray of shape (q,), bool, or None
        Whether a group contains the missing cells, if requested.
    """

    pair: np.ndarray
    node: np.ndarray
    n_rows: np.ndarray
    sums: np.ndarray
    total: np.ndarray
    begin: np.ndarray
    length: np.ndarray
    is_first: np.ndarray
    is_missing: np.ndarray | None = None

    def __init__(self, block: FeatureBlock) -> None:
        self.block = block

    @staticmethod
    def collect(block: FeatureBlock, wanted: np.ndarray, *, marks_missing: bool = False) -> ValueGroups:
        """Return the groups of the wanted pairs (b, m)."""
        if marks_missing:
            groups = SortedGroups(block, wanted)
            groups.mark_missing()
            return groups
        n_values = block.frontier.table.max_nominal_values
        if n_values > 0 and block.m * n_values <= MAX_KEYS_PER_ROW * block.n:
            return KeyedGroups(block, wanted, n_values)
        return SortedGroups(block, wanted)

    @abstractmethod
    def read_codes(self, chosen: np.ndarray) -> np.ndarray:
        """Return the value codes of the chosen groups (k,)."""

    def _delimit_pairs(self) -> None:
        """Set the first group of each pair and the number of its groups."""
        self.is_first = mark_first_of_runs(self.pair)
        self.begin = np.flatnonzero(self.is_first)
        self.length = np.diff(self.begin, append=self.pair.size)


class SortedGroups(ValueGroups):
    """Groups as runs of rows sorted by value."""

    def __init__(self, block: FeatureBlock, wanted: np.ndarray) -> None:
        super().__init__(block)
        # A group ends where the value changes, and at the last row of its node.
        is_last = block.changes.copy()  # (b, n)
        last_of_node = block.start + block.frontier.n_positions - 1
        is_last[:, last_of_node] = True
        is_last &= block.spread_over_positions(wanted)
        self._last = np.flatnonzero(is_last)  # (q,)
        self.node, self.pair = block.find_pairs(self._last)
        self._delimit_pairs()

        # Its sums are those of the node up to its last row, minus those up to the last row of the previous group.
        sums_up_to = block.sum_left(self._last, self.pair)
        self.sums = np.diff(sums_up_to, axis=1, prepend=0.0)  # (p, q)
        self.sums[:, self.is_first] = sums_up_to[:, self.is_first]
        first_of_node = block.start.take(self.node)
        rows_up_to = self._last % block.n + 1 - first_of_node
        n_rows = np.diff(rows_up_to, prepend=0)
        self.n_rows = np.where(self.is_first, rows_up_to, n_rows)  # (q,)
        self.total = block.total[:, self.node]

    def mark_missing(self) -> None:
        """Mark the groups that contain the missing cells."""
        every_group = np.arange(self.pair.size)
        self.is_missing = np.isinf(self.read_codes(every_group))

    def read_codes(self, chosen: np.ndarray) -> np.ndarray:
        last = self._last.take(chosen)
        node = self.node.take(chosen)
        feature = self.block.feature_at(last, node)
        return self.block.read_cells(last, feature, node)


class KeyedGroups(ValueGroups):
    """Groups as sums by key, pair * n_values + bin code."""

    def __init__(self, block: FeatureBlock, wanted: np.ndarray, n_values: int) -> None:
        super().__init__(block)
        frontier = block.frontier
        self._n_values = n_values
        n_keys = block.b * block.m * n_values
        key = self._make_keys(wanted, n_keys)  # (b, n)
        rows = frontier.order[0]
        sums = frontier.target.sum_by_key(rows, key, n_keys + 1)
        # The last key is for cells of unwanted pairs. A key without weight has no rows and is not a group.
        sums = sums[:, :n_keys]
        self._key_of_group = np.flatnonzero(sums[0])  # (q,)
        self.sums = sums.take(self._key_of_group, axis=1)  # (p, q)
        self.pair = self._key_of_group // n_values
        self.node = self.pair % block.m
        self._delimit_pairs()
        self.n_rows = self.sums[0]
        if not frontier.target.weights_are_rows:
            rows_of_key = np.bincount(key.ravel(), minlength=n_keys)
            self.n_rows = rows_of_key.take(self._key_of_group)
        self.total = block.total.take(self.node, axis=1)

    def _make_keys(self, wanted: np.ndarray, n_keys: int) -> np.ndarray:
        """Return the key of every cell of the block (b, n); cells of unwanted pairs share the last key."""
        block = self.block
        key = block.frontier.gather_bin_codes(block.feature)
        key += block.node * self._n_values
        first_of_slot = np.arange(0, n_keys, block.m * self._n_values)
        key += first_of_slot[:, None]
        if not wanted.all():
            is_wanted = np.broadcast_to(block.spread_over_positions(wanted), key.shape)
            key[~is_wanted] = n_keys
        return key

    def read_codes(self, chosen: np.ndarray) -> np.ndarray:
        block = self.block
        node = self.node.take(chosen)
        slot = self.pair.take(chosen) // block.m
        feature = block.feature_of_slot(slot, node)
        bin_code = self._key_of_group.take(chosen) % self._n_values
        values = block.frontier.table.values  # (d, v)
        assert values is not None
        return np.asarray(values[feature, bin_code])
