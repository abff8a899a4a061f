"""Gini impurity of many classes without a prefix sum for each class: the sums of squares are themselves prefix sums.

If L_k and R_k are the weights of class k left and right of a cut, with totals W_L and W_R, the best cut maximises

    Σ_k L_k² / W_L + Σ_k R_k² / W_R

When a row of class k and weight w moves from right to left, and o is the resulting weight of its class on the left,
Σ L² grows by w (2o - w) and Σ R² changes by w (2o - w) - 2 w T_k, where T_k is the class's weight in the node. So two
prefix sums, of w (2o - w) and of w T_k, replace one for each class. The values o are prefix sums along the rows sorted
by class. If there are few cuts, all L_k are known, and

    Σ R_k² = Σ T_k² - 2 Σ T_k L_k + Σ L_k²

Cost: O(n) per feature and level, and one sort of n integers.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np

from bakeoff.learners.trees.criteria import TIE_TOLERANCE, Criterion, SquaredDistance, add_first_class
from bakeoff.learners.trees.splitting.partition import FeatureBlock
from bakeoff.learners.trees.splitting.splits import find_first_of_nodes
from bakeoff.learners.trees.target import ClassTarget, Target

MAX_CLASSES_SUMMED_APART = 3
"""Up to this number of classes, a prefix sum for each class is cheaper."""

MAX_WEIGHT_FOR_INT64 = 1 << 15
"""The fourth power of a weight up to this fits into 64 bits."""


class SquareSums(NamedTuple):
    """Sums of squares at cuts: at all positions (b, n), or at q cuts.

    Attributes
    ----------
    weight : ndarray of shape (b, n), (n,) or (q,)
        W_L, the weight of the left branch.
    left : ndarray of shape (b, n) or (q,)
        Σ L².
    right : ndarray of shape (b, n) or (q,)
        Σ R².
    """

    weight: np.ndarray
    left: np.ndarray
    right: np.ndarray

    def compute_merit(self, node_weight: np.ndarray) -> np.ndarray:
        """Return Σ L² / W_L + Σ R² / W_R, which is largest for the best cut, given the weight of the node."""
        weight = self.weight.astype(np.float64)
        right_weight = node_weight - weight
        # Computed as one fraction and in place, because these are the largest arrays of a level.
        merit: np.ndarray = self.left.astype(np.float64)
        merit *= right_weight
        merit += self.right.astype(np.float64) * weight
        merit /= weight * right_weight
        return merit

    def take(self, position: np.ndarray) -> SquareSums:
        """Return the values at some positions (k,) of the flattened table."""
        weight_position = position
        if self.weight.shape != self.left.shape:
            # A weight of shape (n,) is the same for every feature.
            weight_position = position % self.weight.size
        weight = self.weight.take(weight_position)
        return SquareSums(weight, self.left.take(position), self.right.take(position))


def supports_square_sums(target: Target, criterion: Criterion) -> bool:
    """Return whether cuts can be evaluated from sums of squares.

    This requires Gini impurity, several classes and weights that are numbers of rows.
    """
    has_many_classes = isinstance(target, ClassTarget) and target.c > MAX_CLASSES_SUMMED_APART
    return isinstance(criterion, SquaredDistance) and has_many_classes and target.weights_are_rows


def sum_squares_at_cuts(left: np.ndarray, total: np.ndarray, node: np.ndarray) -> SquareSums:
    """Return the squares of cuts with left sums (c, q) in nodes (q,), given the sums of all nodes (c, m)."""
    left_classes = add_first_class(left)  # (c, q), the L_k
    node_classes = add_first_class(total)  # (c, m), the T_k
    left_squares = np.einsum("kq,kq->q", left_classes, left_classes)
    classes_of_node = node_classes.take(node, axis=1)  # (c, q)
    products = np.einsum("kq,kq->q", left_classes, classes_of_node)
    node_squares = np.einsum("km,km->m", node_classes, node_classes)
    right_squares = node_squares.take(node) - 2 * products + left_squares
    return SquareSums(left[0], left_squares, right_squares)


def scan_square_sums(block: FeatureBlock) -> SquareSums:
    """Return the squares of a cut after every position: (b, n), and the weight (n,) or (b, n)."""
    target = block.frontier.target
    assert isinstance(target, ClassTarget)
    node_classes = count_classes(block)  # (c, m)
    node_squares = np.einsum("km,km->m", node_classes, node_classes)
    codes = target.codes.take(block.order)  # (b, n)
    weight = None  # the w
    if target.fixed_point_weight is not None:
        weight = target.fixed_point_weight.take(block.order)  # (b, n)

    c = node_classes.shape[0]
    class_in_node = block.node * c + codes
    right_steps = node_classes.T.ravel().take(class_in_node)  # (b, n), the T_k
    left_steps = _count_class_up_to(class_in_node, weight, node_classes)  # (b, n), the o
    # Compute w (2o - w) on the left and w T_k on the right, in place.
    left_steps += left_steps
    left_steps -= 1 if weight is None else weight
    if weight is not None:
        left_steps *= weight
        right_steps *= weight

    # The steps of a whole node add up to Σ T² on both sides, so both prefix sums start at the same sum in each node.
    left = _sum_within_nodes(left_steps, node_squares, block)
    right = _sum_within_nodes(right_steps, node_squares, block)

    # Compute Σ R² = Σ T² - 2 Σ T L + Σ L² in place.
    right *= -2
    right += left
    right += node_squares.take(block.node)
    if weight is None:
        return SquareSums(block.rows_up_to, left, right)
    left_weight = _sum_within_nodes(weight, node_classes.sum(axis=0), block)
    return SquareSums(left_weight, left, right)


def bound_gini_merit(largest: np.ndarray) -> np.ndarray:
    """Return the smallest merit whose gain may tie with the gain of the largest merit of a node: both (m,)."""
    # The merit is the gain plus a positive number that is the same for all cuts of the node.
    return largest * (1 - TIE_TOLERANCE)


def choose_by_exact_gain(
    block: FeatureBlock, squares: SquareSums, close: np.ndarray, node: np.ndarray, criterion: Criterion
) -> tuple[np.ndarray, np.ndarray]:
    """Return the best cut of each node that has one, and its gain, out of cuts whose merit is close to the largest.

    The merit is rounded, so the gains of the close cuts (k,), in nodes (k,), are computed in integers.
    """
    gain = _compute_gini_gain(block, squares.take(close), node)
    best = find_first_of_nodes(gain, node, block.m, partial(block.frontier.bound_ties, criterion))
    return close.take(best), gain.take(best)


def _compute_gini_gain(block: FeatureBlock, cuts: SquareSums, node: np.ndarray) -> np.ndarray:
    """Return the gains, times the square of the node's weight, of cuts (q,) in nodes (q,): shape (q,)."""
    node_classes = count_classes(block)
    weight_of_node = node_classes.sum(axis=0)  # (m,)
    node_weight = weight_of_node.take(node)  # (q,)
    node_squares = np.einsum("km,km->m", node_classes, node_classes).take(node)
    left_weight = cuts.weight.astype(np.int64, copy=False)
    left = cuts.left.astype(np.int64, copy=False)
    right = cuts.right.astype(np.int64, copy=False)
    # Products of integers are exact as long as they fit into 64 bits.
    if weight_of_node.max() > MAX_WEIGHT_FOR_INT64:
        left_weight = left_weight.astype(np.float64)
        node_weight = node_weight.astype(np.float64)
    right_weight = node_weight - left_weight
    # Computed exactly, so that no precision is lost if the gain is a small difference of large sums.
    branches = (left * right_weight + right * left_weight) * node_weight
    difference = branches - node_squares * left_weight * right_weight
    return np.maximum(difference / (left_weight * right_weight), 0.0)


