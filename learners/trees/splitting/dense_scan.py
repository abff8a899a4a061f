"""Dense scan: cuts of numeric features evaluated at every position at once, in whole tables of features by rows.

If most positions are possible cuts, or if there are few rows, this needs fewer steps than listing the possible cuts
first (see `numeric`), provided that computing a gain is as cheap as a squared distance. The rows of a node up to a
position, and the sums of the node, are the same for all features. Therefore the maximum of the gain is computed over
features first, and then over the rows of each node.

Cost: O(n c) per feature and level; O(n) for Gini impurity of many classes (see `gini_prefix_sums`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bakeoff.learners.trees.criteria import SquaredDistance
from bakeoff.learners.trees.splitting.feature_block import FeatureBlock
from bakeoff.learners.trees.splitting.gini_prefix_sums import (
    compute_gini_gain,
    scan_square_sums,
    supports_square_sums,
)
from bakeoff.learners.trees.splitting.splits import SplitRules

MAX_CELLS_SCANNED = 1 << 13
"""Up to this many cells listing the possible cuts takes longer than evaluating all positions."""

MAX_POSITIONS_PER_CUT = 4
"""The same holds, for any number of cells, while a possible cut has at most this many positions."""


class BestCuts(NamedTuple):
    """The best cut of each of the k nodes that have one.

    Attributes
    ----------
    position : ndarray of shape (k,), int
        The last position on the left.
    node : ndarray of shape (k,), int
        Ascending.
    gain : ndarray of shape (k,)
    """

    position: np.ndarray
    node: np.ndarray
    gain: np.ndarray


def find_dense_cuts(block: FeatureBlock, rules: SplitRules) -> BestCuts:
    """Return the first best cut of each node that has one."""
    criterion = rules.criterion
    assert isinstance(criterion, SquaredDistance)
    # After the last row of a node nothing is left on the right, and the merit there is 0 / 0.
    with np.errstate(divide="ignore", invalid="ignore"):
        if supports_square_sums(block, criterion):
            squares = scan_square_sums(block)
            node_weight = block.total[0].take(block.node)  # (n,)
            merit = squares.compute_merit(node_weight)  # (b, n)
            is_cut = _mark_cuts(block, squares.weight, rules)
            position, node = _find_first_best(merit, is_cut, block)
            best_squares = squares.take(position)
            return BestCuts(position, node, compute_gini_gain(block, best_squares, node))
        left = block.sum_left_densely()
        total = block.total.take(block.node, axis=1)  # (p, n)
        gain = criterion.cut_gain(left, total)  # (b, n)
        is_cut = _mark_cuts(block, left[0], rules)
        position, node = _find_first_best(gain, is_cut, block)
        return BestCuts(position, node, gain.take(position))


def _mark_cuts(block: FeatureBlock, left_weight: np.ndarray, rules: SplitRules) -> np.ndarray:
    """Mark the positions (b, n) where the value changes and both sides hold enough, given the weight on the left."""
    n_rows = block.frontier.n_positions  # (m,)
    if rules.min_rows > 1:
        left_rows = block.rows_up_to
        right_rows = n_rows.take(block.node) - left_rows
        is_allowed = (left_rows >= rules.min_rows) & (right_rows >= rules.min_rows)  # (n,)
        is_cut = block.changes & is_allowed
    else:
        is_cut = block.changes.copy()
        last = block.start + n_rows - 1
        is_cut[:, last] = False
    if rules.limits_weight:
        least = rules.limit_cut_weight(block.total[0]).take(block.node)  # (n,)
        right_weight = block.total[0].take(block.node) - left_weight
        is_cut &= (left_weight >= least) & (right_weight >= least)
    return is_cut


def _find_first_best(
    merit: np.ndarray,
    is_cut: np.ndarray,
    block: FeatureBlock,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the position of the first largest merit (b, n) among the cuts of each node that has one, and the nodes."""
    merit = np.where(is_cut, merit, -np.inf)
    # The maximum over features first leaves one merit for each row, the maximum over rows one for each node.
    largest_of_row = merit.max(axis=0)  # (n,)
    largest = np.maximum.reduceat(largest_of_row, block.start)  # (m,)
    largest[largest == -np.inf] = np.inf  # equals no merit
    is_hit = merit == largest.take(block.node)
    hits = is_hit.ravel().nonzero()[0]
    # Of several hits in a node the last one written stays, which in reversed order is the first.
    hits = hits[::-1]
    node_of_hit = block.node.take(hits % block.n)
    first = np.full(block.m, -1)
    first[node_of_hit] = hits
    node = (first >= 0).nonzero()[0]
    return first.take(node), node
