"""Cuts by gain ratio of numeric features with missing cells, compared as C4.5 compares them.

A feature is judged by the rows whose cell is known, a fraction F of the node's weight. The cut is the one of largest
gain among these rows, and

    gain = F · (gain among the known rows),        gain ratio = gain / H(left, right, missing),

so that missing cells neither make a feature better, nor move its cut: the split information counts them as a branch of
their own. C4.5 then divides each row without the cell among the branches; here all of them go to the side where the
gain of the whole node is larger.

Cost: that of `numeric`.

Reference: J. R. Quinlan, "C4.5: Programs for Machine Learning", 1993, chapter 3.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from bakeoff.learners.trees.splitting.feature_block import FeatureBlock
from bakeoff.learners.trees.splitting.gini_prefix_sums import BestCuts
from bakeoff.learners.trees.splitting.numeric import Cuts, choose_by_ratio, make_splits, sum_missing
from bakeoff.learners.trees.splitting.splits import SplitRules, Splits, charge_cuts


def find_known_splits(block: FeatureBlock, wanted: np.ndarray | None, rules: SplitRules) -> Splits:
    """Return the best cuts of the wanted (feature, node) pairs (b, m), or of all, by the ratio of known rows."""
    is_candidate = _mark_known_cuts(block, rules)  # (b, n)
    if wanted is not None:
        is_candidate &= block.spread_over_positions(wanted)
    position = np.flatnonzero(is_candidate)
    if position.size == 0:
        return Splits.none(block.m)
    node, pair = block.find_pairs(position)
    cuts = Cuts(position, node, pair, block.sum_left(position, pair))
    missing = sum_missing(block).take(pair, axis=1)  # (p, q)

    gain = _compute_known_gains(block, cuts, missing, rules)
    best, ratio = choose_by_ratio(block, cuts, gain, rules, missing[0])
    best_cuts = BestCuts(position.take(best), node.take(best), gain.take(best))
    left = cuts.left.take(best, axis=1)
    goes_left = _choose_side(block, left, missing.take(best, axis=1), best_cuts.node, rules)
    return make_splits(block, best_cuts, ratio, missing_left=goes_left)


def _mark_known_cuts(block: FeatureBlock, rules: SplitRules) -> np.ndarray:
    """Mark the positions (b, n) where the value changes and both sides hold enough rows whose cell is known."""
    n_known = block.frontier.n_positions - block.n_missing  # (b, m)
    left_rows = block.rows_up_to  # (n,)
    right_rows = n_known.take(block.node, axis=1) - left_rows  # (b, n)
    is_candidate = block.changes & (left_rows >= rules.min_rows)
    is_candidate &= right_rows >= max(rules.min_rows, 1)
    return is_candidate


def _compute_known_gains(block: FeatureBlock, cuts: Cuts, missing: np.ndarray, rules: SplitRules) -> np.ndarray:
    """Return the gains (q,) of cuts, given the sums of the missing cells (p, q); -inf where a cut is not allowed."""
    total = block.total.take(cuts.node, axis=1)  # (p, q)
    known = total - missing
    gain = rules.criterion.cut_gain(cuts.left, known) * (known[0] / total[0])
    if rules.limits_weight:
        least = rules.limit_cut_weight(known[0])
        right_weight = known[0] - cuts.left[0]
        gain[(cuts.left[0] < least) | (right_weight < least)] = -np.inf
    if rules.c45.description_length:
        gain = charge_cuts(gain, cuts.pair, total[0] / rules.row_weight)
    return gain


def _choose_side(
    block: FeatureBlock, left: np.ndarray, missing: np.ndarray, node: np.ndarray, rules: SplitRules
) -> np.ndarray:
    """Return whether missing cells go left, given sums of chosen cuts (p, k) of nodes (k,): shape (k,), bool."""
    total = block.total.take(node, axis=1)  # (p, k)
    gain_if_right = rules.criterion.cut_gain(left, total)
    gain_if_left = rules.criterion.cut_gain(left + missing, total)
    bound_ties = partial(block.frontier.bound_ties, rules.criterion)
    return gain_if_right < bound_ties(gain_if_left, node)
