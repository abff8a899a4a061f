"""Nominal columns of naive Bayes: values are counted within each class, and logarithms are looked up in a table.

P(v | class) = (count(v, class) + α) / Σ_v' (count(v', class) + α)

`bakeoff.learners.definitions.naive_bayes` computes the same counts, one row and one column at a time.

The values of all columns have entries in one table, column after column. The values of each column are preceded by a
neutral entry for cells without information, which the code -1 of an unknown value selects. Thus all columns of a tile
of rows can be counted, or looked up, at once.

Single columns may have pseudo-counts α of their own, Dirichlet parameters in place of one number for all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bakeoff.learners.base.nominal_columns import UNSEEN
from bakeoff.learners.naive_bayes.gaussian import cut_tiles, transpose_tile


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


def smooth_log_probabilities(count: np.ndarray, pseudo_count: np.ndarray) -> np.ndarray:
    """Return ln P(value | class) of one column, of shape (c, k), from its counts (c, k).

    For a class without cells and pseudo-counts, the fractions over all classes are used.
    """
    smoothed = count + pseudo_count  # (c, k)
    empty = ~smoothed.any(axis=1)  # (c,)
    smoothed[empty] = count.sum(axis=0) if count.any() else 1.0
    return compute_log(normalize_counts(smoothed))


def add_nominal_log_likelihood(table: np.ndarray, log_prob: list[np.ndarray], joint: np.ndarray) -> None:
    """Add Σ_j ln P(x_j | class) to joint of shape (m, c).

    A missing cell, an unknown value, and a value that has probability 0 in every class add 0 for all classes.

    Parameters
    ----------
    table : ndarray of shape (m, q)
        Positions in the domains; NaN where missing, `UNSEEN` where unknown.
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
        part += log_likelihood[: part.shape[0]]  # a single row is there twice


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
    """Return where each column begins in the table of all values, with its neutral entry: (q,)."""
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
    """Return pseudo-counts by the position of their column; arrays broadcast to (c, k) for a column of k values.

    Parameters
    ----------
    given : mapping
        Column name or position -> pseudo-counts.
    names : sequence of str
        The names of the d columns, or none.
    categories : sequence of d ndarray or None
        The values of each nominal column.
    c : int
        Number of classes.

    Raises
    ------
    ValueError
        A column that is not nominal, or pseudo-counts of a wrong shape or sign.
    """
    read: dict[int, np.ndarray] = {}
    for column, counts in given.items():
        j = names.index(column) if column in names else column
        is_position = isinstance(j, int) and 0 <= j < len(categories)
        values = categories[j] if is_position else None
        if values is None:
            raise ValueError(f"feature_alpha names {column!r}, which is not a nominal column of X.")
        read[j] = _check_pseudo_counts(counts, column, len(values), c)
    return read


def _check_pseudo_counts(given: Any, column: Any, k: int, c: int) -> np.ndarray:
    """Return the pseudo-counts given for a column of k values: shape (), (k,) or (c, k)."""
    pseudo_count = np.array(given, dtype=np.float64)
    valid = np.isfinite(pseudo_count) & (pseudo_count >= 0)
    if pseudo_count.shape not in {(), (k,), (c, k)} or not valid.all():
        raise ValueError(
            f"feature_alpha for column {column!r} must be finite numbers ≥ 0: one, one per value ({k}), or one per "
            f"class and value ({c}, {k}); "
            f"given shape {pseudo_count.shape}, smallest {pseudo_count.min(initial=0.0)}."
        )
    return pseudo_count
