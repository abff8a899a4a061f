"""Counts of the cells of a column in training, with which later rows are compared."""

from __future__ import annotations

from collections.abc import Mapping
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
    edges : tuple of float, ascending
        The distinct deciles above the minimum, at most 9; of more than 10,000 cells, about the deciles.
    counts : tuple of int
        The number of cells x below the first edge, with ``edges[i - 1] <= x < edges[i]``, and from the last edge.
    values : mapping of str to int
        Value of a nominal or ordered column -> number of cells; values without cells are included.
    """

    kind: str
    n: int
    n_missing: int
    minimum: float | None = None
    maximum: float | None = None
    edges: tuple[float, ...] = ()
    counts: tuple[int, ...] = ()
    values: Mapping[str, int] = field(default_factory=dict)

    @property
    def n_present(self) -> int:
        """The number of cells that are not missing."""
        return self.n - self.n_missing

    @property
    def is_number(self) -> bool:
        """Whether the cells are numbers or dates, so that they have a range."""
        return self.kind in NUMBER_KINDS

    def count_in_bins(self, column: pd.Series[Any]) -> np.ndarray:
        """Return how many cells of another column are in each bin of this one, shape (n_bins,); missing ones in none.

        Parameters
        ----------
        column : Series of shape (m,)
            Numbers or dates.
        """
        numbers = to_numbers(column)
        bins = np.searchsorted(self.edges, numbers[~np.isnan(numbers)], side="right")
        return np.bincount(bins, minlength=len(self.edges) + 1)


def profile_column(column: pd.Series[Any], kind: str) -> ColumnProfile:
    """Count the cells of a column.

    Parameters
    ----------
    column : Series of shape (n,)
        Of a dataset: numbers, categories, dates or text.
    kind : str
    """
    if kind in NUMBER_KINDS:
        return _profile_numbers(to_numbers(column), kind)
    if kind in VALUE_KINDS:
        return _profile_values(column, kind)
    return ColumnProfile(kind, len(column), int(column.isna().sum()))


def to_numbers(column: pd.Series[Any]) -> np.ndarray:
    """Return numbers, or dates as days since 1970-01-01, as float64 of shape (n,), NaN where missing."""
    if column.dtype.kind != "M":
        return column.to_numpy(dtype=np.float64, na_value=np.nan)
    seconds = column.to_numpy(dtype="datetime64[s]").astype(np.float64)  # (n,)
    return np.where(column.isna(), np.nan, seconds / SECONDS_PER_DAY)


def _profile_numbers(numbers: np.ndarray, kind: str) -> ColumnProfile:
    present = numbers[~np.isnan(numbers)]
    n = len(numbers)
    n_present = len(present)
    if n_present == 0:
        return ColumnProfile(kind, n, n)
    # Bins need not contain exactly a tenth of the cells, and sorting all of them is slower than counting.
    step = -(-n_present // MAX_SORTED_CELLS)
    ordered = np.sort(present[::step])
    minimum = float(ordered[0] if step == 1 else present.min())
    deciles = np.unique(ordered[np.arange(1, N_BINS) * len(ordered) // N_BINS])
    edges = deciles[deciles > minimum]
    places = np.searchsorted(ordered, edges) if step == 1 else _count_below(present, edges)
    counts = np.diff(np.concatenate(([0], places, [n_present])))
    return ColumnProfile(
        kind,
        n,
        n - n_present,
        minimum=minimum,
        maximum=float(present.max()),
        edges=tuple(edges.tolist()),
        counts=tuple(counts.tolist()),
    )


def _count_below(numbers: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """Return the number of cells below each edge, shape (n_edges,)."""
    return np.array([np.count_nonzero(numbers < edge) for edge in edges], dtype=np.int64)


def _profile_values(column: pd.Series[Any], kind: str) -> ColumnProfile:
    codes = column.cat.codes.to_numpy()  # (n,)
    categories = [str(value) for value in column.cat.categories]
    # The code of a missing cell is -1, which becomes the first place.
    counts = np.bincount(codes.astype(np.int64) + 1, minlength=len(categories) + 1)
    values = dict(zip(categories, counts[1:].tolist(), strict=True))
    return ColumnProfile(kind, len(codes), int(counts[0]), values=values)
