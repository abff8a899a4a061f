"""Rows about their means, for least squares: what a fit needs of them, whatever the penalty.

With an intercept, least squares on the rows is least squares on the rows less their means.  All that the normal
equations need of the n rows are the d² products XᵀX and the d products Xᵀy, so rows are centred and weighted a few at
a time, multiplied while they are in the cache, and forgotten: no second table is kept.

Cost: O(n d²) time, O(d²) memory beside the table.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from bakeoff.learners.base.scaling import column_units, steady
from bakeoff.learners.linear.least_squares import by_normal_equations, by_singular_values, least_squares

TILE = 1 << 16
"""Cells centred at a time: 512 KiB."""


class Centred:
    """Final: checked rows in ordinary units, about their means: all of a fit that the penalty has no part in.

    Parameters
    ----------
    X : ndarray of shape (n, d)
    y, weight : ndarray of shape (n,)
    fit_intercept : bool
        Whether to centre.

    Attributes
    ----------
    y : ndarray of shape (n,)
        Multiplied by the root of the row's weight, the heaviest having 1.
    unit, mean : ndarray of shape (d,)
        The means are in units.
    target_unit, target_mean, heaviest : float
    """

    def __init__(self, X: np.ndarray, y: np.ndarray, weight: np.ndarray, fit_intercept: bool) -> None:
        self.unit, self.target_unit = column_units(X), column_units(y[:, None])[0]
        self._table, self.y = X if np.all(self.unit == 1) else X / self.unit, y / self.target_unit
        self.heaviest = weight.max()
        weight = weight / self.heaviest
        self._root = None if np.all(weight == 1) else np.sqrt(weight)
        share = weight / weight.sum()
        self.mean, self.target_mean = np.zeros(X.shape[1]), 0.0
        if fit_intercept:
            self.mean, self.target_mean = share @ self._table, share @ self.y
            self.y -= self.target_mean
        if self._root is not None:
            self.y *= self._root
        self._shift = self.mean
        variance = self._multiply() / weight.sum()
        still = steady(self.mean, variance)
        if still.any():
            origin = np.where(still, self._table[0], 0.0)
            self._table = self._table - origin
            self._shift = share @ self._table
            self.mean = origin + self._shift
            self._multiply()

    def weights(self, penalty: np.ndarray) -> np.ndarray:
        """Return w (d,) that minimises ‖y - Xw‖² + ‖penalty * w‖², penalty of shape (d,); see `least_squares`."""
        if self._table.shape[1] > self._table.shape[0]:
            return least_squares(self._whole(), self.y, penalty)
        w = by_normal_equations(self._gram, self._moment, penalty, self._pull)
        return by_singular_values(self._whole(), self.y, penalty) if w is None else w

    def _multiply(self) -> np.ndarray:
        """Compute XᵀX (d, d) and Xᵀy (d,), where they are of use; return the columns' sums of squares, (d,)."""
        n, d = self._table.shape
        if d > n:
            return np.square(self._whole()).sum(axis=0)
        self._gram, self._moment = np.zeros((d, d)), np.zeros(d)
        for rows, part in self._parts():
            self._gram += part.T @ part
            self._moment += self.y[rows] @ part
        return self._gram.diagonal()

    def _pull(self, w: np.ndarray) -> np.ndarray:
        """Return Xᵀ(y - Xw), of shape (d,)."""
        pull = np.zeros_like(w)
        for rows, part in self._parts():
            pull += (self.y[rows] - part @ w) @ part
        return pull

    def _whole(self) -> np.ndarray:
        return np.concatenate([part.copy() for _, part in self._parts()])

    def _parts(self) -> Iterator[tuple[slice, np.ndarray]]:
        """Yield rows, centred and weighted, and where they are; the array is used again for the next."""
        n, d = self._table.shape
        step = min(n, max(64, TILE // d))
        room = np.empty((step, d))
        for start in range(0, n, step):
            rows = slice(start, start + step)
            part = self._table[rows]
            part = np.subtract(part, self._shift, out=room[: len(part)])
            if self._root is not None:
                part *= self._root[rows, None]
            yield rows, part
