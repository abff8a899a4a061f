"""Bins: columns of few values, and the code of each cell, its position among the distinct values of its column.

If n is much larger than the number v of values, sorting only the n cells of a column and looking up each among the v
values is cheaper than sorting rows. Small integers are their own codes.

Cost: O(n d log n) with a small constant; O(n d) for small integers.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bakeoff.learners.trees.rows.presort import holds_integers

MAX_BINS = 32
"""The most values that a column of a histogram has."""

MIN_ROWS_PER_BIN = 64
"""With fewer rows for each value, too few levels have enough rows in a node for histograms to pay."""

SAMPLED_ROWS_PER_BIN = 4
"""Rows that are checked first, for each allowed value: many columns show there that they have more values."""


@dataclass
class Bins:
    """The values of the d columns of a table of n rows, at most v in a column.

    Attributes
    ----------
    values : ndarray of shape (d, v)
        The distinct values of each column, ascending, then +inf; for integers, including those that do not occur.
    codes : ndarray of shape (d, n), int
        The position of each cell in the values of its column.
    flat_codes : ndarray of shape (d, n), int
        Feature and code of each cell as one integer, feature * v + code.
    """

    values: np.ndarray
    codes: np.ndarray
    flat_codes: np.ndarray

    @classmethod
    def from_columns(cls, columns: np.ndarray) -> Bins | None:
        """Return the bins of columns (d, n), or None if a column has too many values for n rows."""
        d, n = columns.shape
        max_bins = min(MAX_BINS, n // MIN_ROWS_PER_BIN)
        if max_bins == 0:
            return None
        if holds_integers(columns, max_bins):
            numbers = np.arange(columns.max() + 1)
            values = np.tile(numbers, (d, 1))  # (d, v)
            codes = columns.astype(np.uint8)  # (d, n)
        else:
            distinct = _list_distinct_values(columns, max_bins)
            if distinct is None:
                return None
            values = distinct
            codes = _find_among_values(columns, values)
        v = values.shape[1]
        first_of_column = v * np.arange(d)[:, None]  # (d, 1)
        return cls(values, codes, codes + first_of_column)


def _list_distinct_values(columns: np.ndarray, max_values: int) -> np.ndarray | None:
    """Return the distinct values of columns (d, n), ascending, then +inf: (d, v); None if a column has more."""
    some_rows = columns[:, : SAMPLED_ROWS_PER_BIN * max_values]
    for part in (some_rows, columns):
        # Along sorted cells, the first of each run of equal cells represents its value.
        cells = np.sort(part, axis=1)
        is_first = np.ones(cells.shape, dtype=bool)
        np.not_equal(cells[:, 1:], cells[:, :-1], out=is_first[:, 1:])
        n_values = np.count_nonzero(is_first, axis=1)  # (d,)
        if n_values.max() > max_values:
            return None
    d = n_values.size
    v = n_values.max()
    values = np.full((d, v), np.inf)  # (d, v)
    is_filled = np.arange(v) < n_values[:, None]
    values[is_filled] = cells[is_first]
    return values


def _find_among_values(columns: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return the position of each cell (d, n) among the values of its column (d, v): (d, n)."""
    codes = np.zeros(columns.shape, dtype=np.uint8)
    # Comparing with each of a few values is faster than a binary search for each cell.
    for value in values[:, :-1].T:
        codes += columns > value[:, None]
    return codes


def encode_values(columns: np.ndarray, order: np.ndarray) -> np.ndarray:
    """Return the position of each cell among the distinct values of its column, given the presorted rows: (d, n)."""
    # Along sorted cells, the position goes up by one wherever the value changes.
    cells = np.take_along_axis(columns, order, axis=1)
    changes = cells[:, 1:] != cells[:, :-1]
    sorted_codes = np.zeros(cells.shape, dtype=np.intp)
    np.cumsum(changes, axis=1, out=sorted_codes[:, 1:])
    largest = int(sorted_codes[:, -1].max())
    codes = np.empty(cells.shape, dtype=np.min_scalar_type(largest))
    np.put_along_axis(codes, order, sorted_codes.astype(codes.dtype), axis=1)
    return codes
