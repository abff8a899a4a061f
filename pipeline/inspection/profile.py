"""The result of an inspection, for the terminal and the page, with a histogram and an association of each column.

The association is how much of the target a column tells alone: the part of its variance that lies between the values
of the column.
"""

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


MAX_BINS = 10
MIN_ROWS_PER_BIN = 10
MIN_BINS = 2


def measure_association(column: pd.Series, y: np.ndarray) -> float:
    """Return the fraction of the target's variance that a column explains alone, beyond what chance would.

    The rows are grouped by the values of the column; numbers and dates by at most `MAX_BINS` ranges with as many rows
    each. Missing cells are a group of their own, and so are all values that occur once, such as names: each explains
    its own row only. For numbers, the result is the correlation ratio η² of the target, adjusted for the number of
    groups (ε²). For classes, the variance is Gini's, and the result is the adjusted τ of Goodman and Kruskal; with two
    classes, this is the square of Cramér's V with a correction for its bias.

    Parameters
    ----------
    column : Series of shape (n,)
    y : ndarray of shape (n,)
        Float64 for numbers; any other type holds classes.

    Returns
    -------
    float
        Between 0 and 1; NaN if the target does not vary.

    References
    ----------
    Kelley (1935), An unbiased correlation ratio measure: ε². Goodman and Kruskal (1954), Measures of association for
    cross classifications, section 9: τ. Light and Margolin (1971), An analysis of variance for categorical data:
    τ as a fraction of variance, and its degrees of freedom. Bergsma (2013), A bias-correction for Cramér's V.
    """
    # The sum of squares of equal numbers may differ from 0 in its last digits.
    if (y == y[0]).all():
        return float("nan")
    groups = _pool_single_rows(group_rows(column))  # (n,)
    total = _sum_squares(np.zeros(len(y), dtype=np.int64), y)
    n_groups = int(groups.max()) + 1
    degrees = len(y) - n_groups
    if degrees == 0:
        return 0.0
    unexplained = _sum_squares(groups, y) / degrees
    return float(max(0.0, 1.0 - unexplained / (total / (len(y) - 1))))


def _pool_single_rows(groups: np.ndarray) -> np.ndarray:
    """Return groups (n,) in which groups of a single row, which are not informative, are merged."""
    sizes = np.bincount(groups)
    pooled = np.where(sizes[groups] == 1, len(sizes), groups)
    return np.unique(pooled, return_inverse=True)[1]


def group_rows(column: pd.Series) -> np.ndarray:
    """Return the group of each row, from 0: the value of its cell, or the range of the number or date in it.

    Parameters
    ----------
    column : Series of shape (n,)

    Returns
    -------
    ndarray of shape (n,), int
        Each group has a row.
    """
    is_ordered = column.dtype.kind in "fiM"
    if is_ordered and column.nunique() > MAX_BINS:
        column = _cut_ranges(column)
    return np.asarray(pd.factorize(column, use_na_sentinel=False)[0])


def _cut_ranges(column: pd.Series) -> pd.Series:
    """Return the range that each number or date lies in; equal ones are not separated, and missing cells are kept."""
    is_there = column.notna()
    n_bins = int(np.clip(is_there.sum() // MIN_ROWS_PER_BIN, MIN_BINS, MAX_BINS))
    ranks = column.rank(method="min")  # 1 for the smallest
    ranges = ((ranks - 1.0) * n_bins / is_there.sum()).apply(np.floor)
    return ranges.where(is_there)


def _sum_squares(groups: np.ndarray, y: np.ndarray) -> float:
    """Return the sum of the squared distances of the targets from the mean of their group.

    Of classes, the distance is that of their indicators, so that the sum is n times Gini's variance within the groups.
    """
    sizes = np.bincount(groups)  # (g,)
    if y.dtype.kind == "f":
        means = np.bincount(groups, weights=y) / sizes  # (g,)
        return float(((y - means[groups]) ** 2).sum())
    classes, labels = pd.factorize(y)
    cells = groups.astype(np.int64) * len(labels) + classes
    counts = np.bincount(cells, minlength=len(sizes) * len(labels)).reshape(len(sizes), len(labels))  # (g, c)
    # Half the sum over indicators: one minus the squared fractions of the classes.
    return float((sizes - (counts**2).sum(axis=1) / sizes).sum())
