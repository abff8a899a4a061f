"""What a source gives: its cells, brought to a few types, before the kinds of its columns are known."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, time
from decimal import Decimal
from numbers import Integral, Real
from typing import Any
from uuid import UUID

import numpy as np
import pandas as pd
import pyarrow as pa
from pandas.api.types import infer_dtype

from bakeoff.pipeline.errors import UserError


@dataclass(frozen=True)
class RawTable:
    """The cells of a source.

    Attributes
    ----------
    frame : DataFrame of shape (n, d)
        The columns of a text file hold text as the file spells it, of dtype ``string``, with empty cells as empty
        text; those of other sources have the types of the source, and missing cells are NA.
    name : str
        Of the dataset: for a file, its name without the suffix.
    source : str
        Where the rows come from.
    notes : tuple of str
        A sentence each about how the source was read, such as a separator that was guessed.
    declared : mapping of str to tuple of str
        Column -> the values that the source declares for it, in order: of ARFF, or of an Arrow dictionary.
    guessed : mapping of str to str
        Keys of the layout that were not given -> the values that were found, with which further rows must be read.
    parts : ndarray of shape (n,) or None
        "train" or "test" for each row, if the rows come from two files.
    """

    frame: pd.DataFrame
    name: str
    source: str
    notes: tuple[str, ...] = ()
    declared: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    guessed: Mapping[str, str] = field(default_factory=dict)
    parts: np.ndarray | None = None


TEXT_TYPE = pd.StringDtype("pyarrow")
SCALARS = (str, bool, np.bool_, Real, Decimal, date, time, pd.Timedelta, UUID)
"""What a cell may be; datetime and Timestamp are dates."""
NAMES_OF_TYPES = {"list": "lists", "tuple": "lists", "ndarray": "lists", "dict": "nested objects", "bytes": "bytes"}
CURES_OF_TYPES = {
    pd.PeriodDtype: "column.dt.to_timestamp()",
    pd.IntervalDtype: "column.astype(str)",
    pd.SparseDtype: "column.sparse.to_dense()",
}
"""Types of pandas that are refused, and what makes a plain column of one."""
EXACT_INTEGERS = 2**53
"""Up to here, every whole number is a float."""


def unify_types(frame: pd.DataFrame) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Return a table of integers, floats, Booleans, text, categories and dates.

    Parameters
    ----------
    frame : DataFrame of shape (n, d)
        With different names; the cells of columns of objects are Python's.

    Returns
    -------
    frame : DataFrame of shape (n, d') with d' <= d
        Integers and Booleans with missing cells have pandas' nullable types; numbers as NumPy's otherwise; text is
        ``string``, categories are text, and dates are datetime64 in UTC. A column of objects of several types is text.
    notes : tuple of str
        A sentence for each column that was left out or has another meaning now.

    Raises
    ------
    UserError
        A column holds periods, intervals or sparse values.
    """
    columns: dict[str, pd.Series] = {}
    notes: list[str] = []
    for name, column in frame.items():
        _require_plain_type(str(name), column.dtype)
        unified, note = _unify_column(column.reset_index(drop=True))
        if unified is not None:
            columns[str(name)] = unified
        if note:
            notes.append(f"Column {str(name)!r}: {note}")
    return pd.DataFrame(columns, index=pd.RangeIndex(len(frame))), tuple(notes)


def spell_cell(cell: Any) -> str:
    """Return the one spelling of a cell as text.

    Examples
    --------
    >>> [spell_cell(cell) for cell in (True, 7.0, 0.1, Decimal("2.50"), date(2024, 2, 29), "007")]
    ['true', '7', '0.1', '2.5', '2024-02-29', '007']
    """
    if isinstance(cell, bool | np.bool_):
        return str(cell).lower()
    if isinstance(cell, Decimal):
        return _spell_decimal(cell)
    if isinstance(cell, Real):
        return _spell_number(cell)
    if isinstance(cell, datetime):
        return cell.isoformat(sep=" ").removesuffix(" 00:00:00")
    if isinstance(cell, date | time):
        return cell.isoformat()
    return str(cell)


