"""Cuts of numeric features judged at every place at once, as whole tables of features by rows.

Where most places are possible cuts, or where there are few rows, that takes fewer steps than to gather the possible
ones first (see `numeric`): rows of a node up to a place, and the node's sums, are the same for all features.  Then the
largest gain is found over features first, and over the rows of each node after that.

Cost: O(n c) per feature and level; O(n) for Gini impurity of many classes (see `squares`).
"""

from __future__ import annotations

import numpy as np

from learners.decision_tree.block import Block, Limits
from learners.decision_tree.criteria import Criterion, SquaredDistance
from learners.decision_tree.labels import Labels
from learners.decision_tree.squares import FEW_CLASSES, gain_of_squares, running_squares

FEW_CELLS = 1 << 13
"""Up to so many cells, looking for the possible cuts takes longer than judging all places."""


def judges_everywhere(criterion: Criterion) -> bool:
    """Tell whether gains are cheap enough to be taken at places that are no cuts."""
    return isinstance(criterion, SquaredDistance)


def best_everywhere(block: Block, criterion: Criterion, limits: Limits) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the place (q,) of the first best cut of each node that has one, by node; the nodes; and the gains."""
    labels, total = block.front.target, block.total
    with np.errstate(divide="ignore", invalid="ignore"):  # after the last row of a node nothing is left on the right
        if isinstance(labels, Labels) and labels.c > FEW_CLASSES and block.whole_rows:
            squares = running_squares(block, labels)
            weight, left, right = squares
            rest = total[0].take(block.node) - weight
            merit = (left * rest + right * weight) / (weight * rest)  # (b, n)
            at, node = _first_of_each_node(merit, _cuts(block, weight, limits), block)
            chosen = (part.take(at if part.ndim > 1 else at % block.n) for part in squares)
            return at, node, gain_of_squares(block, *chosen, node)
        left_sums = block.left_sums_everywhere()
        merit = criterion.cut(left_sums, total.take(block.node, axis=1))
        at, node = _first_of_each_node(merit, _cuts(block, left_sums[0], limits), block)
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
    best[np.isneginf(best)] = np.inf  # matches nothing
    hits = (merit == best.take(block.node)).ravel().nonzero()[0][::-1]
    first = np.full(block.m, -1)
    first[block.node.take(hits % block.n)] = hits  # the last one written is the first one found
    node = (first >= 0).nonzero()[0]
    return first.take(node), node
