"""The result of an inspection for the terminal and the page, with a histogram and an association for each column.

The association measures how much a column alone reveals about the target: the fraction of the target's variance that
lies between the values of the column.
"""

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import pandas as pd

from bakeoff.pipeline.audit.columns import count_pairs
from bakeoff.pipeline.stages.dataset import Column

MAX_BARS = 12
STEPS = (1.0, 2.0, 2.5, 5.0, 10.0, 20.0)


@dataclass(frozen=True)
class Histogram:
    """The number of rows with each value, or with a value in each range.

    Attributes
    ----------
    labels : tuple of str
        The value or the range of each bar, such as ``20 to 30``.
    counts : tuple of int
        The number of rows of each bar.
    n_other : int
        The number of rows whose values have no bar, because there are too many values.
    """

    labels: tuple[str, ...]
    counts: tuple[int, ...]
    n_other: int = 0


@dataclass(frozen=True)
class ColumnProfile:
    """A column with findings about its cells.

    Attributes
    ----------
    column : Column
        Kind, reason, role, missing and distinct values, and suspicions about the column itself.
    histogram : Histogram or None
        The histogram, or None if it would not be informative, as for identifiers and free text.
    association : float or None
        The fraction of the target's variance that the column alone explains, from 0 to 1; None for the target, and if
        there is no target or it does not vary.
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
        The name and the source of the dataset.
    n_rows : int
    target : str or None
        The target column, if one is given.
    task : str or None
        ``classification`` or ``regression``.
    columns : tuple of ColumnProfile
        The columns in the order of the source.
    notes : tuple of str
        Notes on how the source was read and what is omitted.
    suspicions : tuple of str
        Sentences on suspicious rows, pairs of columns, and relations between columns and the target.
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
    """Return the histogram of a column, or None if all its cells are missing.

    Numbers have one bar per value if there are at most `MAX_BARS` distinct ones; other numbers and dates are counted in
    ranges. For nominal columns, the most frequent values have bars.

    Parameters
    ----------
    column : Series of shape (n,)
        A column of float64, datetime64[ns] or categories; missing cells are not counted, and infinite ones have no bar.
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
    """Return at most `MAX_BARS` + 1 equidistant round numbers around two numbers; whole ones if requested.

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
    """Return the fraction of the target's variance that a column alone explains, beyond what is expected by chance.

    The rows are grouped by the values of the column; numbers and dates are grouped into at most `MAX_BINS` ranges of
    equal frequency. Missing cells form a separate group, and so do all values that occur once, such as names, because
    each only explains its own row. For numbers, the result is the correlation ratio η² of the target, adjusted for the
    number of groups (ε²). For classes, the variance is Gini's, and the result is the adjusted τ of Goodman and Kruskal;
    with two classes, this is the square of Cramér's V with a bias correction.

    Parameters
    ----------
    column : Series of shape (n,)
    y : ndarray of shape (n,)
        The target; float64 for numbers, any other type for classes.

    Returns
    -------
    float
        A value between 0 and 1; NaN if the target does not vary.

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
    total = _sum_squares(np.zeros_like(groups), y)
    n_groups = int(groups.max()) + 1
    degrees = len(y) - n_groups
    if degrees == 0:
        return 0.0
    unexplained = _sum_squares(groups, y) / degrees
    return float(max(0.0, 1.0 - unexplained / (total / (len(y) - 1))))


def _pool_single_rows(groups: np.ndarray) -> np.ndarray:
    """Return groups (n,) in which all groups with a single row, which are not informative, are merged."""
    sizes = np.bincount(groups)
    pooled = np.where(sizes[groups] == 1, len(sizes), groups)
    return np.unique(pooled, return_inverse=True)[1]


def group_rows(column: pd.Series) -> np.ndarray:
    """Return the group of each row, from 0: the value of its cell, or the range of its number or date.

    Parameters
    ----------
    column : Series of shape (n,)

    Returns
    -------
    ndarray of shape (n,), int
        The groups, each of which has at least one row.
    """
    is_ordered = column.dtype.kind in "fiM"
    if is_ordered and column.nunique() > MAX_BINS:
        column = _cut_ranges(column)
    return np.asarray(pd.factorize(column, use_na_sentinel=False)[0])


def _cut_ranges(column: pd.Series) -> pd.Series:
    """Return the range of each number or date; equal cells are not separated, and missing cells are kept."""
    is_there = column.notna()
    n_bins = int(np.clip(is_there.sum() // MIN_ROWS_PER_BIN, MIN_BINS, MAX_BINS))
    ranks = column.rank(method="min")  # 1 for the smallest
    ranges = ((ranks - 1.0) * n_bins / is_there.sum()).apply(np.floor)
    return ranges.where(is_there)


def _sum_squares(groups: np.ndarray, y: np.ndarray) -> float:
    """Return the sum of the squared distances of the targets from their group means.

    For classes, the distance is that of their indicators, so the sum is n times Gini's variance within the groups.
    """
    sizes = np.bincount(groups)  # (g,)
    if y.dtype.kind == "f":
        means = np.bincount(groups, weights=y) / sizes  # (g,)
        return float(((y - means[groups]) ** 2).sum())
    counts = count_pairs(groups, pd.factorize(y)[0])  # (g, c)
    # Half the sum over indicators: one minus the squared fractions of the classes.
    return float((sizes - (counts**2).sum(axis=1) / sizes).sum())
