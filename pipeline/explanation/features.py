"""The relation between the features of a learner and the columns of the dataset.

A feature belongs to the column whose name it has, alone or before an underscore, as those of scalers, codes and one-hot
encoding do. What the feature is at each cell of the column is read from the rows, so that thresholds and codes are
translated back. Any other feature keeps the name that preprocessing gives it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.types import is_numeric_dtype
from sklearn.pipeline import Pipeline

from bakeoff.pipeline.stages.preprocessing.join_steps import NOMINAL, NUMERIC, ORDERED, find_kind
from bakeoff.pipeline.text.words import join_words

MISSING = "missing"
RELATIVE_NOISE = 1e-12
"""Transformed numbers that are nearly equal may be out of order by as much."""


@dataclass(frozen=True)
class Feature:
    """What is known of a feature that a learner receives.

    Attributes
    ----------
    label : str
        The name that preprocessing gives it.
    name : str
        What `cells` are values of: a column, or the feature itself.
    is_scale : bool
        Whether the cells are numbers with which the feature grows; otherwise they are values.
    cells : ndarray of shape (p,)
        Those that occur, sorted if they are numbers.
    numbers : ndarray of shape (p,)
        The feature at these cells.
    at_missing : object
        The feature where the cell is missing; None if none is, or if that depends on other columns.
    """

    label: str
    name: str
    is_scale: bool
    cells: np.ndarray
    numbers: np.ndarray
    at_missing: Any = None

    @property
    def words(self) -> str:
        """The feature in words, such as ``age`` or ``sex = male``."""
        levels = dict(zip(map(str, self.cells), self.numbers, strict=True))
        if self.at_missing is not None:
            levels[MISSING] = self.at_missing
        if self.is_scale or len(set(levels.values())) != 2:
            return self.label
        highest = max(levels.values())
        return f"{self.name} = {join_words([cell for cell, level in levels.items() if level == highest], 'or')}"


def trace_features(pipeline: Pipeline, X: pd.DataFrame, number_type: Any = np.float64) -> list[Feature]:
    """Return what each feature of the learner at the end of a fitted pipeline means in terms of the columns.

    Parameters
    ----------
    pipeline : Pipeline
        Preprocessing and a learner.
    X : DataFrame of shape (m, d)
        Rows of the dataset.
    number_type : type
        To which the learner rounds numbers.
    """
    features = X if len(pipeline) == 1 else pipeline[:-1].transform(X)
    if not isinstance(features, pd.DataFrame):
        numbers = features.toarray() if hasattr(features, "toarray") else features
        features = pd.DataFrame(numbers).add_prefix("feature ")
    return [_trace_feature(str(label), feature, X, number_type) for label, feature in features.items()]


def _trace_feature(label: str, feature: pd.Series, X: pd.DataFrame, number_type: Any) -> Feature:
    """Return a feature by the cells of its column if they decide it, else by its numbers or values."""
    is_number = is_numeric_dtype(feature)
    if is_number:
        feature = feature.astype(number_type).astype(np.float64)
    names = [str(name) for name in X.columns if label == str(name) or label.startswith(f"{name}_")]
    for name in sorted(names, key=len, reverse=True):
        kind = find_kind(X[name].dtype)
        if kind in (NOMINAL, ORDERED) and _is_decided(feature, X[name]):
            return _pair(label, name, X[name], feature, is_scale=False)
        if kind == NUMERIC and is_number and label == name:
            found = _pair(label, name, X[name], feature, is_scale=True)
            growing = np.maximum.accumulate(found.numbers)
            if (growing - found.numbers <= RELATIVE_NOISE * np.abs(growing).max(initial=0.0)).all():
                return replace(found, numbers=growing)
    name = f"{label} after preprocessing" if is_number and label in names else label
    return _pair(label, name, feature, feature, is_scale=is_number)


def _is_decided(feature: pd.Series, column: pd.Series) -> bool:
    """Return whether rows with equal values in a nominal column have equal features."""
    features = pd.Series(feature.to_numpy(), index=column.astype(object))
    return bool((features.groupby(level=0).nunique() <= 1).all())


def _pair(label: str, name: str, cells: pd.Series, feature: pd.Series, *, is_scale: bool) -> Feature:
    """Return the different cells of a column, each with the feature in its first row."""
    is_there = cells.notna().to_numpy()
    at_missing = feature[~is_there].unique()
    cells = cells.astype(np.float64) if is_scale else cells.astype(object)
    firsts = pd.Series(np.flatnonzero(is_there), index=cells[is_there]).groupby(level=0, sort=is_scale).first()
    found = np.asarray(firsts.index, dtype=np.float64 if is_scale else object)
    numbers = feature.iloc[firsts.to_numpy()].to_numpy(dtype=np.float64 if is_numeric_dtype(feature) else object)
    return Feature(label, name, is_scale, found, numbers, at_missing[0] if len(at_missing) == 1 else None)
