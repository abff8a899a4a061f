"""Partial dependence: the mean output of a model over some rows, if all of them had the same value in one column."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from bakeoff.pipeline.explanation.outputs import ModelOutputs
from bakeoff.pipeline.stages.preprocessing.join_steps import NOMINAL, NUMERIC, ORDERED, find_kind
from bakeoff.pipeline.text.numbers import format_number

GRID_POINTS = 20
MAX_DISTINCT = 12
"""A column of numbers with at most this number of values is shown at all of them."""
MAX_VALUES = 20
"""Of a nominal column with more values, those in most rows are shown."""
PERCENTILES = (5.0, 95.0)
"""The ends of the grid: beyond them there are few rows, and the model has seen few."""
MAX_ROWS = 1000
"""Of more rows, as many are drawn."""
MISSING = "missing"


class Point(NamedTuple):
    """A value at which a model is asked.

    Attributes
    ----------
    value : object
        Of the type of the cells; None for a missing cell.
    label : str
        The value as text.
    position : float or None
        The value as a number; None if it has none.
    n_rows : int
        The rows that have this value, or a number nearer to it than to the other points.
    """

    value: Any
    label: str
    position: float | None
    n_rows: int


@dataclass(frozen=True)
class Dependence:
    """The partial dependence of a model on one column.

    Attributes
    ----------
    column : str
    points : tuple of v Point
        In the order of the values; missing cells last.
    means : ndarray of shape (v, k)
        The mean outputs of the model at each point.
    note : str
        Which values are not shown; empty if all are.
    """

    column: str
    points: tuple[Point, ...]
    means: np.ndarray
    note: str = ""


def compute_dependence(outputs: ModelOutputs, X: pd.DataFrame, column: str, seed: int) -> Dependence | None:
    """Return the partial dependence of a model on one column.

    Parameters
    ----------
    outputs : ModelOutputs
    X : DataFrame of shape (m, d)
    column : str
    seed : int
        Of the rows that are drawn if there are more than `MAX_ROWS`. The numbers of rows are of all.

    Returns
    -------
    Dependence or None
        None for text and dates, which have no grid, and for a column with less than two values.

    References
    ----------
    J. H. Friedman, "Greedy function approximation: a gradient boosting machine", Annals of Statistics 29, 2001.
    """
    points, note = choose_points(X[column])
    if len(points) < 2:
        return None
    rows = X
    if len(X) > MAX_ROWS:
        drawn = np.random.default_rng(seed).choice(len(X), MAX_ROWS, replace=False)
        rows = X.iloc[np.sort(drawn)]
    dtype = X[column].dtype
    means = []
    for point in points:
        same = pd.Series([point.value] * len(rows), index=rows.index)
        # A column of whole numbers takes the points between them.
        is_whole = dtype.kind in "iub" and not pd.isna(point.value)
        changed = rows.assign(**{column: same if is_whole else same.astype(dtype)})
        means.append(outputs.compute(changed).mean(axis=0))
    return Dependence(column, tuple(points), np.array(means), note)


def choose_points(column: pd.Series) -> tuple[list[Point], str]:
    """Choose the values at which a model is asked about a column (m,), and report which are left out.

    Examples
    --------
    >>> points, note = choose_points(pd.Series([3.0, 1.0, 1.0, None]))
    >>> [(point.label, point.n_rows) for point in points], note
    ([('1', 2), ('3', 1), ('missing', 1)], '')
    """
    kind = find_kind(column.dtype)
    present = column.dropna()
    if kind in (NOMINAL, ORDERED):
        points, note = _list_values(present)
    elif kind == NUMERIC:
        points, note = _divide_numbers(present.to_numpy(dtype=np.float64))
    else:
        return [], ""
    n_missing = len(column) - len(present)
    return ([*points, Point(None, MISSING, None, n_missing)] if n_missing else points), note


def _list_values(present: pd.Series) -> tuple[list[Point], str]:
    """Return the values of a nominal column in their order, those that no row has left out."""
    counts = present.value_counts()
    counts = counts[counts > 0]
    frequent = set(counts.index[:MAX_VALUES])
    n_left_out = len(counts) - len(frequent)
    shown = [value for value in present.cat.categories if value in frequent]
    points = [Point(value, str(value), None, int(counts[value])) for value in shown]
    return points, f"{n_left_out} rarer values are not shown" if n_left_out else ""


def _divide_numbers(present: np.ndarray) -> tuple[list[Point], str]:
    """Return all numbers if they are few, else points at equal distances between the percentiles."""
    values, counts = np.unique(present, return_counts=True)
    n_beyond = 0
    if len(values) > MAX_DISTINCT:
        low, high = np.percentile(present, PERCENTILES)
        if low == high:
            low, high = values[0], values[-1]
        values, step = np.linspace(low, high, GRID_POINTS, retstep=True)
        # Each row counts at the point that is nearest to it, those more than half a step beyond the ends at none.
        edges = np.concatenate([values - step / 2, [values[-1] + step / 2]])
        counts, _ = np.histogram(present, edges)
        n_beyond = len(present) - int(counts.sum())
    points = [
        Point(value, format_number(value), value, count)
        for value, count in zip(values.tolist(), counts.tolist(), strict=True)
    ]
    return points, f"{n_beyond} rows lie beyond the ends" if n_beyond else ""
