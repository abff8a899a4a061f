"""The target of a growing tree: statistics of nodes, and prefix sums along sorted rows.

Weights, and targets relative to their node, are summed as fixed-point integers. The sums are exact, so gains do not
depend on the order of rows or on neighbouring nodes, not even in the last bit, and equal splits tie exactly.

*Numeric targets*: the distance of each target from the smallest one in its node, in fixed point, is summed along rows.

*Classes*: their weights are summed along rows, with several classes packed into one word. A sum does not need more bits
than the total weight of a tree's rows, so 64 bits can store the prefix sums of several classes: ten classes and a
thousand rows need two words. Differences of such sums are correct even if sums along the whole table overflow.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from copy import copy
from functools import cached_property
from typing import NamedTuple, Self

import numpy as np

from bakeoff.learners.trees.criteria import entropy, gini, misclassification

MIN_LARGEST_WEIGHT = 1e-280
"""If all weights are smaller, their quotients leave the range of floats."""

MAX_TOTAL = 2.0**52
"""The total weight in fixed point: every integer up to it is exact as a float."""


class NodeStats(NamedTuple):
    """Statistics of the m nodes of a level.

    Attributes
    ----------
    n_rows : ndarray of shape (m,), int
        The number of rows, counted with multiplicity.
    n_positions : ndarray of shape (m,), int
        The number of positions of the node in the frontier, which is the number of rows without multiplicity.
    weight : ndarray of shape (m,)
    pure : ndarray of shape (m,), bool
        Whether all rows have the same target.
    gain_unit : ndarray of shape (m,)
        The factor that converts a gain computed from the fixed-point sums to a decrease of impurity.
    sums : ndarray of shape (m, p), int
        Fixed-point sums: first the weight, unless every weight is 1, and then each class but the first, or the target.
    summary : ndarray of shape (m, q)
        The weights of the classes, or mean and variance, from which `Target.describe_nodes` derives the entries of a
        tree.
    """

    n_rows: np.ndarray
    n_positions: np.ndarray
    weight: np.ndarray
    pure: np.ndarray
    gain_unit: np.ndarray
    sums: np.ndarray
    summary: np.ndarray


class Kinds(NamedTuple):
    """The kinds of the n0 training rows: rows of the same kind contribute the same to the sums of any node.

    Attributes
    ----------
    of_row : ndarray of shape (n0,), int
    example : ndarray of shape (number of kinds,), int
        A row of each kind.
    """

    of_row: np.ndarray
    example: np.ndarray


class Target(ABC):
    """Abstract: the targets and weights of the n0 training rows.

    Attributes
    ----------
    weight : ndarray of shape (n0,)
    max_weight : float
    fixed_point_weight : ndarray of shape (n0,), int64, or None
        None if every weight is 1.
    fixed_point_scale : float
        The fixed-point weight of a weight of 1.
    weights_are_counts : bool
        Whether weights are the numbers of times that rows count.
    allows_histogram : bool
        Whether rows may be counted by value without changing even the last bit of a tree.
    mean_error : float
        The round-off of the mean of a branch, in the unit of the sums of rows of weight 1.
    n_sums : int
        The number of sums of a branch, without its weight.
    """

    weight: np.ndarray
    max_weight: float
    fixed_point_weight: np.ndarray | None
    fixed_point_scale: float
    mean_error: float
    n_sums: int = 1
    weights_are_counts: bool = False
    allows_histogram: bool = False

    def _set_weights(self, weight: np.ndarray, tree_weight: float | None) -> None:
        self.weight = weight
        self.max_weight = float(weight.max())
        if self.max_weight < MIN_LARGEST_WEIGHT:
            raise ValueError(
                f"sample_weight is at most {self.max_weight:.3g}, too small to divide by: "
                "multiply all weights by the same number."
            )
        self.fixed_point_weight = None
        self.fixed_point_scale = 1.0
        if not np.all(weight == 1.0):
            self.fixed_point_weight = convert_to_fixed_point(weight, tree_weight)
            self.fixed_point_scale = float(self.fixed_point_weight.sum() / weight.sum())

    @property
    def weights_are_rows(self) -> bool:
        """Whether the weight of a node is its number of rows."""
        return self.fixed_point_weight is None or self.weights_are_counts

    def _is_fixed_point_exact(self) -> bool:
        """Return whether no weight was rounded or scaled in the conversion to fixed point."""
        if self.fixed_point_weight is None:
            return True
        return bool(np.all(self.fixed_point_weight == self.weight))

    @cached_property
    def kinds(self) -> Kinds:
        """The kinds of rows; in general, each row is of its own kind."""
        rows = np.arange(self.weight.size)
        return Kinds(rows, rows)

    def _copy(self) -> Self:
        part = copy(self)
        vars(part).pop("kinds", None)
        return part

    def repeat_weights(self, rows: np.ndarray, b: int) -> np.ndarray | None:
        """Return the fixed-point weights of rows (n,) under each of b features, as floats (b n,); None if all are 1."""
        if self.fixed_point_weight is None:
            return None
        weights = self.fixed_point_weight.take(rows).astype(np.float64)
        return np.tile(weights, b)

    def take_rows(self, rows: np.ndarray) -> Self:
        """Return the target of the given rows, which may repeat; the units of the sums stay the same."""
        part = self._copy()
        for name, column in vars(self).items():
            if isinstance(column, np.ndarray):
                setattr(part, name, column[rows])
        return part

    def with_counts(self, counts: np.ndarray, largest: int) -> Self:
        """Return the target in which rows of weight 1 count several times.

        Parameters
        ----------
        counts : ndarray of shape (n0,), int
            The number of times that each row counts.
        largest : int
            The largest total count of a node.
        """
        part = self._copy()
        part.weight = counts.astype(np.float64)
        part.fixed_point_weight = counts.astype(np.int64)
        part.weights_are_counts = True
        return part

    @abstractmethod
    def enter_nodes(self, rows: np.ndarray, node: np.ndarray, n_positions: np.ndarray) -> NodeStats:
        """Return statistics of the m nodes of a level, and store what each row adds to the sum of its node.

        Parameters
        ----------
        rows : ndarray of shape (n,), int
            The rows, node after node.
        node : ndarray of shape (n,), int
            The node of each row.
        n_positions : ndarray of shape (m,), int
            The number of rows of each node.
        """

    @abstractmethod
    def describe_nodes(self, stats: NodeStats) -> tuple[np.ndarray, np.ndarray]:
        """Return the values of nodes, which are class fractions (m, c) or means (m, 1), and their impurities (m,)."""

    @abstractmethod
    def iter_prefix_sums(self, rows: np.ndarray) -> Iterator[np.ndarray]:
        """Yield prefix sums along the last axis of rows, several sums packed into a word: each of the shape of rows."""

    @abstractmethod
    def sum_by_key(self, rows: np.ndarray, key: np.ndarray, n_keys: int) -> np.ndarray:
        """Return the sums over the rows of each key, with the weight first.

        Parameters
        ----------
        rows : ndarray of shape (n,), int
        key : ndarray of shape (b, n), int
            The key of each row, from 0 to n_keys - 1, under each of b features.
        n_keys : int

        Returns
        -------
        ndarray of shape (p, n_keys)
        """

    def pack_sums(self, sums: np.ndarray, n_positions: np.ndarray) -> list[np.ndarray]:
        """Return sums of nodes (p, m), and their numbers of rows (m,), packed as in `iter_prefix_sums`: each (m,)."""
        return list(sums)

    def unpack_sums(self, words: list[np.ndarray]) -> list[np.ndarray]:
        """Unpack differences of prefix sums, without the weight if every weight is 1: each of the same shape."""
        return words

    def sum_up_to(
        self, rows: np.ndarray, sums: np.ndarray, n_positions: np.ndarray, node: np.ndarray
    ) -> list[np.ndarray]:
        """Return the sums of the node's rows up to and including each position.

        Parameters
        ----------
        rows : ndarray of shape (b, n), int
            The rows of b features, node after node.
        sums : ndarray of shape (p, m)
            The sums of each node.
        n_positions : ndarray of shape (m,), int
            The number of rows of each node.
        node : ndarray of shape (n,), int
            The node of each position.

        Returns
        -------
        list of p ndarray of shape (b, n)
        """
        words = list(self.iter_prefix_sums(rows))
        # Prefix sums continue across nodes, so the sums before the first row of the node are subtracted.
        for word, of_node in zip(words, self.pack_sums(sums, n_positions), strict=True):
            before_node = of_node.cumsum() - of_node  # (m,)
            word -= before_node.take(node)
        return self.unpack_sums(words)

    def mark_same_class(self, order: np.ndarray) -> np.ndarray | None:
        """Return whether neighbours along rows (b, n) are in the same class, shape (b, n - 1); None without classes."""
        return None


def convert_to_fixed_point(weight: np.ndarray, total: float | None = None) -> np.ndarray:
    """Return positive weights (n,) as integers: unchanged if whole, else scaled so that ``total`` is 2^52.

    By default ``total`` is their sum.
    """
    if total is None:
        total = weight.sum()
    is_small = max(total, weight.max()) < MAX_TOTAL
    if is_small and np.all(weight == np.rint(weight)):
        return weight.astype(np.int64)
    scaled = np.rint(weight / total * MAX_TOTAL)
    return np.maximum(scaled, 1.0).astype(np.int64)


MAX_ABS_TARGET = 1e152
"""The square of a target up to this is within the range of floats."""

BITS_OF_SUM = 52
"""The bits of a sum of targets: it is exact as a float."""

BITS_OF_FLOAT = 53
"""The bits of a floating-point number: steps finer than the last bit of the largest target carry no information."""

MAX_WHOLE_TOTAL = 1 << 20
"""Integer weights are multiplied with fixed-point targets up to this total, and leave 32 bits for a target; larger
weights are applied before targets are rounded."""

STEPS_OF_ERROR = 2.0
"""The rounding of targets to steps, and of the targets given, moves the mean of a branch by at most this many steps."""


class NodeWeights(NamedTuple):
    """Weights of n rows and of their m nodes.

    Attributes
    ----------
    of_row : ndarray of shape (n,), or 1.0
    of_node : ndarray of shape (m,)
    total : ndarray of shape (m,), int
        The weights of nodes in fixed point.
    """

    of_row: np.ndarray | float
    of_node: np.ndarray
    total: np.ndarray


class NumericTarget(Target):
    """Real-valued targets y (n0,), in any unit and of any magnitude.

    Parameters
    ----------
    y : ndarray of shape (n0,)
    weight : ndarray of shape (n0,)
    tree_weight : float, optional
        The weight of a tree's rows, if a tree does not contain all rows.

    Raises
    ------
    ValueError
        If the square of a target is out of range, or all weights are too small.
    """

    def __init__(self, y: np.ndarray, weight: np.ndarray, tree_weight: float | None = None) -> None:
        largest = float(np.abs(y).max())
        if largest > MAX_ABS_TARGET:
            raise ValueError(
                f"y contains {largest:.3g}, whose square overflows; divide y so that it stays within "
                f"{MAX_ABS_TARGET:.0e}."
            )
        self.y = y
        self._set_weights(weight, tree_weight)
        self._has_exact_weights = self._is_fixed_point_exact() and weight.sum() <= MAX_WHOLE_TOTAL
        self._addend_unit = 1.0  # the weight of one step of a row's target
        self.mean_error = STEPS_OF_ERROR
        if not self._has_exact_weights:
            self._addend_unit = self.fixed_point_scale * self.max_weight
            self.mean_error = STEPS_OF_ERROR / (self.fixed_point_scale * float(weight.mean()))
        self._addend = np.zeros(y.size, dtype=np.int64)  # (n0,), relative to the current node of the row

    def enter_nodes(self, rows: np.ndarray, node: np.ndarray, n_positions: np.ndarray) -> NodeStats:
        start = n_positions.cumsum() - n_positions  # (m,)
        weights = self._sum_weights(rows, start, n_positions)

        # Relative to the smallest target of the node, an offset common to all targets does not cost precision.
        y = self.y.take(rows)  # (n,)
        smallest = np.minimum.reduceat(y, start)  # (m,)
        y -= smallest.take(node)
        spread = np.maximum.reduceat(y, start)  # (m,)
        pure = spread == 0
        spread[pure] = 1.0
        mean = np.add.reduceat(weights.of_row * y, start) / weights.of_node

        # Divided by the spread as well, targets are within [0, 1], and their squares are within the range of floats.
        # Using the next power of two instead of the spread keeps integer targets, and their ties, exact.
        _, exponent = np.frexp(spread)  # (m,)
        unit = np.ldexp(1.0, exponent)  # (m,), at most twice the spread
        y /= unit.take(node)
        mean_square = np.add.reduceat(weights.of_row * (y * y), start) / weights.of_node

        # In fixed point, each row is an integer number of steps, so sums are exact.
        counted = weights.total if self._has_exact_weights else n_positions
        largest = np.maximum(np.abs(smallest), np.abs(smallest + spread))
        steps = self._choose_steps(counted, exponent, largest)
        y *= steps.take(node)
        addends = self._round_addends(y, rows)
        self._addend[rows] = addends
        sums = self._sum_addends(addends, start, weights)

        # Squares of targets near the limit, or far below 1, leave the range of floats and become inf or 0.
        with np.errstate(over="ignore", under="ignore"):
            gain_unit = np.square(unit * self._addend_unit / steps)
            variance = _compute_variance(mean_square, mean, unit)
        return NodeStats(
            n_rows=weights.total if self.weights_are_counts else n_positions,
            n_positions=n_positions,
            weight=weights.of_node,
            pure=pure,
            gain_unit=gain_unit,
            sums=sums,
            summary=np.array([smallest + mean, variance]).T,
        )

    def _sum_weights(self, rows: np.ndarray, start: np.ndarray, n_positions: np.ndarray) -> NodeWeights:
        """Return the weights of rows (n,), and their sums in nodes that start at these positions (m,)."""
        if self.fixed_point_weight is None:
            return NodeWeights(1.0, n_positions.astype(np.float64), n_positions)
        of_row = self.weight.take(rows)
        total = np.add.reduceat(self.fixed_point_weight.take(rows), start)
        if self._has_exact_weights:
            return NodeWeights(of_row, total.astype(np.float64), total)
        return NodeWeights(of_row, np.add.reduceat(of_row, start), total)

    def _choose_steps(self, counted: np.ndarray, exponent: np.ndarray, largest: np.ndarray) -> np.ndarray:
        """Return the number of fixed-point steps per unit of y in nodes with these numbers of rows: both (m,).

        The unit is 2^``exponent`` (m,). Steps are as fine as exact sums allow, but not finer than the last bit of the
        largest target (m,) in magnitude.
        """
        _, bits_of_count = np.frexp(counted - 1)  # the logarithm of the count, rounded up
        _, exponent_of_largest = np.frexp(largest)
        bits_for_sum = BITS_OF_SUM - bits_of_count
        bits_given = BITS_OF_FLOAT + exponent - exponent_of_largest
        steps: np.ndarray = np.ldexp(1.0, np.minimum(bits_for_sum, bits_given))
        return steps

    def _round_addends(self, y: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Return weighted targets as integer numbers of steps (n,); y is overwritten."""
        # Exact weights are multiplied with integers; other weights are applied before rounding.
        if not self._has_exact_weights:
            y *= self.weight.take(rows) / self.max_weight
        addends = np.rint(y, out=y).astype(np.int64)
        if self.fixed_point_weight is not None and self._has_exact_weights:
            addends *= self.fixed_point_weight.take(rows)
        return addends

    def _sum_addends(self, addends: np.ndarray, start: np.ndarray, weights: NodeWeights) -> np.ndarray:
        """Return the fixed-point sums of nodes, starting with the weight unless every weight is 1: (m, p)."""
        sums = np.add.reduceat(addends, start)[:, None]  # (m, 1)
        if self.fixed_point_weight is not None:
            sums = np.column_stack([weights.total, sums])  # (m, 2)
        return sums

    def describe_nodes(self, stats: NodeStats) -> tuple[np.ndarray, np.ndarray]:
        mean, variance = stats.summary.T
        impurity = np.where(stats.pure, 0.0, variance)
        return mean[:, None].copy(), impurity

    def iter_prefix_sums(self, rows: np.ndarray) -> Iterator[np.ndarray]:
        if self.fixed_point_weight is not None:
            yield self.fixed_point_weight.take(rows).cumsum(axis=-1)
        yield self._addend.take(rows).cumsum(axis=-1)

    def sum_by_key(self, rows: np.ndarray, key: np.ndarray, n_keys: int) -> np.ndarray:
        b = key.shape[0]
        keys = key.ravel()
        weights = self.repeat_weights(rows, b)
        addends = np.tile(self._addend.take(rows).astype(np.float64), b)
        weight_sums = np.bincount(keys, weights=weights, minlength=n_keys)
        addend_sums = np.bincount(keys, weights=addends, minlength=n_keys)
        return np.array([weight_sums, addend_sums])


def _compute_variance(mean_square: np.ndarray, mean: np.ndarray, unit: np.ndarray) -> np.ndarray:
    """Return the variance of nodes, given the mean square of targets divided by the unit, and their mean: (m,)."""
    scaled_variance = mean_square - np.square(mean / unit)
    # Rounding may leave a variance of 0 slightly negative.
    scaled_variance = np.maximum(scaled_variance, 0.0)
    return np.asarray(scaled_variance * unit * unit)


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
        # Codes that are read in random order stay in cache if their dtype is small.
        self.small_codes = codes.astype(np.min_scalar_type(c))
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
        codes = self.small_codes.take(order)
        return codes[:, 1:] == codes[:, :-1]
