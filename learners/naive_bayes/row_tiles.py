"""Parts of a table: some of its columns, and tiles of rows that stay in a core's own cache while they are processed."""

from __future__ import annotations

import numpy as np

CELLS_PER_TILE = 1 << 15
"""Cells of a tile: 256 KiB."""


def cut_tiles(n: int, cells_per_row: int) -> list[slice]:
    """Return the tiles of n rows."""
    step = max(2, CELLS_PER_TILE // cells_per_row)
    return [slice(start, start + step) for start in range(0, n, step)]


def transpose_tile(rows: np.ndarray) -> np.ndarray:
    """Return the rows as columns, for long inner loops.

    A single row is repeated, because NumPy sums a single column in a different order.
    """
    if rows.shape[0] == 1:
        rows = np.repeat(rows, 2, axis=0)
    return np.ascontiguousarray(rows.T)


def select_columns(X: np.ndarray, columns: list[int] | np.ndarray) -> np.ndarray:
    """Return some columns of X, in ascending order; if all are selected, without a copy."""
    if len(columns) == X.shape[1]:
        return X
    return X[:, columns]