def _spell_number(cell: Real) -> str:
    if isinstance(cell, Integral):  # as a float it may be another number
        return str(int(cell))
    number = float(cell)
    return str(int(number)) if number.is_integer() and abs(number) <= EXACT_INTEGERS else repr(number)


def _spell_decimal(cell: Decimal) -> str:
    text = f"{cell:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _require_plain_type(name: str, dtype: Any) -> None:
    """Reject the types of pandas that have no cells of their own."""
    for type_, cure in CURES_OF_TYPES.items():
        if isinstance(dtype, type_):
            raise UserError(f"column {name!r} has the type {dtype}, which is not read; convert it with {cure}.")


def _unify_column(column: pd.Series) -> tuple[pd.Series | None, str]:
    """Return a column of one of the few types, or None if it has no such cells; and a note about it, or nothing."""
    dtype = column.dtype
    if isinstance(dtype, pd.ArrowDtype):
        return _unify_column(arrow_to_column(pa.chunked_array(pa.array(column))))
    if isinstance(dtype, pd.CategoricalDtype):
        return _spell_categories(column), ""
    if isinstance(dtype, pd.StringDtype):
        return column.astype(TEXT_TYPE), ""
    if dtype.kind == "O":
        return _unify_objects(column)
    return _unify_numbers(column)


def _unify_numbers(column: pd.Series) -> tuple[pd.Series | None, str]:
    """Unify a column of NumPy's types, or of pandas' nullable ones."""
    kind = column.dtype.kind
    if kind == "c":
        return None, "complex numbers are not read; it is left out."
    if kind == "m":
        return _to_seconds(column)
    if kind == "M":
        return _to_utc(column)
    is_nullable = isinstance(column.dtype, pd.api.extensions.ExtensionDtype)
    if is_nullable and kind == "f":
        return pd.Series(column.to_numpy(dtype=np.float64, na_value=np.nan)), ""
    if is_nullable and not column.isna().any():
        return pd.Series(column.to_numpy()), ""
    return column, ""


def _unify_objects(column: pd.Series) -> tuple[pd.Series | None, str]:
    """Unify a column of Python objects."""
    found = infer_dtype(column, skipna=True)
    if found == "empty":
        return pd.Series(pd.NA, index=column.index, dtype=TEXT_TYPE), ""
    convert = CONVERTERS.get(found)
    if convert is not None:
        return convert(column)
    return _unify_mixture(column)


def _unify_mixture(column: pd.Series) -> tuple[pd.Series | None, str]:
    """Unify objects of several types: as numbers if all are, else as text."""
    cells = column.dropna()
    strange = [type(cell).__name__ for cell in cells if not isinstance(cell, SCALARS)]
    if strange:
        found = NAMES_OF_TYPES.get(strange[0], f"values of type {strange[0]}")
        return None, f"{len(strange)} of {len(cells)} cells hold {found}, which are not read; it is left out."
    if not cells.map(lambda cell: isinstance(cell, bool | str | date | time | UUID)).any():
        return _to_numbers(column)
    spelled = cells.map(spell_cell).reindex(column.index)
    return spelled.astype(TEXT_TYPE), ""


def _to_booleans(column: pd.Series) -> tuple[pd.Series, str]:
    return (column.astype("boolean") if column.isna().any() else column.astype(bool)), ""


def _to_integers(column: pd.Series) -> tuple[pd.Series, str]:
    try:
        return (column.astype("Int64") if column.isna().any() else column.astype(np.int64)), ""
    except OverflowError:
        return _to_numbers(column)


def _to_numbers(column: pd.Series) -> tuple[pd.Series, str]:
    """Return whole and other numbers as floats, or as they are spelled if floats would merge two of them."""
    is_code = column.map(_is_long_integer, na_action="ignore")
    return _to_spelled(column) if is_code.fillna(False).any() else _to_floats(column)


