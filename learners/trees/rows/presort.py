"""Presort: the rows in the order of each column, and radix sort of integers.

A table is converted to columns once. The rows in the order of each column are stored in the smallest sufficient
dtype, because there are as many of them as cells. Integers are sorted by digits of 16 bits, for which NumPy uses
counting.

Cost: O(n log n) for a column of n numbers, O(n) for each digit of integers.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

MAX_CELLS_PER_BLOCK = 1 << 16
"""Cells that are processed together: few enough to stay in cache, many enough that small tables need one pass."""

DIGIT_BITS = 16
"""NumPy sorts integers of this many bits by counting, much faster than others."""

MIN_LARGEST_ROW = 1 << 8
"""Row numbers take 16 bits at least, however few rows there are."""


def extract_columns(X: np.ndarray) -> tuple[np.ndarray, bool]:
    """Return X (n, d) by columns (d, n), +inf where a cell is missing, and whether one is."""
    columns = np.ascontiguousarray(X.T)  # (d, n)
    is_missing = np.isnan(columns)
    has_missing = bool(is_missing.any())
    if has_missing:
        columns = np.where(is_missing, np.inf, columns)
    return columns, has_missing


def presort_columns(columns: np.ndarray) -> np.ndarray:
    """Return the rows sorted by each of columns (d, n), +inf where missing: (d, n)."""
    d, n = columns.shape
    if columns.size and holds_integers(columns, 1 << DIGIT_BITS):
        digits = columns.astype(np.uint16)
        order = np.argsort(digits, axis=1, kind="stable")
        return narrow_rows(order, n)
    # Block by block, the wide result of argsort is narrowed while it is in cache.
    order = np.empty((d, n), dtype=smallest_row_dtype(n))
    for block in divide_columns(d, n):
        order[block] = np.argsort(columns[block], axis=1)
    return order


def holds_integers(columns: np.ndarray, end: int) -> bool:
    """Return whether all cells are integers from 0 to ``end`` - 1."""
    # The cheap tests come first: most tables of real numbers fail them.
    if columns.min() < 0 or columns.max() >= end:
        return False
    return bool((columns == np.rint(columns)).all())


def divide_columns(d: int, n: int) -> Iterator[slice]:
    """Yield d columns of n rows in blocks of at most `MAX_CELLS_PER_BLOCK` cells, or of one column."""
    step = max(1, MAX_CELLS_PER_BLOCK // n)
    for first in range(0, d, step):
        yield slice(first, min(first + step, d))


def smallest_row_dtype(n: int) -> np.dtype[Any]:
    """Return the smallest dtype that holds the rows 0, …, n - 1."""
    return np.min_scalar_type(max(n - 1, MIN_LARGEST_ROW))


def narrow_rows(rows: np.ndarray, n: int) -> np.ndarray:
    """Return rows out of 0, …, n - 1 in the smallest dtype that holds them."""
    return rows.astype(smallest_row_dtype(n))


def radix_argsort(numbers: np.ndarray, largest: int) -> np.ndarray:
    """Return the order of integers (b, n) up to ``largest`` along the last axis: (b, n)."""
    b, n = numbers.shape
    first_of_row = n * np.arange(b)[:, None]  # (b, 1), in the flattened table
    digit = numbers.astype(np.uint16)  # (b, n)
    order = np.argsort(digit, axis=1, kind="stable")  # (b, n)
    # Numbers are sorted by their last digit; each sort by the digit before it keeps that order among equal digits.
    for shift in range(DIGIT_BITS, largest.bit_length(), DIGIT_BITS):
        order += first_of_row
        digit = (numbers >> shift).astype(np.uint16)
        digit_in_order = digit.ravel().take(order)
        by_digit = np.argsort(digit_in_order, axis=1, kind="stable")
        by_digit += first_of_row
        order = order.ravel().take(by_digit)
        order -= first_of_row
    return order
