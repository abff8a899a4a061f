"""Classes as a target: their weights are summed along sorted rows, several in one word where they are few."""

from __future__ import annotations

from typing import Self

import numpy as np

from learners.decision_tree.criteria import entropy, gini, misclassification
from learners.decision_tree.targets import Content, Target

IMPURITY = {"gini": gini, "misclassification": misclassification, "entropy": entropy, "gain_ratio": entropy}

FEW_CLASSES = 3
"""Up to so many, a running sum for each class is cheaper than counting."""

WORD = 63
"""Bits that running sums of several classes share; differences are right even when a sum along the table overflows."""


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
        key += self.codes.take(order)
        weight = None if self.whole is None else self.weight.take(order)
        counts = np.bincount(key, weights=weight, minlength=(at.size + 1) * self.c).reshape(-1, self.c)[: at.size]
        return np.cumsum(counts.astype(np.int64, copy=False), axis=0)

    def packed(self, sums: np.ndarray, places: np.ndarray) -> list[np.ndarray]:
        if self.word is None:
            return list(sums)
        word, *classes = [places, *sums] if self.whole is None else list(sums)
        for k, column in enumerate(classes, start=1):
            word = word + (column << self.bits * k)
        return [word]

    @property
    def packs(self) -> bool:
        return self.word is not None

    def unpack(self, runs: list[np.ndarray], out: np.ndarray) -> None:
        if self.word is None:
            return super().unpack(runs, out)
        for k, row in enumerate(out):
            row[:] = (runs[0] >> self.bits * k) & ((1 << self.bits) - 1)

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
