"""The impurity of nodes, and the gain of a split.

Impurity of class fractions p: Gini Σ p(1-p), entropy -Σ p log2 p (bits), misclassification 1 - max p; of numeric
targets: the variance. A split into branches v of weight n_v lowers the impurity Q of its node (weight n) by

    gain = Q(node) - Σ_v n_v/n Q(v)         information gain, where Q is the entropy
    gain ratio = gain / H(n_1/n, n_2/n, …)  C4.5: divides by the split information, which grows with the branches

All gains are sums over branches of the *divergence* of the branch from its node: for Gini and for the variance the
squared distance between the means (Gini is the variance of 0/1 class indicators), for entropy the Kullback-Leibler
divergence. In this form there is no cancellation, and a split and its mirror image have exactly the same gain.

Equally good splits may differ in their last bits: logarithms and quotients are rounded, and sums depend on the order of
classes and branches. Two gains or gain ratios are therefore *equal* if their difference is at most `ROUND_OFF` plus the
fraction `TIE_TOLERANCE` of the larger one. For Gini and the variance, the root mean square distances of the branch
means from the mean of the node are compared instead: their difference may be half that fraction plus the round-off of a
mean (see `Target.mean_error`).

`bakeoff.learners.definitions.splits` states impurities and gains node by node. A `Criterion` computes the same gains
for many candidate splits at once, from the sums of their branches.
Cost: O(c) per candidate split.

References: Breiman, Friedman, Olshen, Stone, "Classification and Regression Trees", 1984; J. R. Quinlan, "Induction of
decision trees" (ID3), Machine Learning 1, 1986, and "C4.5", 1993.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import reduce

import numpy as np
from numpy.typing import ArrayLike

TIE_TOLERANCE = 1e-10
"""Gains that differ by at most this fraction of the larger one are equal."""

ROUND_OFF = 1e-13
"""Entropies in bits, and fractions of rows, that differ by at most this are equal."""

Sums = np.ndarray | Sequence[np.ndarray]
"""Sums of candidates, the weight first: an array (p, q), or p arrays that broadcast against each other."""


def entropy(weights: ArrayLike) -> np.ndarray:
    """Return the entropy in bits of class weights of shape (..., c): shape (...)."""
    p = _normalize(weights)
    # By convention 0 log 0 is 0.
    bits = p * np.log2(np.where(p > 0, p, 1.0))
    return -bits.sum(axis=-1) + 0.0  # not -0.0


def gini(weights: ArrayLike) -> np.ndarray:
    """Return the Gini impurity of class weights of shape (..., c): shape (...)."""
    p = _normalize(weights)
    return np.asarray(np.einsum("...k,...k->...", p, 1 - p))


def misclassification(weights: ArrayLike) -> np.ndarray:
    """Return the fraction of rows outside the majority class, for class weights of shape (..., c): shape (...)."""
    return 1 - _normalize(weights).max(axis=-1)


def _normalize(weights: ArrayLike) -> np.ndarray:
    table = np.asarray(weights, dtype=np.float64)
    return table / table.sum(axis=-1, keepdims=True)


class Criterion(ABC):
    """Abstract: gains of many candidate splits at once.

    Sums are arrays of shape (p, q), one column for each of q candidates: first the weight, then the weight of every
    class but the first (which is the remainder), or the weighted sum of a numeric target.

    Attributes
    ----------
    by_ratio : bool
        Whether features compete by gain ratio; the cut within a feature is always the one with the largest gain.
    is_strictly_convex : bool
        Whether a cut between two rows of the same class is worse than one of the cuts around them.
    """

    by_ratio = False
    is_strictly_convex = True

    def gain_unit(self, weight: np.ndarray) -> np.ndarray:
        """Return the factor by which gains still have to be multiplied in nodes with these weights: both (m,)."""
        return np.ones(weight.shape)

    def bound_ties(self, largest: np.ndarray, mean_error: np.ndarray | None = None) -> np.ndarray:
        """Return the smallest gain or gain ratio that is treated as equal to the largest one of a node: all (m,).

        ``mean_error`` is the round-off of the branch means times the node's weight; None if sums are exact.
        """
        return largest * (1 - TIE_TOLERANCE) - ROUND_OFF

    @abstractmethod
    def branch_gain(self, part: np.ndarray, total: np.ndarray) -> np.ndarray:
        """Return the contribution of branches (sums ``part``) to the gain of nodes (sums ``total``): shape (q,)."""

    def cut_gain(self, left: np.ndarray, total: np.ndarray) -> np.ndarray:
        """Return the gain of splitting ``total`` into ``left`` and the rest: shape (q,)."""
        return self.branch_gain(left, total) + self.branch_gain(total - left, total)


class SquaredDistance(Criterion):
    """Gini impurity, or the variance if ``classes`` is False: W_v/W (mean_v - mean)², over classes.

    With integer sums, the difference W·S_v - W_v·S is exact, so that equal splits tie exactly. Gains are not divided by
    W², which is the same for all splits of a node.
    """

    def __init__(self, *, classes: bool) -> None:
        self.classes = classes

    def gain_unit(self, weight: np.ndarray) -> np.ndarray:
        return 1 / (weight * weight)

    def bound_ties(self, largest: np.ndarray, mean_error: np.ndarray | None = None) -> np.ndarray:
        if mean_error is None:
            return largest * (1 - TIE_TOLERANCE)
        # The root of the gain is the node's weight times the distance of the branch means from the mean of the node.
        distance = np.sqrt(largest)
        distance *= 1 - TIE_TOLERANCE / 2
        distance -= mean_error
        # Computed in place, because these are many steps for few nodes.
        np.maximum(distance, 0.0, out=distance)
        return np.square(distance, out=distance)

    def branch_gain(self, part: np.ndarray, total: np.ndarray) -> np.ndarray:
        return self._sum_squares(part, total) / total[0] / part[0]

    def cut_gain(self, left: Sums, total: Sums) -> np.ndarray:
        """Return the gain of splitting ``total`` into ``left`` and the rest: shape (q,) or (b, n)."""
        # Both branches deviate by the same amount, and 1/W_l + 1/W_r = W / (W_l W_r).
        left_weight = left[0]
        right_weight = total[0] - left_weight
        return self._sum_squares(left, total) / (left_weight * right_weight)

    def _sum_squares(self, part: Sums, total: Sums) -> np.ndarray:
        """Return Σ (W·S_v - W_v·S)² over classes, or of the one target: shape (q,)."""
        weight = total[0]
        part_weight = part[0]
        deviations = []
        for part_sum, total_sum in zip(part[1:], total[1:], strict=True):
            deviations.append(part_sum * weight - part_weight * total_sum)
        # The deviations of all classes add up to 0, so the first class deviates by the sum of the others.
        if self.classes and len(deviations) == 1:
            return 2 * np.square(deviations[0])
        if self.classes:
            deviations.append(reduce(np.add, deviations))
        squares: np.ndarray = reduce(np.add, map(np.square, deviations))
        return squares


class Entropy(Criterion):
    """Entropy in bits: W_v/W Σ_k p_vk log2(p_vk / p_k)."""

    def __init__(self, *, by_ratio: bool) -> None:
        self.by_ratio = by_ratio

    def branch_gain(self, part: np.ndarray, total: np.ndarray) -> np.ndarray:
        ratio = total[0] / part[0]
        part_classes = add_first_class(part)  # (c, q)
        total_classes = add_first_class(total)
        bits = np.zeros(part.shape[1])  # (q,)
        for in_part, in_total in zip(part_classes, total_classes, strict=True):
            # A class absent from the branch adds 0 log2(1); a class absent from the node is absent from the branch too.
            quotient = in_part * ratio / np.where(in_total > 0, in_total, 1.0)
            bits += in_part * np.log2(np.where(in_part > 0, quotient, 1.0))
        return np.maximum(bits, 0.0) / total[0]


class Misclassification(Criterion):
    """The errors of predicting the node's majority class that the branch's own majority class avoids."""

    is_strictly_convex = False

    def branch_gain(self, part: np.ndarray, total: np.ndarray) -> np.ndarray:
        part_classes = add_first_class(part)  # (c, q)
        majority = np.argmax(add_first_class(total), axis=0)  # (q,), of the node
        right_for_node = np.take_along_axis(part_classes, majority[None, :], axis=0)[0]
        right_for_branch = part_classes.max(axis=0)
        return (right_for_branch - right_for_node) / total[0]


def add_first_class(sums: np.ndarray) -> np.ndarray:
    """Return the weight of every class (c, q), given the total and the weights of all classes but the first."""
    first = sums[0] - sums[1:].sum(axis=0)
    return np.vstack([first, sums[1:]])


CLASSIFICATION: dict[str, Criterion] = {
    "gini": SquaredDistance(classes=True),
    "entropy": Entropy(by_ratio=False),
    "log_loss": Entropy(by_ratio=False),
    "gain_ratio": Entropy(by_ratio=True),
    "misclassification": Misclassification(),
}

REGRESSION: dict[str, Criterion] = {
    "squared_error": SquaredDistance(classes=False),
}
