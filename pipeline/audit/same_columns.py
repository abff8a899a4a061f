"""Columns that say the same as others: equal cells, or the same information in another spelling or unit."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

MIN_CORRELATION = 1.0 - 1e-12
MIN_ROUGH_CORRELATION = 1.0 - 1e-6
FILTER_ROWS = 500
BLOCK_COLUMNS = 1000
"""Columns that are correlated with all others at a time, which bounds the memory."""
MIN_DISTINCT = 2
MIN_DISTINCT_NUMBERS = 3
"""Two numbers are always in proportion to two others: columns of so few values are compared like nominal ones."""


def find_same_columns(X: pd.DataFrame) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield the names of each group of columns that say the same, and a clause that says how.

    Nominal columns say the same if each value of one goes with one value of the other, and missing cells with missing
    cells; numbers, if one is a multiple of the other plus a constant. Columns with a single value say nothing.

    Parameters
    ----------
    X : DataFrame of shape (n, d)
        Numeric and nominal columns.
    """
    codes = {str(name): _number_values(column) for name, column in X.items() if not _has_many_numbers(column)}
    informative = {name: column for name, column in codes.items() if column.max() + 1 >= MIN_DISTINCT}
    for names in _group_equal(informative) if informative else ():
        first = X[names[0]]
        is_equal = all(_have_equal_cells(first, X[name]) for name in names[1:])
        yield names, "hold the same cells" if is_equal else "tell each other: each value goes with one value"
    numeric = [str(name) for name in X.columns if str(name) not in codes]
    for names in _group_proportional(X[numeric]):
        first = X[names[0]]
        is_equal = all(_have_equal_cells(first, X[name]) for name in names[1:])
        yield names, "hold the same cells" if is_equal else "are in proportion: one is a multiple plus a constant"


def _has_many_numbers(column: pd.Series) -> bool:
    return column.dtype.kind == "f" and column.nunique() >= MIN_DISTINCT_NUMBERS


def _number_values(column: pd.Series) -> np.ndarray:
    """Return the number of each cell's value (n,), in the order of first appearance; a missing cell is a value."""
    return np.asarray(pd.factorize(column, use_na_sentinel=False)[0])


def _have_equal_cells(first: pd.Series, second: pd.Series) -> bool:
    both_categorical = [isinstance(column.dtype, pd.CategoricalDtype) for column in (first, second)]
    if any(both_categorical):
        return bool((first.astype(object).fillna("") == second.astype(object).fillna("")).all())
    return bool(np.array_equal(first.to_numpy(), second.to_numpy(), equal_nan=first.dtype.kind == "f"))


def _group_equal(codes: dict[str, np.ndarray]) -> Iterator[tuple[str, ...]]:
    """Yield the names of columns with equal codes: codes in the order of first appearance do not depend on spelling."""
    names_by_codes: dict[bytes, list[str]] = {}
    for name, column in codes.items():
        names_by_codes.setdefault(column.tobytes(), []).append(name)
    yield from (tuple(names) for names in names_by_codes.values() if len(names) > 1)


def _group_proportional(X: pd.DataFrame) -> Iterator[tuple[str, ...]]:
    """Yield the names of numeric columns of X (n, d) that are in proportion."""
    grouped: set[int] = set()
    cells = X.to_numpy(dtype=np.float64)  # (n, d)
    for position, candidates in _find_similar(cells):
        if position in grouped:
            continue
        same = [other for other in candidates if other not in grouped and _are_proportional(cells, position, other)]
        if same:
            grouped.update((position, *same))
            yield tuple(str(X.columns[member]) for member in (position, *same))


def _find_similar(X: np.ndarray) -> Iterator[tuple[int, list[int]]]:
    """Yield each column of X (n, d) with the later ones that are in proportion to it on some of the rows."""
    rows = np.linspace(0, len(X) - 1, min(len(X), FILTER_ROWS)).astype(int)
    Z = _standardize(X[rows])  # (r, d)
    for start in range(0, Z.shape[1], BLOCK_COLUMNS):
        block = Z[:, start : start + BLOCK_COLUMNS]  # (r, b)
        correlations = np.abs(block.T @ Z)  # (b, d)
        for offset, row in enumerate(correlations):
            position = start + offset
            later = np.flatnonzero(row[position + 1 :] >= MIN_ROUGH_CORRELATION) + position + 1
            if len(later):
                yield position, later.tolist()


def _standardize(X: np.ndarray) -> np.ndarray:
    """Return the columns of X (n, d) with mean 0 and length 1; missing cells and constant columns are 0."""
    is_there = np.isfinite(X)
    counts = np.maximum(is_there.sum(axis=0), 1)  # (d,)
    filled = np.where(is_there, X, 0.0)
    # Dividing by the largest value first keeps the squares of huge numbers finite.
    filled = filled / np.maximum(np.abs(filled).max(axis=0, initial=0.0), np.finfo(np.float64).tiny)
    centered = np.where(is_there, filled - filled.sum(axis=0) / counts, 0.0)
    lengths = np.sqrt((centered**2).sum(axis=0))
    return np.asarray(centered / np.where(lengths > 0.0, lengths, 1.0))


def _are_proportional(X: np.ndarray, first: int, second: int) -> bool:
    """Return whether two columns of X (n, d) miss the same cells and are in proportion on all rows."""
    pair = X[:, [first, second]]  # (n, 2)
    is_missing = np.isnan(pair)
    if (is_missing[:, 0] != is_missing[:, 1]).any():
        return False
    Z = _standardize(pair)
    return bool(abs(Z[:, 0] @ Z[:, 1]) >= MIN_CORRELATION)
