"""Real numbers as a target: deviations from the mean of the node, as whole numbers, are summed along sorted rows."""

from __future__ import annotations

from collections.abc import Iterator

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
        self._step = 1.0 if self._exact else self.grain * self.heaviest  # the weight of a step
        self.whole_deviation = np.zeros(y.shape[0], dtype=np.int64)  # (n0,), relative to the row's present node

    def content(self, rows: np.ndarray, node: np.ndarray, places: np.ndarray) -> Content:
        start = places.cumsum() - places
        y = self.y.take(rows)
        y -= np.minimum.reduceat(y, start).take(node)  # so that a large offset does not eat the digits
        spread = np.maximum.reduceat(y, start)
        pure = spread == 0
        if pure.any():
            spread[pure] = 1.0
        whole = None if self.whole is None else self.whole.take(rows)
        total = places if whole is None else np.add.reduceat(whole, start)
        steps = self._steps(total if self._exact else places)
        sums = np.add.reduceat(self._write_deviations(y * (steps / spread).take(node), rows, whole), start)
        with np.errstate(over="ignore", under="ignore"):  # squares of targets beyond 1e±154 leave the range of floats
            unit = np.square(spread * self._step / steps)
        if whole is None:
            return Content(places, places, places.astype(np.float64), pure, unit, sums[:, None])
        weight = total.astype(np.float64) if self._exact else np.add.reduceat(self.weight.take(rows), start)
        return Content(total if self.counted else places, places, weight, pure, unit, np.column_stack([total, sums]))

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
        self.whole_deviation[rows] = numbers
        return numbers

    def describe(self, rows: np.ndarray, node: np.ndarray, content: Content) -> tuple[np.ndarray, np.ndarray]:
        start = content.places.cumsum() - content.places
        y, weight = self.y.take(rows), 1.0 if self.whole is None else self.weight.take(rows)
        least = np.minimum.reduceat(y, start)
        y -= least.take(node)
        spread = np.maximum.reduceat(y, start)
        spread[content.pure] = 1.0
        mean = np.add.reduceat(weight * y, start) / content.weight
        y -= mean.take(node)
        y /= spread.take(node)  # within [-1, 1]
        y *= y
        variance = np.add.reduceat(weight * y, start) / content.weight
        with np.errstate(over="ignore", under="ignore"):
            return (least + mean)[:, None], variance * spread * spread

    def runs(self, order: np.ndarray) -> Iterator[np.ndarray]:
        columns = [self.whole_deviation] if self.whole is None else [self.whole, self.whole_deviation]
        return (column.take(order).cumsum(axis=-1) for column in columns)

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
