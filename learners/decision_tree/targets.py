"""What is being predicted, as the growing of a tree sees it: sums along sorted rows, and the content of nodes.

Sums are taken in whole numbers (weights, and targets relative to their node, in fixed point), which are exact: no
order of rows and no neighbouring node can change the last bit of a gain, and equal splits tie exactly.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from copy import copy
from typing import NamedTuple, Self

import numpy as np

from learners.decision_tree.criteria import entropy, gini, misclassification

IMPURITY = {"gini": gini, "misclassification": misclassification, "entropy": entropy, "gain_ratio": entropy}


FEW_CLASSES = 3
"""Up to so many, a running sum for each class is cheaper than counting."""

WORD = 63

LARGEST = 1e152


class Content(NamedTuple):
    """What the nodes of one level hold.

    rows : (m,) int, each as often as it counts; places : (m,) int, how many stand in the front; weight : (m,); value : (m, c) class weights as fractions, or (m, 1) means;
    impurity : (m,); pure : (m,) bool;
    unit : (m,) what a gain in the sums' own unit is multiplied with to be in the unit of the impurity;
    sums : (m, p) whole sums: weight (if not all 1), then each class but the first, or y.
    """

    rows: np.ndarray
    places: np.ndarray
    weight: np.ndarray
    value: np.ndarray
    impurity: np.ndarray
    pure: np.ndarray
    unit: np.ndarray
    sums: np.ndarray


class Target(ABC):
    """Abstract: the targets and weights of the n0 training rows."""

    weight: np.ndarray  # (n0,)
    whole: np.ndarray | None  # (n0,) int64 weights in fixed point; None if every weight is 1
    counted: bool = False  # whether a weight says how many rows a row is
    grain: float  # how many whole units make a weight of 1

    def _weigh(self, weight: np.ndarray, mass: float | None) -> None:
        self.weight, self.heaviest = weight, float(weight.max())
        self.whole = None if np.all(weight == 1.0) else fixed_point(weight, mass)
        self.grain = 1.0 if self.whole is None else float(self.whole.sum() / weight.sum())

    def of(self, rows: np.ndarray) -> Self:
        """Return the target of the given rows, which may repeat; the units of the sums stay the same."""
        part = copy(self)
        for name, column in vars(self).items():
            if isinstance(column, np.ndarray):
                setattr(part, name, column[rows])
        return part

    def repeated(self, times: np.ndarray) -> Self:
        """Return the target in which a row of weight 1 counts as so many rows (n0,)."""
        part = copy(self)
        part.weight, part.whole, part.counted = times.astype(np.float64), times.astype(np.int64), True
        return part

    @abstractmethod
    def content(self, rows: np.ndarray, node: np.ndarray, m: int) -> Content:
        """Describe m nodes, given rows (n,) and the node of each (n,)."""

    @abstractmethod
    def runs(self, order: np.ndarray, at: np.ndarray) -> list[np.ndarray]:
        """Return running sums over rows order[0], …, order[at], for ascending places at (q,), packed or not: each (q,)."""

    @abstractmethod
    def sums_of(self, rows: np.ndarray, key: np.ndarray, size: int) -> np.ndarray:
        """Return the sums, the weight first, over the rows (n,) that have each key 0, …, size - 1.

        Each of b features gives a row a key of its own, (b, n); shape (p, size).
        """

    def packed(self, sums: np.ndarray, places: np.ndarray) -> list[np.ndarray]:
        """Return the sums (p, m) of nodes with so many places (m,) as `runs` has them: each (m,)."""
        return list(sums)

    def unpacked(self, runs: list[np.ndarray]) -> np.ndarray:
        """Return differences of runs as sums (p, q)."""
        return np.array(runs, dtype=np.float64)

    @abstractmethod
    def alike(self, order: np.ndarray) -> np.ndarray | None:
        """Return which neighbours along ``order`` are of one class, shape (b, n - 1); None for targets."""


class Labels(Target):
    """Class codes 0..c-1; ``mass`` is how much weight a tree's rows have, if not all of it."""

    def __init__(self, codes: np.ndarray, weight: np.ndarray, c: int, impurity: str, mass: float | None = None) -> None:
        self.codes, self.c, self.impurity = codes, c, impurity
        self.narrow = codes.astype(np.min_scalar_type(c))  # reading many of them is a matter of cache
        self._weigh(weight, mass)
        self._pack()

    def repeated(self, times: np.ndarray) -> Self:
        part = super().repeated(times)
        part._pack()
        return part

    def _pack(self) -> None:
        """Put weight and classes 1, 2, … side by side into one word for each row, if they are few."""
        whole = np.ones(self.codes.size, dtype=np.int64) if self.whole is None else self.whole
        self.bits, self.word = WORD // self.c, None
        if self.c <= FEW_CLASSES and float(whole.sum()) < 1 << self.bits:
            self.word = whole + np.where(self.codes > 0, whole << self.bits * self.codes, 0)

    def content(self, rows: np.ndarray, node: np.ndarray, m: int) -> Content:
        key = node * self.c + self.codes.take(rows)
        weight = None if self.whole is None else self.weight.take(rows)
        counts = np.bincount(key, weights=weight, minlength=m * self.c).reshape(m, self.c)
        total = counts.sum(axis=1)
        pure = counts.max(axis=1) == total
        value = counts / total[:, None]
        impurity = IMPURITY[self.impurity](counts)
        impurity[pure] = 0.0
        if self.whole is None:
            return Content(total, total, total.astype(np.float64), value, impurity, pure, np.ones(m), counts[:, 1:])
        places = np.bincount(node, minlength=m)
        if self.counted:
            sums = np.column_stack([total, counts[:, 1:]]).astype(np.int64)
            return Content(sums[:, 0], places, total, value, impurity, pure, np.ones(m), sums)
        whole = np.bincount(key, weights=self.whole.take(rows), minlength=m * self.c).reshape(m, self.c)
        sums = np.column_stack([whole.sum(axis=1), whole[:, 1:]]).astype(np.int64)
        return Content(places, places, total, value, impurity, pure, np.ones(m), sums)

    def codes_of(self, order: np.ndarray) -> np.ndarray:
        """Return the codes of rows, of any shape, in few bytes."""
        return self.narrow.take(order)

    def runs(self, order: np.ndarray, at: np.ndarray) -> list[np.ndarray]:
        if self.word is not None:
            return [np.cumsum(self.word.take(order)).take(at)]
        weight = None if self.whole is None else self.whole.take(order)
        if self.c <= FEW_CLASSES or not (weight is None or self.counted):
            codes, weight = self.narrow.take(order), np.ones(order.size, dtype=np.int64) if weight is None else weight
            parts = [np.cumsum(np.where(codes == k, weight, 0)).take(at) for k in range(1, self.c)]
            return parts if self.whole is None else [np.cumsum(weight).take(at), *parts]
        upto = self.counts_upto(order, at)
        return list(upto[:, 1:].T) if weight is None else [upto.sum(axis=1), *upto[:, 1:].T]

    def counts_upto(self, order: np.ndarray, at: np.ndarray) -> np.ndarray:
        """Count classes between ascending places (q,) along ``order``, then add up the places: (q, c)."""
        passed = np.zeros(order.size, dtype=np.intp)
        passed[at + 1 if at[-1] + 1 < order.size else at[:-1] + 1] = self.c
        key = np.cumsum(passed)
        key += self.narrow.take(order)
        weight = None if self.whole is None else self.whole.take(order)
        counts = np.bincount(key, weights=weight, minlength=(at.size + 1) * self.c).reshape(-1, self.c)[: at.size]
        return np.cumsum(counts.astype(np.int64, copy=False), axis=0)

    def packed(self, sums: np.ndarray, places: np.ndarray) -> list[np.ndarray]:
        if self.word is None:
            return list(sums)
        columns = [places, *sums] if self.whole is None else list(sums)
        return [np.sum([column << self.bits * k for k, column in enumerate(columns)], axis=0)]

    def unpacked(self, runs: list[np.ndarray]) -> np.ndarray:
        if self.word is None:
            return np.array(runs, dtype=np.float64)
        sums = np.empty((self.c, runs[0].size))
        for k, row in enumerate(sums):
            np.bitwise_and(runs[0] >> self.bits * k, (1 << self.bits) - 1, out=row, casting="unsafe")
        return sums

    def sums_of(self, rows: np.ndarray, key: np.ndarray, size: int) -> np.ndarray:
        codes = self.codes.take(rows) + key * self.c
        weight = None if self.whole is None else np.tile(self.whole.take(rows).astype(np.float64), key.shape[0])
        counts = np.bincount(codes.ravel(), weights=weight, minlength=size * self.c).reshape(size, self.c)
        sums = np.empty((self.c, size))
        sums[1:] = counts[:, 1:].T
        np.add(counts[:, 0], sums[1:].sum(axis=0), out=sums[0])
        return sums

    def alike(self, order: np.ndarray) -> np.ndarray:
        codes = self.narrow.take(order)
        return codes[:, 1:] == codes[:, :-1]


