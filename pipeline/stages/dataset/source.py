"""The content of a source: its cells in columns of a few types, before the kinds of its columns are known.

Databases, spreadsheets and JSON give Python objects, Arrow and pandas give dozens of types. All of them are reduced to
integers, floats, Booleans, text, categories and dates, so that the same table means the same wherever it comes from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, time
from decimal import Decimal
from numbers import Real
from typing import Any
from uuid import UUID

import numpy as np
import pandas as pd
import pyarrow as pa
from pandas.api.types import infer_dtype, pandas_dtype

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.stages.dataset.spelling import spell_cell

TEXT_TYPE = pd.StringDtype("pyarrow")
SPELLED_SCALARS = (str, bool, np.bool_, date, time, UUID)
SCALARS = (*SPELLED_SCALARS, Real, Decimal, pd.Timedelta)
"""What a cell may be; datetime and Timestamp are dates."""
NAMES_OF_TYPES = {"list": "lists", "tuple": "lists", "ndarray": "lists", "dict": "nested objects", "bytes": "bytes"}
REFUSED_TYPES = (pd.PeriodDtype, pd.IntervalDtype, pd.SparseDtype)
EXACT_INTEGERS = 2**53
"""Up to here, every whole number is a float."""
OTHER_ZONES = "times of other zones are read as times of UTC"

Unified = tuple[pd.Series | None, str]
"""A column of one of the few types, None if it has no such cells, and a remark about it, which may be empty."""


@dataclass(frozen=True)
class Source:
    """The cells of a source.

    Attributes
    ----------
    frame : DataFrame of shape (n, d)
        The columns of a text file hold text as the file spells it, of dtype ``string``, with empty cells as empty
        text; those of other sources have the few types, and missing cells are NA.
    name : str
        Of the dataset: for a file, its name without the suffix.
    origin : str
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
    origin: str
    notes: tuple[str, ...] = ()
    declared: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    guessed: Mapping[str, str] = field(default_factory=dict)
    parts: np.ndarray | None = None


def make_source(
    frame: pd.DataFrame, name: str, origin: str, notes: Iterable[str] = (), guessed: Mapping[str, str] | None = None
) -> Source:
    """Return a table with types as a source: integers, floats, Booleans, text, categories and dates.

    Parameters
    ----------
    frame : DataFrame of shape (n, d)
        With different names; the cells of columns of objects are Python's.
    name, origin : str
    notes : iterable of str
        To which a sentence is added for each column that is left out or has another meaning now.
    guessed : mapping of str to str, optional

    Raises
    ------
    UserError
        A column holds periods, intervals or sparse values.
    """
    columns: dict[str, pd.Series] = {}
    all_notes = [*notes]
    declared = {}
    for label, column in frame.items():
        unified, remark = unify_column(column.reset_index(drop=True))
        if unified is None:
            remark = f"{remark}; it is left out"
        else:
            columns[str(label)] = unified
            if isinstance(unified.dtype, pd.CategoricalDtype):
                declared[str(label)] = tuple(unified.cat.categories)
        if remark:
            all_notes.append(f"Column {str(label)!r}: {remark}.")
    plain = pd.DataFrame(columns, index=pd.RangeIndex(len(frame)))
    return Source(plain, name, origin, tuple(all_notes), declared, guessed or {})


def require_different_names(names: Sequence[str], what: str, cure: str = "rename one of them") -> None:
    """Reject columns of the same name; `what` is the beginning of the message, such as ``table.csv has``."""
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        numbers = [str(number) for number, name in enumerate(names, start=1) if name == repeated[0]]
        listed = ", ".join(numbers)
        raise UserError(f"{what} {len(numbers)} columns of the name {repeated[0]!r} (columns {listed}); {cure}.")


def unify_column(column: pd.Series) -> Unified:
    """Return a column with one of the few types.

    Integers and Booleans with missing cells have pandas' nullable types, numbers NumPy's otherwise; text is ``string``,
    categories are text, dates are datetime64 in UTC, and objects of several types are text.

    Parameters
    ----------
    column : Series of shape (n,)

    Raises
    ------
    UserError
        It holds periods, intervals or sparse values.
    """
    dtype = column.dtype
    if isinstance(dtype, REFUSED_TYPES):
        raise UserError(f"column {str(column.name)!r} has the type {dtype}; convert it to numbers, text or dates.")
    if isinstance(dtype, pd.ArrowDtype):
        return unify_column(arrow_to_column(pa.chunked_array(pa.array(column))))
    if isinstance(dtype, pd.CategoricalDtype):
        return _spell_categories(column), ""
    if isinstance(dtype, pd.StringDtype):
        return column.astype(TEXT_TYPE), ""
    if dtype.kind == "O":
        return CONVERTERS.get(infer_dtype(column, skipna=True), _unify_mixture)(column)
    return CONVERTERS_OF_KINDS.get(dtype.kind, _unify_numbers)(column)


