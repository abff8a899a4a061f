"""Numbers that are spelled as text, with the cells among them that are missing or no numbers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bakeoff.pipeline.stages.dataset.columns.missing import MissingRule

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
