"""Centring and scaling of columns, so that the result of a solver does not depend on their units.

With an intercept, centring a column changes only b. Scaling a column by a factor divides its weight by that factor,
and the penalty on the weight is adjusted accordingly. Cost: O(n d).
"""

from __future__ import annotations

import numpy as np

TILE_CELLS = 1 << 15
"""Number of cells squared together; they take 256 KiB and stay in the cache."""

MIN_SAFE_SQUARES = 1e-200
MAX_SAFE_SQUARES = 1e200
"""Sums of squares between these bounds neither underflow nor overflow in later computations."""

RELATIVE_CELL_ROUNDING = 8 * float(np.finfo(np.float64).eps)
"""Relative rounding error of a cell: half an eps, plus the error of the few operations that produced the column.

A column that varies by less is constant; subtracting its mean does not reduce its rounding error.
"""

N_SAMPLED_ROWS = 64
MAX_SHIFT_DEVIATIONS = 1e-3
MAX_PENALTY_ROOT = 1e300


def column_units(X: np.ndarray) -> np.ndarray:
    """Choose a power of two as the unit of each column, of shape (d,), so that squares neither overflow nor underflow.

    The unit is 1 for columns of ordinary size, and dividing by it is exact.
    """
    d = X.shape[1]
    with np.errstate(over="ignore", under="ignore"):
        # The sum over all columns and a few rows of each is usually sufficient, and takes a fifth of the time.
        cells = X.ravel(order="K")
        some_rows = X[:N_SAMPLED_ROWS]
        if cells @ cells < MAX_SAFE_SQUARES:
            sampled_squares = np.einsum("ij,ij->j", some_rows, some_rows)  # (d,)
            if np.all(sampled_squares > MIN_SAFE_SQUARES):
                return np.ones(d)
        squares = np.einsum("ij,ij->j", X, X)  # (d,)
    if np.all((squares > MIN_SAFE_SQUARES) & (squares < MAX_SAFE_SQUARES)):
        return np.ones(d)
    peak = np.abs(X).max(axis=0)  # (d,)
    _, exponent = np.frexp(peak)
    return np.where(peak > 0, np.ldexp(1.0, exponent - 1), 1.0)


def find_steady_columns(mean: np.ndarray, variance: np.ndarray, max_deviation: float = 1e-9) -> np.ndarray:
    """Find the columns (d,) whose deviation is less than ``max_deviation`` times their mean (d,).

    Centring these columns by the mean would leave rounding errors. They are centred by the values of the first row
    instead, so that a constant column becomes exactly zero.
    """
    return np.sqrt(variance) < max_deviation * np.abs(mean)


class Table:
    """Final: a table T of shape (n, D), with the interface of `Standardized`.

    Parameters
    ----------
    table : ndarray of shape (n, D)
    """

    def __init__(self, table: np.ndarray) -> None:
        self.shape = table.shape
        self._table = table

    def __getitem__(self, rows: slice) -> np.ndarray:
        """Return some of the rows, of shape (rows, D)."""
        return self._table[rows]

    def compute_scores(self, theta: np.ndarray, rows: slice) -> np.ndarray:
        """Return θTᵀ, of shape (K, rows), for some of the rows."""
        return theta @ self._table[rows].T

    def multiply_residual(self, residual: np.ndarray, rows: slice) -> np.ndarray:
        """Return rT, of shape (K, D), for some of the rows, where r has shape (K, rows)."""
        return residual @ self._table[rows]


