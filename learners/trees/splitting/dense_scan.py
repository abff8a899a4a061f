"""Cuts of numeric features judged at every place at once, as whole tables of features by rows.

Where most places are possible cuts, or where there are few rows, that takes fewer steps than to gather the possible
ones first (see `numeric`), if a gain is as cheap as a squared distance: rows of a node up to a place, and the node's
sums, are the same for all features.  Then the largest gain is found over features first, and over the rows of each node
after that.

Cost: O(n c) per feature and level; O(n) for Gini impurity of many classes (see `squares`).
"""

from __future__ import annotations

import numpy as np

from bakeoff.learners.trees.criteria import SquaredDistance
from bakeoff.learners.trees.splitting.feature_block import BranchLimits, FeatureBlock
from bakeoff.learners.trees.splitting.gini_prefix_sums import compute_gini_gain, scan_square_sums, supports_square_sums

MAX_CELLS_SCANNED = 1 << 13
"""Up to so many cells, looking for the possible cuts takes longer than judging all places;"""

MAX_POSITIONS_PER_CUT = 4
"""and so it does where at least one place in so many is a possible cut."""


def find_dense_cuts(
    block: FeatureBlock, criterion: SquaredDistance, limits: BranchLimits
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the place (q,) of the first best cut of each node that has one, by node; the nodes; and the gains."""
    with np.errstate(divide="ignore", invalid="ignore"):  # after the last row of a node nothing is left on the right
        if supports_square_sums(block, criterion):
            squares = scan_square_sums(block)
            merit = squares.merit(block.total[0].take(block.node))  # (b, n)
            at, node = _first_of_each_node(merit, _cuts(block, squares.weight, limits), block)
            return at, node, compute_gini_gain(block, squares.take(at), node)
        left = block.sum_left_densely()
        merit = criterion.cut(left, block.total.take(block.node, axis=1))
        at, node = _first_of_each_node(merit, _cuts(block, left[0], limits), block)
        return at, node, merit.take(at)


def _cuts(block: FeatureBlock, weight: np.ndarray, limits: BranchLimits) -> np.ndarray:
    """Mark the places where the value changes and both sides hold enough, given the weight up to each: (b, n)."""
    cuts, size = block.changes, block.frontier.rows_in_node
    if limits.min_rows > 1:
        rows = block.rows_up_to
        cuts = cuts & ((rows >= limits.min_rows) & (size.take(block.node) - rows >= limits.min_rows))
    else:
        cuts = cuts.copy()
        cuts[:, block.start + (size - 1)] = False
    if limits.min_weight > 0:
        cuts &= (weight >= limits.min_weight) & (block.total[0].take(block.node) - weight >= limits.min_weight)
    return cuts


def _first_of_each_node(merit: np.ndarray, cuts: np.ndarray, block: FeatureBlock) -> tuple[np.ndarray, np.ndarray]:
    """Return the place of the first largest merit (b, n) among the cuts of each node that has one, and the nodes."""
    merit = np.where(cuts, merit, -np.inf)
    best = np.maximum.reduceat(merit.max(axis=0), block.start)
    best[best == -np.inf] = np.inf  # matches nothing
    hits = (merit == best.take(block.node)).ravel().nonzero()[0][::-1]
    first = np.full(block.m, -1)
    first[block.node.take(hits % block.n)] = hits  # the last one written is the first one found
    node = (first >= 0).nonzero()[0]
    return first.take(node), node
