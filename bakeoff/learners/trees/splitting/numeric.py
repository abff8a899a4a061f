"""Cuts of numeric features: x_j < s goes left, x_j >= s goes right.

A candidate cut of a numeric feature is halfway between neighbouring distinct values in a node. Ties go to the first
feature, then to the lowest threshold, then to missing cells on the right.

*Sorted rows*: prefix sums along the sorted frontier give the sums to the left of every candidate, and one array
expression computes all gains. Missing cells come last; they are tried on the right and on the left, unless features
compete by gain ratio. Cost: O(n c) per feature and level; O(n) for many classes in a dense scan (see `square_sums`).

*Gain ratio with missing cells* is that of C4.5. A feature is evaluated on the rows whose cell is known, which are a
fraction F of the node's weight. The cut is the one with the largest gain among these rows, and

    gain = F · (gain among the known rows),        gain ratio = gain / H(left, right, missing),

so that missing cells neither improve a feature nor move its cut; the split information counts them as a separate
branch. C4.5 then divides each row with a missing cell among the branches; here, all of these rows go to the side that
gives the larger gain of the whole node.

*Bins* serve features with few values: nothing needs to be sorted by value (see `bins`).

*Random cuts*: one threshold for each numeric feature of a node, drawn between its smallest and largest value there. The
best of the drawn cuts splits the node. If all known values are equal, the cut separates them from missing cells.

References: J. R. Quinlan, "C4.5: Programs for Machine Learning", 1993, chapter 3; P. Geurts, D. Ernst, L. Wehenkel,
"Extremely randomized trees", Machine Learning 63, 2006.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from bakeoff.learners.trees.splitting.bins import HistogramBlock, SquareBlock
from bakeoff.learners.trees.splitting.dense_scan import (
    MAX_POSITIONS_PER_CUT,
    BestCuts,
    choose_by_squares,
    find_dense_cuts,
    pays_to_scan,
)
from bakeoff.learners.trees.splitting.partition import FeatureBlock
from bakeoff.learners.trees.splitting.splits import (
    SplitRules,
    Splits,
    charge_cuts,
    choose_pairs,
    compute_gain_ratio,
    find_first_of_nodes,
    find_first_of_pairs,
    find_largest_of_nodes,
)
from bakeoff.learners.trees.splitting.square_sums import (
    bound_gini_merit,
    choose_by_exact_gain,
    sum_squares_at_cuts,
    supports_square_sums,
)


def draw_thresholds(block: FeatureBlock, draws: np.ndarray) -> np.ndarray:
    """Return a threshold for each feature and node of a block.

    Parameters
    ----------
    block : FeatureBlock
        A block of b features and m nodes.
    draws : ndarray of shape (m, d)
        Uniform numbers in [0, 1) for all features.

    Returns
    -------
    ndarray of shape (b, m)
        Greater than the smallest value and at most the largest; infinite if all known values are equal and some are
        missing, NaN if no split is possible.
    """
    cells = block.cells
    start = np.broadcast_to(block.start, (block.b, block.m))
    smallest = np.take_along_axis(cells, start, axis=1)  # (b, m)
    n_known = block.frontier.n_positions - block.n_missing
    last_known = start + np.maximum(n_known - 1, 0)
    largest = np.take_along_axis(cells, last_known, axis=1)
    feature = np.broadcast_to(block.feature, (block.b, block.m))
    share = draws[np.arange(block.m), feature]  # (b, m)
    varies = (n_known > 0) & (smallest < largest)
    with np.errstate(invalid="ignore"):
        threshold = largest * (1 - share) + smallest * share
        threshold = np.clip(threshold, np.nextafter(smallest, np.inf), largest)
    of_equal_values = np.where((n_known > 0) & (block.n_missing > 0), np.inf, np.nan)
    return np.where(varies, threshold, of_equal_values)


def mark_last_below(block: FeatureBlock, threshold: np.ndarray) -> np.ndarray:
    """Return whether each position is the last one below the threshold (b, m) of its node: (b, n)."""
    is_below = block.cells < threshold.take(block.node, axis=1)
    is_last = is_below.copy()
    is_last[:, :-1] &= ~is_below[:, 1:]
    # The first row of the next node may be below the threshold of that node.
    last_of_node = block.start[1:] - 1
    is_last[:, last_of_node] = is_below[:, last_of_node]
    return is_last


def set_thresholds(splits: Splits, block: FeatureBlock, threshold: np.ndarray) -> None:
    """Write the drawn thresholds (b, m) into the splits of m nodes."""
    is_split = splits.feature >= 0  # (m,)
    slot = (block.feature == splits.feature).argmax(axis=0)  # (m,)
    drawn = threshold[slot, np.arange(block.m)]
    splits.threshold = np.where(is_split, drawn, splits.threshold)


class Cuts(NamedTuple):
    """Candidate cuts of a block.

    Attributes
    ----------
    position : ndarray of shape (q,), int
        The last position on the left; ascending.
    node, pair : ndarray of shape (q,), int
    left : ndarray of shape (p, q)
        The sums of the left branch, the weight first.
    """

    position: np.ndarray
    node: np.ndarray
    pair: np.ndarray
    left: np.ndarray


def find_numeric_splits(
    block: FeatureBlock,
    wanted: np.ndarray | None,
    rules: SplitRules,
    *,
    missing_left: bool,
) -> Splits:
    """Return the best cuts of the wanted (feature, node) pairs (b, m), or of all, given the side of missing cells."""
    drawn = None if rules.draws is None else draw_thresholds(block, rules.draws)  # (b, m)
    is_candidate = _mark_candidates(block, wanted, rules, missing_left)  # (b, n)
    if drawn is not None:
        is_candidate &= mark_last_below(block, drawn)
    # A dense scan evaluates all pairs, and treats missing cells as the largest values.
    needs_all_cuts = drawn is None and wanted is None and not missing_left
    if needs_all_cuts and pays_to_scan(block, rules.criterion):
        n_candidates = np.count_nonzero(is_candidate)
        if is_candidate.size < MAX_POSITIONS_PER_CUT * n_candidates:
            best = find_dense_cuts(block, is_candidate, rules)
            return make_splits(block, best, merit=best.gain, missing_left=False)

    # List the candidates, with the sums to the left of each.
    position = np.flatnonzero(is_candidate)
    if position.size == 0:
        return Splits.none(block.m)
    node, pair = block.find_pairs(position)
    left = block.sum_left(position, pair)
    if missing_left:
        left += sum_missing(block).take(pair, axis=1)
    cuts = Cuts(position, node, pair, left)
    splits = _choose_cuts(block, cuts, rules, missing_left=missing_left)
    if drawn is not None:
        set_thresholds(splits, block, drawn)
    return splits


def find_histogram_splits(block: HistogramBlock, rules: SplitRules) -> Splits:
    """Return the best cuts of all features, from histograms of their values."""
    position, left = block.list_cuts(rules)
    if position.size == 0:
        return Splits.none(block.m)
    node, pair = block.find_pairs(position)
    cuts = Cuts(position, node, pair, left)
    return _choose_cuts(block, cuts, rules, missing_left=False)


def find_splits_by_squares(block: SquareBlock, rules: SplitRules) -> Splits:
    """Return the best cuts of all features, from the squares of their bins."""
    if rules.min_rows > 1:
        # Every weight is a number of rows here, so one limit on the weight covers both limits.
        rules = replace(rules, min_weight=max(rules.min_weight, rules.min_rows))
    start = np.arange(block.m) * block.n_bins
    node = np.arange(block.m).repeat(block.n_bins)
    # Before the first row of a node and after the last one, a side of a cut is empty, and the gain is 0 / 0.
    with np.errstate(divide="ignore", invalid="ignore"):
        best = choose_by_squares(block, block.squares, block.is_occupied, start, node, rules)
    return make_splits(block, best, merit=best.gain, missing_left=False)


def _choose_cuts(
    block: FeatureBlock,
    cuts: Cuts,
    rules: SplitRules,
    *,
    missing_left: bool,
) -> Splits:
    """Return the best of the cuts in each node."""
    if supports_square_sums(block.frontier.target, rules.criterion):
        best, gain = _choose_by_square_sums(block, cuts, rules)
        merit = gain
    else:
        total = block.total.take(cuts.node, axis=1)  # (p, q)
        gains = rules.criterion.cut_gain(cuts.left, total)  # (q,)
        rules.exclude_light_branches(gains, cuts.left[0], total[0])
        if rules.c45.description_length:
            gains = charge_cuts(gains, cuts.pair, total[0] / rules.row_weight)
        if rules.criterion.by_ratio:
            best, merit = choose_by_ratio(block, cuts, gains, rules)
        else:
            bound_ties = partial(block.frontier.bound_ties, rules.criterion)
            best = find_first_of_nodes(gains, cuts.node, block.m, bound_ties)
            merit = gains.take(best)
        gain = gains.take(best)
    position = cuts.position.take(best)
    node = cuts.node.take(best)
    best_cuts = BestCuts(position, node, gain)
    return make_splits(block, best_cuts, merit, missing_left=missing_left)


def _choose_by_square_sums(
    block: FeatureBlock,
    cuts: Cuts,
    rules: SplitRules,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the index of the best cut of each node, and its gain, for Gini impurity of several classes."""
    squares = sum_squares_at_cuts(cuts.left, block.total, cuts.node)
    node_weight = block.total[0].take(cuts.node)  # (q,)
    merit = squares.compute_merit(node_weight)
    rules.exclude_light_branches(merit, cuts.left[0], node_weight)
    largest = find_largest_of_nodes(merit, cuts.node, block.m)
    close = np.flatnonzero(merit >= bound_gini_merit(largest).take(cuts.node))
    return choose_by_exact_gain(block, squares, close, cuts.node.take(close), rules.criterion)