def _is_long_integer(cell: Any) -> bool:
    return not isinstance(cell, float | np.floating) and abs(cell) > EXACT_INTEGERS and cell == cell // 1


def _to_floats(column: pd.Series) -> tuple[pd.Series, str]:
    # float() rounds decimals correctly.
    return column.map(float, na_action="ignore").astype(np.float64), ""


def _to_text(column: pd.Series) -> tuple[pd.Series, str]:
    return column.astype(TEXT_TYPE), ""


def _to_spelled(column: pd.Series) -> tuple[pd.Series, str]:
    return column.map(spell_cell, na_action="ignore").astype(TEXT_TYPE), ""


def _to_dates(column: pd.Series) -> tuple[pd.Series, str]:
    """Return dates as datetime64; microseconds reach from year 1 to 9999."""
    zones = {str(getattr(cell, "tzinfo", None)) for cell in column.dropna()}
    if zones == {"None"}:
        return pd.to_datetime(column).astype("datetime64[us]"), ""
    dates = pd.to_datetime(column, utc=True).astype("datetime64[us, UTC]").dt.tz_localize(None)
    return dates, "" if zones == {"UTC"} else "times of other zones are read as times of UTC."


def _to_utc(column: pd.Series) -> tuple[pd.Series, str]:
    """Return moments of any zone as moments of UTC."""
    if not isinstance(column.dtype, pd.DatetimeTZDtype):
        return column, ""
    note = "" if str(column.dtype.tz) == "UTC" else "times of other zones are read as times of UTC."
    return column.dt.tz_convert("UTC").dt.tz_localize(None), note


def _to_seconds(column: pd.Series) -> tuple[pd.Series, str]:
    return pd.to_timedelta(column).dt.total_seconds(), "durations are read as seconds."


CONVERTERS: Mapping[str, Callable[[pd.Series], tuple[pd.Series, str]]] = {
    "boolean": _to_booleans,
    "integer": _to_integers,
    "floating": _to_floats,
    "mixed-integer-float": _to_numbers,
    "decimal": _to_numbers,
    "string": _to_text,
    "date": _to_dates,
    "datetime": _to_dates,
    "datetime64": _to_dates,
    "time": _to_spelled,
    "timedelta": _to_seconds,
    "timedelta64": _to_seconds,
}
"""What pandas infers about the objects of a column -> the function that converts them."""


def _spell_categories(column: pd.Series) -> pd.Series:
    """Return a nominal column whose values are text, in the same order."""
    values = column.cat.categories
    spelled = [spell_cell(value) for value in values]
    if len(set(spelled)) == len(spelled):
        return column.cat.rename_categories(spelled)
    # Values such as 1 and "1" are one value.
    cells = column.astype(object).map(spell_cell, na_action="ignore")
    merged = pd.CategoricalDtype(list(dict.fromkeys(spelled)), ordered=column.cat.ordered)
    return cells.astype(merged)


def arrow_to_column(cells: pa.ChunkedArray) -> pd.Series:
    """Return a column of Arrow as one of pandas; integers and Booleans may have missing cells."""
    return cells.to_pandas(types_mapper=ARROW_TYPES.get, date_as_object=False)


ARROW_TYPES: Mapping[pa.DataType, Any] = {
    pa.bool_(): pd.BooleanDtype(),
    pa.int8(): pd.Int8Dtype(),
    pa.int16(): pd.Int16Dtype(),
    pa.int32(): pd.Int32Dtype(),
    pa.int64(): pd.Int64Dtype(),
    pa.uint8(): pd.UInt8Dtype(),
    pa.uint16(): pd.UInt16Dtype(),
    pa.uint32(): pd.UInt32Dtype(),
    pa.uint64(): pd.UInt64Dtype(),
    pa.string(): TEXT_TYPE,
    pa.large_string(): TEXT_TYPE,
}
"""Types that pandas would otherwise convert to floats or objects where cells are missing."""
