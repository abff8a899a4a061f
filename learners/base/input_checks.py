"""Plain NumPy input, recognised at a glance.

scikit-learn's checks must expect lists, tables of several libraries, sparse matrices and text, and take a tenth of a
millisecond to find that an array is just an array: longer than a prediction for a few hundred rows.  Here an array in
which they would find nothing wrong is known by its type, its shape and one sum; everything else is left to them, and
so is every error and its wording.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

SMALL = 1 << 10
"""Whole numbers from 0 to below this are counted and coded through a table."""


def plain_table(X: Any) -> np.ndarray | None:
    """Return X as float64 if it is an array of real numbers, all finite, with rows and columns; else None."""
    if type(X) is not np.ndarray or X.ndim != 2 or X.size == 0:
        return None
    return _finite_numbers(X)


def plain_column(y: Any, n: int) -> np.ndarray | None:
    """Return y if it is a one-dimensional array of n finite numbers, booleans or strings; else None."""
    if type(y) is not np.ndarray or y.shape != (n,) or n == 0:
        return None
    return y if y.dtype.kind in "iubU" or _finite_numbers(y) is not None else None


def small_integers(cells: np.ndarray) -> np.ndarray | None:
    """Return cells, of any shape, as places in a table of `SMALL`, if all are whole numbers from 0 on; else None."""
    if cells.dtype.kind not in "iuf" or not cells.size:
        return None
    if not (cells.min() >= 0 and cells.max() < SMALL):  # in these words NaN fails as well
        return None
    whole = cells.astype(np.intp, copy=False)
    return whole if cells.dtype.kind != "f" or np.array_equal(whole, cells) else None


def distinct(cells: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the sorted distinct values (k,) of a column, and each cell's position in them, (n,) int."""
    small = small_integers(cells)
    if small is None:
        values = np.unique(cells)
        return values, np.searchsorted(values, cells)  # several times faster than unique's own inverse
    count = np.bincount(small)
    if count.all():
        return np.arange(count.size, dtype=cells.dtype), small
    present = count > 0
    return np.flatnonzero(present).astype(cells.dtype), (np.cumsum(present) - 1)[small]


def _finite_numbers(array: np.ndarray) -> np.ndarray | None:
    """Return the array as float64 if it holds real numbers that are all finite; else None."""
    kind = array.dtype.kind
    if kind in "iub":
        return array.astype(np.float64)
    if kind != "f" or array.itemsize > 8:
        return None
    array = array.astype(np.float64, copy=False)
    # One infinite or missing cell makes the sum such.  A sum of finite cells may overflow: then it is not so plain.
    # It is einsum's, which does not warn of either, as NumPy's sum would unless told not to in as much time again.
    return array if math.isfinite(np.einsum("ij->" if array.ndim == 2 else "i->", array)) else None
