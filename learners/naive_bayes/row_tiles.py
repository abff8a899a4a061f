"""Parts of a table: some of its columns; tiles of rows, so small that passes over them stay in a core's own cache."""

from __future__ import annotations

import numpy as np

TILE = 1 << 15
"""Cells of a tile: 256 KiB."""


def tiles(n: int, width: int) -> list[slice]:
    """Cut n rows of so many cells into tiles."""
    step = max(2, TILE // width)
    return [slice(start, start + step) for start in range(0, n, step)]


def columns_first(rows: np.ndarray) -> np.ndarray:
    """Transpose, for long inner loops; a lone row goes twice, since NumPy adds up a single column in another order."""
    return np.ascontiguousarray((rows if rows.shape[0] > 1 else np.repeat(rows, 2, axis=0)).T)


def columns_of(X: np.ndarray, columns: list[int] | np.ndarray) -> np.ndarray:
    """Return these columns, ascending; all of them without a copy."""
    return X if len(columns) == X.shape[1] else X[:, columns]
