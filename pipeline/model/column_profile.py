"""Counts of the cells of a column in training, with which later rows are compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from bakeoff.pipeline.stages.dataset.table import BOOLEAN, DATE, NOMINAL, NUMERIC, ORDERED

N_BINS = 10
"""Numbers are counted between deciles, so that each bin contains about a tenth of the training rows."""
MAX_SORTED_CELLS = 10_000
"""Deciles of more cells are those of so many of them."""
SECONDS_PER_DAY = 86400
NUMBER_KINDS = (NUMERIC, DATE)
VALUE_KINDS = (NOMINAL, ORDERED, BOOLEAN)


@dataclass(frozen=True)
class ColumnProfile:
    """How often which cells occur in a column.

    Attributes
    ----------
    kind : str
        Of a feature: numeric, nominal, ordered, date or text.
    n : int
        The number of cells, missing ones included.
    n_missing : int
    minimum, maximum : float or None
        Of numbers; of dates in days since 1970-01-01. None for other kinds, and if all cells are missing.
    edges : list of float, ascending
        The distinct deciles above the minimum, at most 9; of more than 10,000 cells, about the deciles.
    counts : list of int
        The number of cells x below the first edge, with ``edges[i - 1] <= x < edges[i]``, and from the last edge.
    values : mapping of str to int
        Value of a nominal or ordered column -> number of cells; values without cells are included.
    """

    kind: str
    n: int
    n_missing: int
    minimum: float | None = None
    maximum: float | None = None
    edges: Sequence[float] = field(default_factory=list)
    counts: Sequence[int] = field(default_factory=list)
    values: Mapping[str, int] = field(default_factory=dict)

    @property
    def is_number(self) -> bool:
        """Whether the cells are numbers or dates, so that they have a range."""
        return self.kind in NUMBER_KINDS


def profile_column(column: pd.Series[Any], kind: str) -> ColumnProfile:
    """Count the cells of a column.

    Parameters
    ----------
    column : Series of shape (n,)
        Of a dataset: numbers, categories, dates or text.
    kind : str
    """
    n = len(column)
    n_missing = int(column.isna().sum())
    if kind in VALUE_KINDS:
        categories = column.cat.categories
        # The code of a missing cell is -1, which becomes the first place.
        counts = np.bincount(column.cat.codes.to_numpy(dtype=np.int64) + 1, minlength=len(categories) + 1)
        values = dict(zip(map(str, categories), counts[1:].tolist(), strict=True))
        return ColumnProfile(kind, n, n_missing, values=values)
    if kind not in NUMBER_KINDS or n_missing == n:
        return ColumnProfile(kind, n, n_missing)
    numbers = to_numbers(column)
    present = numbers[~np.isnan(numbers)]
    minimum = float(present.min())
    # Bins need not contain exactly a tenth of the cells, and sorting all of them is slower than counting.
    ordered = np.sort(present[:: -(-len(present) // MAX_SORTED_CELLS)])
    deciles = np.unique(ordered[np.arange(1, N_BINS) * len(ordered) // N_BINS])
    edges = deciles[deciles > minimum].tolist()
    counts_of_bins = count_in_bins(edges, present).tolist()
    return ColumnProfile(kind, n, n_missing, minimum, float(present.max()), edges, counts_of_bins)


def count_in_bins(edges: Sequence[float], numbers: np.ndarray) -> np.ndarray:
    """Return how many of some numbers are in each bin, shape (len(edges) + 1,); missing ones are in none."""
    bins = np.searchsorted(edges, numbers[~np.isnan(numbers)], side="right")
    return np.bincount(bins, minlength=len(edges) + 1)


def to_numbers(column: pd.Series[Any]) -> np.ndarray:
    """Return numbers, or dates as days since 1970-01-01, as float64 of shape (n,), NaN where missing."""
    if column.dtype.kind != "M":
        return column.to_numpy(dtype=np.float64, na_value=np.nan)
    seconds = column.to_numpy(dtype="datetime64[s]").astype(np.float64)  # (n,)
    return np.where(column.isna(), np.nan, seconds / SECONDS_PER_DAY)
