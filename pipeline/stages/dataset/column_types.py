"""The type of a column: numeric or nominal for a feature, classes or numbers for the target."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from pandas.api.types import is_bool_dtype, is_integer_dtype, is_numeric_dtype

from bakeoff.pipeline.errors import UserError

MAX_INTEGER_CLASSES = 20
"""A target of integers with at most this many distinct values is interpreted as classes."""


def set_column_types(frame: pd.DataFrame, numeric: Sequence[str] = (), nominal: Sequence[str] = ()) -> pd.DataFrame:
    """Return a table of float64 and categorical columns; the types are inferred except for the named columns.

    Parameters
    ----------
    frame : DataFrame of shape (n, d)
    numeric, nominal : sequence of str
        Columns of which the type is given.

    Raises
    ------
    UserError
        A column that is named numeric holds other values.
    """
    columns: dict[str, np.ndarray | pd.Categorical] = {}
    for name, column in frame.items():
        looks_numeric = is_numeric_dtype(column) and not is_bool_dtype(column)
        if name in numeric or (looks_numeric and name not in nominal):
            columns[str(name)] = _to_numbers(column, str(name))
        else:
            columns[str(name)] = _to_categories(column)
    return pd.DataFrame(columns, index=pd.RangeIndex(len(frame)))


def looks_like_classes(y: pd.Series) -> bool:
    """Return whether a target seems to hold classes: text, Booleans, or few distinct integers."""
    if not is_numeric_dtype(y) or is_bool_dtype(y):
        return True
    return y.nunique() <= MAX_INTEGER_CLASSES and bool((y == y.round()).all())


def to_labels(y: pd.Series) -> np.ndarray:
    """Return class labels, shape (n,): integers unchanged, and all other values as text."""
    if is_integer_dtype(y):
        return y.to_numpy(dtype=np.int64)
    return y.astype(str).to_numpy(dtype=str)


def to_targets(y: pd.Series, name: str) -> np.ndarray:
    """Return the targets of a regression as float64, shape (n,); raises UserError if they are not numbers."""
    try:
        return y.to_numpy(dtype=np.float64)
    except (ValueError, TypeError) as error:
        raise UserError(f"dataset.task=regression, but the target {name!r} is not numeric: {error}.") from error


def _to_numbers(column: pd.Series, name: str) -> np.ndarray:
    try:
        return np.asarray(pd.to_numeric(column), dtype=np.float64)
    except (ValueError, TypeError) as error:
        raise UserError(f"dataset.numeric names {name!r}, but {error}; correct the cell or remove the name.") from error


def _to_categories(column: pd.Series) -> pd.Categorical:
    """Return nominal values as text: 1 in one file and "1" in another must be the same value."""
    text = column.astype("string").astype(object)
    return pd.Categorical(text, categories=sorted(text.dropna().unique()))
