"""The result of an inspection, for the terminal and the page, with a histogram of each column."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import pandas as pd

from bakeoff.pipeline.stages.dataset import Column

MAX_BARS = 12
STEPS = (1.0, 2.0, 2.5, 5.0, 10.0, 20.0)


@dataclass(frozen=True)
class Histogram:
    """How many rows have each value, or a value in each range.

    Attributes
    ----------
    labels : tuple of str
        A value, or a range such as ``20 to 30``, for each bar.
    counts : tuple of int
        Rows of each bar.
    n_other : int
        Rows with values that have no bar, because there are too many.
    """

    labels: tuple[str, ...]
    counts: tuple[int, ...]
    n_other: int = 0


@dataclass(frozen=True)
class ColumnProfile:
    """A column, with findings about its cells.

    Attributes
    ----------
    column : Column
        Kind, reason, role, missing and distinct values, suspicions of its own.
    histogram : Histogram or None
        None if it would say nothing, as for identifiers and free text.
    association : float or None
        The fraction of the target's variance that the column explains alone, from 0 to 1; None for the target, and if
        no target is named or it does not vary.
    """

    column: Column
    histogram: Histogram | None = None
    association: float | None = None


@dataclass(frozen=True)
class TableProfile:
    """An inspected table.

    Attributes
    ----------
    name, source : str
        Of the dataset.
    n_rows : int
    target : str or None
        The target's column, if one is named.
    task : str or None
        ``classification`` or ``regression``.
    columns : tuple of ColumnProfile
        In the order of the source.
    notes : tuple of str
        How the source was read, and what is left out.
    suspicions : tuple of str
        A sentence each about rows, pairs of columns, and columns and the target.
    """

    name: str
    source: str
    n_rows: int
    target: str | None
    task: str | None
    columns: tuple[ColumnProfile, ...]
    notes: tuple[str, ...]
    suspicions: tuple[str, ...]


def count_cells(column: pd.Series) -> Histogram | None:
    """Return the histogram of a column; None if all its cells are missing.

    A number has a bar of its own if there are at most `MAX_BARS` different ones; other numbers and dates are counted in
    ranges. Of nominal values, the most frequent have bars.

    Parameters
    ----------
    column : Series of shape (n,)
        Float64, datetime64[ns] or categorical; missing cells are not counted, and infinite ones have no bar.
    """
    present = column.dropna()
    if present.empty:
        return None
    if present.dtype.kind == "M":
        return _count_dates(present)
    if present.dtype.kind != "f":
        return _count_values(present)
    finite = present[np.isfinite(present)]
    if finite.empty:
        return None
    histogram = _count_numbers(finite)
    return replace(histogram, n_other=len(present) - len(finite))


def _count_values(present: pd.Series) -> Histogram:
    counts = present.value_counts(sort=False)
    counts = counts[counts > 0]
    ranked = counts.sort_values(ascending=False, kind="stable")
    shown = ranked.head(MAX_BARS)
    if isinstance(present.dtype, pd.CategoricalDtype) and present.dtype.ordered:
        shown = counts[counts.index.isin(shown.index)]
    n_other = int(counts.sum() - shown.sum())
    return Histogram(tuple(map(str, shown.index)), tuple(map(int, shown)), n_other)


def _count_numbers(present: pd.Series) -> Histogram:
    numbers = present.to_numpy()
    values, counts = np.unique(numbers, return_counts=True)
    if len(values) <= MAX_BARS:
        return Histogram(tuple(f"{value:.10g}" for value in values), tuple(map(int, counts)))
    edges = _choose_edges(values[0], values[-1], are_whole=bool((values == np.round(values)).all()))
    in_ranges, _ = np.histogram(numbers, edges)
    labels = [f"{low:.10g} to {high:.10g}" for low, high in pairwise(edges)]
    return Histogram(tuple(labels), tuple(map(int, in_ranges)))


def _choose_edges(low: float, high: float, *, are_whole: bool) -> np.ndarray:
    """Return at most `MAX_BARS` + 1 round numbers with equal distances around two numbers; whole ones, if asked.

    Examples
    --------
    >>> _choose_edges(3.0, 41.0, are_whole=True).tolist()
    [0.0, 5.0, 10.0, 15.0, 20.0, 25.0, 30.0, 35.0, 40.0, 45.0]
    """
    # Halves keep the range of the largest floats finite.
    width = high / 2.0 - low / 2.0
    magnitude = 10.0 ** np.floor(np.log10(width / MAX_BARS * 2.0))
    for step in (factor * magnitude for factor in STEPS):
        first = np.floor(low / step)
        last = np.ceil(high / step)
        is_possible = not are_whole or step == np.round(step)
        if is_possible and last - first <= MAX_BARS:
            break
    return np.asarray(np.arange(first, last + 1) * step)


def _count_dates(present: pd.Series) -> Histogram:
    days = present.dt.strftime("%Y-%m-%d")
    if days.nunique() <= MAX_BARS:
        counts = days.value_counts().sort_index()
        return Histogram(tuple(counts.index), tuple(map(int, counts)))
    edges = pd.date_range(present.min(), present.max(), periods=MAX_BARS + 1)
    counts, _ = np.histogram(present.astype(np.int64), edges.as_unit(present.dt.unit).astype(np.int64))
    labels = [f"{low:%Y-%m-%d} to {high:%Y-%m-%d}" for low, high in pairwise(edges)]
    return Histogram(tuple(labels), tuple(map(int, counts)))
