"""Columns that duplicate others: equal cells, or the same information in another spelling or unit."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

MIN_CORRELATION = 1.0 - 1e-12
MAX_KEY_DIFFERENCE = 1e-5
"""Of the products of two columns in proportion with one random vector; rounding makes a difference of about 1e-6."""
KEY_SEED = 0
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
    is_number = [column.dtype.kind == "f" and column.nunique() >= MIN_DISTINCT_NUMBERS for _, column in X.items()]
    numbers = X.loc[:, is_number]
    others = X.drop(columns=numbers.columns)
    for names in _group_by_codes(others):
        yield names, _describe_group(X[[*names]], "tell each other: each value goes with one value")
    for names in _group_proportional(numbers):
        yield names, _describe_group(X[[*names]], "are in proportion: one is a multiple plus a constant")


def _describe_group(group: pd.DataFrame, clause: str) -> str:
    first, *others = (column.astype(object) for _, column in group.items())
    return "hold the same cells" if all(first.equals(other) for other in others) else clause


def _group_by_codes(X: pd.DataFrame) -> Iterator[tuple[str, ...]]:
    """Yield the names of columns whose values, numbered as they first appear, are the same; a missing cell is one."""
    names_by_codes: dict[bytes, list[str]] = {}
    for name, column in X.items():
        codes = pd.factorize(column, use_na_sentinel=False)[0]
        if codes.max() + 1 >= MIN_DISTINCT:
            names_by_codes.setdefault(codes.tobytes(), []).append(str(name))
    yield from (tuple(names) for names in names_by_codes.values() if len(names) > 1)


def _group_proportional(X: pd.DataFrame) -> Iterator[tuple[str, ...]]:
    """Yield the names of numeric columns of X (n, d) that are in proportion, and miss the same cells."""
    cells = X.to_numpy(dtype=np.float64)  # (n, d)
    is_missing = np.isnan(cells)
    Z = _standardize(cells)
    # Columns in proportion have the same product with any vector, but for the sign; so few pairs need to be compared.
    keys = np.abs(np.random.default_rng(KEY_SEED).normal(size=len(Z)) @ Z)  # (d,)
    grouped: set[int] = set()
    for position, key in enumerate(keys):
        group = [position]
        for other in np.flatnonzero(np.abs(keys - key) <= MAX_KEY_DIFFERENCE).tolist():
            is_new = other > position and not grouped & {position, other}
            misses_same = is_new and np.array_equal(is_missing[:, position], is_missing[:, other])
            if misses_same and abs(Z[:, position] @ Z[:, other]) >= MIN_CORRELATION:
                group.append(other)
        if len(group) > 1:
            grouped.update(group)
            yield tuple(str(X.columns[member]) for member in group)


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
