"""Gini impurity of many classes from sums of squares, which take one expression for all classes.

If L_k and R_k are the weights of class k left and right of a cut, with totals W_L and W_R, the best cut maximises

    Σ_k L_k² / W_L + Σ_k R_k² / W_R

With T_k for the weight of the class in the node, the second sum of squares follows from the first:

    Σ R_k² = Σ T_k² - 2 Σ T_k L_k + Σ L_k²

Cost: O(c) per cut.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bakeoff.learners.trees.class_target import ClassTarget
from bakeoff.learners.trees.criteria import TIE_TOLERANCE, Criterion, SquaredDistance, add_first_class
from bakeoff.learners.trees.splitting.feature_block import FeatureBlock

MAX_CLASSES_SUMMED_APART = 3
"""Up to this number of classes, a prefix sum for each class is cheaper."""

MAX_WEIGHT_FOR_INT64 = 1 << 15
"""The fourth power of a weight up to this fits into 64 bits."""


class SquareSums(NamedTuple):
    """Sums of squares at q cuts.

    Attributes
    ----------
    weight : ndarray of shape (q,)
        W_L, the weight of the left branch.
    left, right : ndarray of shape (q,)
        Σ L² and Σ R².
    """

    weight: np.ndarray
    left: np.ndarray
    right: np.ndarray

    def compute_merit(self, node_weight: np.ndarray) -> np.ndarray:
        """Return Σ L² / W_L + Σ R² / W_R, which is largest for the best cut, given the weight of the node."""
        right_weight = node_weight - self.weight
        # Computed as one fraction and in place, because these are the largest arrays of a level.
        merit: np.ndarray = self.left * right_weight
        merit += self.right * self.weight
        merit /= self.weight * right_weight
        return merit

    def take(self, cuts: np.ndarray) -> SquareSums:
        """Return the values of some cuts (k,)."""
        return SquareSums(*(column.take(cuts) for column in self))


def supports_square_sums(block: FeatureBlock, criterion: Criterion) -> bool:
    """Return whether cuts can be evaluated from sums of squares.

    This requires Gini impurity, several classes and integer weights.
    """
    if not isinstance(criterion, SquaredDistance) or not block.weights_are_rows:
        return False
    target = block.frontier.target
    return isinstance(target, ClassTarget) and target.c > MAX_CLASSES_SUMMED_APART


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


def bound_gini_merit(largest: np.ndarray) -> np.ndarray:
    """Return the smallest merit whose gain may tie with the gain of the largest merit of a node: both (m,)."""
    # The merit is the gain plus a positive number that is the same for all cuts of the node.
    return largest * (1 - TIE_TOLERANCE)


def compute_gini_gain(block: FeatureBlock, cuts: SquareSums, node: np.ndarray) -> np.ndarray:
    """Return the gains, times the square of the node's weight, of cuts (q,) in nodes (q,): shape (q,)."""
    node_classes = _count_classes(block)
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


def _count_classes(block: FeatureBlock) -> np.ndarray:
    """Return the weight of each class in each node, (c, m)."""
    return add_first_class(block.total).astype(np.int64)
