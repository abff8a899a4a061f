"""Nominal columns of naive Bayes: values are counted within each class, and a table of logarithms is looked up.

P(v | class) = (count(v, class) + α) / Σ_v' (count(v', class) + α)

The values of all columns stand in one table, column after column, each column's after a place for cells that say
nothing: the code -1 of an unknown value leads there by itself.  So a tile of rows is counted, or looked up, at once.
"""

from __future__ import annotations

import numpy as np

from bakeoff.learners.base.nominal_columns import UNSEEN
from bakeoff.learners.naive_bayes.row_tiles import columns_first, tiles


def count_values(
    table: np.ndarray, codes: np.ndarray, weight: np.ndarray, sizes: np.ndarray, c: int
) -> list[np.ndarray]:
    """Count the values of every column within each class.

    Parameters
    ----------
    table : ndarray of shape (n, q)
        Positions in the columns' domains; NaN where missing, which is not counted.
    codes : ndarray of shape (n,), int
    weight : ndarray of shape (n,)
    sizes : ndarray of shape (q,), int
        The number k of values of each column.
    c : int
        Number of classes.

    Returns
    -------
    list of q arrays of shape (c, k)
        Weight of the rows.
    """
    first = _silent_places(sizes)
    total = np.zeros((int(sizes.sum()) + sizes.size) * c)
    equal = bool((weight == 1.0).all())  # then rows are counted, which is quicker than adding up weights
    for rows in tiles(table.shape[0], sizes.size):
        place = _places(table[rows], first)
        place *= c
        place += codes[rows, np.newaxis]
        weights = None if equal else np.repeat(weight[rows], sizes.size)
        total += np.bincount(place.ravel(), weights=weights, minlength=total.size)
    counts = total.reshape(-1, c).T  # (c, places)
    return [counts[:, start + 1 : start + 1 + k].copy() for start, k in zip(first, sizes, strict=True)]


def smoothed_log(count: np.ndarray, pseudo_count: np.ndarray) -> np.ndarray:
    """Return ln P(value | class) of one column, of shape (c, k), from its counts (c, k).

    A class without cells or pseudo-counts takes the fractions over all classes.
    """
    smoothed = count + pseudo_count
    silent = ~smoothed.any(axis=1)
    smoothed[silent] = count.sum(axis=0) if count.any() else 1.0
    return log(fractions(smoothed))


def add_value_evidence(table: np.ndarray, log_prob: list[np.ndarray], joint: np.ndarray) -> None:
    """Add Σ_j ln P(x_j | class) to joint of shape (m, c).

    A missing cell, an unknown value, and a value to which every class gives probability 0 say nothing: 0 for all.

    Parameters
    ----------
    table : ndarray of shape (m, q)
        Positions in the domains; NaN where missing, `UNSEEN` where unknown.
    log_prob : list of q arrays of shape (c, k)
    joint : ndarray of shape (m, c)
    """
    sizes = np.array([part.shape[1] for part in log_prob])
    first = _silent_places(sizes)
    c = joint.shape[1]
    lookup = np.zeros((int(sizes.sum()) + sizes.size, c))
    lookup[np.arange(sizes.sum()) + np.repeat(np.arange(sizes.size) + 1, sizes)] = np.concatenate(log_prob, axis=1).T
    lookup[np.isneginf(lookup).all(axis=1)] = 0.0
    for rows in tiles(table.shape[0], sizes.size * c):
        part = joint[rows]
        evidence = lookup.take(columns_first(_places(table[rows], first)), axis=0)  # (q, tile, c)
        part += evidence.sum(axis=0)[: part.shape[0]]


def _silent_places(sizes: np.ndarray) -> np.ndarray:
    """Return where each column begins in the table of all values: the place of cells that say nothing, (q,)."""
    return np.cumsum(sizes + 1) - (sizes + 1)


def _places(cells: np.ndarray, first: np.ndarray) -> np.ndarray:
    """Return the place of each cell of a tile in the table of all values, of shape (rows, q)."""
    missing = np.isnan(cells)
    if missing.any():
        cells = np.where(missing, UNSEEN, cells)
    place = cells.astype(np.intp)
    place += first + 1
    return place


def log(probability: np.ndarray) -> np.ndarray:
    """Natural logarithm, with ln 0 = -inf."""
    with np.errstate(divide="ignore"):
        return np.log(probability)


def fractions(counts: np.ndarray) -> np.ndarray:
    """Divide by the sum along the last axis; by the largest first, so that no sum overflows."""
    scaled = counts / counts.max(axis=-1, keepdims=True, initial=np.finfo(float).tiny)
    return scaled / scaled.sum(axis=-1, keepdims=True)
