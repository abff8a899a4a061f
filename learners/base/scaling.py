"""Columns brought to a common centre and size, so that a solver need not care about their units.

With an intercept, the origin is free: centring changes b and nothing else.  The size of a column is free as well: its
weight changes by the inverse, and a penalty on the weight is carried along.  Cost: O(n d).
"""

from __future__ import annotations

import numpy as np

TILE = 1 << 15
"""Cells squared at a time: 256 KiB."""


def column_units(X: np.ndarray) -> np.ndarray:
    """Return a power of two for each column, of shape (d,), in which its squares neither overflow nor vanish.

    It is 1 for columns of ordinary size, and dividing by it is exact.
    """
    with np.errstate(over="ignore", under="ignore"):
        cells, some = X.ravel(order="K"), X[:64]
        # Mostly the sum over all columns and a few rows of each tell as much, in a fifth of the time.
        if cells @ cells < 1e200 and np.all(np.einsum("ij,ij->j", some, some) > 1e-200):
            return np.ones(X.shape[1])
        squares = np.einsum("ij,ij->j", X, X)
    if np.all((squares > 1e-200) & (squares < 1e200)):
        return np.ones(X.shape[1])
    peak = np.abs(X).max(axis=0)
    return np.where(peak > 0, np.ldexp(1.0, np.frexp(peak)[1] - 1), 1.0)


def steady(mean: np.ndarray, variance: np.ndarray, part: float = 1e-9) -> np.ndarray:
    """Return which columns, (d,), deviate by less than this part of their mean (d,): less that, they are rounding.

    They are to be centred anew from the first row's values, whereby a constant column becomes exactly zero.
    """
    return np.sqrt(variance) < part * np.abs(mean)


class Table:
    """A table T of shape (n, D) as it is.

    Parameters
    ----------
    table : ndarray of shape (n, D)
    """

    def __init__(self, table: np.ndarray) -> None:
        self.shape, self._table = table.shape, table

    def __getitem__(self, rows: slice) -> np.ndarray:
        """Return some of the rows, of shape (rows, D)."""
        return self._table[rows]

    def scores(self, theta: np.ndarray, rows: slice) -> np.ndarray:
        """Return θTᵀ, of shape (K, rows), for some of the rows."""
        return theta @ self._table[rows].T

    def pull(self, residual: np.ndarray, rows: slice) -> np.ndarray:
        """Return rT, of shape (K, D), for some of the rows, r being of shape (K, rows)."""
        return residual @ self._table[rows]


class Standardized:
    """A table whose columns have mean 0 and about unit deviation, which is never made as a whole, and the way back.

    Scores and their derivatives come from the columns as given, and weights that make up for it: a shift of a thousand
    deviations costs three digits of sixteen, and before a greater one the columns are moved.

    Parameters
    ----------
    X : ndarray of shape (n, d)
    share : ndarray of shape (n,)
        Row weights that sum to 1.
    penalty : float
        λ in ½λ‖w‖², w being weights of the columns as given.
    fit_intercept : bool
        Whether the table gets a last column of ones; otherwise the columns keep their origin.

    Attributes
    ----------
    shape : tuple of int
        (n, D): D is d + 1 with an intercept, else d.
    penalty : ndarray of shape (D,)
        λ for the weights of the table's columns; 0 for the intercept.
    """

    def __init__(self, X: np.ndarray, share: np.ndarray, penalty: float, *, fit_intercept: bool) -> None:
        n, d = X.shape
        self.shape = n, d + fit_intercept
        unit = column_units(X)
        self._X = X if np.all(unit == 1) else X / unit
        self._shift = share @ self._X if fit_intercept else np.zeros(d)
        mean, variance = self._shift, self._variance(share)
        still = steady(mean, variance, 1e-3)
        if still.any():
            origin = np.where(still, self._X[0], 0.0)
            self._X = self._X - origin
            self._shift = share @ self._X
            mean, variance = origin + self._shift, self._variance(share)
        # A column that varies less than the penalty lets its weight count is sized by the penalty: both stay in reach.
        with np.errstate(over="ignore"):
            firmness = np.minimum(np.sqrt(penalty) / unit, 1e300)  # (d,)
        scale = np.hypot(np.sqrt(variance), firmness)  # (d,)
        scale[scale == 0] = 1.0  # a constant column, whose weight stays 0
        self._scale = scale
        self.penalty = np.zeros(self.shape[1])
        self.penalty[:d] = (firmness / scale) ** 2
        self._center, self._unit = mean / scale, unit * scale

    def __getitem__(self, rows: slice) -> np.ndarray:
        """Return some rows of the table, a new array of shape (rows, D)."""
        X = self._X[rows]
        table = np.empty((len(X), self.shape[1]))
        columns = table[:, : X.shape[1]]
        np.subtract(X, self._shift, out=columns)
        columns /= self._scale
        table[:, X.shape[1] :] = 1.0
        return table

    def scores(self, theta: np.ndarray, rows: slice) -> np.ndarray:
        """Return θTᵀ, of shape (K, rows), for some of the rows of the table T."""
        d = len(self._scale)
        coef = theta[:, :d] / self._scale
        level = theta[:, d:].sum(axis=1) - coef @ self._shift  # without an intercept an empty sum
        return coef @ self._X[rows].T + level[:, None]

    def pull(self, residual: np.ndarray, rows: slice) -> np.ndarray:
        """Return rT, of shape (K, D), for some of the rows of the table T, r being of shape (K, rows)."""
        total, d = residual.sum(axis=1)[:, None], len(self._scale)
        pull = np.repeat(total, self.shape[1], axis=1)
        pull[:, :d] = (residual @ self._X[rows] - total * self._shift) / self._scale
        return pull

    def _variance(self, share: np.ndarray) -> np.ndarray:
        """Return the weighted mean square of each column less its shift, of shape (d,)."""
        variance = np.zeros_like(self._shift)
        step = max(1, TILE // len(variance))
        for start in range(0, len(share), step):  # so few rows that they are still in the cache when they are squared
            rows = slice(start, start + step)
            gap = self._X[rows] - self._shift
            variance += share[rows] @ np.square(gap, out=gap)
        return variance

    def original(self, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return weights (k, d) and intercepts (k,) for the columns as given, from θ of shape (k, D)."""
        d = len(self._unit)
        coef, intercept = theta[:, :d], theta[:, d:].sum(axis=1)  # without an intercept an empty sum
        with np.errstate(over="ignore", under="ignore"):
            return coef / self._unit, intercept - coef @ self._center

    def standardized(self, coef: np.ndarray, intercept: np.ndarray) -> np.ndarray:
        """Return θ, of shape (k, D), from weights (k, d) and intercepts (k,) for the columns as given."""
        theta = coef * self._unit
        level = intercept + theta @ self._center
        return np.column_stack([theta, level]) if self.shape[1] > theta.shape[1] else theta
