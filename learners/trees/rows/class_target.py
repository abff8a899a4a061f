"""Classes as a target: their weights are summed along sorted rows, several classes in one word.

A sum needs no more bits than the weight of a tree's rows has, so 64 bits hold the running sums of several classes side
by side: ten classes of a thousand rows take two words.  Differences of such sums are right even when sums along the
whole table overflow.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Self

import numpy as np

from bakeoff.learners.trees.criteria import entropy, gini, misclassification
from bakeoff.learners.trees.rows.target import NodeStats, Target

IMPURITY = {"gini": gini, "misclassification": misclassification, "entropy": entropy, "gain_ratio": entropy}

SUM_BITS_PER_WORD = 63
"""Bits of a word that sums may fill."""


class ClassTarget(Target):
    """Class codes 0..c-1; ``mass`` is how much weight a tree's rows have, if not all of it."""

    def __init__(self, codes: np.ndarray, weight: np.ndarray, c: int, impurity: str, mass: float | None = None) -> None:
        self.codes, self.c, self.impurity = codes, c, impurity
        self.small_codes = codes.astype(np.min_scalar_type(c))  # reading many of them is a matter of cache
        self._set_weights(weight, mass)
        self.exact = self.fixed_point_weight is None or bool(
            np.all(self.fixed_point_weight == weight)
        )  # else rounding tells the order of rows
        self.allows_histogram = self.exact and impurity != "misclassification"  # where cuts that gain nothing tie
        self._pack(codes.size if self.fixed_point_weight is None else int(self.fixed_point_weight.sum()))

    def take_rows(self, rows: np.ndarray) -> Self:
        part = super().take_rows(rows)
        part._pack(rows.size if part.fixed_point_weight is None else int(part.fixed_point_weight.sum()))
        return part

    def with_counts(self, times: np.ndarray, largest: int) -> Self:
        part = super().with_counts(times, largest)
        part._pack(largest)
        return part

    def _pack(self, largest: int) -> None:
        """Lay out weight and classes 1, 2, … as fields of words, for nodes of up to this weight."""
        self.bits = min(SUM_BITS_PER_WORD, largest.bit_length())
        self.fields = SUM_BITS_PER_WORD // self.bits  # of a word
        shift = self.bits * (np.arange(self.c) % self.fields)
        word = np.arange(self.c) // self.fields
        self.words = []
        for w in range(int(word[-1]) + 1):
            unit = np.where(word == w, np.int64(1) << shift, 0)
            unit[0], always = 0, unit[0]  # the place of class 0 is the weight's, to which all classes add
            added = (unit + always).take(self.codes)
            self.words.append(added if self.fixed_point_weight is None else added * self.fixed_point_weight)

    def compute_stats(self, rows: np.ndarray, node: np.ndarray, places: np.ndarray) -> NodeStats:
        m, whole = places.size, None if self.fixed_point_weight is None else self.fixed_point_weight.take(rows)
        key = self.codes.take(rows) * m + node
        counts = np.bincount(key, weights=whole, minlength=self.c * m).reshape(self.c, m)
        total = places if whole is None else counts.sum(axis=0).astype(np.int64)
        pure, weight, summary = counts.max(axis=0) == total, total.astype(np.float64), counts
        if not self.exact:
            summary = np.bincount(key, weights=self.weight.take(rows), minlength=self.c * m).reshape(self.c, m)
            weight = summary.sum(axis=0)
        sums = counts[1:] if whole is None else np.vstack([total, counts[1:].astype(np.int64)])
        return NodeStats(
            total if self.weights_are_counts else places, places, weight, pure, np.ones(m), sums.T, summary.T
        )

    def describe_nodes(self, stats: NodeStats) -> tuple[np.ndarray, np.ndarray]:
        impurity = IMPURITY[self.impurity](stats.summary)
        impurity[stats.pure] = 0.0
        return stats.summary / stats.summary.sum(axis=1)[:, None], impurity

    def iter_prefix_sums(self, order: np.ndarray) -> Iterator[np.ndarray]:
        return (word.take(order).cumsum(axis=-1) for word in self.words)

    def pack_sums(self, sums: np.ndarray, places: np.ndarray) -> list[np.ndarray]:
        words = [np.zeros(places.size, dtype=np.int64) for _ in self.words]
        for k, column in enumerate([places, *sums] if self.fixed_point_weight is None else sums):
            words[k // self.fields] += column << self.bits * (k % self.fields)
        return words

    def unpack_sums(self, runs: list[np.ndarray]) -> list[np.ndarray]:
        if self.fields == 1:
            return runs[1:] if self.fixed_point_weight is None else runs
        mask, first = (1 << self.bits) - 1, 1 if self.fixed_point_weight is None else 0
        places = (divmod(k, self.fields) for k in range(first, self.c))
        return [(runs[word] >> self.bits * field) & mask for word, field in places]

    def sum_by_key(self, rows: np.ndarray, key: np.ndarray, size: int) -> np.ndarray:
        codes = self.codes.take(rows) + key * self.c
        weight = (
            None
            if self.fixed_point_weight is None
            else np.tile(self.fixed_point_weight.take(rows).astype(np.float64), key.shape[0])
        )
        counts = np.bincount(codes.ravel(), weights=weight, minlength=size * self.c).reshape(size, self.c)
        sums = np.empty((self.c, size))
        sums[1:] = counts[:, 1:].T
        np.add(counts[:, 0], sums[1:].sum(axis=0), out=sums[0])
        return sums

    def mark_same_class(self, order: np.ndarray) -> np.ndarray:
        codes = self.small_codes.take(order)
        return codes[:, 1:] == codes[:, :-1]
