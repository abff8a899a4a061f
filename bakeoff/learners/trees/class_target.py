"""Classes as a target: their weights are summed along sorted rows, with several classes packed into one word.

A sum does not need more bits than the total weight of a tree's rows, so 64 bits can store the prefix sums of several
classes: ten classes and a thousand rows need two words. Differences of such sums are correct even if sums along the
whole table overflow.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Self

import numpy as np

from bakeoff.learners.trees.criteria import entropy, gini, misclassification
from bakeoff.learners.trees.target import Kinds, NodeStats, Target

IMPURITY = {
    "gini": gini,
    "misclassification": misclassification,
    "entropy": entropy,
    "log_loss": entropy,
    "gain_ratio": entropy,
}

FRACTION_ERROR = 2.0**-48
"""The round-off of the fraction of a class: products of weights in fixed point have 53 of at most 104 bits."""

MAX_EXACT_WEIGHT = 1 << 26
"""The product of two integer weights up to this value is exact."""

SUM_BITS_PER_WORD = 63
"""Number of bits of a word available for sums; the sign takes one."""


class ClassTarget(Target):
    """Class codes 0, …, c - 1.

    Parameters
    ----------
    codes : ndarray of shape (n0,), int
    weight : ndarray of shape (n0,)
    c : int
    impurity : {"gini", "misclassification", "entropy", "log_loss", "gain_ratio"}
    tree_weight : float, optional
        The weight of a tree's rows, if a tree does not contain all rows.

    Raises
    ------
    ValueError
        If all weights are too small.
    """

    def __init__(
        self,
        codes: np.ndarray,
        weight: np.ndarray,
        c: int,
        impurity: str,
        tree_weight: float | None = None,
    ) -> None:
        self.codes = codes
        self.c = c
        self.n_sums = c - 1
        self._impurity = impurity
        # `mark_same_class` reads many codes, which stay in cache if their dtype is small.
        self._small_codes = codes.astype(np.min_scalar_type(c))
        self._set_weights(weight, tree_weight)
        self._has_exact_weights = self._is_fixed_point_exact()
        is_small = float(weight.sum()) <= MAX_EXACT_WEIGHT
        self.mean_error = 0.0 if self._has_exact_weights and is_small else FRACTION_ERROR
        # With rounded weights, or with many cuts that tie at a gain of 0, the tree would depend on the order of rows.
        self.allows_histogram = self._has_exact_weights and impurity != "misclassification"
        self._pack_classes(self._count_all_rows())

    @cached_property
    def kinds(self) -> Kinds:
        """The kinds of rows: if weights are counts, each class with each count."""
        kind = self.codes
        if self.fixed_point_weight is not None:
            if not self.weights_are_counts:
                return super().kinds
            kind = kind + self.fixed_point_weight * self.c
        example = np.zeros(int(kind.max()) + 1, dtype=np.intp)
        example[kind] = np.arange(kind.size)
        return Kinds(kind, example)

    def take_rows(self, rows: np.ndarray) -> Self:
        part = super().take_rows(rows)
        part._pack_classes(part._count_all_rows())
        return part

    def with_counts(self, counts: np.ndarray, largest: int) -> Self:
        part = super().with_counts(counts, largest)
        part._pack_classes(largest)
        return part

    def balance_classes(self, counts: np.ndarray) -> ClassTarget:
        """Return the target of T trees, in each of which all drawn classes have equal weight.

        Parameters
        ----------
        counts : ndarray of shape (T, n0), int
            How many times each tree has drawn each row.

        Returns
        -------
        ClassTarget
            The target of T n0 rows, tree after tree. The weights of the drawn rows of a tree sum to their number.
        """
        n_trees = counts.shape[0]
        drawn = np.stack([np.bincount(self.codes, weights=times, minlength=self.c) for times in counts])  # (T, c)
        n_rows = drawn.sum(axis=1, keepdims=True)  # (T, 1)
        n_classes = np.count_nonzero(drawn, axis=1)[:, None]
        weight_of_class = np.ones(drawn.shape)
        np.divide(n_rows / n_classes, drawn, out=weight_of_class, where=drawn > 0)
        weight = weight_of_class.take(self.codes, axis=1)  # (T, n0)
        codes = np.tile(self.codes, n_trees)
        return ClassTarget(codes, weight.ravel(), self.c, self._impurity, float(n_rows.mean()))

    def _count_all_rows(self) -> int:
        """Return the weight of all rows in fixed point."""
        if self.fixed_point_weight is None:
            return self.codes.size
        return int(self.fixed_point_weight.sum())

    def _pack_classes(self, largest: int) -> None:
        """Lay out the weight and classes 1, 2, … as fields of words, for nodes with at most this weight."""
        self._bits_per_field = min(SUM_BITS_PER_WORD, largest.bit_length())
        self._fields_per_word = SUM_BITS_PER_WORD // self._bits_per_field
        word_of_class, field_of_class = np.divmod(np.arange(self.c), self._fields_per_word)  # (c,)
        one_in_field = np.int64(1) << self._bits_per_field * field_of_class  # (c,)
        n_words = int(word_of_class[-1]) + 1
        self._words = []
        for word in range(n_words):
            one = np.where(word_of_class == word, one_in_field, 0)  # (c,)
            # Class 0 does not need a field: the field of the weight, to which every class contributes, replaces it.
            one_of_weight = one[0]
            one[0] = 0
            addends = (one + one_of_weight).take(self.codes)  # (n0,)
            if self.fixed_point_weight is not None:
                addends = addends * self.fixed_point_weight
            self._words.append(addends)

    def enter_nodes(self, rows: np.ndarray, node: np.ndarray, n_positions: np.ndarray) -> NodeStats:
        # A class adds the same in every node, so nothing is stored.
        # A single count by class and node gives all class weights of the level.
        m = n_positions.size
        key = self.codes.take(rows) * m + node  # (n,)
        if self.fixed_point_weight is None:
            counts = self._sum_by_class(key, None, m)  # (c, m)
            total = n_positions
            sums = counts[1:]
        else:
            fixed_point_weight = self.fixed_point_weight.take(rows)  # (n,)
            counts = self._sum_by_class(key, fixed_point_weight, m)
            total = counts.sum(axis=0).astype(np.int64)
            later_classes = counts[1:].astype(np.int64)
            sums = np.vstack([total, later_classes])  # (c, m)
        # A tree stores weights in the user's unit: if fixed point scales or rounds them, floats are summed as well.
        if self._has_exact_weights:
            class_weights = counts
            weight = total.astype(np.float64)
        else:
            class_weights = self._sum_by_class(key, self.weight.take(rows), m)
            weight = class_weights.sum(axis=0)
        return NodeStats(
            n_rows=total if self.weights_are_counts else n_positions,
            n_positions=n_positions,
            weight=weight,
            pure=counts.max(axis=0) == total,
            gain_unit=np.ones(m),
            sums=sums.T,
            summary=class_weights.T,
        )

    def _sum_by_class(self, key: np.ndarray, weight: np.ndarray | None, m: int) -> np.ndarray:
        """Return the weight of each class in each node, given the key class * m + node of each row: (c, m)."""
        sums = np.bincount(key, weights=weight, minlength=self.c * m)
        return sums.reshape(self.c, m)

    def describe_nodes(self, stats: NodeStats) -> tuple[np.ndarray, np.ndarray]:
        impurity = IMPURITY[self._impurity](stats.summary)
        # Exactly 0 in a pure node, regardless of rounding.
        impurity[stats.pure] = 0.0
        total = stats.summary.sum(axis=1)[:, None]
        return stats.summary / total, impurity

    def iter_prefix_sums(self, rows: np.ndarray) -> Iterator[np.ndarray]:
        for addends in self._words:
            yield addends.take(rows).cumsum(axis=-1)

    def pack_sums(self, sums: np.ndarray, n_positions: np.ndarray) -> list[np.ndarray]:
        m = n_positions.size
        words = [np.zeros(m, dtype=np.int64) for _ in self._words]
        columns = [n_positions, *sums] if self.fixed_point_weight is None else sums
        for k, column in enumerate(columns):
            word, field = divmod(k, self._fields_per_word)
            shift = self._bits_per_field * field
            words[word] += column << shift
        return words

    def unpack_sums(self, words: list[np.ndarray]) -> list[np.ndarray]:
        first = 1 if self.fixed_point_weight is None else 0
        if self._fields_per_word == 1:
            return words[first:]
        # Shift the field of each class to the right end of its word, and cut off the fields before it.
        mask = (1 << self._bits_per_field) - 1
        sums = []
        for k in range(first, self.c):
            word, field = divmod(k, self._fields_per_word)
            shift = self._bits_per_field * field
            sums.append((words[word] >> shift) & mask)
        return sums

    def sum_by_key(self, rows: np.ndarray, key: np.ndarray, n_keys: int) -> np.ndarray:
        key_and_class = self.codes.take(rows) + key * self.c  # (b, n)
        weights = self.repeat_weights(rows, key.shape[0])
        counts = np.bincount(key_and_class.ravel(), weights=weights, minlength=n_keys * self.c)
        counts = counts.reshape(n_keys, self.c)
        sums = np.empty((self.c, n_keys))
        sums[1:] = counts[:, 1:].T
        # The row of the first class contains the weight, which is the sum over all classes.
        later_classes = sums[1:].sum(axis=0)
        np.add(counts[:, 0], later_classes, out=sums[0])
        return sums

    def mark_same_class(self, order: np.ndarray) -> np.ndarray:
        codes = self._small_codes.take(order)
        return codes[:, 1:] == codes[:, :-1]
