"""Numeric targets: the distance of each target from the smallest of its node, in fixed point, is summed along rows."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from bakeoff.learners.trees.rows.target import NodeStats, Target

MAX_ABS_TARGET = 1e152
"""The square of a target up to this is within the range of floats."""

DIGITS_OF_SUM = 52
"""Bits of weight times sum in all but the largest nodes: products are then exact as floats."""

MIN_DIGITS_OF_TARGET = 32


class NumericTarget(Target):
    """Real targets y (n0,), in any unit and of any magnitude.

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
        self._has_exact_weights = self.fixed_point_weight is None or bool(
            np.all(self.fixed_point_weight == self.weight)
        )
        self._addend_unit = 1.0  # the weight of one step of a row's target
        if not self._has_exact_weights:
            self._addend_unit = self.fixed_point_scale * self.max_weight
        self._addend = np.zeros(y.shape[0], dtype=np.int64)  # (n0,), relative to the node where a row now is

    def compute_stats(
        self, rows: np.ndarray, node: np.ndarray, n_positions: np.ndarray
    ) -> tuple[NodeStats, np.ndarray | None]:
        start = n_positions.cumsum() - n_positions  # (m,)
        fixed_point_weight = None  # (n,)
        if self.fixed_point_weight is not None:
            fixed_point_weight = self.fixed_point_weight.take(rows)
        total, weight, w = self._sum_weights(rows, start, n_positions, fixed_point_weight)

        # Relative to the smallest target of the node, an offset that all targets share takes no digits.
        y = self.y.take(rows)  # (n,)
        smallest = np.minimum.reduceat(y, start)  # (m,)
        y -= smallest.take(node)
        spread = np.maximum.reduceat(y, start)  # (m,)
        pure = spread == 0
        spread[pure] = 1.0
        mean = np.add.reduceat(w * y, start) / weight

        # Relative to the spread as well, targets are within [0, 1], and their squares within the range of floats.
        y /= spread.take(node)
        mean_square = np.add.reduceat(w * (y * y), start) / weight
        steps = self._choose_steps(total if self._has_exact_weights else n_positions)
        y *= steps.take(node)
        addends = self._round_addends(y, rows, fixed_point_weight)
        sums = np.add.reduceat(addends, start)[:, None]  # (m, 1)
        if fixed_point_weight is not None:
            sums = np.column_stack([total, sums])  # (m, 2)

        # Squares of targets near the limit, or far below 1, leave the range of floats: the result is inf or 0.
        with np.errstate(over="ignore", under="ignore"):
            gain_unit = np.square(spread * self._addend_unit / steps)
            variance = np.maximum(mean_square - np.square(mean / spread), 0.0) * spread * spread
        n_rows = total if self.weights_are_counts else n_positions
        summary = np.array([smallest + mean, variance]).T  # (m, 2)
        return NodeStats(n_rows, n_positions, weight, pure, gain_unit, sums, summary), addends

    def _sum_weights(
        self, rows: np.ndarray, start: np.ndarray, n_positions: np.ndarray, fixed_point_weight: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray | float]:
        """Return the weights of nodes in fixed point and as floats, both (m,), and those of rows (n,) or 1."""
        if fixed_point_weight is None:
            return n_positions, n_positions.astype(np.float64), 1.0
        total = np.add.reduceat(fixed_point_weight, start)
        w = self.weight.take(rows)
        weight = total.astype(np.float64) if self._has_exact_weights else np.add.reduceat(w, start)
        return total, weight, w

    def store_addends(self, rows: np.ndarray, addends: np.ndarray | None) -> None:
        assert addends is not None
        self._addend[rows] = addends

    def describe_nodes(self, stats: NodeStats) -> tuple[np.ndarray, np.ndarray]:
        mean, variance = stats.summary.T
        return mean[:, None].copy(), np.where(stats.pure, 0.0, variance)

    def _choose_steps(self, counted: np.ndarray) -> np.ndarray:
        """Return the number of fixed-point steps of the range of y in nodes with this number of rows: both (m,).

        Steps are fine, yet weight times sum stays below 2^53 in all but the largest nodes.
        """
        digits = DIGITS_OF_SUM - np.ceil(2 * np.log2(counted))
        steps: np.ndarray = np.exp2(np.maximum(digits, MIN_DIGITS_OF_TARGET))
        return steps

    def _round_addends(self, y: np.ndarray, rows: np.ndarray, fixed_point_weight: np.ndarray | None) -> np.ndarray:
        """Return weighted targets in steps as whole numbers (n,); y is overwritten."""
        if not self._has_exact_weights:
            y *= self.weight.take(rows) / self.max_weight
        addends = np.rint(y, out=y).astype(np.int64)
        if fixed_point_weight is not None and self._has_exact_weights:
            addends *= fixed_point_weight
        return addends

    def iter_prefix_sums(self, rows: np.ndarray) -> Iterator[np.ndarray]:
        columns = [self._addend]
        if self.fixed_point_weight is not None:
            columns.insert(0, self.fixed_point_weight)
        for column in columns:
            yield column.take(rows).cumsum(axis=-1)

    def unpack_sums(self, words: list[np.ndarray]) -> list[np.ndarray]:
        return words

    def sum_by_key(self, rows: np.ndarray, key: np.ndarray, n_keys: int) -> np.ndarray:
        b = key.shape[0]
        keys = key.ravel()
        weights = None
        if self.fixed_point_weight is not None:
            weights = np.tile(self.fixed_point_weight.take(rows).astype(np.float64), b)
        addends = np.tile(self._addend.take(rows).astype(np.float64), b)
        weight_sums = np.bincount(keys, weights=weights, minlength=n_keys)
        addend_sums = np.bincount(keys, weights=addends, minlength=n_keys)
        return np.array([weight_sums, addend_sums])

    def mark_same_class(self, order: np.ndarray) -> None:
        return None