def arrow_to_column(cells: pa.ChunkedArray) -> pd.Series:
    """Return a column of Arrow as one of pandas; integers and Booleans may have missing cells."""
    return cells.to_pandas(types_mapper=_choose_dtype, date_as_object=False)


def _choose_dtype(type_: pa.DataType) -> Any:
    """Return the nullable pandas type for columns that would be floats or objects if cells are missing."""
    if pa.types.is_integer(type_):
        return pandas_dtype(str(type_).replace("uint", "UInt").replace("int", "Int"))
    if pa.types.is_boolean(type_):
        return pd.BooleanDtype()
    is_text = pa.types.is_string(type_) or pa.types.is_large_string(type_)
    return TEXT_TYPE if is_text else None


def _unify_numbers(column: pd.Series) -> Unified:
    """Unify numbers and Booleans of NumPy's types, or of pandas' nullable ones."""
    is_nullable = isinstance(column.dtype, pd.api.extensions.ExtensionDtype)
    if is_nullable and column.dtype.kind == "f":
        return pd.Series(column.to_numpy(dtype=np.float64, na_value=np.nan), name=column.name), ""
    if is_nullable and not column.isna().any():
        return pd.Series(column.to_numpy(), name=column.name), ""
    return column, ""


def _unify_mixture(column: pd.Series) -> Unified:
    """Unify objects of several types: as numbers if all are, else as text."""
    cells = column.dropna()
    strange = [type(cell).__name__ for cell in cells if not isinstance(cell, SCALARS)]
    if strange:
        found = NAMES_OF_TYPES.get(strange[0], f"values of type {strange[0]}")
        return None, f"{len(strange)} of {len(cells)} cells hold {found}, which are not read"
    has_spelled = any(isinstance(cell, SPELLED_SCALARS) for cell in cells)
    return _to_spelled(column) if has_spelled else _to_numbers(column)


def _refuse_complex(column: pd.Series) -> Unified:
    return None, "complex numbers are not read"


def _to_empty(column: pd.Series) -> Unified:
    return pd.Series(pd.NA, index=column.index, name=column.name, dtype=TEXT_TYPE), ""


def _to_booleans(column: pd.Series) -> Unified:
    return (column.astype("boolean") if column.isna().any() else column.astype(bool)), ""


def _to_integers(column: pd.Series) -> Unified:
    try:
        return (column.astype("Int64") if column.isna().any() else column.astype(np.int64)), ""
    except OverflowError:
        return _to_numbers(column)


def _to_numbers(column: pd.Series) -> Unified:
    """Return whole and other numbers as floats, or as they are spelled if floats would merge two of them."""
    is_code = column.map(_is_long_integer, na_action="ignore")
    return _to_spelled(column) if is_code.fillna(False).any() else _to_floats(column)


def _is_long_integer(cell: Any) -> bool:
    return not isinstance(cell, float | np.floating) and abs(cell) > EXACT_INTEGERS and cell == cell // 1


def _to_floats(column: pd.Series) -> Unified:
    # float() rounds decimals correctly.
    return column.map(float, na_action="ignore").astype(np.float64), ""


def _to_text(column: pd.Series) -> Unified:
    return column.astype(TEXT_TYPE), ""


def _to_spelled(column: pd.Series) -> Unified:
    return column.map(spell_cell, na_action="ignore").astype(TEXT_TYPE), ""


def _to_dates(column: pd.Series) -> Unified:
    """Return dates as datetime64; microseconds reach from year 1 to 9999."""
    zones = {str(getattr(cell, "tzinfo", None)) for cell in column.dropna()}
    if zones == {"None"}:
        return pd.to_datetime(column).astype("datetime64[us]"), ""
    dates = pd.to_datetime(column, utc=True).astype("datetime64[us, UTC]").dt.tz_localize(None)
    return dates, "" if zones == {"UTC"} else OTHER_ZONES


def _to_utc(column: pd.Series) -> Unified:
    """Return moments of any zone as moments of UTC."""
    if not isinstance(column.dtype, pd.DatetimeTZDtype):
        return column, ""
    return column.dt.tz_convert("UTC").dt.tz_localize(None), "" if str(column.dtype.tz) == "UTC" else OTHER_ZONES


def _to_seconds(column: pd.Series) -> Unified:
    return pd.to_timedelta(column).dt.total_seconds(), "durations are read as seconds"


CONVERTERS_OF_KINDS: Mapping[str, Callable[[pd.Series], Unified]] = {
    "c": _refuse_complex,
    "m": _to_seconds,
    "M": _to_utc,
}
"""The kind of a type of NumPy -> the function that unifies its columns."""
CONVERTERS: Mapping[str, Callable[[pd.Series], Unified]] = {
    "empty": _to_empty,
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
