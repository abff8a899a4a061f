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
from bakeoff.learners.trees.splitting.feature_block import Block, Limits
from bakeoff.learners.trees.splitting.gini_prefix_sums import gain_of_squares, running_squares, squares_serve

FEW_CELLS = 1 << 13
"""Up to so many cells, looking for the possible cuts takes longer than judging all places;"""

PLACES_PER_CUT = 4
"""and so it does where at least one place in so many is a possible cut."""


def best_everywhere(
    block: Block, criterion: SquaredDistance, limits: Limits
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the place (q,) of the first best cut of each node that has one, by node; the nodes; and the gains."""
    with np.errstate(divide="ignore", invalid="ignore"):  # after the last row of a node nothing is left on the right
        if squares_serve(block, criterion):
            squares = running_squares(block)
            merit = squares.merit(block.total[0].take(block.node))  # (b, n)
            at, node = _first_of_each_node(merit, _cuts(block, squares.weight, limits), block)
            return at, node, gain_of_squares(block, squares.take(at), node)
        left = block.left_sums_everywhere()
        merit = criterion.cut(left, block.total.take(block.node, axis=1))
        at, node = _first_of_each_node(merit, _cuts(block, left[0], limits), block)
        return at, node, merit.take(at)


def _cuts(block: Block, weight: np.ndarray, limits: Limits) -> np.ndarray:
    """Mark the places where the value changes and both sides hold enough, given the weight up to each: (b, n)."""
    cuts, size = block.changes, block.front.rows_in_node
    if limits.rows > 1:
        rows = block.rows_upto
        cuts = cuts & ((rows >= limits.rows) & (size.take(block.node) - rows >= limits.rows))
    else:
        cuts = cuts.copy()
        cuts[:, block.start + (size - 1)] = False
    if limits.weight > 0:
        cuts &= (weight >= limits.weight) & (block.total[0].take(block.node) - weight >= limits.weight)
    return cuts


def _first_of_each_node(merit: np.ndarray, cuts: np.ndarray, block: Block) -> tuple[np.ndarray, np.ndarray]:
    """Return the place of the first largest merit (b, n) among the cuts of each node that has one, and the nodes."""
    merit = np.where(cuts, merit, -np.inf)
    best = np.maximum.reduceat(merit.max(axis=0), block.start)
    best[best == -np.inf] = np.inf  # matches nothing
    hits = (merit == best.take(block.node)).ravel().nonzero()[0][::-1]
    first = np.full(block.m, -1)
    first[block.node.take(hits % block.n)] = hits  # the last one written is the first one found
    node = (first >= 0).nonzero()[0]
    return first.take(node), node
