"""Partial dependence: the mean output of a model over some rows, if all of them had the same value in one column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, RegressorMixin

from bakeoff.pipeline.explanation.outputs import ModelOutputs
from bakeoff.pipeline.stages.preprocessing.column_kinds import DATE, NOMINAL, NUMERIC, ORDERED, TEXT, find_kind
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


@dataclass(frozen=True)
class Point:
    """The model at one value of a column.

    Attributes
    ----------
    label : str
        The value as text.
    position : float or None
        The value as a number; None if it has none.
    n_rows : int
        The rows that have this value, or a number nearer to it than to the other points.
    means : tuple of k float
        The mean outputs of the model.
    """

    label: str
    position: float | None
    n_rows: int
    means: tuple[float, ...]


@dataclass(frozen=True)
class Dependence:
    """The partial dependence of a model on one column.

    Attributes
    ----------
    column, kind : str
    points : tuple of Point
        In the order of the values; missing cells last.
    n_rows : int
        The rows that the outputs are means over.
    note : str
        Which values are not shown; empty if all are.
    """

    column: str
    kind: str
    points: tuple[Point, ...]
    n_rows: int
    note: str = ""

    @property
    def is_of_numbers(self) -> bool:
        """Whether the points lie on an axis of numbers or dates."""
        return self.kind in (NUMERIC, DATE)


@dataclass(frozen=True)
class Grid:
    """The values of a column at which a model is asked.

    Attributes
    ----------
    values : list
        Of the type of the cells; NaN or None for a missing cell.
    labels : list of str
    positions : list of float or None
    counts : list of int
        The rows at each value.
    note : str
    """

    values: list[Any]
    labels: list[str]
    positions: list[float | None]
    counts: list[int]
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
        None for text, which has no grid, and for a column with less than two values.

    References
    ----------
    J. H. Friedman, "Greedy function approximation: a gradient boosting machine", Annals of Statistics 29, 2001.
    """
    from sklearn.inspection import partial_dependence

    grid = make_grid(X[column])
    if len(grid.values) < 2:
        return None
    rows = draw_rows(X, MAX_ROWS, seed)
    computed = partial_dependence(
        _AsRegressor(outputs).fit(),
        rows,
        [column],
        custom_values={column: _as_array(grid.values)},
        method="brute",
        kind="average",
    )
    means = np.asarray(computed["average"]).T  # (points, k)
    points = [
        Point(label, position, count, tuple(row.tolist()))
        for label, position, count, row in zip(grid.labels, grid.positions, grid.counts, means, strict=True)
    ]
    return Dependence(column, find_kind(X[column].dtype), tuple(points), len(rows), grid.note)


def draw_rows(X: pd.DataFrame, max_rows: int, seed: int) -> pd.DataFrame:
    """Return all rows of a table in their order, or as many as are allowed, drawn without replacement."""
    if len(X) <= max_rows:
        return X
    drawn = np.random.default_rng(seed).choice(len(X), max_rows, replace=False)
    return X.iloc[np.sort(drawn)]


def make_grid(column: pd.Series) -> Grid:
    """Choose the values at which a model is asked about a column.

    Parameters
    ----------
    column : Series of shape (m,)

    Returns
    -------
    Grid
        Without values for text.

    Examples
    --------
    >>> grid = make_grid(pd.Series([3.0, 1.0, 1.0, None]))
    >>> grid.labels, grid.counts
    (['1', '3', 'missing'], [2, 1, 1])
    """
    kind = find_kind(column.dtype)
    if kind == TEXT:
        return Grid([], [], [], [])
    if kind in (NOMINAL, ORDERED):
        grid = _list_values(column)
    elif kind == DATE:
        grid = _divide_dates(column)
    else:
        grid = _divide_numbers(column.to_numpy(dtype=np.float64))
    n_missing = int(column.isna().sum())
    if not n_missing:
        return grid
    absent = None if kind in (NOMINAL, ORDERED) else float("nan")
    return Grid(
        [*grid.values, absent],
        [*grid.labels, MISSING],
        [*grid.positions, None],
        [*grid.counts, n_missing],
        grid.note,
    )


def _list_values(column: pd.Series) -> Grid:
    """Return the values of a nominal column in their order, those that no row has left out."""
    counts = column.value_counts()
    frequent = [value for value, count in counts.items() if count][:MAX_VALUES]
    n_left_out = int((counts > 0).sum()) - len(frequent)
    note = f"{n_left_out} rarer values are not shown" if n_left_out else ""
    shown = [value for value in column.cat.categories if value in set(frequent)]
    labels = [str(value) for value in shown]
    return Grid(shown, labels, [None] * len(shown), [int(counts[value]) for value in shown], note)


def _divide_numbers(cells: np.ndarray) -> Grid:
    """Return all numbers if they are few, else points at equal distances between the percentiles."""
    present = cells[~np.isnan(cells)]
    values, counts = np.unique(present, return_counts=True)
    note = ""
    if len(values) > MAX_DISTINCT:
        low, high = np.percentile(present, PERCENTILES)
        if low == high:
            low, high = values[0], values[-1]
        values = np.linspace(low, high, GRID_POINTS)
        counts, n_beyond = _count_near(present, values)
        note = f"{n_beyond} rows lie beyond the ends" if n_beyond else ""
    labels = [format_number(value) for value in values]
    return Grid(values.tolist(), labels, values.tolist(), counts.tolist(), note)


def _divide_dates(column: pd.Series) -> Grid:
    """Return points in time, at equal distances."""
    present = column.dropna()
    seconds = present.astype("datetime64[ns]").astype("int64").to_numpy() / 1e9
    grid = _divide_numbers(seconds)
    moments = [pd.Timestamp(round(value * 1e9)) for value in grid.values]
    labels = [moment.strftime("%Y-%m-%d") for moment in moments]
    return Grid(list(moments), labels, grid.positions, grid.counts, grid.note)


def _count_near(present: np.ndarray, points: np.ndarray) -> tuple[np.ndarray, int]:
    """Return the rows nearest to each point at equal distances, and those more than half a step beyond the ends."""
    half = (points[1] - points[0]) / 2
    edges = np.concatenate([points - half, [points[-1] + half]])
    counts, _ = np.histogram(present, edges)
    return counts, int(len(present) - counts.sum())


def _as_array(values: Sequence[Any]) -> np.ndarray:
    """Return values as an array that keeps their types."""
    if all(isinstance(value, float) for value in values):
        return np.array(values)
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


class _AsRegressor(RegressorMixin, BaseEstimator):
    """The outputs of a model as those of a fitted regressor of k numbers, which scikit-learn averages as they are."""

    def __init__(self, outputs: ModelOutputs) -> None:
        self.outputs = outputs

    def fit(self, X: Any = None, y: Any = None) -> _AsRegressor:
        self.is_fitted_ = True
        return self

    def predict(self, X: pd.DataFrame) -> np.ndarray:
        return self.outputs.compute(X)
