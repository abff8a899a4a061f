"""Numeric columns of naive Bayes: a Gaussian for each column within each class.

    ln N(x; θ, σ²) = -½ (ln 2πσ² + ((x - θ)/σ)²)

Means and variances are computed in two passes over the rows of a class, relative to its first row.

`bakeoff.learners.definitions.naive_bayes` states the same density, one row and one column at a time.

A table is processed in parts: some of its columns, and tiles of rows that stay in the cache of a core.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Gaussians(NamedTuple):
    """Final: mean (c, q) and variance (c, q) of each column in each class, and the smoothing within the variance."""

    mean: np.ndarray
    var: np.ndarray
    epsilon: float


class Moments(NamedTuple):
    """Final: weighted mean, weighted variance and weight of the present cells of columns: (q,), or (c, q) by class."""

    mean: np.ndarray
    var: np.ndarray
    weight: np.ndarray


def fit_gaussians(
    table: np.ndarray, codes: np.ndarray, weight: np.ndarray, c: int, smoothing: float, ddof: int = 0
) -> Gaussians:
    """Estimate mean and variance of each column within each class.

    For a class without a cell in a column, the estimates of the column over all classes are used. A column that is
    constant, or has no cell, does not influence any prediction.

    Parameters
    ----------
    table : ndarray of shape (n, q)
        NaN where missing.
    codes : ndarray of shape (n,), int
    weight : ndarray of shape (n,)
    c : int
        Number of classes.
    smoothing : float
        This fraction of the largest variance over all classes is added to every variance.
    ddof : {0, 1}
        Squares within a class are divided by its weight less this number, if anything is left; otherwise the variance
        over all classes is used.

    Returns
    -------
    Gaussians
        Without smoothing, a variance can be 0, if a column is constant in one class and not in others.

    Raises
    ------
    ValueError
        A variance too large for a float.
    """
    # Relative weights keep sums of large weights from overflowing; equal weights stay exact.
    share = weight / weight.max()  # (n,)
    with np.errstate(over="ignore", invalid="ignore"):
        within = _compute_class_moments(table, codes, share, c)
        overall_mean, overall_var = _pool_moments(*within)
    if not np.isfinite(overall_var).all():
        raise ValueError("X holds values so large that their variance overflows; divide the column by a constant.")

    epsilon = float(smoothing * overall_var.max(initial=0.0))
    mean = np.where(within.weight > 0, within.mean, overall_mean)  # (c, q)
    mass = within.weight
    var = within.var
    if ddof > 0:
        # The sum of squares is the same, and is divided by less.
        mass = mass * weight.max()
        var = var * _divide_or_zero(mass, mass - ddof)
    var = np.where(mass > ddof, var, overall_var) + epsilon  # (c, q)
    if epsilon == 0:
        # With one mean and one variance in all classes, any positive variance gives a factor that cancels out.
        constant = (overall_var == 0) & (mean == mean[0]).all(axis=0)  # (q,)
        var[:, constant] = 1.0
    return Gaussians(mean, var, epsilon)


def _compute_class_moments(table: np.ndarray, codes: np.ndarray, share: np.ndarray, c: int) -> Moments:
    """Return the moments of each column (n, q) within each of c classes, all of shape (c, q)."""
    mean, var, mass = np.empty((3, c, table.shape[1]))
    for code in range(c):
        rows = np.flatnonzero(codes == code)
        mean[code], var[code], mass[code] = _compute_moments(table.take(rows, axis=0), share[rows])
    return Moments(mean, var, mass)


def add_gaussian_log_likelihood(table: np.ndarray, mean: np.ndarray, var: np.ndarray, joint: np.ndarray) -> None:
    """Add Σ_j ln N(x_j; θ, σ²), over the cells present, to joint of shape (m, c).

    Parameters
    ----------
    table : ndarray of shape (m, q)
    mean, var : ndarray of shape (c, q)
    joint : ndarray of shape (m, c)

    Raises
    ------
    ValueError
        A row is so many standard deviations away that its density underflows.
    """
    log_norm = -0.5 * np.log(2.0 * np.pi * var)  # (c, q)
    scale = np.sqrt(0.5) / np.sqrt(var)  # (c, q)
    level = log_norm.sum(axis=1)  # (c,)
    any_missing = bool(np.isnan(table.min()))  # the minimum of NaN and any number is NaN
    with np.errstate(over="ignore"):
        for rows in cut_tiles(*table.shape):
            tile = transpose_tile(table[rows])  # (q, tile)
            missing = np.isnan(tile) if any_missing else None
            distance = _sum_squared_deviations(tile, mean, scale, log_norm, missing)  # (c, tile)
            if distance.max() == np.inf:
                raise ValueError("X holds a row so far from the training data that its density underflows; scale X.")
            log_likelihood = level[:, np.newaxis] - distance  # (c, tile)
            part = joint[rows]
            part += log_likelihood.T[: part.shape[0]]  # a single row is there twice


def _sum_squared_deviations(
    tile: np.ndarray, mean: np.ndarray, scale: np.ndarray, log_norm: np.ndarray, missing: np.ndarray | None
) -> np.ndarray:
    """Return Σ_j ((x_j - θ)·scale)² for each class and each column of a tile (q, tile): shape (c, tile)."""
    c = mean.shape[0]
    squares = np.empty_like(tile)  # (q, tile)
    distance = np.empty((c, tile.shape[1]))
    for code in range(c):
        np.subtract(tile, mean[code, :, np.newaxis], out=squares)
        squares *= scale[code, :, np.newaxis]
        squares *= squares
        if missing is not None:
            # For a missing cell the normalising term is subtracted again, so it adds nothing.
            np.copyto(squares, log_norm[code, :, np.newaxis], where=missing)
        np.add.reduce(squares, axis=0, out=distance[code])
    return distance


def _compute_moments(rows: np.ndarray, weight: np.ndarray) -> Moments:
    """Return the moments of the present cells of each column of rows (n, q), which are overwritten.

    Cells are measured relative to the first cell of the column, so that the variance of a constant column is exactly
    0.
    """
    missing = np.isnan(rows)
    any_missing = bool(missing.any())
    origin = _find_first_cells(rows, missing) if any_missing else rows[0].copy()  # (q,)
    rows -= origin
    mass = np.full(rows.shape[1], weight.sum())  # (q,)
    if any_missing:
        rows[missing] = 0.0
        mass -= weight @ missing
    shift = _divide_or_zero(weight @ rows, mass)  # (q,)
    rows -= shift
    if any_missing:
        rows[missing] = 0.0
    rows *= rows
    var = _divide_or_zero(weight @ rows, mass)
    return Moments(origin + shift, var, mass)


def _find_first_cells(rows: np.ndarray, missing: np.ndarray) -> np.ndarray:
    """Return the first present cell of each column of rows (n, q), 0 without any: shape (q,)."""
    first = np.argmin(missing, axis=0)
    cells = rows[first, np.arange(rows.shape[1])]
    return np.nan_to_num(cells, nan=0.0)


def _pool_moments(mean: np.ndarray, var: np.ndarray, mass: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and variance over all classes, each of shape (q,), from those within the classes (c, q)."""
    fraction = _divide_or_zero(mass, mass.sum(axis=0))  # (c, q)
    # Relative to the mean of the class with the largest weight, so that equal means in all classes stay exactly equal.
    heaviest = mass.argmax(axis=0)  # (q,)
    origin = mean[heaviest, np.arange(heaviest.size)]  # (q,)
    overall = origin + (fraction * (mean - origin)).sum(axis=0)
    between = (mean - overall) ** 2  # (c, q)
    return overall, (fraction * (var + between)).sum(axis=0)


def _divide_or_zero(numerator: np.ndarray, divisor: np.ndarray) -> np.ndarray:
    """Return the quotient, of the numerator's shape; 0 where the divisor is 0."""
    zeros = np.zeros_like(numerator)
    quotient: np.ndarray = np.divide(numerator, divisor, out=zeros, where=divisor > 0)
    return quotient


CELLS_PER_TILE = 1 << 15
"""Cells of a tile: 256 KiB."""


def cut_tiles(n: int, cells_per_row: int) -> list[slice]:
    """Return the tiles of n rows."""
    step = max(2, CELLS_PER_TILE // cells_per_row)
    return [slice(start, start + step) for start in range(0, n, step)]


def transpose_tile(rows: np.ndarray) -> np.ndarray:
    """Return the rows as columns, for long inner loops.

    A single row is repeated, because NumPy sums a single column in a different order.
    """
    if rows.shape[0] == 1:
        rows = np.repeat(rows, 2, axis=0)
    return np.ascontiguousarray(rows.T)


def select_columns(X: np.ndarray, columns: list[int] | np.ndarray) -> np.ndarray:
    """Return some columns of X, in ascending order; if all are selected, without a copy."""
    if len(columns) == X.shape[1]:
        return X
    return X[:, columns]
