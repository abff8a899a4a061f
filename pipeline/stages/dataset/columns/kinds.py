"""The kind of a column: numeric or nominal for a feature, classes or numbers for the target."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from pandas.api.types import is_bool_dtype, is_integer_dtype, is_numeric_dtype

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.stages.dataset.columns.missing import MISSING_AMONG_NUMBERS, MISSING_ANYWHERE
from bakeoff.pipeline.stages.dataset.columns.rules import ColumnRules

MAX_INTEGER_CLASSES = 20
"""A target of integers with at most this many distinct values is interpreted as classes."""


def set_column_types(frame: pd.DataFrame, rules: ColumnRules) -> pd.DataFrame:
    """Return a table of float64 and categorical columns; the kinds are inferred except for the named columns.

    Parameters
    ----------
    frame : DataFrame of shape (n, d)
    rules : ColumnRules

    Raises
    ------
    UserError
        A column that is named numeric holds other values.
    """
    columns: dict[str, np.ndarray | pd.Categorical] = {}
    for name, column in frame.items():
        numbers = None if name in rules.nominal else to_numbers(column)
        if name in rules.numeric and numbers is None:
            raise UserError(
                f"dataset.numeric names {name!r}, but {find_text(column)!r} is not a number; correct the cell or "
                "remove the name."
            )
        columns[str(name)] = to_categories(column) if numbers is None else numbers
    return pd.DataFrame(columns, index=pd.RangeIndex(len(frame)))


def to_numbers(column: pd.Series) -> np.ndarray | None:
    """Return the numbers of a column as float64, shape (n,), NaN where missing; None if a cell is not a number."""
    if is_bool_dtype(column):
        return None
    if is_numeric_dtype(column):
        return column.to_numpy(dtype=np.float64, na_value=np.nan)
    if isinstance(column.dtype, pd.CategoricalDtype):
        return None
    cells = _mask_missing(column, (*MISSING_ANYWHERE, *MISSING_AMONG_NUMBERS))
    try:
        # The parser of pyarrow rounds correctly: a number that was written by repr is read as the same number.
        numbers = pc.cast(pa.array(cells, pa.string()), pa.float64())
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return None
    return numbers.to_numpy(zero_copy_only=False)


def to_categories(column: pd.Series) -> pd.Categorical:
    """Return nominal values as text: 1 in one file and "1" in another must be the same value."""
    text = _mask_missing(column.astype("string"), MISSING_ANYWHERE).astype(object)
    return pd.Categorical(text, categories=sorted(text.dropna().unique()))


def find_text(column: pd.Series) -> str:
    """Return the first cell of a column that is not a number."""
    cells = column.dropna().astype(str)
    return str(cells[pd.to_numeric(cells, errors="coerce").isna()].iloc[0])


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
    numbers = to_numbers(y)
    if numbers is None:
        raise UserError(
            f"dataset.task=regression, but the target {name!r} is not numeric: {find_text(y)!r} is not a number."
        )
    return numbers


def read_target(column: pd.Series) -> pd.Series:
    """Return a target with typed cells: integers, floats, or text; NaN where missing."""
    if not isinstance(column.dtype, pd.StringDtype) and column.dtype != object:
        return column
    cells = _mask_missing(column, MISSING_ANYWHERE)
    try:
        return pd.to_numeric(cells)
    except (ValueError, TypeError):
        return cells


def _mask_missing(column: pd.Series, spellings: tuple[str, ...]) -> pd.Series:
    return column.mask(column.isin(spellings))