def _sum_within_nodes(steps: np.ndarray, of_node: np.ndarray, block: FeatureBlock) -> np.ndarray:
    """Return prefix sums of steps (b, n) along the rows of each node, given the sum of each node (m,): (b, n)."""
    up_to: np.ndarray = steps.cumsum(axis=1)
    before_node = of_node.cumsum() - of_node  # (m,)
    up_to -= before_node.take(block.node)
    return up_to


def count_classes(block: FeatureBlock) -> np.ndarray:
    """Return the weight of each class in each node, (c, m)."""
    return add_first_class(block.total).astype(np.int64)


def _count_class_up_to(class_in_node: np.ndarray, weight: np.ndarray | None, node_classes: np.ndarray) -> np.ndarray:
    """Return the weight in the node of each row's class, up to and including the row's position: (b, n).

    Parameters
    ----------
    class_in_node : ndarray of shape (b, n), int
        node * c + class of each row, node after node.
    weight : ndarray of shape (b, n) or None
        Without weights, every row has weight 1.
    node_classes : ndarray of shape (c, m)
        The weight of each class in each node.
    """
    n = class_in_node.shape[1]
    bits = n.bit_length()
    # Sorting integers by themselves is many times faster than sorting positions by integers.
    key = (class_in_node << bits) + np.arange(n)
    key.sort(axis=1)
    position = key & ((1 << bits) - 1)
    if weight is None:
        up_to = np.arange(1, n + 1)[None, :]
    else:
        up_to = np.take_along_axis(weight, position, axis=1).cumsum(axis=1)
    # Every feature has the same number of rows of a class in a node.
    before_class = sum_before_classes(node_classes).take(key[0] >> bits)  # (n,)
    counted = np.empty_like(key)
    np.put_along_axis(counted, position, up_to - before_class, axis=1)
    return counted


def sum_before_classes(node_classes: np.ndarray) -> np.ndarray:
    """Return the weight of all classes of all nodes before class k of node j, at j c + k, given (c, m): (m c,)."""
    weight_of_class = node_classes.T.ravel()
    before: np.ndarray = weight_of_class.cumsum() - weight_of_class
    return before
