"""Numeric columns of naive Bayes without the assumption that they are Gaussian: a kernel density within each class.

    p(x | class) = Σ_i w_i N(x; x_i, h²) / Σ_i w_i,   h = (max x_i - min x_i) / √(Σ_i w_i)

over the cells x_i of the class, with the weights w_i of their rows. If these cells are equal or nearly so, h is a sixth
of the mean gap between neighbouring values of the column, as in WEKA. Equal cells are one kernel, and sums are taken of
logarithms, so that no density underflows.

`bakeoff.learners.definitions.naive_bayes` states the same density, one row and one column at a time.

Cost: O(n q log n) to sort; O(m u q) to evaluate m rows, where u is the number of different cells of a column.

References: G. H. John, P. Langley, "Estimating continuous distributions in Bayesian classifiers", UAI 1995; the width
of the kernels is that of NaiveBayes -K of WEKA 3.9, which does not assume that columns range from 0 to 1.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

GAP_PARTS = 6
"""A kernel is at least one of this many parts of the mean gap between values wide."""

MAX_CELLS = 1 << 16
"""Kernels times rows that are evaluated at once, so that their table stays in cache."""


@dataclass(frozen=True, eq=False)
class KernelDensity:
    """The density of one numeric column within each of c classes.

    Attributes
    ----------
    centers : ndarray of shape (u,)
        The different cells of the first class, ascending, then those of the second, and so on; none in a column that
        is constant or has no cell, which decides nothing.
    log_weights : ndarray of shape (u,)
        ln of the share of each center in its class.
    first : ndarray of shape (c + 1,), int
        Where the centers of each class begin.
    width : ndarray of shape (c,)
        The standard deviation h of the kernels of each class.
    """

    centers: np.ndarray
    log_weights: np.ndarray
    first: np.ndarray
    width: np.ndarray


def fit_kernel_density(column: np.ndarray, codes: np.ndarray, weight: np.ndarray, c: int) -> KernelDensity:
    """Return the density of a column within each class.

    Parameters
    ----------
    column : ndarray of shape (n,)
        NaN where missing.
    codes : ndarray of shape (n,), int
    weight : ndarray of shape (n,)
    c : int
        Number of classes. A class without a cell has the density of all classes together.
    """
    is_present = ~np.isnan(column)
    column = column[is_present]
    codes = codes[is_present]
    weight = weight[is_present]
    values = np.unique(column)
    if values.size < 2:
        empty = np.empty(0)
        return KernelDensity(empty, empty, np.zeros(c + 1, dtype=np.intp), np.ones(c))
    least_width = _measure_gap(values) / GAP_PARTS
    centers = []
    log_weights = []
    width = np.empty(c)
    for code in range(c):
        own = codes == code
        rows = own if own.any() else np.ones(codes.size, dtype=bool)
        cells, mass = _sum_equal_cells(column[rows], weight[rows])
        total = mass.sum()
        width[code] = max(2 * (_measure_half_range(cells) / np.sqrt(total)), least_width)
        centers.append(cells)
        log_weights.append(np.log(mass / total))
    first = np.cumsum([0, *(part.size for part in centers)])
    return KernelDensity(np.concatenate(centers), np.concatenate(log_weights), first, width)


def _sum_equal_cells(column: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the different cells of a column (n,), ascending, and the weight of each, both of shape (u,)."""
    cells, place = np.unique(column, return_inverse=True)
    return cells, np.bincount(place, weights=weight)


def _measure_gap(values: np.ndarray) -> float:
    """Return the mean gap between neighbouring values (k,), which are ascending."""
    gap = _measure_half_range(values) / (values.size - 1) * 2
    return max(gap, float(np.finfo(np.float64).tiny))


def _measure_half_range(values: np.ndarray) -> float:
    """Return half the range of ascending values; the range itself might overflow."""
    return float(values[-1] / 2 - values[0] / 2)


def add_kernel_log_likelihood(table: np.ndarray, densities: list[KernelDensity], joint: np.ndarray) -> None:
    """Add Σ_j ln p(x_j | class), over the cells present, to joint of shape (m, c).

    Parameters
    ----------
    table : ndarray of shape (m, q)
    densities : list of q KernelDensity
    joint : ndarray of shape (m, c)

    Raises
    ------
    ValueError
        A row is so far from the training data that the square of its distance overflows.
    """
    for column, density in zip(table.T, densities, strict=True):
        if density.centers.size == 0:
            continue
        present = np.flatnonzero(~np.isnan(column))
        for code in range(joint.shape[1]):
            part = slice(density.first[code], density.first[code + 1])
            centers = density.centers[part]
            step = max(1, MAX_CELLS // centers.size)
            for start in range(0, present.size, step):
                rows = present[start : start + step]
                width = float(density.width[code])
                joint[rows, code] += _compute_log_density(column[rows], centers, density.log_weights[part], width)


def _compute_log_density(cells: np.ndarray, centers: np.ndarray, log_weights: np.ndarray, width: float) -> np.ndarray:
    """Return the logarithm of the density of kernels (u,) at cells (r,): shape (r,)."""
    with np.errstate(over="ignore"):
        deviation = ((cells[:, None] - centers) / width) ** 2  # (r, u)
    exponent = log_weights - deviation / 2
    largest = exponent.max(axis=1)  # (r,)
    if not np.isfinite(largest).all():
        raise ValueError("X holds a row so far from the training data that its density underflows; scale X.")
    sums = np.exp(exponent - largest[:, None]).sum(axis=1)
    return np.asarray(largest + np.log(sums) - np.log(width) - np.log(2 * np.pi) / 2)
