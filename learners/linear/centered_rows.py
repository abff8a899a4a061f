"""Centred rows for least squares: the part of a fit that does not depend on the penalty.

Least squares with an intercept is equivalent to least squares without one on centred rows. The normal equations need
only the d² products XᵀX and the d products Xᵀy, so a few rows at a time are centred, weighted and multiplied while they
are in the cache, and no second table is kept.

Cost: O(n d²) time, O(d²) memory in addition to the table.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from bakeoff.learners.base.scaling import column_units, find_steady_columns
from bakeoff.learners.linear.least_squares import solve_by_normal_equations, solve_collinear, solve_least_squares

TILE_CELLS = 1 << 16
"""Cells that are centred together: 512 KiB."""

MIN_TILE_ROWS = 64


class CenteredRows:
    """Final: validated rows, scaled and centred: the part of a fit that does not depend on the penalty.

    Parameters
    ----------
    X : ndarray of shape (n, d)
    y, weight : ndarray of shape (n,)
    fit_intercept : bool
        Whether to centre.

    Attributes
    ----------
    y : ndarray of shape (n,)
        Multiplied by the square root of the row's weight relative to the largest weight.
    unit, mean : ndarray of shape (d,)
        The means are in units.
    target_unit, target_mean, max_weight : float
    """

    def __init__(self, X: np.ndarray, y: np.ndarray, weight: np.ndarray, fit_intercept: bool) -> None:
        self.unit = column_units(X)
        self.target_unit = column_units(y[:, None])[0]
        self._table = X if np.all(self.unit == 1) else X / self.unit  # (n, d)
        self.y = y / self.target_unit
        self.max_weight = weight.max()
        weight = weight / self.max_weight
        self._root_weight = None if np.all(weight == 1) else np.sqrt(weight)  # (n,)
        share = weight / weight.sum()  # (n,)
        self._center(share, fit_intercept)
        if self._root_weight is not None:
            self.y *= self._root_weight
        self._total_weight = weight.sum()
        squares = self._compute_products()  # (d,)
        is_steady = find_steady_columns(self.mean, squares / self._total_weight)
        if is_steady.any():
            squares = self._move_origin(is_steady, share)
        self._size = np.sqrt(squares + self._total_weight * self.mean**2)  # (d,), the lengths before centring

    def _center(self, share: np.ndarray, fit_intercept: bool) -> None:
        self.mean = np.zeros(self._table.shape[1])
        self.target_mean = 0.0
        self._is_centered = fit_intercept
        if fit_intercept:
            self.mean = share @ self._table
            self.target_mean = share @ self.y
            self.y -= self.target_mean
        self._shift = self.mean

    def _move_origin(self, is_steady: np.ndarray, share: np.ndarray) -> np.ndarray:
        """Centre nearly constant columns again, by their first row, so that no rounding error of the mean remains."""
        origin = np.where(is_steady, self._table[0], 0.0)  # (d,)
        self._table = self._table - origin
        self._shift = share @ self._table
        self.mean = origin + self._shift
        return self._compute_products()

    def solve(self, penalty: np.ndarray) -> np.ndarray:
        """Return w (d,) that minimises ‖y - Xw‖² + ‖penalty * w‖², with a penalty of shape (d,)."""
        n, d = self._table.shape
        if d > n:
            return solve_least_squares(self._center_again(), self.y, penalty, self._size, self.unit)
        w = solve_by_normal_equations(self._gram, self._moment, penalty, self._size, self._multiply_residual)
        if w is None:
            return solve_collinear(self._center_again(), self.y, penalty, self._size, self.unit)
        return w

    def _compute_products(self) -> np.ndarray:
        """Compute XᵀX (d, d) and Xᵀy (d,) if d ≤ n; return the sum of squares of each column, (d,)."""
        n, d = self._table.shape
        if d > n:
            return np.square(self._make_table()).sum(axis=0)
        self._gram = np.zeros((d, d))
        self._moment = np.zeros(d)
        for rows, tile in self._tiles():
            self._gram += tile.T @ tile
            self._moment += self.y[rows] @ tile
        return self._gram.diagonal()

    def _multiply_residual(self, w: np.ndarray) -> np.ndarray:
        """Return Xᵀ(y - Xw), of shape (d,)."""
        product = np.zeros_like(w)
        for rows, tile in self._tiles():
            product += (self.y[rows] - tile @ w) @ tile
        return product

    def _center_again(self) -> np.ndarray:
        """Return all rows, of shape (n, d), less what the rounding of the means has left of them."""
        table = self._make_table()
        if not self._is_centered:
            return table
        root_weight = np.ones(len(table)) if self._root_weight is None else self._root_weight  # (n,)
        rest = root_weight @ table / self._total_weight  # (d,)
        table -= root_weight[:, None] * rest
        return table

    def _make_table(self) -> np.ndarray:
        """Return all rows, centred and weighted, of shape (n, d)."""
        return np.concatenate([tile.copy() for _, tile in self._tiles()])

    def _tiles(self) -> Iterator[tuple[slice, np.ndarray]]:
        """Yield some rows, centred and weighted, with their positions; the array is reused for the next tile."""
        n, d = self._table.shape
        step = min(n, max(MIN_TILE_ROWS, TILE_CELLS // d))
        buffer = np.empty((step, d))
        for start in range(0, n, step):
            rows = slice(start, start + step)
            tile = self._table[rows]
            tile = np.subtract(tile, self._shift, out=buffer[: len(tile)])
            if self._root_weight is not None:
                tile *= self._root_weight[rows, None]
            yield rows, tile
