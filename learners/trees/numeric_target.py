"""Numeric targets: the distance of each target from the smallest of its node, in fixed point, is summed along rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from bakeoff.learners.trees.target import NodeStats, Target

MAX_ABS_TARGET = 1e152
"""The square of a target up to this is within the range of floats."""

BITS_OF_SUM = 52
"""The bits of a sum of targets: it is exact as a float."""

BITS_OF_FLOAT = 53
"""The bits of a floating-point number: steps finer than the last bit of the largest target say nothing."""

MAX_WHOLE_TOTAL = 1 << 20
"""Whole weights multiply targets in fixed point up to this total, and leave 32 bits for a target; larger weights are
applied before targets are rounded."""

STEPS_OF_ERROR = 2.0
"""The rounding of targets to steps, and of the targets given, moves the mean of a branch by at most this many steps."""


class NodeWeights(NamedTuple):
    """Weights of n rows and of their m nodes.

    Attributes
    ----------
    of_row : ndarray of shape (n,), or 1.0
    of_node : ndarray of shape (m,)
    total : ndarray of shape (m,), int
        Of nodes in fixed point.
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
        The weight of a tree's rows, if not all of them.

    Raises
    ------
    ValueError
        A target whose square is out of range, or weights that are all too small.
    """

    def __init__(self, y: np.ndarray, weight: np.ndarray, tree_weight: float | None = None) -> None:
        largest = float(np.abs(y).max())
        if largest > MAX_ABS_TARGET:
            raise ValueError(
                f"y holds {largest:.3g}, whose square is beyond floating point; "
                f"divide y so that it stays within {MAX_ABS_TARGET:.0e}."
            )
        self.y = y
        self._set_weights(weight, tree_weight)
        self._has_exact_weights = self._is_fixed_point_exact() and weight.sum() <= MAX_WHOLE_TOTAL
        self._addend_unit = 1.0  # the weight of one step of a row's target
        self.mean_error = STEPS_OF_ERROR
        if not self._has_exact_weights:
            self._addend_unit = self.fixed_point_scale * self.max_weight
            self.mean_error = STEPS_OF_ERROR / (self.fixed_point_scale * float(weight.mean()))
        self._addend = np.zeros(y.size, dtype=np.int64)  # (n0,), relative to the node where a row now is

    def compute_stats(
        self,
        rows: np.ndarray,
        node: np.ndarray,
        n_positions: np.ndarray,
    ) -> tuple[NodeStats, np.ndarray]:
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

        # Relative to the spread as well, targets are within [0, 1], and their squares within the range of floats.
        # The next power of two in place of the spread keeps whole targets, and their ties, exact.
        _, exponent = np.frexp(spread)  # (m,)
        unit = np.ldexp(1.0, exponent)  # (m,), at most twice the spread
        y /= unit.take(node)
        mean_square = np.add.reduceat(weights.of_row * (y * y), start) / weights.of_node

        # Fixed point: an integer of steps for each row, whose sums are exact.
        counted = weights.total if self._has_exact_weights else n_positions
        largest = np.maximum(np.abs(smallest), np.abs(smallest + spread))
        steps = self._choose_steps(counted, exponent, largest)
        y *= steps.take(node)
        addends = self._round_addends(y, rows)
        sums = self._sum_addends(addends, start, weights)

        # Squares of targets near the limit, or far below 1, leave the range of floats: the result is inf or 0.
        with np.errstate(over="ignore", under="ignore"):
            gain_unit = np.square(unit * self._addend_unit / steps)
            variance = _compute_variance(mean_square, mean, unit)
        stats = NodeStats(
            n_rows=weights.total if self.weights_are_counts else n_positions,
            n_positions=n_positions,
            weight=weights.of_node,
            pure=pure,
            gain_unit=gain_unit,
            sums=sums,
            summary=np.array([smallest + mean, variance]).T,
        )
        return stats, addends

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
        """Return the number of fixed-point steps of the unit of y in nodes with this number of rows: both (m,).

        The unit is 2^``exponent`` (m,). Steps are as fine as exact sums allow, but no finer than the last bit of the
        largest target (m,) by magnitude.
        """
        bits_for_sum = BITS_OF_SUM - np.ceil(np.log2(counted))
        _, exponent_of_largest = np.frexp(largest)
        bits_given = BITS_OF_FLOAT + exponent - exponent_of_largest
        steps: np.ndarray = np.exp2(np.minimum(bits_for_sum, bits_given))
        return steps

    def _round_addends(self, y: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Return weighted targets in steps as integers (n,); y is overwritten."""
        # Exact weights multiply integers; other weights are applied before rounding.
        if not self._has_exact_weights:
            y *= self.weight.take(rows) / self.max_weight
        addends = np.rint(y, out=y).astype(np.int64)
        if self.fixed_point_weight is not None and self._has_exact_weights:
            addends *= self.fixed_point_weight.take(rows)
        return addends

    def _sum_addends(self, addends: np.ndarray, start: np.ndarray, weights: NodeWeights) -> np.ndarray:
        """Return the fixed-point sums of nodes, with their weight first unless every weight is 1: (m, p)."""
        sums = np.add.reduceat(addends, start)[:, None]  # (m, 1)
        if self.fixed_point_weight is not None:
            sums = np.column_stack([weights.total, sums])  # (m, 2)
        return sums

    def store_addends(self, rows: np.ndarray, addends: np.ndarray | None) -> None:
        assert addends is not None
        self._addend[rows] = addends

    def describe_nodes(self, stats: NodeStats) -> tuple[np.ndarray, np.ndarray]:
        mean, variance = stats.summary.T
        impurity = np.where(stats.pure, 0.0, variance)
        return mean[:, None].copy(), impurity

    def iter_prefix_sums(self, rows: np.ndarray) -> Iterator[np.ndarray]:
        if self.fixed_point_weight is not None:
            yield self.fixed_point_weight.take(rows).cumsum(axis=-1)
        yield self._addend.take(rows).cumsum(axis=-1)

    def unpack_sums(self, words: list[np.ndarray]) -> list[np.ndarray]:
        return words

    def sum_by_key(self, rows: np.ndarray, key: np.ndarray, n_keys: int) -> np.ndarray:
        b = key.shape[0]
        keys = key.ravel()
        weights = self._repeat_weights(rows, b)
        addends = np.tile(self._addend.take(rows).astype(np.float64), b)
        weight_sums = np.bincount(keys, weights=weights, minlength=n_keys)
        addend_sums = np.bincount(keys, weights=addends, minlength=n_keys)
        return np.array([weight_sums, addend_sums])

    def mark_same_class(self, order: np.ndarray) -> None:
        return None


def _compute_variance(mean_square: np.ndarray, mean: np.ndarray, unit: np.ndarray) -> np.ndarray:
    """Return the variance of nodes, given the mean square of targets divided by the unit, and their mean: (m,)."""
    scaled_variance = mean_square - np.square(mean / unit)
    # Rounding may leave a variance of 0 slightly negative.
    scaled_variance = np.maximum(scaled_variance, 0.0)
    return np.asarray(scaled_variance * unit * unit)
