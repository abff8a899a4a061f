"""The kind of a column: numbers or nominal values, targets or classes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from pandas.api.types import is_bool_dtype, is_integer_dtype, is_numeric_dtype

from bakeoff.pipeline.errors import UserError

MAX_INTEGER_CLASSES = 20
"""A target of whole numbers with no more distinct values than this is taken for classes."""


def with_kinds(frame: pd.DataFrame, numeric: Sequence[str] = (), nominal: Sequence[str] = ()) -> pd.DataFrame:
    """Return a table of float64 and categorical columns; kinds are inferred unless a column is named.

    Parameters
    ----------
    frame : DataFrame of shape (n, d)
    numeric, nominal : sequence of str
        Columns whose kind is other than it looks.

    Raises
    ------
    UserError
        A column is said to be numeric and is not.
    """
    columns: dict[str, np.ndarray | pd.Categorical] = {}
    for name, column in frame.items():
        looks_numeric = is_numeric_dtype(column) and not is_bool_dtype(column)
        if name in numeric or (looks_numeric and name not in nominal):
            columns[str(name)] = _as_numbers(column, str(name))
        else:
            columns[str(name)] = _as_category(column)
    return pd.DataFrame(columns, index=pd.RangeIndex(len(frame)))


def _as_numbers(column: pd.Series, name: str) -> np.ndarray:
    try:
        return np.asarray(pd.to_numeric(column), dtype=np.float64)
    except (ValueError, TypeError) as error:
        raise UserError(
            f"dataset.numeric names {name!r}, but {error}; correct the cell or take the name out."
        ) from error


def _as_category(column: pd.Series) -> pd.Categorical:
    """Nominal values are text: 1 and "1" in two files must be the same value."""
    text = column.astype("string").astype(object)
    return pd.Categorical(text, categories=sorted(text.dropna().unique()))


def looks_like_classes(y: pd.Series) -> bool:
    """Say whether a target holds classes: text, truth values, or few whole numbers."""
    if not is_numeric_dtype(y) or is_bool_dtype(y):
        return True
    return y.nunique() <= MAX_INTEGER_CLASSES and bool((y == y.round()).all())


def labels(y: pd.Series) -> np.ndarray:
    """Return class labels, shape (n,): whole numbers as they are, all else as text."""
    if is_integer_dtype(y):
        return y.to_numpy(dtype=np.int64)
    return y.astype(str).to_numpy(dtype=str)


def targets(y: pd.Series, target: str) -> np.ndarray:
    """Return targets as float64, shape (n,); raises UserError where they are not numbers."""
    try:
        return y.to_numpy(dtype=np.float64)
    except (ValueError, TypeError) as error:
        raise UserError(f"dataset.task=regression, but the target {target!r} is not numeric: {error}.") from error
