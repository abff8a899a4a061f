"""The table of training rows by columns, presorted or encoded, which all nodes and all trees of a forest share.

*Presorted*: for each column, the sorted rows are stored in the smallest sufficient dtype, because there is one entry
for each cell of the table. NumPy sorts integers of 16 bits by counting. Cost: O(n log n) for a column of n numbers,
O(n) for one of small integers.

*Encoded*: the code of a cell is its position among the distinct values of its column. If n is much larger than the
number v of values, sorting the n cells of a column and comparing each of them with the v values is cheaper than sorting
rows. Small integers are their own codes. Cost: O(n d log n) with a small constant; O(n d) for small integers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np


@dataclass(frozen=True)
class TrainingTable:
    """The n0 training rows.

    Attributes
    ----------
    columns : ndarray of shape (d, n0)
        Missing cells are +inf, so that they are sorted last.
    nominal : ndarray of shape (d,), bool
    order : ndarray of shape (d, n0) or (1, n0), int
        The rows presorted by each feature, or in their original order if there are ``bin_codes`` instead.
    has_nominal, has_missing : bool
        Whether any feature is nominal, and whether any cell is missing.
    draws_features : bool
        Whether nodes draw some of the features.
    bin_codes : ndarray of shape (d, n0), int, or None
        The position of each cell among the distinct values of its column, if rows are counted by value or sorted anew
        at each level.
    values : ndarray of shape (d, v) or None
        The cells that the bin codes of each column stand for, ascending, then +inf.
    has_few_values : bool
        Whether columns have so few values that rows may be counted by value.
    max_nominal_values : int
        The largest number of values of a nominal column, if there are ``bin_codes``; else 0.
    """

    columns: np.ndarray
    nominal: np.ndarray
    order: np.ndarray
    has_nominal: bool
    has_missing: bool
    draws_features: bool
    bin_codes: np.ndarray | None = None
    values: np.ndarray | None = None
    has_few_values: bool = False
    max_nominal_values: int = 0

    @classmethod
    def from_rows(
        cls,
        X: np.ndarray,
        nominal: np.ndarray,
        *,
        draws_features: bool,
        allows_histogram: bool,
    ) -> TrainingTable:
        """Prepare the table.

        Parameters
        ----------
        X : ndarray of shape (n0, d)
        nominal : ndarray of shape (d,), bool
        draws_features : bool
            Whether nodes draw some of the features, so that sorting only by these is cheaper than maintaining a
            presort.
        allows_histogram : bool
            Whether rows may be counted by value, if columns have few values.
        """
        columns, has_missing = extract_columns(X)
        has_nominal = bool(nominal.any())
        rows = np.arange(X.shape[0])[None, :]  # (1, n0)
        table = cls(columns, nominal, rows, has_nominal, has_missing, draws_features)
        # Histograms do not need a presort, but require that all features are numeric and have no missing cells.
        if allows_histogram and not (has_missing or has_nominal):
            values, codes = find_bins(columns)
            if values is not None:
                return replace(table, bin_codes=codes, values=values, has_few_values=True)
        order = presort_columns(columns)
        if not draws_features:
            return replace(table, order=order)
        # Sorting codes level by level replaces the presort, which is used only to compute the codes.
        values, bin_codes = encode_values(columns, order)
        max_nominal_values = int(bin_codes[nominal].max()) + 1 if has_nominal else 0
        return replace(table, bin_codes=bin_codes, values=values, max_nominal_values=max_nominal_values)

    @property
    def n_rows(self) -> int:
        """The number of rows, n0."""
        return self.columns.shape[1]

    @property
    def cells(self) -> np.ndarray:
        """The cells column by column, shape (d n0,): the cell of a row and a feature is at feature * n0 + row."""
        return self.columns.ravel()


MAX_BINS = 32
"""The maximum number of values in a column of a histogram."""

MIN_ROWS_PER_BIN = 64
"""With fewer rows for each value, too few levels have enough rows in a node for histograms to pay off."""

SAMPLED_ROWS_PER_BIN = 4
"""Number of rows checked first for each allowed value, in which many columns already have too many values."""


def find_bins(columns: np.ndarray) -> tuple[np.ndarray | None, np.ndarray | None]:
    """Return the values of columns (d, n), and the position of each cell among them: (d, v) and (d, n).

    Both are None if a column has too many values for n rows.
    """
    d, n = columns.shape
    max_bins = min(MAX_BINS, n // MIN_ROWS_PER_BIN)
    if max_bins == 0:
        return None, None
    if holds_integers(columns, max_bins):
        numbers = np.arange(columns.max() + 1)
        return np.tile(numbers, (d, 1)), columns.astype(np.uint8)
    values = _list_distinct_values(columns, max_bins)
    if values is None:
        return None, None
    return values, _find_among_values(columns, values)


def _list_distinct_values(columns: np.ndarray, max_values: int) -> np.ndarray | None:
    """Return the distinct values of columns (d, n), ascending, then +inf: (d, v); None if a column has more."""
    some_rows = columns[:, : SAMPLED_ROWS_PER_BIN * max_values]
    for part in (some_rows, columns):
        # Along sorted cells, the first cell of each run represents its value.
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
    # For few values, comparing with each of them is faster than a binary search for each cell.
    for value in values[:, :-1].T:
        codes += columns > value[:, None]
    return codes


def encode_values(columns: np.ndarray, order: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct values of columns (d, n), and the position of each cell among them: (d, v) and (d, n).

    The rows are given in the order of each column (d, n).
    """
    # Along sorted cells, the position increases by one wherever the value changes.
    cells = np.take_along_axis(columns, order, axis=1)
    changes = cells[:, 1:] != cells[:, :-1]
    sorted_codes = np.zeros(cells.shape, dtype=np.intp)
    np.cumsum(changes, axis=1, out=sorted_codes[:, 1:])
    largest = int(sorted_codes[:, -1].max())
    values = np.full((cells.shape[0], largest + 1), np.inf)  # (d, v)
    np.put_along_axis(values, sorted_codes, cells, axis=1)
    codes = np.empty(cells.shape, dtype=np.min_scalar_type(largest))
    np.put_along_axis(codes, order, sorted_codes.astype(codes.dtype), axis=1)
    return values, codes


