"""Splits of nominal features: a branch for every value, or the best two groups of values.

*Multiway* (ID3, C4.5): a node has as many branches as values; below it the feature is constant and never chosen again.
*Binary* (CART): values are ordered by their mean target (the share of class 1; for more than two classes, the share of
the node's most frequent class), and cut where the gain is largest. For two classes and for numeric targets no other
grouping is better (Breiman et al. 1984, theorem 4.5). A missing cell is a value of its own.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bakeoff.learners.trees.criteria import Criterion, add_first_class
from bakeoff.learners.trees.rows.class_target import ClassTarget
from bakeoff.learners.trees.splitting.best_candidates import (
    choose_pairs,
    compute_split_information,
    find_first_of_pairs,
)
from bakeoff.learners.trees.splitting.feature_block import FeatureBlock
from bakeoff.learners.trees.splitting.splits import BranchLimits, Routes, Splits
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


def find_nominal_splits(
    block: FeatureBlock, wanted: np.ndarray, criterion: Criterion, limits: BranchLimits, *, multiway: bool
) -> Splits:
    """Return the best split of each node on the wanted (feature, node) pairs (b, m), with its routes."""
    groups = ValueGroups.collect(block, wanted)
    split_groups = _split_by_value if multiway else _split_in_two
    candidates = split_groups(groups, criterion, limits)
    chosen = choose_pairs(candidates.merit, candidates.pair, block.b, block.m)
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
    return Routes(groups.node.take(chosen), groups.read_codes(chosen), branch.take(chosen))


def _split_by_value(groups: ValueGroups, criterion: Criterion, limits: BranchLimits) -> NominalCandidates:
    """Give every group of a pair a branch of its own."""
    gain = np.add.reduceat(criterion.branch_gain(groups.sums, groups.total), groups.begin)
    is_large = (groups.n_rows >= limits.min_rows) & (groups.sums[0] >= limits.min_weight)
    allowed = np.logical_and.reduceat(is_large, groups.begin)
    gain[(groups.length < 2) | ~allowed] = -np.inf
    merit = gain.copy()
    if criterion.by_ratio:
        share = groups.sums[0] / groups.total[0]
        information = np.add.reduceat(-share * np.log2(share), groups.begin)
        ratio = gain / np.where(information > 0, information, 1.0)
        merit = np.where(groups.length > 1, ratio, -np.inf)
    number = np.arange(groups.pair.size)
    branch = number - np.repeat(groups.begin, groups.length)
    return NominalCandidates(groups.pair[groups.begin], merit, gain, branch)


def _split_in_two(groups: ValueGroups, criterion: Criterion, limits: BranchLimits) -> NominalCandidates:
    """Cut the groups of each pair, in the order of their mean target, where the gain is largest."""
    by_mean = np.lexsort((_compute_mean_target(groups), groups.pair))
    gain, left_weight = _compute_gains_of_cuts(groups, by_mean, criterion, limits)
    cut = find_first_of_pairs(gain, groups.pair)
    merit = gain[cut]
    if criterion.by_ratio:
        merit = merit / compute_split_information(left_weight[cut] / groups.total[0, cut])

    # Groups up to the cut of their pair go left; a pair without a cut is not chosen, whatever its branches.
    cut_of_pair = np.full(groups.block.b * groups.block.m, -1)
    cut_of_pair[groups.pair[cut]] = cut
    branch = np.empty(groups.pair.size, dtype=np.intp)
    branch[by_mean] = np.arange(by_mean.size) > cut_of_pair[groups.pair]
    return NominalCandidates(groups.pair[cut], merit, gain[cut], branch)


def _compute_gains_of_cuts(
    groups: ValueGroups, by_mean: np.ndarray, criterion: Criterion, limits: BranchLimits
) -> tuple[np.ndarray, np.ndarray]:
    """Return the gain of a cut after each group, and the weight left of it: both (q,), in the order ``by_mean``."""
    # Whole numbers: to subtract the sums before a pair is exact, even if sums along all pairs overflow.
    sums = groups.sums.astype(np.int64)[:, by_mean]
    left = np.cumsum(sums, axis=1)  # (p, q)
    sums_before_pair = (left - sums)[:, groups.begin]
    left -= np.repeat(sums_before_pair, groups.length, axis=1)

    n_rows = groups.n_rows[by_mean]
    left_rows = np.cumsum(n_rows)  # (q,)
    rows_before_pair = (left_rows - n_rows)[groups.begin]
    left_rows -= np.repeat(rows_before_pair, groups.length)
    rows_of_pair = np.add.reduceat(groups.n_rows, groups.begin)
    right_rows = rows_of_pair.repeat(groups.length) - left_rows

    allowed = (left_rows >= limits.min_rows) & (right_rows >= max(limits.min_rows, 1))
    allowed &= (left[0] >= limits.min_weight) & (groups.total[0] - left[0] >= limits.min_weight)
    gain = np.full(groups.pair.size, -np.inf)
    gain[allowed] = criterion.cut_gain(left[:, allowed].astype(np.float64), groups.total[:, allowed])
    return gain, left[0]


def _compute_mean_target(groups: ValueGroups) -> np.ndarray:
    """Return what orders the groups (q,): the mean target, or the share of the node's most frequent class."""
    weight = groups.sums[0]
    if isinstance(groups.block.frontier.target, ClassTarget) and groups.sums.shape[0] > 2:
        most_frequent = np.argmax(add_first_class(groups.total), axis=0)
        class_weights = add_first_class(groups.sums)  # (c, q)
        return np.take_along_axis(class_weights, most_frequent[None, :], axis=0)[0] / weight
    if groups.sums.shape[0] == 1:
        return weight
    return groups.sums[1] / weight