class Values(Target):
    """Real targets, in any unit and of any scale; ``mass`` as for `Labels`."""

    def __init__(self, y: np.ndarray, weight: np.ndarray, mass: float | None = None) -> None:
        largest = float(np.abs(y).max())
        if largest > LARGEST:
            raise ValueError(
                f"y holds {largest:.3g}, whose square is beyond floating point; "
                f"divide y so that it stays within {LARGEST:.0e}."
            )
        self.y = y
        self._weigh(weight, mass)
        self._exact = self.whole is None or bool(np.all(self.whole == self.weight))
        self.whole_deviation = np.zeros(y.shape[0], dtype=np.int64)  # (n0,), relative to the row's present node

    def content(self, rows: np.ndarray, node: np.ndarray, m: int) -> Content:
        y = self.y.take(rows)
        one = np.empty(m)
        one[node] = y
        shift = y - one.take(node)  # away from a target of the node, so that a large offset does not eat the digits
        in_node = np.bincount(node, minlength=m)
        w = 1.0 if self.whole is None else self.weight.take(rows)
        weight = in_node.astype(np.float64) if self.whole is None else np.bincount(node, weights=w, minlength=m)
        mean = one + np.bincount(node, weights=w * shift, minlength=m) / weight
        pure = np.ones(m, dtype=bool)
        pure[node[shift != 0]] = False
        deviation = y - mean.take(node)
        size = np.zeros(m)
        np.maximum.at(size, node, np.abs(deviation))
        size[pure | (size == 0)] = 1.0
        deviation /= size.take(node)  # within [-1, 1]
        spread = np.bincount(node, weights=w * (deviation * deviation), minlength=m) / weight
        step, sums = self._write_deviations(deviation, rows, node, in_node)
        with np.errstate(over="ignore", under="ignore"):  # squares of targets beyond 1e±154 leave the range of floats
            impurity = np.where(pure, 0.0, spread * size * size)
            unit = np.square(size * step)
        rows_counted = sums[:, 0] if self.counted else in_node
        return Content(rows_counted, in_node, weight, mean[:, None], impurity, pure, unit, sums)

    def _write_deviations(
        self, deviation: np.ndarray, rows: np.ndarray, node: np.ndarray, in_node: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Store weighted deviations as whole numbers; return the size of one step in each node (m,) and sums (m, p).

        Steps are fine, yet such that weight times sum stays below 2^53 in all but the largest nodes.
        """
        m = in_node.size
        whole = None if self.whole is None else self.whole.take(rows)
        total = in_node if whole is None else np.bincount(node, weights=whole, minlength=m)
        counted = total if self._exact else in_node
        steps = np.exp2(np.clip(52 - np.ceil(2 * np.log2(counted)), 32, 52))
        deviation = deviation * steps.take(node)
        largest = 1.0 if self._exact else self.heaviest
        if whole is None:
            deviation = np.rint(deviation)
        elif self._exact:
            deviation = np.rint(deviation) * whole
        else:
            deviation = np.rint(deviation * (self.weight.take(rows) / largest))
        self.whole_deviation[rows] = deviation
        sums = np.bincount(node, weights=deviation, minlength=m)
        step = (1.0 if self._exact else self.grain * largest) / steps
        return step, (sums[:, None] if whole is None else np.column_stack([total, sums])).astype(np.int64)

    def runs(self, order: np.ndarray, at: np.ndarray) -> list[np.ndarray]:
        columns = [self.whole_deviation] if self.whole is None else [self.whole, self.whole_deviation]
        return [np.cumsum(column.take(order)).take(at) for column in columns]

    def sums_of(self, rows: np.ndarray, key: np.ndarray, size: int) -> np.ndarray:
        b, keys = key.shape[0], key.ravel()
        weight = None if self.whole is None else np.tile(self.whole.take(rows).astype(np.float64), b)
        deviation = np.tile(self.whole_deviation.take(rows).astype(np.float64), b)
        weights = np.bincount(keys, weights=weight, minlength=size)
        return np.array([weights, np.bincount(keys, weights=deviation, minlength=size)])

    def alike(self, order: np.ndarray) -> None:
        return None


def fixed_point(weight: np.ndarray, mass: float | None = None) -> np.ndarray:
    """Return positive weights (n,) as whole numbers: as they are if whole, else scaled so that ``mass`` is 2^52.

    Without ``mass`` it is their sum.
    """
    total = weight.sum() if mass is None else mass
    if max(total, weight.max()) < 2.0**52 and np.all(weight == np.rint(weight)):
        return weight.astype(np.int64)
    return np.maximum(np.rint(weight / total * 2.0**52), 1.0).astype(np.int64)
