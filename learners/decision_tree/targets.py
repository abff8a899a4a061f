"""What is being predicted, as the growing of a tree sees it: sums along sorted rows, and the content of nodes.

Sums are taken in whole numbers (weights, and targets relative to their node, in fixed point), which are exact: no
order of rows and no neighbouring node can change the last bit of a gain, and equal splits tie exactly.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

import numpy as np

from learners.decision_tree.criteria import entropy, gini, misclassification

IMPURITY = {"gini": gini, "misclassification": misclassification, "entropy": entropy, "gain_ratio": entropy}


FEW_CLASSES = 3
"""Up to so many, a running sum for each class is cheaper than counting."""

LARGEST = 1e152


class Content(NamedTuple):
    """What the nodes of one level hold.

    weight : (m,); value : (m, c) class weights as fractions, or (m, 1) means; impurity : (m,); pure : (m,) bool;
    unit : (m,) what a gain in the sums' own unit is multiplied with to be in the unit of the impurity.
    """

    weight: np.ndarray
    value: np.ndarray
    impurity: np.ndarray
    pure: np.ndarray
    unit: np.ndarray


class Target(ABC):
    """Abstract: the targets and weights of the n0 training rows."""

    weight: np.ndarray  # (n0,)
    whole: np.ndarray | None  # (n0,) int64 weights in fixed point; None if every weight is 1
    grain: float  # how many whole units make a weight of 1

    def _weigh(self, weight: np.ndarray) -> None:
        self.weight = weight
        self.whole = None if np.all(weight == 1.0) else fixed_point(weight)
        self.grain = 1.0 if self.whole is None else float(self.whole.sum() / weight.sum())

    @abstractmethod
    def of(self, rows: np.ndarray) -> Target:
        """Return the target of the given rows, which may repeat."""

    @abstractmethod
    def content(self, rows: np.ndarray, node: np.ndarray, m: int) -> Content:
        """Describe m nodes, given rows (n,) and the node of each (n,)."""

    @abstractmethod
    def node_sums(self, rows: np.ndarray, node: np.ndarray, m: int) -> np.ndarray:
        """Return the whole sums (p, m) of nodes: weight (if not all 1), then each class but the first, or y."""

    @abstractmethod
    def sums_upto(self, order: np.ndarray, at: np.ndarray) -> np.ndarray:
        """Return the same sums (p, q) over rows order[0], …, order[at], for ascending places at (q,)."""

    @abstractmethod
    def alike(self, order: np.ndarray) -> np.ndarray | None:
        """Return which neighbours along ``order`` are of one class, shape (b, n - 1); None for targets."""


class Labels(Target):
    """Class codes 0..c-1."""

    def __init__(self, codes: np.ndarray, weight: np.ndarray, c: int, impurity: str) -> None:
        self.codes, self.c, self.impurity = codes, c, impurity
        self.narrow = codes.astype(np.min_scalar_type(c))  # reading many of them is a matter of cache
        self._weigh(weight)

    def of(self, rows: np.ndarray) -> Labels:
        return Labels(self.codes[rows], self.weight[rows], self.c, self.impurity)

    def content(self, rows: np.ndarray, node: np.ndarray, m: int) -> Content:
        key = node * self.c + self.codes.take(rows)
        weight = None if self.whole is None else self.weight.take(rows)
        counts = np.bincount(key, weights=weight, minlength=m * self.c).reshape(m, self.c)
        measure = IMPURITY[self.impurity]
        total = counts.sum(axis=1)
        pure = (counts > 0).sum(axis=1) == 1
        return Content(total, counts / total[:, None], np.where(pure, 0.0, measure(counts)), pure, np.ones(m))

    def node_sums(self, rows: np.ndarray, node: np.ndarray, m: int) -> np.ndarray:
        key = self.codes.take(rows) * m + node
        weight = None if self.whole is None else self.whole.take(rows)
        counts = np.bincount(key, weights=weight, minlength=m * self.c).reshape(self.c, m).astype(np.int64)
        return counts[1:] if weight is None else np.vstack([counts.sum(axis=0), counts[1:]])

    def sums_upto(self, order: np.ndarray, at: np.ndarray) -> np.ndarray:
        codes = self.narrow.take(order)
        if self.whole is None and self.c <= FEW_CLASSES:
            return np.array([np.cumsum(codes == k, dtype=np.int32).take(at) for k in range(1, self.c)], dtype=np.int64)
        if self.whole is None:  # count between places, then add up the places
            passed = np.zeros(order.size, dtype=np.intp)
            passed[at + 1 if at[-1] + 1 < order.size else at[:-1] + 1] = 1
            key = np.cumsum(passed)
            key *= self.c
            key += codes
            counts = np.bincount(key, minlength=(at.size + 1) * self.c).reshape(-1, self.c)
            return np.cumsum(counts[: at.size, 1:], axis=0).T
        weight = self.whole.take(order)
        parts = [np.cumsum(np.where(codes == k, weight, 0)).take(at) for k in range(1, self.c)]
        return np.array([np.cumsum(weight).take(at), *parts])

    def alike(self, order: np.ndarray) -> np.ndarray:
        codes = self.narrow.take(order)
        return codes[:, 1:] == codes[:, :-1]


class Values(Target):
    """Real targets, in any unit and of any scale."""

    def __init__(self, y: np.ndarray, weight: np.ndarray) -> None:
        largest = float(np.abs(y).max())
        if largest > LARGEST:
            raise ValueError(
                f"y holds {largest:.3g}, whose square is beyond floating point; "
                f"divide y so that it stays within {LARGEST:.0e}."
            )
        self.y = y
        self._weigh(weight)
        self._exact = self.whole is None or bool(np.all(self.whole == self.weight))
        self.whole_deviation = np.zeros(y.shape[0], dtype=np.int64)  # (n0,), relative to the row's present node

    def of(self, rows: np.ndarray) -> Values:
        return Values(self.y[rows], self.weight[rows])

    def content(self, rows: np.ndarray, node: np.ndarray, m: int) -> Content:
        y, w = self.y.take(rows), self.weight.take(rows)
        one = np.empty(m)
        one[node] = y
        one_of_row = one.take(node)
        pure = np.bincount(node, weights=y != one_of_row, minlength=m) == 0
        weight = np.bincount(node, weights=w, minlength=m)
        # Away from one of the node's own targets, so that a large offset does not eat the digits.
        mean = one + np.bincount(node, weights=w * (y - one_of_row), minlength=m) / weight
        deviation = y - mean.take(node)
        size = np.zeros(m)
        np.maximum.at(size, node, np.abs(deviation))
        size = np.where(pure | (size == 0), 1.0, size)
        deviation /= size.take(node)  # within [-1, 1]
        spread = np.bincount(node, weights=w * deviation**2, minlength=m) / weight
        step = self._write_deviations(deviation, rows, node, m)
        with np.errstate(over="ignore", under="ignore"):  # squares of targets beyond 1e±154 leave the range of floats
            impurity = np.where(pure, 0.0, spread * size * size)
            return Content(weight, mean[:, None], impurity, pure, np.square(size * step))

    def _write_deviations(self, deviation: np.ndarray, rows: np.ndarray, node: np.ndarray, m: int) -> np.ndarray:
        """Store weighted deviations as whole numbers; return the size of one step in each node, shape (m,).

        Steps are fine, yet such that weight times sum stays below 2^53 in all but the largest nodes.
        """
        weight = None if self.whole is None else self.whole.take(rows)
        counted = np.bincount(node, weights=weight if self._exact else None, minlength=m)
        steps = np.exp2(np.clip(52 - np.ceil(2 * np.log2(counted)), 32, 52))
        whole = deviation * steps.take(node)
        if weight is None:
            self.whole_deviation[rows] = np.rint(whole)
            return 1 / steps
        if self._exact:
            self.whole_deviation[rows] = np.rint(whole) * weight
            return 1 / steps
        largest = self.weight.max()
        self.whole_deviation[rows] = np.rint(whole * (self.weight.take(rows) / largest))
        return self.grain * largest / steps

    def node_sums(self, rows: np.ndarray, node: np.ndarray, m: int) -> np.ndarray:
        columns = [self.whole_deviation] if self.whole is None else [self.whole, self.whole_deviation]
        sums = [np.bincount(node, weights=column.take(rows), minlength=m) for column in columns]
        return np.array(sums).astype(np.int64)

    def sums_upto(self, order: np.ndarray, at: np.ndarray) -> np.ndarray:
        columns = [self.whole_deviation] if self.whole is None else [self.whole, self.whole_deviation]
        return np.array([np.cumsum(column.take(order)).take(at) for column in columns])

    def alike(self, order: np.ndarray) -> None:
        return None


def fixed_point(weight: np.ndarray) -> np.ndarray:
    """Return positive weights (n,) as whole numbers: as they are if whole, else scaled so that they sum to 2^52."""
    total = weight.sum()
    if total < 2.0**52 and np.all(weight == np.rint(weight)):
        return weight.astype(np.int64)
    return np.maximum(np.rint(weight / total * 2.0**52), 1.0).astype(np.int64)
