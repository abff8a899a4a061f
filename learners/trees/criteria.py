"""How mixed a node is, and how much a split unmixes it.

Impurity of class fractions p: Gini Σ p(1-p), entropy -Σ p log2 p (bits), misclassification 1 - max p; of targets: the
variance.  A split into branches v of weight n_v lowers the impurity of its node (weight n) by

    gain = Q(node) - Σ_v n_v/n Q(v)        information gain, where Q is the entropy
    gain ratio = gain / H(n_1/n, n_2/n, …)  C4.5: pays for the number of branches

All gains are sums over branches of how far the branch *departs* from its node: for Gini and for variance the squared
distance between the means (Gini is the variance of 0/1 class indicators), for entropy the Kullback-Leibler divergence.
In that form nothing cancels, and a split and its mirror image gain the same to the last bit.
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

Sums = np.ndarray | Sequence[np.ndarray]
"""Sums of candidates, the weight first: an array (p, q), or p arrays that broadcast against each other."""


def information(p: ArrayLike) -> np.ndarray:
    """Return the information -log2 p, in bits, of learning that something of probability p happened."""
    return -np.log2(np.asarray(p, dtype=np.float64))


def entropy(weights: ArrayLike) -> np.ndarray:
    """Return the entropy in bits of class weights of shape (..., c): shape (...)."""
    p = _fractions(weights)
    return -(p * np.log2(np.where(p > 0, p, 1.0))).sum(axis=-1) + 0.0


def gini(weights: ArrayLike) -> np.ndarray:
    """Return the Gini impurity of class weights of shape (..., c): shape (...)."""
    p = _fractions(weights)
    return np.asarray(np.einsum("...k,...k->...", p, 1 - p))


def misclassification(weights: ArrayLike) -> np.ndarray:
    """Return the fraction that the majority class gets wrong, for class weights of shape (..., c): shape (...)."""
    return 1 - _fractions(weights).max(axis=-1)


def information_gain(branches: ArrayLike) -> float:
    """Return the fall of entropy, in bits, from the node to its branches, given as class weights (branches, c)."""
    table = np.asarray(branches, dtype=np.float64)
    shares = table.sum(axis=1) / table.sum()
    return float(entropy(table.sum(axis=0)) - shares @ entropy(table))


def gain_ratio(branches: ArrayLike) -> float:
    """Return `information_gain` over the entropy of the branch sizes, for class weights (branches, c)."""
    table = np.asarray(branches, dtype=np.float64)
    return information_gain(table) / float(entropy(table.sum(axis=1)))


def _fractions(weights: ArrayLike) -> np.ndarray:
    table = np.asarray(weights, dtype=np.float64)
    return table / table.sum(axis=-1, keepdims=True)


class Criterion(ABC):
    """Abstract: gains of many candidate splits at once.

    ``sums`` are arrays of shape (p, q), one column per candidate: row 0 the weight, the other rows the weight of each
    class but the first (which is what remains), or for targets the weighted sum of the target.
    """

    by_ratio = False
    """Whether features compete by gain ratio; the cut within a feature is always the one of largest gain."""

    def gain_unit(self, weight: np.ndarray) -> np.ndarray:
        """Return what gains of nodes of total weight (m,) have still to be multiplied with: shape (m,)."""
        return np.ones(weight.shape)

    @abstractmethod
    def branch(self, part: np.ndarray, total: np.ndarray) -> np.ndarray:
        """Return what branches with sums ``part`` add to the gain of nodes with sums ``total``: shape (q,)."""

    def cut(self, left: np.ndarray, total: np.ndarray) -> np.ndarray:
        """Return the gain of splitting ``total`` into ``left`` and the rest: shape (q,)."""
        return self.branch(left, total) + self.branch(total - left, total)


class SquaredDistance(Criterion):
    """Gini impurity, or with ``classes`` false the variance: W_v/W (mean_v - mean)², over classes.

    With integer sums the difference W·S_v - W_v·S is exact, so that equal splits tie exactly.  Gains are left times
    W², the same for all splits of a node.
    """

    def __init__(self, *, classes: bool) -> None:
        self.classes = classes

    def _squares(self, part: Sums, total: Sums) -> np.ndarray:
        deviations = [here * total[0] - part[0] * there for here, there in zip(part[1:], total[1:], strict=True)]
        if self.classes and len(deviations) > 1:
            deviations.append(reduce(np.add, deviations))  # the first class, but for the sign
        squares: np.ndarray = reduce(np.add, map(np.square, deviations))
        return 2 * squares if self.classes and len(deviations) == 1 else squares  # two classes deviate alike

    def gain_unit(self, weight: np.ndarray) -> np.ndarray:
        return 1 / (weight * weight)

    def branch(self, part: np.ndarray, total: np.ndarray) -> np.ndarray:
        return self._squares(part, total) / total[0] / part[0]

    def cut(self, left: Sums, total: Sums) -> np.ndarray:
        """Both branches deviate by the same amount: 1/W_l + 1/W_r = W / (W_l W_r)."""
        return self._squares(left, total) / (left[0] * (total[0] - left[0]))


class Entropy(Criterion):
    """Entropy in bits: W_v/W Σ_k p_vk log2(p_vk / p_k)."""

    def __init__(self, *, by_ratio: bool) -> None:
        self.by_ratio = by_ratio

    def branch(self, part: np.ndarray, total: np.ndarray) -> np.ndarray:
        ratio = total[0] / part[0]
        bits = np.zeros(part.shape[1])
        for here, there in zip(class_weights(part), class_weights(total), strict=True):
            # A class absent here adds 0·log2(1); one absent from the node is absent here too.
            bits += here * np.log2(np.where(here > 0, here * ratio / np.where(there > 0, there, 1.0), 1.0))
        return np.maximum(bits, 0.0) / total[0]


class Misclassification(Criterion):
    """Errors of the node's majority class that the branch's own majority avoids."""

    def branch(self, part: np.ndarray, total: np.ndarray) -> np.ndarray:
        here, there = class_weights(part), class_weights(total)
        majority = np.argmax(there, axis=0)
        return (here.max(axis=0) - np.take_along_axis(here, majority[None, :], axis=0)[0]) / total[0]


def class_weights(sums: np.ndarray) -> np.ndarray:
    """Return the weight of every class, of shape (c, q), from sums of shape (c, q)."""
    return np.vstack([sums[0] - sums[1:].sum(axis=0), sums[1:]])


CLASSIFICATION: dict[str, Criterion] = {
    "gini": SquaredDistance(classes=True),
    "entropy": Entropy(by_ratio=False),
    "gain_ratio": Entropy(by_ratio=True),
    "misclassification": Misclassification(),
}

REGRESSION: dict[str, Criterion] = {"squared_error": SquaredDistance(classes=False)}
