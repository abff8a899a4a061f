"""Numeric columns of naive Bayes: a Gaussian for each column within each class.

    ln N(x; θ, σ²) = -½ (ln 2πσ² + ((x - θ)/σ)²)

Means and variances are measured in two passes over the rows of a class, relative to its first row.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bakeoff.learners.naive_bayes.row_tiles import columns_first, tiles


class Gaussians(NamedTuple):
    """Final: mean (c, q) and variance (c, q) of each column in each class, and the smoothing within the variance."""

    mean: np.ndarray
    var: np.ndarray
    epsilon: float


def fit_gaussians(table: np.ndarray, codes: np.ndarray, weight: np.ndarray, c: int, smoothing: float) -> Gaussians:
    """Measure each column within each class.

    A class without a cell in a column takes the column's figures over all classes; a column that is constant, or has
    no cell, decides nothing.

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

    Returns
    -------
    Gaussians
        A variance may still be 0: without smoothing, where a class is constant in a column and others are not.

    Raises
    ------
    ValueError
        A variance too large for a float.
    """
    share = weight / weight.max()  # no weight, however large, makes a sum overflow; equal weights stay exact
    mean, var, mass = np.empty((3, c, table.shape[1]))
    with np.errstate(over="ignore", invalid="ignore"):
        for code in range(c):
            rows = np.flatnonzero(codes == code)
            mean[code], var[code], mass[code] = _moments(table.take(rows, axis=0), share[rows])
        overall_mean, overall_var = _pool(mean, var, mass)
    if not np.isfinite(overall_var).all():
        raise ValueError("X holds values so large that their variance overflows; divide the column by a constant.")
    epsilon = float(smoothing * overall_var.max(initial=0.0))
    mean = np.where(mass > 0, mean, overall_mean)  # (c, q)
    var = np.where(mass > 0, var, overall_var) + epsilon  # (c, q)
    if epsilon == 0:
        var[:, (overall_var == 0) & (mean == mean[0]).all(axis=0)] = 1.0  # a factor that all classes share
    return Gaussians(mean, var, epsilon)


def add_gaussian_evidence(table: np.ndarray, mean: np.ndarray, var: np.ndarray, joint: np.ndarray) -> None:
    """Add Σ_j ln N(x_j; θ, σ²), over the cells present, to joint of shape (m, c).

    Parameters
    ----------
    table : ndarray of shape (m, q)
    mean, var : ndarray of shape (c, q)
    joint : ndarray of shape (m, c)

    Raises
    ------
    ValueError
        A row so many standard deviations away that its density is no float.
    """
    log_norm = -0.5 * np.log(2.0 * np.pi * var)  # (c, q)
    scale = np.sqrt(0.5) / np.sqrt(var)  # (c, q)
    level = log_norm.sum(axis=1)  # (c,)
    holes = bool(np.isnan(table.min()))  # the smallest of anything and NaN is NaN
    with np.errstate(over="ignore"):
        for rows in tiles(*table.shape):
            tile = columns_first(table[rows])  # (q, tile)
            missing = np.isnan(tile) if holes else None
            z, distance = np.empty_like(tile), np.empty((level.size, tile.shape[1]))
            for code in range(level.size):
                np.subtract(tile, mean[code, :, np.newaxis], out=z)
                z *= scale[code, :, np.newaxis]
                z *= z
                if missing is not None:  # such a cell takes back its own normalising term, and so says nothing
                    np.copyto(z, log_norm[code, :, np.newaxis], where=missing)
                np.add.reduce(z, axis=0, out=distance[code])
            if distance.max() == np.inf:
                raise ValueError("X holds a row so far from the training data that its density is no float; scale X.")
            part = joint[rows]
            part += (level[:, np.newaxis] - distance).T[: part.shape[0]]


def _moments(rows: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Weighted mean, variance and weight of the present cells of each column of rows (n, q): three of shape (q,).

    Overwrites ``rows``.  Cells are taken relative to the column's first, so that a constant column has exactly
    variance 0 and not a rounding error.
    """
    missing = np.isnan(rows)
    holes = bool(missing.any())
    origin = rows[0].copy()
    if holes:
        first = np.argmin(missing, axis=0)
        origin = np.nan_to_num(rows[first, np.arange(rows.shape[1])], nan=0.0)
    rows -= origin
    if holes:
        rows[missing] = 0.0
    mass = np.full(rows.shape[1], weight.sum()) - (weight @ missing if holes else 0.0)
    shift = np.divide(weight @ rows, mass, out=np.zeros_like(mass), where=mass > 0)
    rows -= shift
    if holes:
        rows[missing] = 0.0
    rows *= rows
    return origin + shift, np.divide(weight @ rows, mass, out=np.zeros_like(mass), where=mass > 0), mass


def _pool(mean: np.ndarray, var: np.ndarray, mass: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and variance over all classes, each of shape (q,), from those within the classes (c, q)."""
    total = mass.sum(axis=0)
    fraction = np.divide(mass, total, out=np.zeros_like(mass), where=total > 0)  # (c, q)
    origin = mean[mass.argmax(axis=0), np.arange(mean.shape[1])]
    overall = origin + (fraction * (mean - origin)).sum(axis=0)
    return overall, (fraction * (var + (mean - overall) ** 2)).sum(axis=0)
