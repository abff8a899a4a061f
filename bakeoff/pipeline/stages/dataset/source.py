"""The content of a source: its cells in columns of a few types, before the kinds of its columns are known.

Databases, spreadsheets and JSON provide Python objects; Arrow and pandas provide dozens of types. All of them are
reduced to integers, floats, Booleans, text, categories and dates, so a table has the same meaning wherever it comes
from.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, time
from decimal import Decimal
from numbers import Real
from typing import Any
from uuid import UUID

import numpy as np
import pandas as pd
import pyarrow as pa
from pandas.api.types import pandas_dtype

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.stages.dataset.spelling import choose_spelling, spell_cell

TEXT_TYPE = pd.StringDtype("pyarrow")
SPELLED_SCALARS = (str, bool, np.bool_, date, time, UUID)
SCALARS = (*SPELLED_SCALARS, Real, Decimal)
"""The allowed types of a cell; datetime and Timestamp are dates."""
MAX_EXACT_INTEGER = 2**53
"""The limit beyond which float64 does not represent every integer."""
MAX_CODE = 1e20
"""Larger numbers are measurements rather than codes or times."""
UNIFIED_TYPES = (
    pa.types.is_boolean,
    pa.types.is_integer,
    pa.types.is_floating,
    pa.types.is_string,
    pa.types.is_large_string,
    pa.types.is_date,
    pa.types.is_timestamp,
    pa.types.is_duration,
)
"""Arrow types with an equivalent pandas type; the cells of other types become Python objects."""
NOT_OF_ONE_TYPE = (pa.ArrowException, OverflowError, TypeError)
"""The errors that pyarrow raises for a column of unsupported Python objects or types."""

Unified = tuple[pd.Series | None, str]
"""A column of a supported type, or None if its cells have no such type, and a remark, which may be empty."""


@dataclass(frozen=True)
class Source:
    """The cells of a source.

    Attributes
    ----------
    frame : DataFrame of shape (n, d)
        The columns of a text file contain its original spelling, with dtype ``string`` and empty strings for empty
        cells; those of other sources have the supported types, with NA for missing cells.
    name : str
        The name of the dataset: for a file, its name without the suffix.
    origin : str
        The origin of the rows.
    notes : tuple of str
        Sentences about how the source was read, such as a guessed separator.
    declared : mapping of str to tuple of str
        Column -> the values that an ARFF file or an Arrow dictionary declares for it, in order.
    guessed : mapping of str to str
        Keys of signs in numbers that were not given -> their guessed values, with which further rows must be read.
    parts : ndarray of shape (n,) or None
        "train" or "test" for each row, if the rows come from two files.
    characters : str or None
        The signs in numbers, besides points, that occur in the source; None if unknown.
    is_settled : bool
        Whether the signs and units of its numbers are known.
    weights : str or None
        The column that the source declares as the weights of the rows.
    row_names : str
        The name of the first column, if it has none in the source and contains names of the rows.
    """

    frame: pd.DataFrame
    name: str = ""
    origin: str = ""
    notes: tuple[str, ...] = ()
    declared: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    guessed: Mapping[str, str] = field(default_factory=dict)
    parts: np.ndarray | None = None
    characters: str | None = None
    is_settled: bool = False
    weights: str | None = None
    row_names: str = ""


def make_source(frame: pd.DataFrame, name: str = "", origin: str = "", notes: Iterable[str] = ()) -> Source:
    """Convert a typed table to a source with columns of the supported types.

    Parameters
    ----------
    frame : DataFrame of shape (n, d)
        A table with distinct column names; object columns contain Python objects.
    name, origin : str
    notes : iterable of str
        Notes, extended by a sentence for each column that is left out or changes its meaning.
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
    return Source(plain, name, origin, tuple(all_notes), declared)


MIN_WHOLE_SHARE = 0.5
"""Numbers of which more than this share is whole may be names of rows."""


def find_row_names(frame: pd.DataFrame) -> str:
    """Return the name of the first column, which the source does not name, if it contains names of rows."""
    return str(frame.columns[0]) if are_row_names(frame.iloc[:, 0]) else ""


def are_row_names(cells: pd.Series) -> bool:
    """Return whether the cells of a column without a name are different, and text, dates or mostly whole numbers.

    R makes names such as 7.1 if rows are repeated.
    """
    numbers = pd.to_numeric(cells, errors="coerce") if cells.dtype.kind != "M" else cells
    is_real = numbers.dtype.kind == "f" and numbers.notna().all() and (numbers % 1 == 0).mean() <= MIN_WHOLE_SHARE
    return cells.is_unique and not cells.isna().any() and not is_real