def choose_by_ratio(
    block: FeatureBlock,
    cuts: Cuts,
    gain: np.ndarray,
    rules: SplitRules,
    missing: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the index of the best cut of each node, and its gain ratio.

    Parameters
    ----------
    block : FeatureBlock
    cuts : Cuts
    gain : ndarray of shape (q,)
    rules : SplitRules
    missing : ndarray of shape (q,), optional
        The weight of the missing cells of each cut's pair, if they count as a separate branch.
    """
    # The cut of a feature is the one with the largest gain; only features compete by gain ratio.
    bound_ties = partial(block.frontier.bound_ties, rules.criterion)
    best_of_pair = find_first_of_pairs(gain, cuts.pair, block.m, bound_ties)
    total = block.total[0].take(cuts.node.take(best_of_pair))
    left = cuts.left[0].take(best_of_pair)
    branches = [left, total - left]
    if missing is not None:
        missing = missing.take(best_of_pair)
        branches = [left, total - left - missing, missing]
    ratio = compute_gain_ratio(gain[best_of_pair], branches, total)
    pair = cuts.pair[best_of_pair]
    chosen = choose_pairs(ratio, pair, block.b, block.m, bound_ties)
    return best_of_pair[chosen], ratio[chosen]


def make_splits(block: FeatureBlock, best: BestCuts, merit: np.ndarray, *, missing_left: bool | np.ndarray) -> Splits:
    """Return the splits at the best cuts (k,) of the nodes that have one, with these merits (k,)."""
    feature = block.feature_at(best.position, best.node)
    below, above = block.read_cut_values(best.position, feature, best.node)
    found = Splits(
        merit=merit,
        gain=best.gain.copy(),
        feature=feature,
        threshold=compute_midpoint(below, above),
        missing_left=np.full(best.node.size, missing_left, dtype=bool),
    )
    return Splits.spread(found, best.node, block.m)


def compute_midpoint(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Return s halfway with low < s <= high, even if the two are neighbouring floats or their sum overflows."""
    middle = low / 2
    middle += high / 2
    # Halves of the smallest floats are rounded: the midpoint may equal low, but never exceeds high.
    return np.where(middle > low, middle, high)


def sum_missing(block: FeatureBlock) -> np.ndarray:
    """Return the sums of the missing cells of each (feature, node) pair: (p, b m)."""
    # Missing cells come last in their node, so their sums are those of the node minus those up to the last known cell.
    n_rows = block.frontier.n_positions
    first_of_slot = np.arange(block.b)[:, None] * block.n
    last_of_node = first_of_slot + (block.start + n_rows - 1)  # (b, m)
    last_known = last_of_node - block.n_missing
    has_known = (block.n_missing < n_rows).ravel()
    pair = np.flatnonzero(has_known)
    sums = np.tile(block.total, block.b)  # (p, b m)
    position = last_known.ravel()[pair]
    sums[:, pair] -= block.sum_left(position, pair)
    return sums


def _mark_candidates(
    block: FeatureBlock,
    wanted: np.ndarray | None,
    rules: SplitRules,
    missing_left: bool,
) -> np.ndarray:
    """Mark every allowed cut (b, n), where the value changes and each side has enough rows."""
    is_candidate = block.changes.copy()  # (b, n)
    if rules.min_rows == 1 and not missing_left:
        # A side can be empty only after the last row of a node.
        last = block.start + block.frontier.n_positions - 1
        is_candidate[:, last] = False
    else:
        left_rows = block.rows_up_to
        if missing_left:
            left_rows = left_rows + block.n_missing.take(block.node, axis=1)
        right_rows = block.frontier.n_positions.take(block.node) - left_rows
        is_candidate &= (left_rows >= rules.min_rows) & (right_rows >= rules.min_rows)
    if wanted is not None:
        is_candidate &= block.spread_over_positions(wanted)
    sees_all_cuts = rules.min_rows > 1 or rules.min_weight > 0 or rules.c45.judges_all_cuts or rules.draws is not None
    if rules.criterion.is_strictly_convex and not sees_all_cuts and not missing_left:
        _skip_cuts_within_class(block, is_candidate)
    return is_candidate


def _skip_cuts_within_class(block: FeatureBlock, is_candidate: np.ndarray) -> None:
    """Unmark cuts (b, n) between two single rows of one class.

    Such a cut is never the best (Fayyad and Irani 1992), unless the rules forbid the better ones.
    """
    within_class = block.frontier.target.mark_same_class(block.order)  # (b, n - 1)
    if within_class is None:
        return
    # The rows are single if the value also changes before the left row and after the right row.
    within_class = within_class[:, 1:]
    within_class &= block.changes[:, :-2]
    within_class &= block.changes[:, 2:]
    inner = is_candidate[:, 1:-1]
    np.greater(inner, within_class, out=inner)  # inner and not within_class


def find_known_splits(block: FeatureBlock, wanted: np.ndarray | None, rules: SplitRules) -> Splits:
    """Return the best cuts of the wanted (feature, node) pairs (b, m), or of all, by the gain ratio of known rows."""
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
    """Mark the positions (b, n) where the value changes and both sides have enough rows whose cell is known."""
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
    rules.exclude_light_branches(gain, cuts.left[0], known[0])
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
