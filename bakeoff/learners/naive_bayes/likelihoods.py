"""The likelihoods of naive Bayes: counted values of nominal columns, and Gaussians of numeric columns.

*Nominal columns*: values are counted within each class, and logarithms are looked up in a table.

P(v | class) = (count(v, class) + α) / Σ_v' (count(v', class) + α)

`bakeoff.learners.definitions.naive_bayes` computes the same counts, one row and one column at a time.

The values of all columns have entries in one table, column after column. The values of each column are preceded by a
neutral entry for cells without information, which is selected by the code -1 of an unknown value. All columns of a tile
of rows can therefore be counted or looked up at once.

Individual columns may have other pseudo-counts α: Dirichlet parameters instead of a single number for all.

*Numeric columns*: a Gaussian for each column within each class.

    ln N(x; θ, σ²) = -½ (ln 2πσ² + ((x - θ)/σ)²)

Means and variances are computed in two passes over the rows of a class, relative to its first row.

`bakeoff.learners.definitions.naive_bayes` defines the same density, one row and one column at a time.

A table is processed in parts: a subset of its columns, and tiles of rows that stay in the cache of a core.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from bakeoff.learners.base.input_checks import UNSEEN


def count_values(
    table: np.ndarray, codes: np.ndarray, weight: np.ndarray, sizes: np.ndarray, c: int
) -> list[np.ndarray]:
    """Count the values of every column within each class.

    Parameters
    ----------
    table : ndarray of shape (n, q)
        Positions in the domains of the columns; NaN if missing, which is not counted.
    codes : ndarray of shape (n,), int
    weight : ndarray of shape (n,)
    sizes : ndarray of shape (q,), int
        The number k of values of each column.
    c : int
        Number of classes.

    Returns
    -------
    list of q arrays of shape (c, k)
        The weights of the rows with each value in each class.
    """
    n, q = table.shape
    silent = _locate_silent_places(sizes)  # (q,)
    places = int(sizes.sum()) + q
    total = np.zeros(places * c)
    unit_weights = bool((weight == 1.0).all())  # counting rows is faster than adding up weights
    for rows in cut_tiles(n, q):
        # Pairs of entry and class are numbered consecutively, so that one bincount counts all of them.
        place_and_class = _locate_values(table[rows], silent)  # (tile, q)
        place_and_class *= c
        place_and_class += codes[rows, np.newaxis]
        cell_weight = None if unit_weights else np.repeat(weight[rows], q)
        total += np.bincount(place_and_class.ravel(), weights=cell_weight, minlength=total.size)
    counts = total.reshape(places, c).T  # (c, places)
    first = silent + 1  # the entries after the neutral ones
    return [counts[:, start : start + k].copy() for start, k in zip(first, sizes, strict=True)]


def smooth_log_probabilities(count: np.ndarray, pseudo_count: np.ndarray | float) -> np.ndarray:
    """Return ln P(value | class) of one column, of shape (c, k), from its counts (c, k) and pseudo-counts.

    For a class with neither cells nor pseudo-counts, the fractions over all classes are used.
    """
    smoothed = count + pseudo_count  # (c, k)
    empty = ~smoothed.any(axis=1)  # (c,)
    if empty.any():
        smoothed[empty] = count.sum(axis=0) if count.any() else 1.0
    return compute_log(normalize_counts(smoothed))


def add_nominal_log_likelihood(table: np.ndarray, log_prob: list[np.ndarray], joint: np.ndarray) -> None:
    """Add Σ_j ln P(x_j | class) to joint of shape (m, c).

    A missing cell, an unknown value, and a value with probability 0 in every class add 0 for all classes.

    Parameters
    ----------
    table : ndarray of shape (m, q)
        Positions in the domains; NaN if missing, `UNSEEN` if unknown.
    log_prob : list of q arrays of shape (c, k)
    joint : ndarray of shape (m, c)
    """
    sizes = np.array([part.shape[1] for part in log_prob])  # (q,)
    lookup = _build_lookup(log_prob, sizes)  # (places, c)
    silent = _locate_silent_places(sizes)
    m, q = table.shape
    c = joint.shape[1]
    for rows in cut_tiles(m, q * c):
        places = transpose_tile(_locate_values(table[rows], silent))  # (q, tile)
        log_likelihood = lookup.take(places, axis=0).sum(axis=0)  # (tile, c)
        part = joint[rows]
        part += log_likelihood[: part.shape[0]]  # a single row occurs twice


def _build_lookup(log_prob: list[np.ndarray], sizes: np.ndarray) -> np.ndarray:
    """Return the table of all entries, of shape (entries, c): ln P(value | class), and 0 in the neutral entries."""
    q = sizes.size
    values = int(sizes.sum())
    silent_places_before = np.repeat(np.arange(q) + 1, sizes)  # (values,), each value's column has its own
    place = np.arange(values) + silent_places_before
    c = log_prob[0].shape[0]
    lookup = np.zeros((values + q, c))
    lookup[place] = np.concatenate(log_prob, axis=1).T

    # A value that is impossible in every class would make all classes impossible, so it is ignored.
    impossible = np.isneginf(lookup).all(axis=1)
    lookup[impossible] = 0.0
    return lookup


def _locate_silent_places(sizes: np.ndarray) -> np.ndarray:
    """Return where the neutral entry of each column, with which the column begins, is in the table: (q,)."""
    return np.cumsum(sizes + 1) - (sizes + 1)


def _locate_values(cells: np.ndarray, silent: np.ndarray) -> np.ndarray:
    """Return the entry of each cell of a tile in the table of all values: shape (tile, q), int."""
    missing = np.isnan(cells)
    if missing.any():
        cells = np.where(missing, UNSEEN, cells)
    place = cells.astype(np.intp)
    place += silent + 1
    return place


def compute_log(probability: np.ndarray) -> np.ndarray:
    """Return the natural logarithm, with ln 0 = -inf."""
    with np.errstate(divide="ignore"):
        return np.log(probability)


def normalize_counts(counts: np.ndarray) -> np.ndarray:
    """Divide by the largest value and then by the sum along the last axis, so that no sum overflows."""
    smallest_float = np.finfo(float).tiny  # no division by zero where all counts are 0
    largest = counts.max(axis=-1, keepdims=True, initial=smallest_float)
    scaled = counts / largest
    return scaled / scaled.sum(axis=-1, keepdims=True)


def read_pseudo_counts(
    given: Mapping[Any, Any], names: Sequence[str], categories: Sequence[np.ndarray | None], c: int
) -> dict[int, np.ndarray]:
    """Return pseudo-counts by column position; arrays broadcast to (c, k) for a column of k values.

    Parameters
    ----------
    given : mapping
        Column name or position -> pseudo-counts.
    names : sequence of str
        The names of the d columns, if there are any.
    categories : sequence of d ndarray or None
        The values of each nominal column.
    c : int
        Number of classes.

    Raises
    ------
    ValueError
        A column is not nominal, or pseudo-counts have the wrong shape or sign.
    """
    read: dict[int, np.ndarray] = {}
    for column, counts in given.items():
        j = names.index(column) if column in names else column
        is_position = isinstance(j, int) and 0 <= j < len(categories)
        values = categories[j] if is_position else None
        if values is None:
            raise ValueError(f"feature_alpha refers to {column!r}, which is not a nominal column of X.")
        read[j] = _check_pseudo_counts(counts, column, len(values), c)
    return read


def _check_pseudo_counts(given: Any, column: Any, k: int, c: int) -> np.ndarray:
    """Return the pseudo-counts given for a column of k values: shape (), (k,) or (c, k)."""
    pseudo_count = np.array(given, dtype=np.float64)
    valid = np.isfinite(pseudo_count) & (pseudo_count >= 0)
    if pseudo_count.shape not in {(), (k,), (c, k)} or not valid.all():
        raise ValueError(
            f"feature_alpha for column {column!r} must be non-negative finite numbers: a single one, one per "
            f"value ({k}), or one per class and value ({c}, {k}); got shape {pseudo_count.shape}, smallest "
            f"{pseudo_count.min(initial=0.0)}."
        )
    return pseudo_count


class Gaussians(NamedTuple):
    """Final: mean and variance (c, q) of each column in each class, and the smoothing (q,) within the variances."""

    mean: np.ndarray
    var: np.ndarray
    epsilon: np.ndarray


class Moments(NamedTuple):
    """Final: weighted mean, weighted variance and weight of the present cells of columns: (q,), or (c, q) by class."""

    mean: np.ndarray
    var: np.ndarray
    weight: np.ndarray


def find_varying_columns(table: np.ndarray) -> np.ndarray:
    """Return whether the present cells of each column (n, q) differ: shape (q,).

    Cells are compared, because the squares of tiny differences underflow to a variance of 0.
    """
    return np.asarray(np.fmin.reduce(table, axis=0) < np.fmax.reduce(table, axis=0))


def fit_gaussians(
    table: np.ndarray, codes: np.ndarray, weight: np.ndarray, c: int, smoothing: float, ddof: int = 0
) -> Gaussians:
    """Estimate mean and variance of each column within each class.

    For a class without a cell in a column, the estimates of the column over all classes are used.

    Parameters
    ----------
    table : ndarray of shape (n, q)
        The cells of numeric columns that vary; NaN if missing.
    codes : ndarray of shape (n,), int
    weight : ndarray of shape (n,)
    c : int
        Number of classes.
    smoothing : float
        This fraction of the variance of a column over all classes is added to its variance in each class. It has the
        unit of the column, so that no column affects the others.
    ddof : {0, 1}
        The number subtracted from the weight of a class by which squares are divided; if nothing is left, the variance
        over all classes is used.

    Returns
    -------
    Gaussians
        The estimates; a variance can be 0 if a column is constant in a class and there is no smoothing, or if its
        squares underflow.

    Raises
    ------
    ValueError
        A variance is too large for a float.
    """
    # Relative weights prevent sums of large weights from overflowing; equal weights remain exact.
    share = weight / weight.max()  # (n,)
    with np.errstate(over="ignore", invalid="ignore"):
        within = _compute_class_moments(table, codes, share, c)
        overall_mean, overall_var = _pool_moments(*within)
    if not np.isfinite(overall_var).all():
        raise ValueError("X contains values so large that their variance overflows; divide the column by a constant.")

    epsilon = smoothing * overall_var  # (q,)
    mean = np.where(within.weight > 0, within.mean, overall_mean)  # (c, q)
    mass = within.weight
    var = within.var
    if ddof > 0:
        # The sum of squares is the same, but is divided by a smaller number.
        mass = mass * weight.max()
        var = var * _divide_or_zero(mass, mass - ddof)
    var = np.where(mass > ddof, var, overall_var) + epsilon  # (c, q)
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
        A row is too many standard deviations away, so its density underflows.
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
                raise ValueError("X contains a row so far from the training data that its density underflows; scale X.")
            log_likelihood = level[:, np.newaxis] - distance  # (c, tile)
            part = joint[rows]
            part += log_likelihood.T[: part.shape[0]]  # a single row occurs twice


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
    """Return the first present cell of each column of rows (n, q), or 0 if there is none: shape (q,)."""
    first = np.argmin(missing, axis=0)
    cells = rows[first, np.arange(rows.shape[1])]
    return np.nan_to_num(cells, nan=0.0)


def _pool_moments(mean: np.ndarray, var: np.ndarray, mass: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and variance over all classes, each of shape (q,), from those within the classes (c, q)."""
    fraction = _divide_or_zero(mass, mass.sum(axis=0))  # (c, q)
    # Means are relative to that of the class with the largest weight, so that equal means in all classes stay equal.
    heaviest = mass.argmax(axis=0)  # (q,)
    origin = mean[heaviest, np.arange(heaviest.size)]  # (q,)
    overall = origin + (fraction * (mean - origin)).sum(axis=0)
    between = (mean - overall) ** 2  # (c, q)
    return overall, (fraction * (var + between)).sum(axis=0)


