"""Cuts of numeric features: x_j < s left, x_j >= s right.

A candidate cut of a numeric feature lies half-way between neighbouring distinct values in a node; rows below go left,
rows equal or above go right.  Along the sorted front, running sums give what lies left of every candidate, and the
gains of all candidates are one array expression.  Missing cells stand last: tried on the right, and on the left.
Cost: O(n c) per feature and level.

Ties, to the last bit: the first feature, then the lowest threshold, then missing cells to the right.
"""

from __future__ import annotations

import numpy as np

from learners.decision_tree.block import Block, Limits, Splits, best_of_features, first_best, share_entropy
from learners.decision_tree.criteria import Criterion


def numeric_splits(
    block: Block, wanted: np.ndarray | None, criterion: Criterion, limits: Limits, *, missing_left: bool
) -> Splits:
    """Try every cut of the wanted (feature, node) pairs (b, m), or of all, missing cells on the given side."""
    slot, place = _candidates(block, wanted, limits, missing_left)
    if slot.size == 0:
        return Splits.none(block.m)
    node = block.node.take(place)
    left = block.left_sums(slot, place, node)
    if missing_left:
        left += _missing_sums(block, slot, node)
    total = block.total.take(node, axis=1) if block.m > 1 else block.total
    gain = criterion.cut(left, total)
    if limits.weight > 0:
        gain[(left[0] < limits.weight) | (total[0] - left[0] < limits.weight)] = -np.inf
    pair = slot * block.m + node if block.m > 1 else slot
    where = first_best(gain, pair)
    merit = gain[where]
    if criterion.by_ratio:
        merit = merit / share_entropy(left[0, where] / block.total[0, node[where]])
    return best_of_features(block, pair[where], merit, gain[where], place[where], missing_left)


def _missing_sums(block: Block, slot: np.ndarray, node: np.ndarray) -> np.ndarray:
    """Return the sums of the missing cells of each candidate's (feature, node), shape (p, q)."""
    pair = slot * block.m + node
    begin = np.concatenate([[True], pair[1:] != pair[:-1]])
    one, at = slot[begin], node[begin]
    last_known = (block.start + block.front.rows_in_node - 1)[at] - block.missing[one, at]
    missing = block.total.take(at, axis=1) - block.left_sums(one, last_known, at)
    return missing.take(np.cumsum(begin) - 1, axis=1)


def _candidates(
    block: Block, wanted: np.ndarray | None, limits: Limits, missing_left: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Return feature slot and place of every admissible cut: where the value changes, with enough rows on each side.

    Between two single rows of one class no cut is best (Fayyad and Irani 1992), and none is tried there unless limits
    forbid the better places.
    """
    n, min_rows = block.order.shape[1], limits.rows
    candidates = block.changes.copy()
    if min_rows == 1 and not missing_left:
        candidates[:, block.start + block.front.rows_in_node - 1] = False
    else:
        left = np.arange(1, n + 1) - block.start.take(block.node)  # (n,) rows of the node up to each place
        size = block.front.rows_in_node.take(block.node)
        if missing_left:
            left = left + block.missing[:, block.node]
        candidates &= (left >= min_rows) & (size - left >= min_rows)
    if wanted is not None:
        candidates &= wanted[:, block.node]
    if min_rows == 1 and limits.weight == 0 and not missing_left:
        alike = block.front.target.alike(block.order)
        if alike is not None:
            changes = block.changes
            candidates[:, 1:-1] &= ~(alike[:, 1:] & changes[:, :-2] & changes[:, 2:])
    at = np.flatnonzero(candidates)
    if block.order.shape[0] == 1:
        return np.zeros_like(at), at
    slot = np.searchsorted(np.arange(1, block.order.shape[0]) * n, at, side="right")
    return slot, at - slot * n
