"""Numeric targets: the distance of each target from the smallest of its node, in fixed point, is summed along rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from bakeoff.learners.trees.rows.target import NodeStats, Target

MAX_ABS_TARGET = 1e152
"""The square of a target up to this is within the range of floats."""

BITS_OF_SUM = 52
"""The bits of weight times sum in all but the largest nodes: such products are exact as floats."""

MIN_BITS_OF_TARGET = 32
"""The bits of a target in the largest nodes."""


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
        self._has_exact_weights = self._is_fixed_point_exact()
        self._addend_unit = 1.0  # the weight of one step of a row's target
        if not self._has_exact_weights:
            self._addend_unit = self.fixed_point_scale * self.max_weight
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
        y /= spread.take(node)
        mean_square = np.add.reduceat(weights.of_row * (y * y), start) / weights.of_node

        # Fixed point: an integer of steps for each row, whose sums are exact.
        steps = self._choose_steps(weights.total if self._has_exact_weights else n_positions)
        y *= steps.take(node)
        addends = self._round_addends(y, rows)
        sums = self._sum_addends(addends, start, weights)

        # Squares of targets near the limit, or far below 1, leave the range of floats: the result is inf or 0.
        with np.errstate(over="ignore", under="ignore"):
            gain_unit = np.square(spread * self._addend_unit / steps)
            variance = _compute_variance(mean_square, mean, spread)
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

    def _choose_steps(self, counted: np.ndarray) -> np.ndarray:
        """Return the number of fixed-point steps of the range of y in nodes with this number of rows: both (m,).

        Steps are fine, yet weight times sum stays below 2^53 in all but the largest nodes.
        """
        bits = BITS_OF_SUM - np.ceil(2 * np.log2(counted))
        steps: np.ndarray = np.exp2(np.maximum(bits, MIN_BITS_OF_TARGET))
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


def _compute_variance(mean_square: np.ndarray, mean: np.ndarray, spread: np.ndarray) -> np.ndarray:
    """Return the variance of nodes, given the mean square of targets divided by the spread, and their mean: (m,)."""
    scaled_variance = mean_square - np.square(mean / spread)
    # Rounding may leave a variance of 0 slightly negative.
    scaled_variance = np.maximum(scaled_variance, 0.0)
    return np.asarray(scaled_variance * spread * spread)
