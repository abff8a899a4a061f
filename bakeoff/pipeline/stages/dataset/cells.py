"""The cells of one column of a source, in one of three forms: numbers, dates or text."""

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from pandas.api.types import is_bool_dtype, is_datetime64_any_dtype

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.stages.dataset.guesses import NumberSigns, read_signs
from bakeoff.pipeline.stages.dataset.keys import ColumnRules
from bakeoff.pipeline.stages.dataset.source import MAX_EXACT_INTEGER, unify_column
from bakeoff.pipeline.stages.dataset.spelling import (
    DASHES,
    EMPTY,
    MissingRule,
    choose_spelling,
    choose_unit,
    make_missing_rule,
    spell_cell,
)

LEADING_ZERO = r"^\s*[+-]?0[0-9]"
NUMBER = re.compile(r"[+-]?(?:(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|inf|infinity)", re.IGNORECASE)
"""The spelling of a number in text, with a decimal point; other signs are replaced when a file is read."""
DASH = re.compile(rf"^[{DASHES}](?=[\d.])")
SHORT_FLOATS = ("float32", "float16")
TEXT_TYPE = pa.large_string()


@dataclass(frozen=True)
class NumberReading:
    """The numbers of a column, and its other cells.

    Attributes
    ----------
    values : ndarray of shape (n,)
        NaN where a cell is missing or not a number.
    missing_spellings : mapping of str to int
        Spellings that count as missing only because the other cells are numbers -> number of cells.
    others : mapping of str to int
        Cells that are not numbers -> how often each occurs.
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
        """Whether the column has numbers, and all other cells are missing."""
        return not self.others and self.n_numbers > 0

    @property
    def is_pure(self) -> bool:
        """Whether all cells are numbers, except those that are missing."""
        return self.is_complete and not self.missing_spellings

    @property
    def all_others(self) -> dict[str, int]:
        """All cells that are not numbers, including those classified as missing."""
        return {**self.others, **self.missing_spellings}


@dataclass(frozen=True)
class DistinctText:
    """The cells of a column as positions in a list of their distinct spellings.

    Attributes
    ----------
    values : list of str
        The distinct values in canonical spelling, sorted, without missing ones.
    codes : ndarray of shape (n,)
        Positions in ``values``; -1 where missing.
    spellings : list of str
        The distinct cells as spelled in the source.
    """

    values: list[str]
    codes: np.ndarray
    spellings: list[str]

    @property
    def n_present(self) -> int:
        """The number of cells that are not missing."""
        return int(np.count_nonzero(self.codes >= 0))

    @property
    def n_missing(self) -> int:
        """The number of missing cells."""
        return len(self.codes) - self.n_present

    @property
    def cells(self) -> np.ndarray:
        """The values of all cells as objects of shape (n,), None where missing."""
        return np.array([*self.values, None], dtype=object)[self.codes]


@dataclass(frozen=True)
class Cells:
    """The n cells of a column, before its kind is known.

    Attributes
    ----------
    name : str
    rule : MissingRule
    numbers : ndarray of shape (n,) or None
        The numbers of a source with types, NaN where missing.
    dates : Series of shape (n,) or None
        The dates of a source with types, NaT where missing.
    text : Array of n strings or None
        The cells as spelled in the source, null where missing.
    declared : tuple of str or None
        The values that the source declares, in order; empty if it only declares the column as nominal.
    is_boolean, is_ordered : bool
        The kind given by the type of the source.
    unit : str
        The unit of numbers in text, which `text` does not contain.
    """

    name: str
    rule: MissingRule
    numbers: np.ndarray | None = None
    dates: pd.Series | None = None
    text: pa.Array | None = None
    declared: tuple[str, ...] | None = None
    is_boolean: bool = False
    is_ordered: bool = False
    unit: str = ""

    @cached_property
    def reading(self) -> NumberReading:
        """The cells as numbers."""
        if self.dates is not None:
            return NumberReading(np.full(len(self.dates), np.nan), others=dict.fromkeys(self.distinct.values, 1))
        found = _read_numbers(self.text, self.rule) if self.numbers is None else NumberReading(self.numbers)
        is_missing = np.isin(found.values, self.rule.numbers)  # (n,)
        return replace(found, values=np.where(is_missing, np.nan, found.values))

    @cached_property
    def distinct(self) -> DistinctText:
        """The cells as values in canonical spelling."""
        if self.text is None:
            codes, found = pd.factorize(self.reading.values if self.dates is None else self.dates.to_numpy())
            return _merge_spellings(codes, list(found), spell_cell)
        codes, cells, _ = _encode_arrow(self.text)
        spell = choose_spelling(self.declared or ())
        return _merge_spellings(codes, cells, lambda cell: None if self.rule.covers(cell) else spell(cell))

    @cached_property
    def leading_zero(self) -> str:
        """A text cell such as 007, which would lose its zeros as a number; empty if there is none."""
        if self.text is None:
            return ""
        found = pc.filter(self.text, pc.match_substring_regex(self.text, LEADING_ZERO))
        return str(found[0]) if len(found) else ""


def read_cells(column: pd.Series, rules: ColumnRules, declared: Mapping[str, tuple[str, ...]] | None = None) -> Cells:
    """Return the cells of a column in the form that its type implies.

    Parameters
    ----------
    column : Series of shape (n,)
        Text, numbers, Booleans, dates, categories, or Python objects of these types.
    rules : ColumnRules
        The rules, of which the spellings of missing cells and of numbers are used.
    declared : mapping of str to tuple of str
        Column -> the values that the source declares for it.

    Raises
    ------
    UserError
        The cells are of another type, such as lists.
    """
    name = str(column.name)
    unified, remark = unify_column(column)
    if unified is None:
        raise UserError(f"column {name!r}: {remark}. Leave it out with dataset.drop=[{name}].")
    forms = _choose_form(unified)
    if declared and name in declared:
        forms.setdefault("declared", tuple(map(choose_spelling(declared[name]), declared[name])))
    rule = make_missing_rule(rules.na_values, name)
    if forms.get("declared"):
        # A value that the source declares is not a missing cell, even if it is spelled like one.
        declared_spellings = frozenset(forms["declared"]) - {EMPTY} - rule.given
        rule = replace(rule, spellings=rule.spellings - declared_spellings)
    signs = read_signs(rules.decimal, rules.thousands, rules.get_unit(name))
    if "text" in forms and "declared" not in forms and signs != NumberSigns():
        forms["text"] = signs.spell(forms["text"])
    return Cells(name, rule, **forms, unit=signs.unit)


def _choose_form(column: pd.Series) -> dict[str, Any]:
    """Return the fields of `Cells` that the type of a column determines."""
    dtype = column.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        values = pa.array(column.cat.categories.tolist(), TEXT_TYPE)
        codes = column.cat.codes.to_numpy()
        text = values.take(pa.array(codes, mask=codes < 0))
        return {"text": text, "declared": tuple(values.to_pylist()), "is_ordered": bool(dtype.ordered)}
    if is_datetime64_any_dtype(dtype):
        return {"dates": choose_unit(column.reset_index(drop=True))}
    if is_bool_dtype(dtype):
        return {"text": _to_text(column), "is_boolean": True}
    # As float64, different long integers would become equal.
    is_long = dtype.kind in "iu" and not column.between(-MAX_EXACT_INTEGER, MAX_EXACT_INTEGER).all()
    if isinstance(dtype, pd.StringDtype) or is_long:
        return {"text": _to_text(column)}
    numbers = column.to_numpy(dtype=np.float64, na_value=np.nan)
    if str(dtype) in SHORT_FLOATS:
        # 0.1 in 32 bits is not the same number as 0.1 in a text file, but its shortest spelling is the same.
        numbers = numbers.astype(str(dtype)).astype(str).astype(np.float64)
    return {"numbers": numbers}


def _to_text(column: pd.Series) -> pa.Array:
    text = pa.array(column, from_pandas=True)
    joined = text.combine_chunks() if isinstance(text, pa.ChunkedArray) else text
    return joined.cast(TEXT_TYPE)


def _merge_spellings(codes: np.ndarray, cells: Sequence[Any], spell: Callable[[Any], str | None]) -> DistinctText:
    """Return values in canonical spelling; `codes` of shape (n,) are positions in the distinct cells, -1 if null."""
    spelled = [*map(spell, cells)]
    values = sorted({spelling for spelling in spelled if spelling is not None})
    position_of: dict[str | None, int] = {value: position for position, value in enumerate(values)}
    positions = [position_of.get(spelling, -1) for spelling in spelled]
    spellings = [str(cell) for cell, spelling in zip(cells, spelled, strict=True) if spelling is not None]
    # The last position is that of null cells, whose code is -1.
    return DistinctText(values, np.array([*positions, -1], dtype=np.int64)[codes], spellings)


def _encode_arrow(text: pa.Array) -> tuple[np.ndarray, list[str], np.ndarray]:
    """Return the positions (n,) of cells in a list of distinct cells, -1 for null cells, and how often each occurs."""
    encoded = text.dictionary_encode()
    codes = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)  # (n,)
    cells = encoded.dictionary.to_pylist()
    return codes, cells, np.bincount(codes + 1, minlength=len(cells) + 1)[1:]


def _read_numbers(text: pa.Array, rule: MissingRule) -> NumberReading:
    """Read the numbers in a text column, null where missing, by the parser of pyarrow, which rounds correctly.

    Each distinct cell is examined separately if that fails.
    """
    for present in (lambda: text, lambda: _mask_spellings(text, rule)):
        with suppress(pa.ArrowInvalid):
            return NumberReading(np.asarray(pc.cast(present(), pa.float64()).to_numpy(zero_copy_only=False)))
    return _read_distinct(text, rule)


def _mask_spellings(text: pa.Array, rule: MissingRule) -> pa.Array:
    """Return text without surrounding spaces, null for spellings that are missing in any column."""
    trimmed = pc.utf8_trim_whitespace(text)
    spellings = pa.array(sorted(rule.spellings), text.type)
    return pc.if_else(pc.is_in(trimmed, value_set=spellings), pa.scalar(None, text.type), trimmed)


def _read_distinct(text: pa.Array, rule: MissingRule) -> NumberReading:
    """Read a column by its distinct cells."""
    codes, cells, counts = _encode_arrow(text)
    numbers = np.full(len(cells) + 1, np.nan)  # the last one is that of null cells, whose code is -1
    missing_spellings = {}
    others = {}
    for position, cell in enumerate(cells):
        if rule.covers(cell):
            continue
        signed = DASH.sub("-", cell.strip())
        if NUMBER.fullmatch(signed):
            numbers[position] = float(signed)
        elif rule.covers_among_numbers(cell):
            missing_spellings[cell.strip()] = int(counts[position])
        else:
            others[cell] = int(counts[position])
    return NumberReading(numbers[codes], missing_spellings, others)
