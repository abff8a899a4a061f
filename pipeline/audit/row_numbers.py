"""Columns that number the rows: they mean nothing in new rows, and give the target away if a file is sorted by it."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import pandas as pd

MAX_CHANCE = 1e-6
"""Largest probability that so many measured integers of such a range would all be different."""


def find_row_numbers(X: pd.DataFrame) -> Iterator[tuple[str, str]]:
    """Yield the name of each column that seems to number the rows, in any order, and a clause that says why.

    Integers that are counted or measured repeat: of n integers between a and b, two are equal with a probability of at
    least 1 - exp(-n (n - 1) / (2 (b - a + 1))). If all are different although this is nearly certain, they were given
    out one by one. The only column of a table is not examined: it may be the grid at which a function was measured.

    Parameters
    ----------
    X : DataFrame of shape (n, d)

    References
    ----------
    The birthday problem; Feller (1968), An introduction to probability theory and its applications, section II.3.
    """
    if X.shape[1] < 2:
        return
    for name, column in X.items():
        if column.dtype.kind == "f" and _are_given_numbers(column.to_numpy()):
            limits = f"{column.min():.0f} and {column.max():.0f}"
            clause = f"holds {len(column)} different integers between {limits}, which look like numbers of the rows"
            yield str(name), clause


def _are_given_numbers(values: np.ndarray) -> bool:
    """Return whether the numbers (n,) are integers that are all different, though chance would repeat some."""
    n = len(values)
    if not np.isfinite(values).all():
        return False
    n_possible = float(values.max() - values.min() + 1.0)
    is_dense = math.exp(-n * (n - 1) / (2.0 * n_possible)) <= MAX_CHANCE
    return is_dense and bool((values == np.floor(values)).all()) and len(np.unique(values)) == n
