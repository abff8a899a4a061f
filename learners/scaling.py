"""Columns brought to a common centre and size, so that a solver need not care about their units.

With an intercept, the origin is free: centring changes b and nothing else.  The size of a column is free as well: its
weight changes by the inverse, and a penalty on the weight is carried along.  Cost: O(n d).
"""

from __future__ import annotations

import numpy as np

TILE = 1 << 15
"""Cells centred at a time: 256 KiB."""


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


def center(X: np.ndarray, share: np.ndarray, out: np.ndarray) -> np.ndarray:
    """Subtract from each column its weighted mean; a constant column becomes exactly zero.

    Parameters
    ----------
    X : ndarray of shape (n, d)
    share : ndarray of shape (n,)
        Weights that sum to 1.
    out : ndarray of shape (n, d)
        Where the centred columns go.

    Returns
    -------
    ndarray of shape (d,)
        The means.
    """
    mean = share @ X  # (d,)
    squares = np.zeros_like(mean)
    step = max(1, TILE // len(mean))
    for start in range(0, len(X), step):  # so few rows that they are still in the cache when they are squared
        part = out[start : start + step]
        np.subtract(X[start : start + step], mean, out=part)
        squares += np.einsum("ij,ij->j", part, part)
    spread = np.sqrt(squares / len(X))
    for j in np.flatnonzero(spread <= 1e-9 * np.abs(mean)):  # mostly rounding: again, from the first row's value
        offset = X[:, j] - X[0, j]
        shift = share @ offset
        out[:, j], mean[j] = offset - shift, X[0, j] + shift
    return mean


class Standardized:
    """A table whose columns have mean 0 and about unit deviation, and the way back.

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
    table : ndarray of shape (n, D)
        D is d + 1 with an intercept, else d.
    penalty : ndarray of shape (D,)
        λ for the weights of the table's columns; 0 for the intercept.
    """

    def __init__(self, X: np.ndarray, share: np.ndarray, penalty: float, *, fit_intercept: bool) -> None:
        n, d = X.shape
        self.table = np.empty((n, d + fit_intercept))
        self.table[:, d:] = 1.0
        columns = self.table[:, :d]  # a view
        unit = column_units(X)
        X = X if np.all(unit == 1) else X / unit
        if fit_intercept:
            mean = center(X, share, out=columns)
        else:
            columns[...], mean = X, np.zeros(d)
        # A column that varies less than the penalty lets its weight count is sized by the penalty: both stay in reach.
        with np.errstate(over="ignore"):
            firmness = np.minimum(np.sqrt(penalty) / unit, 1e300)  # (d,)
        scale = np.hypot(np.sqrt(np.einsum("ij,ij,i->j", columns, columns, share)), firmness)  # (d,)
        scale[scale == 0] = 1.0  # a constant column, whose weight stays 0
        columns /= scale
        self.penalty = np.zeros(d + fit_intercept)
        self.penalty[:d] = (firmness / scale) ** 2
        self._center, self._unit = mean / scale, unit * scale

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
        return np.column_stack([theta, level]) if self.table.shape[1] > theta.shape[1] else theta
