"""The cells of one column of a source, in one of three forms: numbers, dates or text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from functools import cached_property
from numbers import Integral
from typing import Any
from uuid import UUID

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from pandas.api.types import is_bool_dtype, is_datetime64_any_dtype, is_numeric_dtype, is_timedelta64_dtype

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.stages.dataset.spelling import MissingRule, spell_cell, spell_cells

LEADING_ZERO = r"^\s*[+-]?0[0-9]"
WHOLE_POWER = r"^\s*[0-9]+[eE][0-9]+\s*$"
MAX_EXACT_INTEGER = 2.0**53
"""Beyond it, float64 does not hold each integer."""


NUMBER = re.compile(r"[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|inf|infinity)", re.IGNORECASE)
"""A number as text files spell it, with a decimal point; other signs are replaced when a file is read."""


@dataclass(frozen=True)
class NumberReading:
    """The numbers of a column, and what else its cells hold.

    Attributes
    ----------
    values : ndarray of shape (n,)
        NaN where a cell is missing or not a number.
    missing_spellings : mapping of str to int
        Spellings that are missing cells only because the other cells are numbers -> number of cells.
    others : mapping of str to int
        Cells that are not numbers -> their number.
    """

    values: np.ndarray
    missing_spellings: Mapping[str, int] = field(default_factory=dict)
    others: Mapping[str, int] = field(default_factory=dict)

    @cached_property
    def n_numbers(self) -> int:
        """The number of cells that are numbers."""
        return int(np.count_nonzero(~np.isnan(self.values)))

    @property
    def is_complete(self) -> bool:
        """Whether there are numbers, and no cells that are neither numbers nor missing."""
        return not self.others and self.n_numbers > 0


def read_numbers(text: pa.Array, rule: MissingRule) -> NumberReading:
    """Read the numbers of a column of text.

    Parameters
    ----------
    text : Array of n strings
        Null where missing.
    rule : MissingRule
    """
    values = _cast_all(text, rule)
    reading = _read_distinct(text, rule) if values is None else NumberReading(values)
    return NumberReading(mask_numbers(reading.values, rule), reading.missing_spellings, reading.others)


def mask_numbers(values: np.ndarray, rule: MissingRule) -> np.ndarray:
    """Return numbers with NaN in place of those that stand for a missing cell, shape (n,)."""
    if not rule.numbers:
        return values
    return np.where(np.isin(values, rule.numbers), np.nan, values)


def find_leading_zero(text: pa.Array) -> str:
    """Return a cell with zeros that a number would lose, such as 007; empty if there is none."""
    found = pc.filter(text, pc.match_substring_regex(text, LEADING_ZERO))
    return str(found[0]) if len(found) else ""


def find_power(text: pa.Array) -> str:
    """Return a cell such as 7e75, which may be a code; empty if there is none."""
    found = pc.filter(text, pc.match_substring_regex(text, WHOLE_POWER))
    return str(found[0]) if len(found) else ""


def _cast_all(text: pa.Array, rule: MissingRule) -> np.ndarray | None:
    """Return a column of numbers, shape (n,), by the parser of pyarrow, which rounds correctly; None if it fails."""
    for cells in (text, None):
        try:
            present = _mask_spellings(text, rule) if cells is None else cells
            return np.asarray(pc.cast(present, pa.float64()).to_numpy(zero_copy_only=False))
        except pa.ArrowInvalid:
            continue
    return None


def _mask_spellings(text: pa.Array, rule: MissingRule) -> pa.Array:
    """Return text without spaces around its cells, null where it is missing in any column."""
    trimmed = pc.utf8_trim_whitespace(text)
    spellings = pa.array(sorted(rule.spellings), text.type)
    return pc.if_else(pc.is_in(trimmed, value_set=spellings), pa.scalar(None, text.type), trimmed)


def _read_distinct(text: pa.Array, rule: MissingRule) -> NumberReading:
    """Read a column by its distinct cells, each of which is judged alone."""
    encoded = text.dictionary_encode()
    codes = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)  # (n,)
    cells = encoded.dictionary.to_pylist()
    counts = np.bincount(codes + 1, minlength=len(cells) + 1)[1:]  # without the null cells
    numbers = np.full(len(cells) + 1, np.nan)  # the last one is that of null cells, whose code is -1
    missing_spellings = {}
    others = {}
    for position, cell in enumerate(cells):
        if rule.covers(cell):
            continue
        if NUMBER.fullmatch(cell.strip()):
            numbers[position] = float(cell)
        elif rule.covers_among_numbers(cell):
            missing_spellings[cell.strip()] = int(counts[position])
        else:
            others[cell] = int(counts[position])
    return NumberReading(numbers[codes], missing_spellings, others)


DATE_TYPES = (datetime, date, np.datetime64)
NUMBER_TYPES = (int, float, Decimal, np.integer, np.floating)
TEXT_TYPES = (str, time, UUID)
CELL_TYPES = (bool, np.bool_, timedelta, *TEXT_TYPES, *DATE_TYPES, *NUMBER_TYPES)
SHORT_FLOATS = ("float32", "float16")
TEXT_TYPE = pa.large_string()


@dataclass(frozen=True)
class DistinctText:
    """The cells of a column as positions in a list of their distinct spellings.

    Attributes
    ----------
    values : list of str
        In canonical spelling, without missing ones, sorted.
    codes : ndarray of shape (n,)
        Positions in ``values``; -1 where missing.
    spellings : list of str
        The distinct cells as the source spells them.
    """

    values: list[str]
    codes: np.ndarray
    spellings: list[str] = field(default_factory=list)

    @property
    def n_present(self) -> int:
        """The number of cells that are not missing."""
        return int(np.count_nonzero(self.codes >= 0))

    def count(self, value: str) -> int:
        """Return the number of cells with a value."""
        return int(np.count_nonzero(self.codes == self.values.index(value))) if value in self.values else 0


@dataclass(frozen=True)
class Cells:
    """The n cells of a column, before its kind is known.

    Attributes
    ----------
    name : str
    rule : MissingRule
    numbers : ndarray of shape (n,) or None
        Of a source with types, NaN where missing.
    dates : Series of shape (n,) or None
        Of a source with types, NaT where missing.
    text : Array of n strings or None
        As the source spells them, null where missing.
    declared : tuple of str or None
        The values that the source declares, in order; empty if it only says that the column is nominal.
    is_boolean, is_ordered : bool
        What the type of the source says.
    """

    name: str
    rule: MissingRule = field(default_factory=MissingRule)
    numbers: np.ndarray | None = None
    dates: pd.Series | None = None
    text: pa.Array | None = None
    declared: tuple[str, ...] | None = None
    is_boolean: bool = False
    is_ordered: bool = False

    @cached_property
    def reading(self) -> NumberReading:
        """The cells as numbers."""
        if self.numbers is not None:
            return NumberReading(mask_numbers(self.numbers, self.rule))
        if self.dates is not None:
            n = len(self.dates)
            return NumberReading(np.full(n, np.nan), others={value: 1 for value in self.distinct.values})
        return read_numbers(self.text, self.rule)

    @cached_property
    def distinct(self) -> DistinctText:
        """The cells as values in canonical spelling."""
        if self.numbers is not None:
            return _encode_numbers(self.reading.values)
        if self.dates is not None:
            return _encode_dates(self.dates)
        return _encode_text(self.text, self.rule)

    @cached_property
    def leading_zero(self) -> str:
        """A cell of text such as 007, of which a number would lose the zeros; empty if there is none."""
        return "" if self.text is None else find_leading_zero(self.text)


def read_cells(column: pd.Series, rule: MissingRule, declared: Mapping[str, tuple[str, ...]]) -> Cells:
    """Return the cells of a column in the form that its type implies.

    Parameters
    ----------
    column : Series of shape (n,)
        Text, numbers, Booleans, dates, categories, or Python objects of these types.
    rule : MissingRule
    declared : mapping of str to tuple of str
        Column -> the values that the source declares for it.

    Raises
    ------
    UserError
        The cells are of another type, such as lists.
    """
    name = str(column.name)
    forms = _choose_form(column)
    if name in declared:
        forms.setdefault("declared", tuple(spell_cells(declared[name])))
    # A value that the source declares is no missing cell, even if it is spelled like one.
    own_rule = rule.without_values(forms.get("declared") or ())
    return Cells(name, own_rule, **forms)


def _choose_form(column: pd.Series) -> dict[str, Any]:
    """Return the fields of `Cells` that the type of a column determines."""
    dtype = column.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        return _read_categories(column)
    if is_bool_dtype(dtype):
        return {"text": _spell_objects(column), "is_boolean": True}
    if is_timedelta64_dtype(dtype):
        return {"numbers": column.dt.total_seconds().to_numpy(dtype=np.float64)}
    if is_datetime64_any_dtype(dtype):
        return {"dates": _to_plain_dates(column)}
    if is_numeric_dtype(dtype):
        return _read_typed_numbers(column)
    if isinstance(dtype, pd.StringDtype):
        return {"text": _to_text(column)}
    return _read_objects(column)


def _read_typed_numbers(column: pd.Series) -> dict[str, Any]:
    if column.dtype.kind in "iu" and _has_long_integer([column.min(), column.max()]):
        return {"text": _spell_objects(column)}  # as float64, different codes would be equal
    numbers = column.to_numpy(dtype=np.float64, na_value=np.nan)
    if str(column.dtype).lower() in SHORT_FLOATS:
        # 0.1 in 32 bits is another number than 0.1 in a text file; its shortest spelling is the same.
        short = numbers.astype(str(column.dtype).lower())  # (n,)
        numbers = short.astype(str).astype(np.float64)
    return {"numbers": numbers}


def _read_categories(column: pd.Series) -> dict[str, Any]:
    """Return categories by their values, so that text, numbers and Booleans of one spelling are one value."""
    values = spell_cells(column.cat.categories.tolist())
    codes = column.cat.codes.to_numpy()
    text = pa.array(values, TEXT_TYPE).take(pa.array(codes, mask=codes < 0))
    return {"text": text, "declared": tuple(values), "is_ordered": bool(column.cat.ordered)}


def _read_objects(column: pd.Series) -> dict[str, Any]:
    """Return the form of a column of Python objects; cells of several types become text."""
    present = column[column.notna()]
    for cell in present:
        if not isinstance(cell, CELL_TYPES):
            raise UserError(
                f"column {str(column.name)!r} holds {type(cell).__name__} cells such as {cell!r}; cells must be text, "
                f"numbers, Booleans or dates. Leave it out with dataset.drop=[{column.name}]."
            )
    types = {type(cell) for cell in present}
    if types and all(issubclass(each, bool | np.bool_) for each in types):
        return {"text": _spell_objects(column), "is_boolean": True}
    if types and all(issubclass(each, NUMBER_TYPES) and each is not bool for each in types):
        if _has_long_integer(present):
            return {"text": _spell_objects(column)}
        return {"numbers": np.array([np.nan if pd.isna(cell) else float(cell) for cell in column])}
    if types and all(issubclass(each, timedelta) for each in types):
        return {"numbers": pd.to_timedelta(column).dt.total_seconds().to_numpy(dtype=np.float64)}
    if types and all(issubclass(each, DATE_TYPES) for each in types):
        return {"dates": _to_plain_dates(pd.to_datetime(column, utc=True))}
    return {"text": _spell_objects(column)}


def _has_long_integer(cells: Iterable[Any]) -> bool:
    """Whether there is a whole number that float64 may not hold; it is compared before it is converted."""
    return any(isinstance(cell, Integral) and abs(int(cell)) > MAX_EXACT_INTEGER for cell in cells)


def _spell_objects(column: pd.Series) -> pa.Array:
    cells = [None if pd.isna(cell) else cell if isinstance(cell, str) else spell_cell(cell) for cell in column]
    return pa.array(cells, TEXT_TYPE)


def _to_text(column: pd.Series) -> pa.Array:
    text = pa.array(column, from_pandas=True)
    return text.combine_chunks() if isinstance(text, pa.ChunkedArray) else text


def _to_plain_dates(column: pd.Series) -> pd.Series:
    """Return dates as datetime64[ns], in UTC if they have a time zone."""
    try:
        times = pd.to_datetime(column, utc=True).dt.tz_localize(None).astype("datetime64[ns]")
    except (pd.errors.OutOfBoundsDatetime, OverflowError) as error:
        raise UserError(f"column {str(column.name)!r} holds dates outside the years 1678 to 2261: {error}.") from error
    return times.reset_index(drop=True)


def _encode_text(text: pa.Array, rule: MissingRule) -> DistinctText:
    encoded = text.dictionary_encode()
    codes = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)  # (n,)
    cells = encoded.dictionary.to_pylist()
    spellings = [cell for cell in cells if not rule.covers(cell)]
    values = sorted({spell_cell(cell) for cell in spellings})
    position_of = {value: position for position, value in enumerate(values)}
    positions = [-1 if rule.covers(cell) else position_of[spell_cell(cell)] for cell in cells]
    # The last position is that of null cells, whose code is -1.
    return DistinctText(values, np.array([*positions, -1], dtype=np.int64)[codes], spellings)


def _encode_numbers(numbers: np.ndarray) -> DistinctText:
    is_present = ~np.isnan(numbers)
    found, places = np.unique(numbers[is_present], return_inverse=True)
    spelled = [spell_cell(number) for number in found]
    return _encode_spelled(spelled, is_present, places)


def _encode_dates(dates: pd.Series) -> DistinctText:
    is_present = dates.notna().to_numpy()
    found, places = np.unique(dates.to_numpy()[is_present], return_inverse=True)
    spelled = [spell_cell(each) for each in found]
    return _encode_spelled(spelled, is_present, places)


def _encode_spelled(spelled: list[str], is_present: np.ndarray, places: np.ndarray) -> DistinctText:
    """Return the cells whose spelling is given for each distinct cell that is present."""
    values = sorted(set(spelled))
    position_of = {value: position for position, value in enumerate(values)}
    positions = np.array([position_of[spelling] for spelling in spelled], dtype=np.int64)
    codes = np.full(len(is_present), -1)
    if positions.size:
        codes[is_present] = positions[places]
    return DistinctText(values, codes, spelled)