MAX_CELLS_PER_BLOCK = 1 << 17
"""Number of cells processed together: few enough to stay in cache, and enough for small tables to need one pass."""

MAX_COUNTED_INTEGERS = 1 << 16
"""NumPy sorts integers of 16 bits by counting, much faster than others."""

MIN_LARGEST_ROW = 1 << 8
"""Row numbers take at least 16 bits, even for few rows."""


def extract_columns(X: np.ndarray) -> tuple[np.ndarray, bool]:
    """Return X (n, d) by columns (d, n), with +inf for missing cells, and whether any cell is missing."""
    columns = np.ascontiguousarray(X.T)  # (d, n)
    is_missing = np.isnan(columns)
    has_missing = bool(is_missing.any())
    if has_missing:
        columns = np.where(is_missing, np.inf, columns)
    return columns, has_missing


def presort_columns(columns: np.ndarray) -> np.ndarray:
    """Return the rows sorted by each of the columns (d, n), in which missing cells are +inf: (d, n)."""
    d, n = columns.shape
    if columns.size and holds_integers(columns, MAX_COUNTED_INTEGERS):
        order = np.argsort(columns.astype(np.uint16), axis=1, kind="stable")
        return narrow_rows(order, n)
    # The wide result of argsort is narrowed block by block, while it is in cache.
    order = np.empty((d, n), dtype=smallest_row_dtype(n))
    for block in divide_columns(d, n):
        order[block] = np.argsort(columns[block], axis=1)
    return order


def holds_integers(columns: np.ndarray, end: int) -> bool:
    """Return whether all cells are integers from 0 to ``end`` - 1."""
    # The cheap tests come first, because most tables of real numbers fail them.
    if columns.min() < 0 or columns.max() >= end:
        return False
    return bool((columns == np.rint(columns)).all())


def divide_columns(d: int, n: int) -> Iterator[slice]:
    """Divide d columns of n rows into blocks of at most `MAX_CELLS_PER_BLOCK` cells, or of one column."""
    step = max(1, MAX_CELLS_PER_BLOCK // n)
    for first in range(0, d, step):
        yield slice(first, min(first + step, d))


def smallest_row_dtype(n: int) -> np.dtype[Any]:
    """Return the smallest dtype that can represent the rows 0, …, n - 1."""
    return np.min_scalar_type(max(n - 1, MIN_LARGEST_ROW))


def narrow_rows(rows: np.ndarray, n: int) -> np.ndarray:
    """Return rows out of 0, …, n - 1 in the smallest dtype that can represent them."""
    return rows.astype(smallest_row_dtype(n))
