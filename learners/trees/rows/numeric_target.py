"""Real numbers as a target: what each is above the least of its node, in fixed point, is summed along sorted rows."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from bakeoff.learners.trees.rows.target import NodeStats, Target

MAX_ABS_TARGET = 1e152


class NumericTarget(Target):
    """Real targets, in any unit and of any scale; ``mass`` as for `Labels`."""

    def __init__(self, y: np.ndarray, weight: np.ndarray, mass: float | None = None) -> None:
        largest = float(np.abs(y).max())
        if largest > MAX_ABS_TARGET:
            raise ValueError(
                f"y holds {largest:.3g}, whose square is beyond floating point; "
                f"divide y so that it stays within {MAX_ABS_TARGET:.0e}."
            )
        self.y = y
        self._set_weights(weight, mass)
        self._exact = self.fixed_point_weight is None or bool(np.all(self.fixed_point_weight == self.weight))
        self._step = 1.0 if self._exact else self.fixed_point_scale * self.heaviest  # the weight of a step
        self.fixed_point_deviation = np.zeros(
            y.shape[0], dtype=np.int64
        )  # (n0,), from the least of the row's present node

    def compute_stats(self, rows: np.ndarray, node: np.ndarray, places: np.ndarray) -> NodeStats:
        start = places.cumsum() - places
        y, whole = self.y.take(rows), None if self.fixed_point_weight is None else self.fixed_point_weight.take(rows)
        least = np.minimum.reduceat(y, start)
        y -= least.take(node)  # so that a large offset does not eat the digits
        spread = np.maximum.reduceat(y, start)
        pure = spread == 0
        spread[pure] = 1.0
        total = places if whole is None else np.add.reduceat(whole, start)
        w = 1.0 if whole is None else self.weight.take(rows)
        weight = total.astype(np.float64) if self._exact else np.add.reduceat(w, start)
        mean = np.add.reduceat(w * y, start) / weight
        y /= spread.take(node)  # within [0, 1]
        squares = np.add.reduceat(w * (y * y), start) / weight
        steps = self._steps(total if self._exact else places)
        y *= steps.take(node)
        sums = np.add.reduceat(self._write_deviations(y, rows, whole), start)
        with np.errstate(over="ignore", under="ignore"):  # squares of targets beyond 1e±154 leave the range of floats
            unit = np.square(spread * self._step / steps)
            variance = np.maximum(squares - np.square(mean / spread), 0.0) * spread * spread
        rows_counted = total if self.weights_are_counts else places
        summary = np.array([least + mean, variance]).T
        sums = sums[:, None] if whole is None else np.column_stack([total, sums])
        return NodeStats(rows_counted, places, weight, pure, unit, sums, summary)

    def describe_nodes(self, stats: NodeStats) -> tuple[np.ndarray, np.ndarray]:
        mean, variance = stats.summary.T
        return mean[:, None].copy(), np.where(stats.pure, 0.0, variance)

    def _steps(self, counted: np.ndarray) -> np.ndarray:
        """Return into how many steps the range of y is divided in nodes of so many rows: (m,).

        Steps are fine, yet such that weight times sum stays below 2^53 in all but the largest nodes.
        """
        steps: np.ndarray = np.exp2(np.maximum(52 - np.ceil(2 * np.log2(counted)), 32))
        return steps

    def _write_deviations(self, deviation: np.ndarray, rows: np.ndarray, whole: np.ndarray | None) -> np.ndarray:
        """Store weighted deviations, in steps, as whole numbers; return them: (n,)."""
        if not self._exact:
            deviation *= self.weight.take(rows) / self.heaviest
        numbers = np.rint(deviation, out=deviation).astype(np.int64)
        if whole is not None and self._exact:
            numbers *= whole
        self.fixed_point_deviation[rows] = numbers
        return numbers

    def iter_prefix_sums(self, order: np.ndarray) -> Iterator[np.ndarray]:
        columns = (
            [self.fixed_point_deviation]
            if self.fixed_point_weight is None
            else [self.fixed_point_weight, self.fixed_point_deviation]
        )
        return (column.take(order).cumsum(axis=-1) for column in columns)

    def unpack_sums(self, runs: list[np.ndarray]) -> list[np.ndarray]:
        return runs

    def sum_by_key(self, rows: np.ndarray, key: np.ndarray, size: int) -> np.ndarray:
        b, keys = key.shape[0], key.ravel()
        weight = (
            None
            if self.fixed_point_weight is None
            else np.tile(self.fixed_point_weight.take(rows).astype(np.float64), b)
        )
        deviation = np.tile(self.fixed_point_deviation.take(rows).astype(np.float64), b)
        weights = np.bincount(keys, weights=weight, minlength=size)
        return np.array([weights, np.bincount(keys, weights=deviation, minlength=size)])

    def mark_same_class(self, order: np.ndarray) -> None:
        return None
