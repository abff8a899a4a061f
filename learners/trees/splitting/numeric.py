"""Cuts of numeric features: x_j < s left, x_j >= s right.

A candidate cut of a numeric feature lies half-way between neighbouring distinct values in a node; rows below go left,
rows equal or above go right.  Along the sorted front, running sums give what lies left of every candidate, and the
gains of all candidates are one array expression.  Missing cells stand last: tried on the right, and on the left.
Cost: O(n c) per feature and level; O(n) for Gini impurity, whose sums of squares run along as well.

Ties, to the last bit: the first feature, then the lowest threshold, then missing cells to the right.
"""

from __future__ import annotations

import numpy as np

from bakeoff.learners.trees.criteria import Criterion, SquaredDistance
from bakeoff.learners.trees.splitting.dense_scan import MAX_CELLS_SCANNED, MAX_POSITIONS_PER_CUT, find_dense_cuts
from bakeoff.learners.trees.splitting.feature_block import (
    BranchLimits,
    FeatureBlock,
    Splits,
    choose_features,
    compute_split_information,
    find_first_best,
)
from bakeoff.learners.trees.splitting.gini_prefix_sums import (
    compute_gini_gain,
    sum_squares_at_cuts,
    supports_square_sums,
)
from bakeoff.learners.trees.splitting.histogram import HistogramBlock


def find_numeric_splits(
    block: FeatureBlock, wanted: np.ndarray | None, criterion: Criterion, limits: BranchLimits, *, missing_left: bool
) -> Splits:
    """Try every cut of the wanted (feature, node) pairs (b, m), or of all, missing cells on the given side."""
    cheap = criterion if isinstance(criterion, SquaredDistance) and wanted is None and not missing_left else None
    if cheap and block.changes.size <= MAX_CELLS_SCANNED:
        return _splits(block, *find_dense_cuts(block, cheap, limits), missing_left)
    candidates = _candidates(block, wanted, limits, missing_left)
    if cheap and MAX_POSITIONS_PER_CUT * np.count_nonzero(candidates) > candidates.size:
        return _splits(block, *find_dense_cuts(block, cheap, limits), missing_left)
    at = np.flatnonzero(candidates)
    if at.size == 0:
        return Splits.none(block.m)
    node, pair = block.pairs(at)
    left = block.sum_left(at, pair)
    if missing_left:
        left += _missing_sums(block).take(pair, axis=1)
    return _best_of_cuts(block, at, node, pair, left, criterion, limits, missing_left)


def find_histogram_splits(block: HistogramBlock, criterion: Criterion, limits: BranchLimits) -> Splits:
    """Try every cut of all features, from counts of their values."""
    at, left = block.cuts(limits)
    if at.size == 0:
        return Splits.none(block.m)
    return _best_of_cuts(block, at, *block.pairs(at), left, criterion, limits, missing_left=False)


def _best_of_cuts(
    block: FeatureBlock,
    at: np.ndarray,
    node: np.ndarray,
    pair: np.ndarray,
    left: np.ndarray,
    criterion: Criterion,
    limits: BranchLimits,
    missing_left: bool,
) -> Splits:
    """Return the best of the cuts after places (q,) in these nodes and pairs, with these sums left of them (p, q)."""
    if supports_square_sums(block, criterion):
        squares = sum_squares_at_cuts(left, block.total, node)
        merit = squares.merit(block.total[0].take(node))
        best = _first_of_each_node(_within_limits(merit, block, left[0], node, limits), node, block.m)
        gain = compute_gini_gain(block, squares.take(best), node.take(best))
        return _splits(block, at.take(best), node.take(best), gain, missing_left)
    total = block.total.take(node, axis=1)
    gain = _within_limits(criterion.cut(left, total), block, left[0], node, limits)
    if criterion.by_ratio:
        best = find_first_best(gain, pair)
        merit = gain[best] / compute_split_information(left[0, best] / total[0, best])
        at, node = at[best], node[best]
        thresholds = midpoint(*block.values_beside_cuts(at, block.feature_at(at, node), node))
        return choose_features(block, pair[best], merit, gain[best], thresholds, missing_left)
    best = _first_of_each_node(gain, node, block.m)
    return _splits(block, at.take(best), node.take(best), gain.take(best), missing_left)


