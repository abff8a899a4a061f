"""Real numbers as a target: deviations from the mean of the node, as whole numbers, are summed along sorted rows."""

from __future__ import annotations

import numpy as np

from learners.decision_tree.targets import Content, Target

LARGEST = 1e152


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

    def runs(self, order: np.ndarray) -> list[np.ndarray]:
        columns = [self.whole_deviation] if self.whole is None else [self.whole, self.whole_deviation]
        return [column.take(order).cumsum(axis=-1) for column in columns]

    def unpacked(self, runs: list[np.ndarray]) -> list[np.ndarray]:
        return runs

    def sums_of(self, rows: np.ndarray, key: np.ndarray, size: int) -> np.ndarray:
        b, keys = key.shape[0], key.ravel()
        weight = None if self.whole is None else np.tile(self.whole.take(rows).astype(np.float64), b)
        deviation = np.tile(self.whole_deviation.take(rows).astype(np.float64), b)
        weights = np.bincount(keys, weights=weight, minlength=size)
        return np.array([weights, np.bincount(keys, weights=deviation, minlength=size)])

    def alike(self, order: np.ndarray) -> None:
        return None