def require_different_names(names: Sequence[str], what: str, cure: str = "rename one of them") -> None:
    """Reject columns with the same name; `what` is the beginning of the message, such as ``table.csv has``."""
    repeated = sorted(name for name, count in Counter(names).items() if count > 1)
    if repeated:
        numbers = [str(number) for number, name in enumerate(names, start=1) if name == repeated[0]]
        listed = ", ".join(numbers)
        raise UserError(f"{what} {len(numbers)} columns named {repeated[0]!r} (columns {listed}); {cure}.")


def unify_column(column: pd.Series) -> Unified:
    """Return a column with one of the supported types.

    Integers and Booleans with missing cells have pandas' nullable types; other numbers have NumPy types. Text is
    ``string``, categories are text, dates are datetime64 in UTC, and objects of several types become text.

    Parameters
    ----------
    column : Series of shape (n,)
    """
    if isinstance(column.dtype, pd.CategoricalDtype):
        return _spell_categories(column), ""
    if isinstance(column.dtype, pd.DatetimeTZDtype):
        remark = "" if str(column.dtype.tz) == "UTC" else "times of other zones are read as times of UTC"
        return column.dt.tz_convert(None), remark
    if isinstance(column.dtype, np.dtype) and column.dtype.kind in "iuf":
        return column, _doubt_floats(column)
    try:
        cells = pa.chunked_array(pa.array(column, from_pandas=True))
    except NOT_OF_ONE_TYPE:
        return _unify_objects(column)
    types = pa.types
    type_ = cells.type
    if types.is_null(type_):
        return pd.Series(pd.NA, index=column.index, name=column.name, dtype=TEXT_TYPE), ""
    if not any(is_of_type(type_) for is_of_type in UNIFIED_TYPES):
        return _unify_objects(column)
    unified = arrow_to_column(cells).rename(str(column.name))
    if types.is_duration(type_):
        return unified.dt.total_seconds(), "durations are read as seconds"
    has_zone = isinstance(unified.dtype, pd.DatetimeTZDtype)
    return unify_column(unified) if has_zone else (unified, _doubt_floats(unified))


def arrow_to_column(cells: pa.ChunkedArray) -> pd.Series:
    """Convert an Arrow column to pandas; integers and Booleans may have missing cells."""

    def choose_type(type_: pa.DataType) -> Any:
        if pa.types.is_string(type_) or pa.types.is_large_string(type_):
            return TEXT_TYPE
        # If cells are missing, columns of other types would be floats or objects.
        if cells.null_count and pa.types.is_integer(type_):
            return pandas_dtype(str(type_).replace("uint", "UInt").replace("int", "Int"))
        return pd.BooleanDtype() if cells.null_count and pa.types.is_boolean(type_) else None

    return cells.to_pandas(types_mapper=choose_type, date_as_object=False)


def _unify_objects(column: pd.Series) -> Unified:
    """Convert objects of several types to numbers if all are numeric, otherwise to text."""
    objects = column.astype(object).where(column.notna(), None)
    cells = objects.dropna()
    strange = next((type(cell).__name__ for cell in cells if not isinstance(cell, SCALARS)), "")
    if strange:
        return None, f"cells of type {strange} are not supported"
    # Floats would merge two long codes.
    if any(isinstance(cell, SPELLED_SCALARS) or _is_long_integer(cell) for cell in cells):
        return objects.map(spell_cell, na_action="ignore").astype(TEXT_TYPE), ""
    # float() rounds decimals correctly.
    floats = objects.map(float, na_action="ignore").astype(np.float64)
    return floats, _doubt_floats(floats)


def _doubt_floats(column: pd.Series) -> str:
    """Return a remark about codes or times that the source, such as a workbook, holds as floats."""
    if column.dtype.kind != "f" or not column.abs().between(MAX_EXACT_INTEGER, MAX_CODE).any():
        return ""
    return (
        "whole numbers beyond 2**53 are floats in the source, so that different ones may be equal; store them as text"
    )


def _is_long_integer(cell: Any) -> bool:
    return not isinstance(cell, float | np.floating) and abs(cell) > MAX_EXACT_INTEGER and cell == cell // 1


def _spell_categories(column: pd.Series) -> pd.Series:
    """Return a nominal column whose values are text, in the same order."""
    categories = column.cat.categories
    spell = choose_spelling(categories.tolist())
    # Values such as 1 and "1" are the same value.
    dtype = pd.CategoricalDtype(categories.map(spell).unique(), ordered=column.cat.ordered)
    return column.map(spell, na_action="ignore").astype(dtype)
