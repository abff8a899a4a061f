"""Dense scan: cuts of numeric features are evaluated at all positions at once, in whole tables of features by rows.

If most positions are possible cuts, as on a numeric target, this needs fewer steps than listing the possible cuts first
(see `numeric`), provided that computing a gain is as cheap as a squared distance. The rows of a node up to a position,
and the sums of the node, are the same for all features. Therefore the maximum of the gain is computed over features
first, and then over the rows of each node.

Cost: O(n) per feature and level.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from bakeoff.learners.trees.criteria import SquaredDistance
from bakeoff.learners.trees.splitting.feature_block import FeatureBlock
from bakeoff.learners.trees.splitting.splits import SplitRules

MAX_POSITIONS_PER_CUT = 4
"""Up to this number of positions for each possible cut, evaluating all of them is faster than listing the cuts."""


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
    """Return the best cut of each node that has one; ties go to the first."""
    criterion = rules.criterion
    assert isinstance(criterion, SquaredDistance)
    left = block.sum_left_densely()
    total = block.total.take(block.node, axis=1)  # (p, n)
    # After the last row of a node, the right side is empty, and the gain is 0 / 0.
    with np.errstate(divide="ignore", invalid="ignore"):
        gain = criterion.cut_gain(left, total)  # (b, n)
    gain[~_mark_cuts(block, left[0], rules)] = -np.inf
    bound_ties = partial(block.frontier.bound_ties, criterion)
    first, has_cut = find_first_positions(gain, block.start, block.node, bound_ties)
    node = has_cut.nonzero()[0]
    position = first.take(node)
    return BestCuts(position, node, gain.take(position))


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
        The gain of a cut after each position; -inf where there is none.
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
    # The maximum over features leaves one gain for each row; the maximum over rows then leaves one for each node.
    largest = np.maximum.reduceat(gain.max(axis=0), start)  # (m,)
    has_cut = largest > -np.inf
    largest[~has_cut] = np.inf  # which no gain reaches
    hits = (gain >= bound_ties(largest).take(node)).ravel().nonzero()[0][::-1]
    # Among several hits in a node, the last one written remains, which in reversed order is the first.
    first = np.zeros(start.size, dtype=np.intp)
    first[node.take(hits % node.size)] = hits
    return first, has_cut


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
