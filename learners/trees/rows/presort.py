"""Rows sorted by columns, and sorted again by whole numbers.

A table is turned into columns once; the rows in the order of each column take as few bytes as will do, since there are
as many of them as cells.  Whole numbers are sorted by their digits of 16 bits, which NumPy does by counting.

Cost: O(n log n) for a column of n numbers, O(n) for each digit of whole numbers.
"""

from __future__ import annotations

from typing import Any

import numpy as np

MAX_CELLS_PER_BLOCK = 1 << 16
"""Cells looked at together: few enough to stay in cache, many enough that small tables need one pass."""

DIGIT_BITS = 16
"""NumPy sorts whole numbers of so many bits by counting, much faster than others."""


def extract_columns(X: np.ndarray) -> tuple[np.ndarray, bool]:
    """Return X (n, d) by columns (d, n), +inf where a cell is missing, and whether one is."""
    columns = np.ascontiguousarray(X.T)
    missing = np.isnan(columns)
    has_missing = bool(missing.any())
    return (np.where(missing, np.inf, columns) if has_missing else columns), has_missing


def presort_columns(columns: np.ndarray) -> np.ndarray:
    """Return the rows of columns (d, n), +inf where missing, sorted by each: (d, n), in few bytes."""
    d, n = columns.shape
    if columns.size and columns.min() >= 0 and columns.max() < 1 << DIGIT_BITS and (columns == np.rint(columns)).all():
        return narrow_rows(np.argsort(columns.astype(np.uint16), axis=1, kind="stable"), n)
    order, step = np.empty((d, n), dtype=smallest_row_dtype(n)), max(1, MAX_CELLS_PER_BLOCK // n)
    for first in range(0, d, step):
        order[first : first + step] = np.argsort(columns[first : first + step], axis=1)
    return order


def smallest_row_dtype(n: int) -> np.dtype[Any]:
    """Return the type in which rows 0, …, n - 1 take the least room."""
    return np.min_scalar_type(max(n - 1, 1 << 8))


def narrow_rows(order: np.ndarray, n: int) -> np.ndarray:
    """Return the order with rows 0, …, n - 1 in as few bytes as will do."""
    return order.astype(smallest_row_dtype(n))


def radix_argsort(numbers: np.ndarray, largest: int) -> np.ndarray:
    """Sort the rows of a table of whole numbers (b, n) up to ``largest`` by their digits, last digit first: (b, n)."""
    b, n = numbers.shape
    places = np.argsort(numbers.astype(np.uint16), axis=1, kind="stable")
    for shift in range(DIGIT_BITS, largest.bit_length(), DIGIT_BITS):
        places += np.arange(0, b * n, n)[:, None]
        digit = (numbers >> shift).astype(np.uint16).ravel().take(places)
        again = np.argsort(digit, axis=1, kind="stable")
        again += np.arange(0, b * n, n)[:, None]
        places = places.ravel().take(again)
        places -= np.arange(0, b * n, n)[:, None]
    return places
