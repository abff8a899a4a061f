"""Columns of few values: which they are, and the rank that each cell has among those of its column.

Where n is many times the number v of values, sorting the n cells of a column without their rows, and finding each among
the v, is cheaper than sorting rows; whole numbers below a limit are their own ranks.

Cost: O(n d log n), of the cheapest kind; O(n d) for small whole numbers.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

MAX_BINS = 32
"""Rows are not counted by value where a column has more values,"""

MIN_ROWS_PER_BIN = 64
"""or where there are fewer rows than so many for each value: many levels would have too few rows for that."""


@dataclass
class Bins:
    """The values of the d columns of a table of n rows.

    Attributes
    ----------
    values : ndarray of shape (d, v)
        The distinct values of each column, ascending, then +inf; of whole numbers from 0 also such as it lacks.
    rank : ndarray of shape (d, n), int
    place : ndarray of shape (d, n), int
        Feature and rank of each cell as one whole number, feature * v + rank.
    """

    values: np.ndarray
    codes: np.ndarray
    flat_codes: np.ndarray

    @classmethod
    def from_columns(cls, columns: np.ndarray) -> Bins | None:
        """Return the bins of columns (d, n), unless one has many values."""
        d, n = columns.shape
        most = min(MAX_BINS, n // MIN_ROWS_PER_BIN)
        if most and columns.min() >= 0 and columns.max() < most and (columns == np.rint(columns)).all():
            values = np.tile(np.arange(columns.max() + 1), (d, 1))
            codes = columns.astype(np.uint8)
        else:
            among = _few_values(columns, most) if most else None
            if among is None:
                return None
            values, codes = among, np.zeros(columns.shape, dtype=np.uint8)
            for value in values[:, :-1].T:  # of few values faster than a search for each cell
                codes += columns > value[:, None]
        v = values.shape[1]
        return cls(values, codes, codes + np.arange(0, d * v, v)[:, None])


def _few_values(columns: np.ndarray, most: int) -> np.ndarray | None:
    """Return the distinct values of each of columns (d, n), ascending, then +inf, unless one has more: (d, v)."""
    for part in (columns[:, : 4 * most], columns):  # some rows often tell
        cells = np.sort(part, axis=1)
        first = np.ones(cells.shape, dtype=bool)
        np.not_equal(cells[:, 1:], cells[:, :-1], out=first[:, 1:])
        number = np.count_nonzero(first, axis=1)
        if number.max() > most:
            return None
    values = np.full((number.size, number.max()), np.inf)
    values[np.arange(values.shape[1]) < number[:, None]] = cells[first]
    return values


def encode_values(columns: np.ndarray, order: np.ndarray) -> np.ndarray:
    """Return the position of each cell among the distinct values of its column, given their sorting: both (d, n)."""
    cells = np.take_along_axis(columns, order, axis=1)
    upto = np.zeros(cells.shape, dtype=np.intp)
    np.cumsum(cells[:, 1:] != cells[:, :-1], axis=1, out=upto[:, 1:])
    codes = np.empty(cells.shape, dtype=np.min_scalar_type(int(upto[:, -1].max())))
    np.put_along_axis(codes, order, upto.astype(codes.dtype), axis=1)
    return codes


def count_nominal_values(codes: np.ndarray | None, nominal: np.ndarray) -> int:
    """Return the most values that a nominal column has, given `ranks` (d, n); 0 without."""
    return 0 if codes is None or not nominal.any() else int(codes[nominal].max()) + 1
