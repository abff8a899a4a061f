"""Dense scan: cuts of numeric features are evaluated at all positions at once, in whole tables of features by rows.

If most positions are possible cuts, this needs fewer steps than listing the possible cuts first (see `numeric`),
provided that computing a gain is as cheap as a squared distance, of a numeric target or of many classes together. The
rows of a node up to a position, and the sums of the node, are the same for all features. Therefore the maximum of the
gain is computed over features first, and then over the rows of each node.

Cost: O(n) per feature and level.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from bakeoff.learners.trees.criteria import Criterion, SquaredDistance
from bakeoff.learners.trees.splitting.partition import FeatureBlock
from bakeoff.learners.trees.splitting.splits import SplitRules, find_first_hits
from bakeoff.learners.trees.splitting.square_sums import (
    SquareSums,
    bound_gini_merit,
    choose_by_exact_gain,
    scan_square_sums,
    supports_square_sums,
)
from bakeoff.learners.trees.target import ClassTarget

MAX_POSITIONS_PER_CUT = 4
"""Up to this number of positions for each possible cut, evaluating all of them is faster than listing the cuts."""

MIN_CLASSES_SCANNED = 8
"""With fewer classes, listing the possible cuts is as fast."""

LARGEST_MERIT = 1e300
"""More than any merit. It is subtracted where there is no cut, because unpredictable choices between numbers take
longer than sums."""


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


def pays_to_scan(block: FeatureBlock, criterion: Criterion) -> bool:
    """Return whether a scan may be faster than listing cuts: for numeric targets, and for many classes."""
    target = block.frontier.target
    if isinstance(target, ClassTarget):
        return target.c >= MIN_CLASSES_SCANNED and supports_square_sums(target, criterion)
    return True


def find_dense_cuts(block: FeatureBlock, is_cut: np.ndarray, rules: SplitRules) -> BestCuts:
    """Return the best of the cuts marked (b, n) in each node that has one; ties go to the first."""
    # After the last row of a node, the right side is empty, and the gain is 0 / 0.
    with np.errstate(divide="ignore", invalid="ignore"):
        if isinstance(block.frontier.target, ClassTarget):
            return choose_by_squares(block, scan_square_sums(block), is_cut, block.start, block.node, rules)
        return _scan_gains(block, is_cut, rules)


def choose_by_squares(
    block: FeatureBlock,
    squares: SquareSums,
    is_cut: np.ndarray,
    start: np.ndarray,
    node: np.ndarray,
    rules: SplitRules,
) -> BestCuts:
    """Return the best cuts by Gini impurity.

    Parameters
    ----------
    block : FeatureBlock
        A block of b features.
    squares : SquareSums
        The squares of a cut after each of p positions under each feature.
    is_cut : ndarray of shape (b, p), bool
    start : ndarray of shape (m,), int
        The first position of each node.
    node : ndarray of shape (p,), int
        The node at each position of a feature.
    rules : SplitRules
    """
    node_weight = block.total[0].take(node)  # (p,)
    merit = squares.compute_merit(node_weight)  # (b, p)
    merit -= ~is_cut * LARGEST_MERIT
    rules.exclude_light_branches(merit, squares.weight, node_weight)
    largest = _find_largest(merit, start)  # (m,)
    close = (merit >= bound_gini_merit(largest).take(node)).ravel().nonzero()[0]
    node_of_close = node.take(close % node.size)
    position, gain = choose_by_exact_gain(block, squares, close, node_of_close, rules.criterion)
    return BestCuts(position, node.take(position % node.size), gain)


def _scan_gains(block: FeatureBlock, is_cut: np.ndarray, rules: SplitRules) -> BestCuts:
    """Return the best cuts by the variance."""
    criterion = rules.criterion
    assert isinstance(criterion, SquaredDistance)
    left = block.sum_left_densely()
    total = block.total.take(block.node, axis=1)  # (p, n)
    gain = criterion.cut_gain(left, total)  # (b, n)
    gain -= ~is_cut * LARGEST_MERIT
    rules.exclude_light_branches(gain, left[0], total[0])
    bound_ties = partial(block.frontier.bound_ties, criterion)
    first = find_first_positions(gain, block.start, block.node, bound_ties)
    node = (first >= 0).nonzero()[0]
    position = first.take(node)
    return BestCuts(position, node, gain.take(position))


def _find_largest(merit: np.ndarray, start: np.ndarray) -> np.ndarray:
    """Return the largest merit (b, n) of each node that starts at these positions (m,); inf if there is none: (m,)."""
    # The maximum over features leaves one merit for each row; the maximum over rows then leaves one for each node.
    largest: np.ndarray = np.fmax.reduceat(np.fmax.reduce(merit, axis=0), start)
    largest[~(largest >= 0)] = np.inf  # which no merit reaches
    return largest


def find_first_positions(
    gain: np.ndarray,
    start: np.ndarray,
    node: np.ndarray,
    bound_ties: Callable[[np.ndarray], np.ndarray],
) -> np.ndarray:
    """Return the first of the positions whose gain ties for the largest in each of m nodes.

    Parameters
    ----------
    gain : ndarray of shape (b, n)
        The gain of a cut after each position; negative or NaN where there is none.
    start : ndarray of shape (m,), int
        The first position of each node.
    node : ndarray of shape (n,), int
        The node at each position of a feature.
    bound_ties : callable
        Maps the largest gain of each node to the smallest that ties.

    Returns
    -------
    ndarray of shape (m,), int
        In the flattened table; -1 where there is no cut.
    """
    largest = _find_largest(gain, start)
    hits = (gain >= bound_ties(largest).take(node)).ravel().nonzero()[0]
    return find_first_hits(hits, node.take(hits % node.size), start.size)