def _within_limits(
    merit: np.ndarray, block: FeatureBlock, left: np.ndarray, node: np.ndarray, limits: BranchLimits
) -> np.ndarray:
    """Give cuts with too little weight on a side a merit (q,) of -inf."""
    if limits.min_weight > 0:
        merit[(left < limits.min_weight) | (block.total[0].take(node) - left < limits.min_weight)] = -np.inf
    return merit


def _first_of_each_node(gain: np.ndarray, node: np.ndarray, m: int) -> np.ndarray:
    """Return the index of the first largest gain (q,) of each of the nodes that have a finite one, by node."""
    best = np.full(m, -np.inf)
    np.maximum.at(best, node, gain)
    best[np.isneginf(best)] = np.inf  # matches nothing
    hits = np.flatnonzero(gain == best.take(node))[::-1]
    first = np.full(m, -1)
    first[node.take(hits)] = hits  # the last one written is the first one found
    return first[first >= 0]


def _splits(block: FeatureBlock, at: np.ndarray, node: np.ndarray, gain: np.ndarray, missing_left: bool) -> Splits:
    feature = block.feature_at(at, node)
    threshold = midpoint(*block.values_beside_cuts(at, feature, node))
    found = Splits(gain, gain.copy(), feature, threshold, np.full(node.size, missing_left))
    if node.size == block.m:
        return found
    splits = Splits.none(block.m)
    splits.put(node, found)
    return splits


def midpoint(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Return s half-way with low < s <= high, also where the two are neighbouring floats or far out of scale."""
    middle = low / 2
    middle += high / 2
    return np.where(middle > low, middle, high)  # halves of the least floats are rounded, never beyond high


def _missing_sums(block: FeatureBlock) -> np.ndarray:
    """Return the sums of the missing cells of each (feature, node) pair: (p, b m)."""
    b = block.missing.shape[0]
    last_known = np.arange(b)[:, None] * block.n + (block.start + block.frontier.rows_in_node - 1) - block.missing
    known = (block.missing < block.frontier.rows_in_node).ravel()
    sums = np.tile(block.total, b)  # (p, b m)
    sums[:, known] -= block.sum_left(last_known.ravel()[known], np.flatnonzero(known))
    return sums


def _candidates(block: FeatureBlock, wanted: np.ndarray | None, limits: BranchLimits, missing_left: bool) -> np.ndarray:
    """Mark every admissible cut (b, n): where the value changes, with enough rows on each side.

    Between two single rows of one class no cut is best (Fayyad and Irani 1992), and none is tried there unless limits
    forbid the better places.
    """
    min_rows, changes = limits.min_rows, block.changes
    candidates = changes.copy()
    if min_rows == 1 and not missing_left:
        candidates[:, block.start + block.frontier.rows_in_node - 1] = False
    else:
        left = block.rows_up_to
        size = block.frontier.rows_in_node.take(block.node)
        if missing_left:
            left = left + block.missing.take(block.node, axis=1)
        candidates &= (left >= min_rows) & (size - left >= min_rows)
    if wanted is not None:
        candidates &= wanted if wanted.shape[1] == 1 else wanted.take(block.node, axis=1)
    if min_rows == 1 and limits.min_weight == 0 and not missing_left:
        alike = block.frontier.target.mark_same_class(block.order)
        if alike is not None:
            alike = alike[:, 1:]
            alike &= changes[:, :-2]
            alike &= changes[:, 2:]
            inner = candidates[:, 1:-1]
            np.greater(inner, alike, out=inner)  # inner and not alike
    return candidates
