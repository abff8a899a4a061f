"""Numbers in text with a decimal comma or with signs between groups of digits, spelled as usual."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.stages.dataset.keys import COMMA, POINT, FileLayout, name_sign, read_sign

SIGN_KEYS = ("decimal", "thousands")
"""The keys of a layout about numbers in text."""
MIN_NUMBER_FRACTION = 0.9
"""Of the cells of a column that must be numbers with a comma for its meaning to be recognised; the others are missing
cells, however they are spelled, or mistakes."""
SIGN = "[+-]?"
EXPONENT = r"([eE][+-]?\d+)?"
DECIMAL_COMMA = rf"^{SIGN}(\d+|\d{{1,3}}(\.\d{{3}})+)(,\d+)?{EXPONENT}$"
"""A number with a decimal comma and points between groups of digits, or with less."""
DECIMAL_POINT = rf"^{SIGN}(\d+|\d{{1,3}}(,\d{{3}})+)(\.\d+)?{EXPONENT}$"
"""A number with a decimal point and commas between groups of digits, or with less."""
GROUPS_OF_COMMAS = rf"^{SIGN}\d{{1,3}}(,\d{{3}})+$"
"""1,234 is above one thousand, or just above one."""
GROUPS_OF_POINTS = rf"^{SIGN}\d{{1,3}}(\.\d{{3}})+$"
ONLY_POINT = rf"^{SIGN}\d*\.\d+{EXPONENT}$"
LEADING_GROUP = rf"^{SIGN}[1-9]\d{{0,2}}(\.\d{{3}})+$"
WHOLE_OR_GROUPED = rf"^{SIGN}(0|[1-9]\d{{0,2}})(\.\d{{3}})*$"
"""A whole number below 1000, or one with points between groups of digits."""
N_FIRST_CELLS = 100
MIN_GROUPED_CELLS = 5
"""Of fewer cells with a point, three digits behind each are no sign of anything."""


@dataclass(frozen=True)
class NumberSigns:
    """How numbers are written: the decimal sign, and the sign between groups of digits if there is one."""

    decimal: str = POINT
    thousands: str | None = None

    @property
    def pattern(self) -> str:
        """The regular expression of a number that may have these signs."""
        groups = "" if self.thousands is None else rf"|\d{{1,3}}({re.escape(self.thousands)}\d{{3}})+"
        return rf"^\s*{SIGN}(\d*{groups})({re.escape(self.decimal)}\d*)?{EXPONENT}\s*$"

    @property
    def keys(self) -> dict[str, str]:
        """The keys of a layout for these signs."""
        keys = {"decimal": name_sign(self.decimal)}
        return keys if self.thousands is None else keys | {"thousands": name_sign(self.thousands)}


class SpelledTable(NamedTuple):
    """A table with the usual spelling of numbers, sentences about it, and the keys of recognised signs."""

    table: pa.Table
    notes: list[str]
    guessed: dict[str, str]


class CommaColumn(NamedTuple):
    """A column of numbers with commas: a cell with one, and the signs, or None if the comma may be either sign."""

    name: str
    example: str
    signs: NumberSigns | None


def spell_numbers(table: pa.Table, layout: FileLayout, source: str, may_hold_commas: bool = True) -> SpelledTable:
    """Return a table in which numbers have a decimal point and nothing between their groups of digits.

    A cell that is not a number stays as it is.

    Parameters
    ----------
    table : Table of shape (n, d)
        Of text.
    layout : FileLayout
        If it gives neither sign, commas are recognised where they can have one meaning only.
    source : str
        For messages.
    may_hold_commas : bool
        Whether commas are looked for.

    Raises
    ------
    UserError
        A comma, or a point, may have two meanings.
    """
    thousands = read_sign(layout.thousands)
    # Points between groups of digits imply a decimal comma.
    signs = NumberSigns(read_sign(layout.decimal) or (COMMA if thousands == POINT else POINT), thousands)
    guessed: dict[str, str] = {}
    notes: list[str] = []
    is_given = layout.decimal is not None or layout.thousands is not None
    if not is_given:
        columns = _find_comma_columns(table) if may_hold_commas else []
        if columns:
            signs = _recognise_signs(columns, source)
            guessed = signs.keys
            notes.append(_describe_signs(signs, columns))
        else:
            notes += _doubt_points(table)
    if signs != NumberSigns():
        for position, name in enumerate(table.column_names):
            column, column_notes = _spell_column(table.column(position), name, signs, source)
            table = table.set_column(position, name, column)
            notes += column_notes
    return SpelledTable(table, notes, guessed)


def spell_text_cells(
    frame: pd.DataFrame, layout: FileLayout, source: str
) -> tuple[pd.DataFrame, list[str], dict[str, str]]:
    """Convert numbers stored as text in a sheet or JSON, such as "12,5", to the spelling in text files.

    Parameters
    ----------
    frame : DataFrame of shape (n, d)
        Of objects; those that are not text stay as they are.
    layout : FileLayout
    source : str
        For messages.

    Returns
    -------
    frame : DataFrame of shape (n, d)
    notes : list of str
        The signs that were recognised.
    guessed : dict of str to str
        The keys of a layout for these signs.

    Raises
    ------
    UserError
        A comma, or a point, may have two meanings.
    """
    is_text = frame.map(lambda cell: isinstance(cell, str))
    names = [str(name) for name in frame if is_text[name].any()]
    table = pa.table({name: pa.array(frame[name].where(is_text[name], None), pa.string()) for name in names})
    spelled = spell_numbers(table, layout, source)
    if spelled.table is table:
        return frame, spelled.notes, spelled.guessed
    columns = {name: pd.Series(spelled.table[name].to_pylist(), dtype=object) for name in names}
    changed = {name: frame[name].mask(is_text[name], columns[name]) for name in names}
    return frame.assign(**changed), spelled.notes, spelled.guessed


def _find_comma_columns(table: pa.Table) -> list[CommaColumn]:
    """Return the columns of numbers with commas."""
    examined = [_examine_column(table.column(name), name) for name in table.column_names]
    return [column for column in examined if column is not None]


def _examine_column(column: pa.ChunkedArray, name: str) -> CommaColumn | None:
    """Return the meaning of commas in a column; None if it does not consist of numbers, or has no commas."""
    has_comma = pc.match_substring(column, COMMA)
    if not pc.any(has_comma).as_py():
        return None
    filled = _drop_empty(column)
    with_commas = column.filter(has_comma)
    example = with_commas[0].as_py()
    has_point = pc.any(pc.match_substring(filled, POINT)).as_py()
    has_decimal_point = _measure_fraction(filled, DECIMAL_POINT) >= MIN_NUMBER_FRACTION
    if has_decimal_point and _measure_fraction(with_commas, GROUPS_OF_COMMAS) == 1:
        # A point beside 1,234 is a decimal point, so that the comma is not.
        return CommaColumn(name, example, NumberSigns(POINT, COMMA) if has_point else None)
    if _measure_fraction(filled, DECIMAL_COMMA) >= MIN_NUMBER_FRACTION:
        has_groups = pc.any(pc.match_substring(with_commas, POINT)).as_py()
        return CommaColumn(name, example, NumberSigns(COMMA, POINT if has_groups else None))
    return CommaColumn(name, example, NumberSigns(POINT, COMMA)) if has_decimal_point else None


def _recognise_signs(columns: Sequence[CommaColumn], source: str) -> NumberSigns:
    """Return the signs of all numbers; raises UserError if commas may have, or have, two meanings."""
    known = [column for column in columns if column.signs is not None]
    found = [column.signs for column in known if column.signs is not None]
    if len({signs.decimal for signs in found}) != 1:
        raise _explain_ambiguity(known or columns, source)
    # A column without groups of digits does not show the sign that separates them.
    grouped = [signs for signs in found if signs.thousands is not None]
    return (grouped or found)[0]


def _explain_ambiguity(columns: Sequence[CommaColumn], source: str) -> UserError:
    """Return the error of commas that may have two meanings, or have two."""
    first = columns[0]
    others = [column for column in columns if column.signs != first.signs]
    if others:
        return UserError(
            f"column {first.name!r} of {source} holds {first.example!r}, and column {others[0].name!r} holds "
            f"{others[0].example!r}: the comma has two meanings; give dataset.decimal=comma, or "
            "dataset.decimal=point dataset.thousands=comma."
        )
    return UserError(
        f"column {first.name!r} of {source} holds {first.example!r}, which is a number in two ways: give "
        "dataset.decimal=comma or dataset.thousands=comma; with dataset.decimal=point, it is text."
    )


def _describe_signs(signs: NumberSigns, columns: Sequence[CommaColumn]) -> str:
    names = ", ".join(repr(column.name) for column in columns)
    meaning = "a decimal sign" if signs.decimal == COMMA else "a sign between groups of digits"
    keys = " ".join(f"dataset.{key}={value}" for key, value in signs.keys.items())
    where = "columns" if len(columns) > 1 else "column"
    return f"The comma in {where} {names} is taken for {meaning} ({keys} confirms it)."


def _doubt_points(table: pa.Table) -> list[str]:
    """Return a sentence about columns in which every point may separate groups of digits, if there are any."""
    found = {name: example for name in table.column_names if (example := _find_group(table.column(name)))}
    if not found:
        return []
    names = ", ".join(map(repr, found))
    where = "columns" if len(found) > 1 else "column"
    return [
        f"The point in {where} {names} is taken for a decimal sign, as in {next(iter(found.values()))} "
        "(dataset.decimal=point confirms it); if it stands between groups of digits, add dataset.thousands=point."
    ]


def _find_group(column: pa.ChunkedArray) -> str:
    """Return a cell such as 1.234 of a column whose points all have three digits behind; empty for another column."""
    # Nearly all columns of decimals are recognized by their first cells, and searching all cells takes as long as
    # reading them.
    for cells in (column.slice(0, N_FIRST_CELLS), column):
        filled = _drop_empty(cells)
        pointed = filled.filter(pc.match_substring(filled, POINT))
        has_others = len(pointed) > 0 and _measure_fraction(pointed, LEADING_GROUP) < 1
        if has_others or _measure_fraction(filled, WHOLE_OR_GROUPED) < MIN_NUMBER_FRACTION:
            return ""
    return "" if len(pointed) < MIN_GROUPED_CELLS else str(pointed[0])


def _spell_column(
    column: pa.ChunkedArray, name: str, signs: NumberSigns, source: str
) -> tuple[pa.ChunkedArray, list[str]]:
    """Return a column with its numbers spelled as usual, and a sentence about numbers with other signs."""
    is_number = pc.match_substring_regex(column, signs.pattern)
    others = column.filter(pc.invert(is_number))
    notes = _answer_points(others, name, signs, source) if signs.decimal == COMMA else []
    plain = column if signs.thousands is None else pc.replace_substring(column, signs.thousands, "")
    plain = plain if signs.decimal == POINT else pc.replace_substring(plain, signs.decimal, POINT)
    return pc.if_else(is_number, plain, column), notes


def _answer_points(others: pa.ChunkedArray, name: str, signs: NumberSigns, source: str) -> list[str]:
    """Return a sentence about cells with a decimal point among numbers with a decimal comma.

    Raises UserError if the point may separate groups of digits.
    """
    pointed = others.filter(pc.match_substring_regex(others, ONLY_POINT))
    if len(pointed) == 0:
        return []
    example = pointed[0].as_py()
    if signs.thousands is None and _measure_fraction(pointed, GROUPS_OF_POINTS) == 1:
        raise UserError(
            f"column {name!r} of {source} holds {example!r}, although the decimal sign is a comma; if the point "
            "stands between groups of digits, add dataset.thousands=point."
        )
    return [
        f"{len(pointed)} cells of column {name!r} have a decimal point, such as {example!r}, although the "
        "decimal sign is a comma; they are read as they are."
    ]


def _drop_empty(cells: pa.ChunkedArray) -> pa.ChunkedArray:
    return pc.drop_null(cells.filter(pc.not_equal(cells, "")))


def _measure_fraction(cells: pa.ChunkedArray, pattern: str) -> float:
    """Return the fraction of cells that a regular expression describes."""
    n_matching = pc.sum(pc.match_substring_regex(cells, pattern)).as_py() or 0
    return n_matching / max(1, len(cells))
