"""Splits of nominal features: a branch for every value, or the best two groups of values.

*Multiway* (ID3, C4.5): a node has as many branches as values; below it the feature is constant and never chosen again.
*Binary* (CART): values are ordered by their mean target (the share of class 1; for more than two classes, the share of
the node's most frequent class), and cut where the gain is largest. For two classes and for numeric targets no other
grouping is better (Breiman et al. 1984, theorem 4.5). A missing cell is treated as a separate value; but where features
compete by gain ratio, the branch of missing cells adds no gain (see `known_cuts`).
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np

from bakeoff.learners.trees.criteria import ROUND_OFF, add_first_class
from bakeoff.learners.trees.rows.class_target import ClassTarget
from bakeoff.learners.trees.splitting.best_candidates import (
    choose_pairs,
    compute_gain_ratio,
    find_first_of_pairs,
)
from bakeoff.learners.trees.splitting.feature_block import FeatureBlock
from bakeoff.learners.trees.splitting.splits import Routes, SplitRules, Splits
from bakeoff.learners.trees.splitting.value_groups import ValueGroups


class NominalCandidates(NamedTuple):
    """The best split of each of k (feature, node) pairs.

    Attributes
    ----------
    pair : ndarray of shape (k,), int
    merit, gain : ndarray of shape (k,)
    branch : ndarray of shape (q,), int
        The branch of every group of values, of these pairs and of others.
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

    # A split is not allowed if branches are too small, or if there is only one branch.
    is_large = (groups.n_rows >= rules.min_rows) & (weight >= rules.min_weight)
    n_large = np.add.reduceat(is_large, groups.begin, dtype=np.intp)
    n_required = np.minimum(groups.length, 2) if rules.c45.two_branches else groups.length
    is_allowed = n_large >= n_required
    is_allowed &= groups.length > 1
    gain[~is_allowed] = -np.inf
    merit = gain.copy()
    if rules.criterion.by_ratio:
        # Gain ratio: the split information is the entropy of the branch sizes.
        share = weight / groups.total[0]
        information = np.add.reduceat(-share * np.log2(share), groups.begin)
        # A gain of 0, but for rounding, would be magnified by a small split information.
        gain_or_zero = np.where(np.abs(gain) > ROUND_OFF, gain, 0.0)
        ratio = gain_or_zero / np.where(information > 0, information, 1.0)
        merit = np.where(groups.length > 1, ratio, -np.inf)

    # Branches are numbered in the order of the values.
    first_of_pair = np.repeat(groups.begin, groups.length)
    branch = np.arange(groups.pair.size) - first_of_pair
    return NominalCandidates(groups.pair[groups.begin], merit, gain, branch)


def _compute_known_gains(groups: ValueGroups, is_missing: np.ndarray, rules: SplitRules) -> np.ndarray:
    """Return what each group (q,) contributes to the gain among the known rows of its pair, times their fraction.

    C4.5 judges a feature by known values, and counts missing cells in the split information alone.
    """
    missing = np.add.reduceat(np.where(is_missing, groups.sums, 0.0), groups.begin, axis=1)  # (p, pairs)
    known = groups.total - missing.repeat(groups.length, axis=1)  # (p, q)
    is_known = np.flatnonzero(~is_missing)
    gain = rules.criterion.branch_gain(groups.sums[:, is_known], known[:, is_known])
    gain_of_group = np.zeros(is_missing.size)  # (q,)
    gain_of_group[is_known] = gain * (known[0] / groups.total[0])[is_known]
    return gain_of_group


def _split_in_two(groups: ValueGroups, rules: SplitRules) -> NominalCandidates:
    """Cut the groups of each pair, in the order of their mean target, where the gain is largest."""
    # Ordered by their mean target, the groups of a pair have their best split at one of the cuts between them.
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
    # In integers, subtracting the sums before a pair is exact even if sums along all pairs overflow.
    sums = groups.sums.astype(np.int64)[:, by_mean]
    left = _sum_within_pairs(sums, groups)  # (p, q)
    left_weight = left[0]
    right_weight = groups.total[0] - left_weight
    left_rows = _sum_within_pairs(groups.n_rows[by_mean], groups)  # (q,)
    rows_of_pair = np.add.reduceat(groups.n_rows, groups.begin)
    right_rows = rows_of_pair.repeat(groups.length) - left_rows

    # After the last group of a pair nothing is left on the right, which is never allowed.
    is_allowed = (left_rows >= rules.min_rows) & (right_rows >= max(rules.min_rows, 1))
    is_allowed &= (left_weight >= rules.min_weight) & (right_weight >= rules.min_weight)
    allowed_left = left[:, is_allowed].astype(np.float64)
    gain = np.full(groups.pair.size, -np.inf)
    gain[is_allowed] = rules.criterion.cut_gain(allowed_left, groups.total[:, is_allowed])
    return gain, left_weight


def _sum_within_pairs(of_group: np.ndarray, groups: ValueGroups) -> np.ndarray:
    """Return the prefix sums of group entries (..., q), restarted at each pair, shape (..., q)."""
    up_to: np.ndarray = np.cumsum(of_group, axis=-1)
    before_pair = (up_to - of_group)[..., groups.begin]
    up_to -= np.repeat(before_pair, groups.length, axis=-1)
    return up_to


def _compute_mean_target(groups: ValueGroups) -> np.ndarray:
    """Return what orders the groups (q,): the mean target, or the share of the node's most frequent class."""
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