def _divide_or_zero(numerator: np.ndarray, divisor: np.ndarray) -> np.ndarray:
    """Return the quotient, in the numerator's shape; 0 where the divisor is 0."""
    zeros = np.zeros_like(numerator)
    quotient: np.ndarray = np.divide(numerator, divisor, out=zeros, where=divisor > 0)
    return quotient


CELLS_PER_TILE = 1 << 15
"""Number of cells in a tile, which takes 256 KiB."""


def cut_tiles(n: int, cells_per_row: int) -> list[slice]:
    """Return the tiles of n rows."""
    step = max(2, CELLS_PER_TILE // cells_per_row)
    return [slice(start, start + step) for start in range(0, n, step)]


def transpose_tile(rows: np.ndarray) -> np.ndarray:
    """Return the rows as columns, which makes inner loops long.

    A single row is repeated, because NumPy sums a single column in a different order.
    """
    if rows.shape[0] == 1:
        rows = np.repeat(rows, 2, axis=0)
    return np.ascontiguousarray(rows.T)


def select_columns(X: np.ndarray, columns: list[int] | np.ndarray) -> np.ndarray:
    """Return the given columns of X, which are in ascending order; if all are given, X itself."""
    if len(columns) == X.shape[1]:
        return X
    return X[:, columns]
