"""Dense scan: cuts of numeric features evaluated at every position at once, in whole tables of features by rows.

If most positions are possible cuts, or if there are few rows, this needs fewer steps than listing the possible cuts
first (see `numeric`), provided that computing a gain is as cheap as a squared distance. The rows of a node up to a
position, and the sums of the node, are the same for all features. Therefore the maximum of the gain is computed over
features first, and then over the rows of each node.

Cost: O(n c) per feature and level; O(n) for Gini impurity of many classes (see `gini_prefix_sums`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from bakeoff.learners.trees.criteria import SquaredDistance
from bakeoff.learners.trees.splitting.best_candidates import find_first_of_nodes
from bakeoff.learners.trees.splitting.feature_block import FeatureBlock
from bakeoff.learners.trees.splitting.gini_prefix_sums import (
    bound_gini_merit,
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
            # The merit is rounded: of the cuts that come close to the largest one, gains are computed in integers.
            close = _find_hits(merit, is_cut, block, bound_gini_merit)
            node = block.node.take(close % block.n)
            gain = compute_gini_gain(block, squares.take(close), node)
            best = find_first_of_nodes(gain, node, block.m, partial(block.frontier.bound_ties, criterion))
            return BestCuts(close.take(best), node.take(best), gain.take(best))
        left = block.sum_left_densely()
        total = block.total.take(block.node, axis=1)  # (p, n)
        gain = criterion.cut_gain(left, total)  # (b, n)
        is_cut = _mark_cuts(block, left[0], rules)
        hits = _find_hits(gain, is_cut, block, partial(block.frontier.bound_ties, criterion))
        position, node = _choose_first(hits, block)
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


def _find_hits(
    merit: np.ndarray,
    is_cut: np.ndarray,
    block: FeatureBlock,
    bound_ties: Callable[[np.ndarray], np.ndarray],
) -> np.ndarray:
    """Return the positions of the cuts whose merit (b, n) ties with the largest one of their node, ascending."""
    merit = np.where(is_cut, merit, -np.inf)
    # The maximum over features first leaves one merit for each row, the maximum over rows one for each node.
    largest_of_row = merit.max(axis=0)  # (n,)
    largest = np.maximum.reduceat(largest_of_row, block.start)  # (m,)
    largest[largest == -np.inf] = np.inf  # is reached by no merit
    is_hit = merit >= bound_ties(largest).take(block.node)
    return is_hit.ravel().nonzero()[0]


def _choose_first(hits: np.ndarray, block: FeatureBlock) -> tuple[np.ndarray, np.ndarray]:
    """Return the first position of each node that has one, of ascending positions (q,), and the nodes."""
    # Of several hits in a node the last one written stays, which in reversed order is the first.
    hits = hits[::-1]
    node_of_hit = block.node.take(hits % block.n)
    first = np.full(block.m, -1)
    first[node_of_hit] = hits
    node = (first >= 0).nonzero()[0]
    return first.take(node), node
