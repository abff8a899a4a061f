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

from bakeoff.learners.trees.class_target import ClassTarget
from bakeoff.learners.trees.criteria import Criterion, SquaredDistance
from bakeoff.learners.trees.splitting.feature_block import FeatureBlock
from bakeoff.learners.trees.splitting.splits import SplitRules, find_first_of_nodes
from bakeoff.learners.trees.splitting.square_sums import (
    bound_gini_merit,
    compute_gini_gain,
    scan_square_sums,
    supports_square_sums,
)

MAX_POSITIONS_PER_CUT = 4
"""Up to this number of positions for each possible cut, evaluating all of them is faster than listing the cuts."""

MIN_CLASSES_SCANNED = 8
"""With fewer classes, listing the possible cuts is as fast."""

LARGEST_MERIT = 1e300
"""More than any merit."""


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
    if not isinstance(criterion, SquaredDistance):
        return False
    target = block.frontier.target
    if isinstance(target, ClassTarget):
        return target.c >= MIN_CLASSES_SCANNED and supports_square_sums(block, criterion)
    return True


def find_dense_cuts(block: FeatureBlock, rules: SplitRules) -> BestCuts:
    """Return the best cut of each node that has one; ties go to the first."""
    # After the last row of a node, the right side is empty, and the gain is 0 / 0.
    with np.errstate(divide="ignore", invalid="ignore"):
        if isinstance(block.frontier.target, ClassTarget):
            return _scan_squares(block, rules)
        return _scan_gains(block, rules)


def _scan_squares(block: FeatureBlock, rules: SplitRules) -> BestCuts:
    """Return the best cuts by Gini impurity."""
    squares = scan_square_sums(block)
    merit = squares.compute_merit(block.total[0].take(block.node))  # (b, n)
    _exclude_positions(merit, _mark_cuts(block, squares.weight, rules))
    largest = _find_largest(merit, block.start)  # (m,)
    # The merit is rounded, so gains are computed in integers for the cuts whose merit is close to the largest.
    close = (merit >= bound_gini_merit(largest).take(block.node)).ravel().nonzero()[0]
    node = block.node.take(close % block.n)
    gain = compute_gini_gain(block, squares.take(close), node)
    best = find_first_of_nodes(gain, node, block.m, partial(block.frontier.bound_ties, rules.criterion))
    return BestCuts(close.take(best), node.take(best), gain.take(best))


def _scan_gains(block: FeatureBlock, rules: SplitRules) -> BestCuts:
    """Return the best cuts by the variance."""
    criterion = rules.criterion
    assert isinstance(criterion, SquaredDistance)
    left = block.sum_left_densely()
    gain = criterion.cut_gain(left, block.total.take(block.node, axis=1))  # (b, n)
    _exclude_positions(gain, _mark_cuts(block, left[0], rules))
    bound_ties = partial(block.frontier.bound_ties, criterion)
    first, has_cut = find_first_positions(gain, block.start, block.node, bound_ties)
    node = has_cut.nonzero()[0]
    position = first.take(node)
    return BestCuts(position, node, gain.take(position))


def _exclude_positions(merit: np.ndarray, is_cut: np.ndarray) -> None:
    """Make the merits (b, n) negative where there is no cut (b, n), or leave them NaN."""
    # Merits are positive or zero, and unpredictable choices between numbers take longer than sums.
    merit -= ~is_cut * LARGEST_MERIT


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
) -> tuple[np.ndarray, np.ndarray]:
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
    first : ndarray of shape (m,), int
        In the flattened table.
    has_cut : ndarray of shape (m,), bool
    """
    largest = _find_largest(gain, start)
    hits = (gain >= bound_ties(largest).take(node)).ravel().nonzero()[0][::-1]
    # Among several hits in a node, the last one written remains, which in reversed order is the first.
    first = np.zeros(start.size, dtype=np.intp)
    first[node.take(hits % node.size)] = hits
    return first, np.isfinite(largest)


def _mark_cuts(block: FeatureBlock, left_weight: np.ndarray, rules: SplitRules) -> np.ndarray:
    """Mark the positions (b, n) where the value changes and both sides are large enough, given the left weight."""
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
