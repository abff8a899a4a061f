"""Gini impurity of many classes without a running sum for each: the sums of squares run along themselves.

With L_k and R_k the rows of class k left and right of a cut, W_L and W_R in all, the best cut has the largest

    Σ_k L_k² / W_L + Σ_k R_k² / W_R

When a row of class k and weight w passes from right to left, and o is then the weight of its class on the left, Σ L²
grows by w (2o - w) and Σ R² falls by w (2(T_k - o) + w).  So two running sums, of w (2o - w) and of w T_k, replace one
for each class.  The o themselves come from running counts of several classes packed into one 64-bit word: its fields
need hold no more than the largest node, since differences are right even when sums along the whole table overflow.
Where cuts are few, the L_k themselves are at hand, and

    Σ R_k² = Σ T_k² - 2 Σ T_k L_k + Σ L_k²

Cost: O(n) a feature and level, times one word for every 64 / log2(rows of the largest node) classes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bakeoff.learners.trees.criteria import Criterion, SquaredDistance, class_weights
from bakeoff.learners.trees.rows.class_target import ClassTarget
from bakeoff.learners.trees.splitting.feature_block import FeatureBlock

MAX_CLASSES_SUMMED_APART = 3
"""Up to so many, a running sum for each class is cheaper."""

WORD_BITS = 64

MAX_WEIGHT_FOR_INT64 = 1 << 15
"""The fourth power of so many rows is within 64 bits."""


class SquareSums(NamedTuple):
    """Of cuts: the weight of the left branch, Σ L² and Σ R²; all (b, n) or (q,), but a weight may be (n,)."""

    weight: np.ndarray
    left: np.ndarray
    right: np.ndarray

    def merit(self, whole: np.ndarray) -> np.ndarray:
        """Return what is largest for the best cut, given the weight of the node."""
        rest = whole - self.weight
        merit: np.ndarray = (self.left * rest + self.right * self.weight) / (self.weight * rest)
        return merit

    def take(self, at: np.ndarray) -> SquareSums:
        """Return those at some places of the flattened table."""
        n = self.left.shape[-1]
        return SquareSums(*(part.take(at if part.shape == self.left.shape else at % n) for part in self))


def supports_square_sums(block: FeatureBlock, criterion: Criterion) -> bool:
    """Tell whether cuts may be judged by sums of squares: Gini impurity of several classes, weights whole."""
    target = block.frontier.target
    plain = isinstance(criterion, SquaredDistance) and block.whole_rows
    return plain and isinstance(target, ClassTarget) and target.c > MAX_CLASSES_SUMMED_APART


def sum_squares_at_cuts(left: np.ndarray, total: np.ndarray, node: np.ndarray) -> SquareSums:
    """Return the squares of cuts with sums left (c, q), in nodes (q,), given the sums of all nodes (c, m)."""
    here, whole = class_weights(left), class_weights(total)
    squares = np.einsum("kq,kq->q", here, here)
    crossed = np.einsum("kq,kq->q", here, whole.take(node, axis=1))
    return SquareSums(left[0], squares, np.einsum("km,km->m", whole, whole).take(node) - 2 * crossed + squares)


def scan_square_sums(block: FeatureBlock) -> SquareSums:
    """Return the squares of a cut after each place: (b, n), and the weight (n,) or (b, n)."""
    labels = block.frontier.target
    assert isinstance(labels, ClassTarget)
    counts = _class_counts(block)
    codes = labels.codes.take(block.order)  # (b, n)
    weight = None if labels.fixed_point_weight is None else labels.fixed_point_weight.take(block.order)  # (b, n), the w
    passed = counts.T.ravel().take(block.node * counts.shape[0] + codes)  # (b, n), the T_k
    steps = _numbers(block, codes, weight, counts)  # (b, n), the o
    steps += steps
    steps -= 1 if weight is None else weight
    if weight is not None:
        steps *= weight
        passed *= weight
    squares = np.einsum("km,km->m", counts, counts)
    before = (squares.cumsum() - squares).take(block.node)  # (n,): a node's classes add up to its squares, as its T do
    left = steps.cumsum(axis=1)
    left -= before
    right = passed.cumsum(axis=1)
    right -= before
    right *= -2
    right += left
    right += squares.take(block.node)
    return SquareSums(block.rows_up_to if weight is None else _within(weight, counts.sum(axis=0), block), left, right)


def _within(steps: np.ndarray, whole: np.ndarray, block: FeatureBlock) -> np.ndarray:
    """Sum steps (b, n) along each node's rows, given how much whole nodes have (m,): (b, n)."""
    upto: np.ndarray = steps.cumsum(axis=1)
    upto -= (whole.cumsum() - whole).take(block.node)
    return upto


def _class_counts(block: FeatureBlock) -> np.ndarray:
    """Return the weight of each class in each node, (c, m)."""
    return class_weights(block.total).astype(np.int64)


def _numbers(block: FeatureBlock, codes: np.ndarray, weight: np.ndarray | None, counts: np.ndarray) -> np.ndarray:
    """Sum the weights (b, n) of each node's rows of each class along every feature; without weights, number: (b, n)."""
    c, bits = counts.shape[0], int(counts.max()).bit_length()
    field = (np.arange(c) % (WORD_BITS // bits) * bits).astype(np.uint64)
    word = np.arange(c) // (WORD_BITS // bits)
    number = np.zeros(1, dtype=np.uint64)
    for w in range(int(word[-1]) + 1):
        unit = np.where(word == w, np.uint64(1) << field, np.uint64(0))
        added = unit.take(codes)
        if weight is not None:
            added *= weight.view(np.uint64)
        run = _within(added, (counts.view(np.uint64) * unit[:, None]).sum(axis=0), block)
        number = np.where((word == w).take(codes), run, number) if word[-1] > 0 else run
    number >>= field.take(codes)
    number &= np.uint64((1 << bits) - 1)
    return number.view(np.int64)


def compute_gini_gain(block: FeatureBlock, cuts: SquareSums, node: np.ndarray) -> np.ndarray:
    """Return the gains, times the square of the node's weight, of cuts (q,) in nodes (q,): shape (q,)."""
    counts = _class_counts(block)
    weight = counts.sum(axis=0)
    whole, squares = weight.take(node), np.einsum("km,km->m", counts, counts).take(node)
    rows, left, right = (part.astype(np.int64, copy=False) for part in cuts)
    if weight.max() > MAX_WEIGHT_FOR_INT64:
        rows, whole = rows.astype(np.float64), whole.astype(np.float64)
    rest = whole - rows
    # Whole numbers: nothing is lost where the gain is a small difference of large sums.
    return np.maximum(((left * rest + right * rows) * whole - squares * rows * rest) / (rows * rest), 0.0)
