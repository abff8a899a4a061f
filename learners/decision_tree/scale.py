"""Columns of few values: which they are, and the rank that each cell has among those of its column.

Where n is many times the number v of values, sorting the n cells of a column without the rows that they come from, and
finding each among the v, is cheaper than sorting rows.  Cost: O(n d log n), of the cheapest kind.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

FEW_VALUES = 64
"""Columns of more values are sorted,"""

ROWS = 32
"""and so are those with fewer than so many rows for each value."""


@dataclass
class Scale:
    """The values of the d columns of a table of n rows.

    Attributes
    ----------
    values : ndarray of shape (d, v)
        The distinct values of each column, ascending, then +inf.
    rank : ndarray of shape (d, n), int
    place : ndarray of shape (d, n), int
        Feature and rank of each cell as one whole number, feature * v + rank.
    """

    values: np.ndarray
    rank: np.ndarray
    place: np.ndarray

    @classmethod
    def of(cls, columns: np.ndarray) -> Scale | None:
        """Return the scale of columns (d, n), unless one has many values."""
        values = _few_values(columns)
        if values is None:
            return None
        rank = np.empty(columns.shape, dtype=np.uint8)
        for here, cells, row in zip(values, columns, rank, strict=True):
            row[:] = np.searchsorted(here, cells)
        d, v = values.shape
        return cls(values, rank, rank + np.arange(0, d * v, v)[:, None])


def _few_values(columns: np.ndarray) -> np.ndarray | None:
    """Return the distinct values of each of columns (d, n), ascending, then +inf, unless one has many: (d, v)."""
    most = min(FEW_VALUES, columns.shape[1] // ROWS)
    if most == 0:
        return None
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