class Standardized:
    """Final: a table with columns of mean 0 and about unit deviation, computed on demand from the original columns.

    Scores and their derivatives are computed from the original columns, with weights that account for the
    standardization. A mean of a thousand standard deviations loses three of sixteen digits, so columns with a larger
    mean are shifted first.

    Parameters
    ----------
    X : ndarray of shape (n, d)
    share : ndarray of shape (n,)
        Row weights that sum to 1.
    penalty : float
        λ in ½λ‖w‖², where w are the weights of the original columns.
    fit_intercept : bool
        Whether the table has a last column of ones; otherwise the columns keep their origin.

    Attributes
    ----------
    shape : tuple of int
        (n, D), where D is d + 1 with an intercept, else d.
    penalty : ndarray of shape (D,)
        λ for the weights of the columns of the table; 0 for the intercept.
    """

    def __init__(self, X: np.ndarray, share: np.ndarray, penalty: float, *, fit_intercept: bool) -> None:
        n, d = X.shape
        self.shape = (n, d + fit_intercept)
        unit = column_units(X)  # (d,)
        self._X = X if np.all(unit == 1) else X / unit
        self._shift = share @ self._X if fit_intercept else np.zeros(d)
        mean = self._shift
        variance = self._compute_variance(share)  # (d,)
        is_steady = find_steady_columns(mean, variance, MAX_SHIFT_DEVIATIONS)
        if is_steady.any():
            origin = np.where(is_steady, self._X[0], 0.0)
            self._X = self._X - origin
            self._shift = share @ self._X
            mean = origin + self._shift
            variance = self._compute_variance(share)
        with np.errstate(over="ignore"):
            penalty_root = np.minimum(np.sqrt(penalty) / unit, MAX_PENALTY_ROOT)  # (d,)
        self._scale = _choose_scales(mean, variance, penalty_root)
        self.penalty = np.zeros(self.shape[1])
        self.penalty[:d] = (penalty_root / self._scale) ** 2
        self._center = mean / self._scale
        self._unit = unit * self._scale

    def __getitem__(self, rows: slice) -> np.ndarray:
        """Return some rows of the table as a new array of shape (rows, D)."""
        X = self._X[rows]
        n_rows, d = X.shape
        table = np.empty((n_rows, self.shape[1]))
        columns = table[:, :d]
        np.subtract(X, self._shift, out=columns)
        columns /= self._scale
        table[:, d:] = 1.0
        return table

    def compute_scores(self, theta: np.ndarray, rows: slice) -> np.ndarray:
        """Return θTᵀ, of shape (K, rows), for some of the rows of the table T."""
        d = len(self._scale)
        coef = theta[:, :d] / self._scale  # (K, d)
        intercept = theta[:, d:].sum(axis=1)  # (K,), zeros if there is no intercept
        offset = intercept - coef @ self._shift
        return coef @ self._X[rows].T + offset[:, None]

    def multiply_residual(self, residual: np.ndarray, rows: slice) -> np.ndarray:
        """Return rT, of shape (K, D), for some of the rows of the table T, where r has shape (K, rows)."""
        d = len(self._scale)
        total = residual.sum(axis=1)[:, None]  # (K, 1)
        product = np.repeat(total, self.shape[1], axis=1)  # (K, D)
        product[:, :d] = (residual @ self._X[rows] - total * self._shift) / self._scale
        return product

    def _compute_variance(self, share: np.ndarray) -> np.ndarray:
        """Return the weighted mean square of each shifted column, of shape (d,)."""
        variance = np.zeros_like(self._shift)
        step = max(1, TILE_CELLS // len(variance))
        for start in range(0, len(share), step):
            rows = slice(start, start + step)
            deviation = self._X[rows] - self._shift  # (step, d)
            variance += share[rows] @ np.square(deviation, out=deviation)
        return variance

    def to_original(self, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return weights (k, d) and intercepts (k,) for the original columns, from θ of shape (k, D)."""
        d = len(self._unit)
        coef = theta[:, :d]
        intercept = theta[:, d:].sum(axis=1)  # zeros if there is no intercept
        with np.errstate(over="ignore", under="ignore"):
            return coef / self._unit, intercept - coef @ self._center

    def to_standardized(self, coef: np.ndarray, intercept: np.ndarray) -> np.ndarray:
        """Return θ, of shape (k, D), from weights (k, d) and intercepts (k,) for the original columns."""
        theta = coef * self._unit
        if self.shape[1] == theta.shape[1]:
            return theta
        return np.column_stack([theta, intercept + theta @ self._center])


def _choose_scales(mean: np.ndarray, variance: np.ndarray, penalty_root: np.ndarray) -> np.ndarray:
    """Return the scale of each column (d,): its deviation, or the root of its penalty (d,) if that is larger.

    If the penalty restricts a weight more than the cells of its column do, the penalty determines the scale, so that
    neither the column nor its penalty becomes negligible.
    """
    deviation = np.sqrt(variance)  # (d,)
    is_constant = deviation <= RELATIVE_CELL_ROUNDING * np.abs(mean)
    # The weight of a constant column remains 0: its cells are 0, or negligible compared with their mean.
    _, exponent = np.frexp(mean)
    size = np.ldexp(np.sign(np.abs(mean)), exponent)  # (d,), a power of two
    scale = np.hypot(np.where(is_constant, size, deviation), penalty_root)
    scale[scale == 0] = 1.0
    return scale
