"""The relation between the features of a learner and the columns of the dataset.

The fitted preprocessing is asked: a feature belongs to a column if it changes with this column and with no other. So
scaling, codes and one-hot columns are translated back by one rule, as are steps that the user has defined.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.types import is_numeric_dtype
from sklearn.pipeline import Pipeline

from bakeoff.pipeline.stages.preprocessing.join_steps import DATE, NOMINAL, NUMERIC, ORDERED, find_kind
from bakeoff.pipeline.text.words import join_words

MISSING = "missing"
N_BASES = 3
"""Rows in which a column is changed: a feature that differs between them depends on other columns as well."""
N_TRIED_NUMBERS = 10
MAX_TRIED_VALUES = 1000
"""Of a column of values or text; features of further ones keep the names that preprocessing gives them."""
ROWS_AT_ONCE = 1000
"""About as many changed rows are transformed together: fewer take longer, and many values need much memory."""
RELATIVE_NOISE = 1e-12
"""Transformed numbers that are nearly equal may be out of order by as much."""


@dataclass(frozen=True)
class Feature:
    """What is known of a feature that a learner receives.

    Attributes
    ----------
    label : str
        The name that preprocessing gives it.
    column : str
        The only column that decides it; empty if there are several.
    name : str
        What `cells` are values of: the column, or the feature itself.
    is_scale : bool
        Whether the cells are numbers with which the feature grows; otherwise they are values.
    cells : ndarray of shape (p,)
        Those that occur, sorted if they are numbers, and text if they are values.
    numbers : ndarray of shape (p,)
        The feature at these cells.
    at_missing : object
        The feature where the cell is missing; None if none is, or if that depends on other columns.
    """

    label: str
    column: str
    name: str
    is_scale: bool
    cells: np.ndarray
    numbers: np.ndarray
    at_missing: Any = None

    @property
    def words(self) -> str:
        """The feature in words, such as ``age`` or ``sex = male``."""
        if self.is_scale or self.name != self.column:
            return f"{self.name} is missing" if self.is_indicator else self.label
        levels = dict(zip(map(str, self.cells), self.numbers, strict=True))
        if self.at_missing is not None:
            levels[MISSING] = self.at_missing
        if len(set(levels.values())) != 2:
            return self.label
        highest = max(levels.values())
        return f"{self.name} = {join_words([cell for cell, level in levels.items() if level == highest], 'or')}"

    @property
    def is_indicator(self) -> bool:
        """Whether the feature only indicates missing cells."""
        return self.is_scale and self.name == self.column and bool(self.numbers[0] == self.numbers[-1])

    @property
    def slope(self) -> float:
        """By how much the feature grows with one unit of the column; NaN if that is not the same everywhere."""
        if not self.is_scale or self.name != self.column or self.is_indicator:
            return float("nan")
        slope = (self.numbers[-1] - self.numbers[0]) / (self.cells[-1] - self.cells[0])
        line = self.numbers[0] + slope * (self.cells - self.cells[0])
        spread = float(self.numbers[-1] - self.numbers[0])
        return float(slope) if np.allclose(line, self.numbers, rtol=0, atol=1e-9 * spread) else float("nan")


def trace_features(pipeline: Pipeline, X: pd.DataFrame, number_type: Any = np.float64) -> list[Feature]:
    """Return what each feature of the learner at the end of a fitted pipeline says about the columns.

    Parameters
    ----------
    pipeline : Pipeline
        Preprocessing and a learner.
    X : DataFrame of shape (m, d)
        Rows of the dataset.
    number_type : type
        To which the learner rounds numbers.
    """
    names = [str(name) for name in X.columns]

    def transform(rows: pd.DataFrame) -> pd.DataFrame:
        features = rows if len(pipeline) == 1 else pipeline[:-1].transform(rows)
        if isinstance(features, pd.DataFrame):
            return features
        numbers = features.toarray() if hasattr(features, "toarray") else features
        return pd.DataFrame(numbers).add_prefix("feature ")

    features = transform(X)
    columns = _find_columns(transform, X, features.shape[1])
    return [
        _describe_feature(str(label), column, X[column] if column else None, feature, names, number_type)
        for (label, feature), column in zip(features.items(), columns, strict=True)
    ]


def _find_columns(transform: Callable[[pd.DataFrame], pd.DataFrame], X: pd.DataFrame, k: int) -> list[str]:
    """Return for each of k features the only column that it changes with, or an empty text."""
    complete_first = np.argsort(X.isna().sum(axis=1).to_numpy(), kind="stable")
    n_complete = max(int((~X.isna().any(axis=1)).sum()), 1)
    bases = complete_first[np.unique(np.linspace(0, n_complete - 1, N_BASES).astype(int))]
    changing: list[list[str]] = [[] for _ in range(k)]
    mixed = np.zeros(k, dtype=bool)
    chosen = {str(name): _choose_rows(X[name]) for name in X.columns}
    sizes = pd.Series({name: len(bases) * sum(map(len, rows)) for name, rows in chosen.items()})
    for _, batch in sizes.groupby(sizes.cumsum() // ROWS_AT_ONCE):
        names = [str(name) for name in batch.index]
        probes = [_change_column(X.iloc[bases], X[name], np.concatenate(chosen[name])) for name in names]
        transformed = _as_numbers(transform(pd.concat(probes, ignore_index=True)))
        cells = np.split(transformed, batch.cumsum().to_numpy()[:-1])
        for name, found in zip(names, cells, strict=True):
            of_cells = found.reshape(-1, len(bases), k)
            changes = (of_cells != of_cells[:1]).any(axis=(0, 1))  # (k,)
            # A missing cell may be filled from the other columns.
            present = of_cells[: len(chosen[name][0])]
            mixed |= changes & (present != present[:, :1]).any(axis=(0, 1))
            for position in np.flatnonzero(changes).tolist():
                changing[position].append(name)
    return [
        found[0] if len(found) == 1 and not is_mixed else ""
        for found, is_mixed in zip(changing, mixed.tolist(), strict=True)
    ]


def _change_column(bases: pd.DataFrame, column: pd.Series, rows: np.ndarray) -> pd.DataFrame:
    """Return all base rows for each of some rows of a column, with the cell of that row."""
    cells = column.array.take(np.repeat(rows, len(bases)))
    return bases.iloc[np.tile(np.arange(len(bases)), len(rows))].assign(**{str(column.name): cells})


def _choose_rows(column: pd.Series) -> tuple[np.ndarray, np.ndarray]:
    """Return rows of different cells of a column, and a row in which its cell is missing if there is one."""
    is_missing = column.isna().to_numpy()
    missing = np.flatnonzero(is_missing)[:1]
    present = np.flatnonzero(~is_missing)
    if find_kind(column.dtype) not in (NUMERIC, DATE):
        return np.flatnonzero(~is_missing & ~column.duplicated().to_numpy())[:MAX_TRIED_VALUES], missing
    order = present[np.argsort(column.to_numpy()[present], kind="stable")]
    return order[np.unique(np.linspace(0, max(len(order) - 1, 0), N_TRIED_NUMBERS).astype(int))], missing


def _as_numbers(features: pd.DataFrame) -> np.ndarray:
    """Return numbers that are equal where cells are equal, shape (m, k)."""
    if all(is_numeric_dtype(dtype) for dtype in features.dtypes):
        numbers = features.to_numpy(dtype=np.float64)
    else:
        numbers = np.column_stack([
            column if is_numeric_dtype(column) else pd.util.hash_pandas_object(column, index=False)
            for _, column in features.items()
        ]).astype(np.float64)  # fmt: skip
    return np.nan_to_num(numbers, nan=-np.inf)


def _describe_feature(
    label: str, column: str, cells: pd.Series | None, feature: pd.Series, names: list[str], number_type: Any
) -> Feature:
    """Return a feature by the cells of its column if they decide it, else by its own numbers or values."""
    is_number = is_numeric_dtype(feature)
    if is_number:
        feature = feature.astype(number_type).astype(np.float64)
    kind = "" if cells is None else find_kind(cells.dtype)
    if cells is not None and kind in (NOMINAL, ORDERED):
        return _pair(label, column, cells, feature, is_scale=False)
    if cells is not None and kind == NUMERIC and is_number:
        found = _pair(label, column, cells, feature, is_scale=True)
        steps = np.diff(found.numbers)
        if len(steps) and (steps >= -RELATIVE_NOISE * np.abs(found.numbers).max(initial=0.0)).all():
            return replace(found, numbers=np.maximum.accumulate(found.numbers))
    name = f"{label} after preprocessing" if is_number and label in names else label
    return replace(_pair(label, name, feature, feature, is_scale=is_number), column=column)


def _pair(label: str, column: str, cells: pd.Series, feature: pd.Series, *, is_scale: bool) -> Feature:
    """Return the different cells of a column, each with the feature in its first row."""
    is_there = cells.notna().to_numpy()
    at_missing = feature[~is_there].unique()
    cells = cells.astype(np.float64) if is_scale else cells.astype(object)
    firsts = pd.Series(np.flatnonzero(is_there), index=cells[is_there]).groupby(level=0, sort=is_scale).first()
    found = np.asarray(firsts.index, dtype=np.float64 if is_scale else object)
    numbers = feature.iloc[firsts.to_numpy()].to_numpy(dtype=np.float64 if is_numeric_dtype(feature) else object)
    of_missing = at_missing[0] if len(at_missing) == 1 else None
    return Feature(label, column, column, is_scale, found, numbers, of_missing)
