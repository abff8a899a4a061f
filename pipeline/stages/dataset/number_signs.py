"""Numbers in text with a decimal comma or with signs between groups of digits, spelled as usual."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.stages.dataset.keys import COMMA, POINT, FileLayout, name_sign, read_sign

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


@dataclass(frozen=True)
class NumberSigns:
    """How numbers are written.

    Attributes
    ----------
    decimal : str
    thousands : str or None
    """

    decimal: str = POINT
    thousands: str | None = None

    @property
    def pattern(self) -> str:
        """The regular expression of a number that may have these signs."""
        groups = "" if self.thousands is None else rf"|\d{{1,3}}({re.escape(self.thousands)}\d{{3}})+"
        return rf"^\s*{SIGN}(\d*{groups})({re.escape(self.decimal)}\d*)?{EXPONENT}\s*$"

    @property
    def keys(self) -> dict[str, str]:
        """The keys of a layout that give these signs."""
        keys = {"decimal": name_sign(self.decimal)}
        return keys if self.thousands is None else keys | {"thousands": name_sign(self.thousands)}


@dataclass(frozen=True)
class SpelledTable:
    """A table with the usual spelling of numbers.

    Attributes
    ----------
    table : Table of shape (n, d)
    notes : list of str
        The signs that were recognised, and numbers that do not have them.
    guessed : dict of str to str
        The keys of the signs that were recognised.
    """

    table: pa.Table
    notes: list[str] = field(default_factory=list)
    guessed: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class CommaColumn:
    """A column of numbers with commas.

    Attributes
    ----------
    name : str
    example : str
        A cell with a comma.
    signs : NumberSigns or None
        None if the comma may be either sign.
    """

    name: str
    example: str
    signs: NumberSigns | None


def spell_numbers(table: pa.Table, layout: FileLayout, source: str) -> SpelledTable:
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

    Raises
    ------
    UserError
        A comma, or a point, may have two meanings.
    """
    signs = read_signs(layout)
    guessed: dict[str, str] = {}
    notes: list[str] = []
    is_given = layout.decimal is not None or layout.thousands is not None
    if not is_given:
        columns = _find_comma_columns(table)
        signs = _recognise_signs(columns, source)
        if columns:
            guessed = signs.keys
            notes.append(_describe_signs(signs, columns))
    if signs == NumberSigns():
        return SpelledTable(table, notes, guessed)
    for position, name in enumerate(table.column_names):
        column, column_notes = _spell_column(table.column(position), name, signs, source)
        table = table.set_column(position, name, column)
        notes += column_notes
    return SpelledTable(table, notes, guessed)


def read_signs(layout: FileLayout) -> NumberSigns:
    """Return the signs that a layout gives; points between groups of digits imply a decimal comma."""
    thousands = read_sign(layout.thousands)
    implied = COMMA if thousands == POINT else POINT
    return NumberSigns(read_sign(layout.decimal) or implied, thousands)


def _find_comma_columns(table: pa.Table) -> list[CommaColumn]:
    """Return the columns of numbers with commas."""
    examined = [_examine_column(table.column(name), name) for name in table.column_names]
    return [column for column in examined if column is not None]


def _recognise_signs(columns: Sequence[CommaColumn], source: str) -> NumberSigns:
    """Return the signs of all numbers; raises UserError if commas may have, or have, two meanings."""
    if not columns:
        return NumberSigns()
    known = [column for column in columns if column.signs is not None]
    found = [column.signs for column in known if column.signs is not None]
    decimals = {signs.decimal for signs in found}
    if len(decimals) != 1:
        raise _explain_ambiguity(known or columns, source)
    # A column without groups of digits does not say which sign stands between them.
    grouped = [signs for signs in found if signs.thousands is not None]
    return (grouped or found)[0]


def _describe_signs(signs: NumberSigns, columns: Sequence[CommaColumn]) -> str:
    names = ", ".join(repr(column.name) for column in columns)
    meaning = "a decimal sign" if signs.decimal == COMMA else "a sign between groups of digits"
    keys = " ".join(f"dataset.{key}={value}" for key, value in signs.keys.items())
    where = "columns" if len(columns) > 1 else "column"
    return f"The comma in {where} {names} is taken for {meaning} ({keys} confirms it)."


def _examine_column(column: pa.ChunkedArray, name: str) -> CommaColumn | None:
    """Return what commas mean in a column; None if it does not consist of numbers, or has no commas."""
    has_comma = pc.match_substring(column, COMMA)
    if not pc.any(has_comma).as_py():
        return None
    filled = pc.drop_null(column.filter(pc.not_equal(column, "")))
    with_commas = column.filter(has_comma)
    example = with_commas[0].as_py()
    is_one_group = pc.all(pc.match_substring_regex(with_commas, GROUPS_OF_COMMAS)).as_py()
    if is_one_group and measure_fraction(filled, DECIMAL_POINT) >= MIN_NUMBER_FRACTION:
        has_point = pc.any(pc.match_substring(filled, POINT)).as_py()
        # A point beside 1,234 is a decimal point, so that the comma is not.
        return CommaColumn(name, example, NumberSigns(POINT, COMMA) if has_point else None)
    if measure_fraction(filled, DECIMAL_COMMA) >= MIN_NUMBER_FRACTION:
        has_point = pc.any(pc.match_substring(with_commas, POINT)).as_py()
        return CommaColumn(name, example, NumberSigns(COMMA, POINT if has_point else None))
    if measure_fraction(filled, DECIMAL_POINT) >= MIN_NUMBER_FRACTION:
        return CommaColumn(name, example, NumberSigns(POINT, COMMA))
    return None


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


def _spell_column(
    column: pa.ChunkedArray, name: str, signs: NumberSigns, source: str
) -> tuple[pa.ChunkedArray, list[str]]:
    """Return a column with its numbers spelled as usual, and a sentence about numbers with other signs."""
    is_number = pc.match_substring_regex(column, signs.pattern)
    notes = []
    if signs.decimal == COMMA:
        notes = _answer_points(column, pc.invert(is_number), name, signs, source)
    plain = column if signs.thousands is None else pc.replace_substring(column, signs.thousands, "")
    plain = plain if signs.decimal == POINT else pc.replace_substring(plain, signs.decimal, POINT)
    return pc.if_else(is_number, plain, column), notes


def _answer_points(
    column: pa.ChunkedArray, is_other: pa.ChunkedArray, name: str, signs: NumberSigns, source: str
) -> list[str]:
    """Return a sentence about cells with a decimal point among numbers with a decimal comma.

    Parameters
    ----------
    column : ChunkedArray of shape (n,)
    is_other : ChunkedArray of shape (n,)
        Which cells do not have the signs.
    name : str
    signs : NumberSigns
    source : str

    Raises
    ------
    UserError
        The point may separate groups of digits.
    """
    others = column.filter(is_other)
    pointed = others.filter(pc.match_substring_regex(others, ONLY_POINT))
    if len(pointed) == 0:
        return []
    example = pointed[0].as_py()
    is_grouped = pc.all(pc.match_substring_regex(pointed, GROUPS_OF_POINTS)).as_py()
    if is_grouped and signs.thousands is None:
        raise UserError(
            f"column {name!r} of {source} holds {example!r}, although the decimal sign is a comma; if the point "
            "stands between groups of digits, add dataset.thousands=point."
        )
    return [
        f"{len(pointed)} cells of column {name!r} have a decimal point, such as {example!r}, although the "
        "decimal sign is a comma; they are read as they are."
    ]


def measure_fraction(cells: pa.ChunkedArray, pattern: str) -> float:
    """Return the fraction of cells that a regular expression describes."""
    n_matching = pc.sum(pc.match_substring_regex(cells, pattern)).as_py() or 0
    return n_matching / max(1, len(cells))


LEADING_GROUP = rf"^{SIGN}[1-9]\d{{0,2}}(\.\d{{3}})+$"
WHOLE_OR_GROUPED = rf"^{SIGN}(0|[1-9]\d{{0,2}})(\.\d{{3}})*$"
"""A whole number below 1000, or one with points between groups of digits."""
N_FIRST_CELLS = 100
MIN_GROUPED_CELLS = 5
"""Of fewer cells with a point, three digits behind each are no sign of anything."""


def doubt_points(table: pa.Table, layout: FileLayout) -> list[str]:
    """Return a sentence about columns in which every point may separate groups of digits; nothing if there are none.

    Parameters
    ----------
    table : Table of shape (n, d)
        Of text, in which no signs of numbers were recognised.
    layout : FileLayout
        If it gives a sign, there is no doubt.
    """
    if layout.decimal is not None or layout.thousands is not None:
        return []
    found = {name: example for name in table.column_names if (example := _find_group(table.column(name)))}
    if not found:
        return []
    names = ", ".join(map(repr, found))
    first = next(iter(found.values()))
    where = "columns" if len(found) > 1 else "column"
    return [
        f"The point in {where} {names} is taken for a decimal sign, as in {first} "
        "(dataset.decimal=point confirms it); if it stands between groups of digits, add dataset.thousands=point."
    ]


def _find_group(column: pa.ChunkedArray) -> str:
    """Return a cell such as 1.234 of a column whose points all have three digits behind; empty for another column."""
    # Nearly all columns of decimals are told by their first cells, and a search in all takes as long as to read them.
    first_cells = column.slice(0, N_FIRST_CELLS)
    if not all(_may_be_grouped(cells) for cells in (first_cells, column)):
        return ""
    pointed = column.filter(pc.match_substring(column, POINT))
    return "" if len(pointed) < MIN_GROUPED_CELLS else str(pointed[0])


def _may_be_grouped(column: pa.ChunkedArray) -> bool:
    """Return whether all cells with a point are like 1.234, and nearly all other cells are whole numbers."""
    filled = pc.drop_null(column.filter(pc.not_equal(column, "")))
    pointed = filled.filter(pc.match_substring(filled, POINT))
    has_groups_alone = measure_fraction(pointed, LEADING_GROUP) == 1.0 if len(pointed) else True
    return has_groups_alone and measure_fraction(filled, WHOLE_OR_GROUPED) >= MIN_NUMBER_FRACTION


SIGN_KEYS = ("decimal", "thousands")
"""The keys of a layout about numbers in text."""


def spell_text_cells(
    frame: pd.DataFrame, layout: FileLayout, source: str
) -> tuple[pd.DataFrame, tuple[str, ...], Mapping[str, str]]:
    """Spell numbers in text with a decimal point, as those of a text file are.

    Parameters
    ----------
    frame : DataFrame of shape (n, d)
        Of objects; those that are not text stay as they are.
    layout : FileLayout
        If it gives neither sign, commas are recognised where they can have one meaning only.
    source : str
        For messages.

    Returns
    -------
    frame : DataFrame of shape (n, d)
    notes : tuple of str
        The signs that were recognised.
    guessed : mapping of str to str
        The keys of a layout that give these signs.

    Raises
    ------
    UserError
        A comma, or a point, may have two meanings.
    """
    is_text = frame.map(lambda cell: isinstance(cell, str))
    names = [str(name) for name in frame if is_text[name].any()]
    if not names:
        return frame, (), {}
    table = pa.table({name: pa.array(frame[name].where(is_text[name], None), pa.string()) for name in names})
    spelled = spell_numbers(table, layout, source)
    columns = {name: pd.Series(spelled.table[name].to_pylist(), dtype=object) for name in names}
    changed = {name: frame[name].mask(is_text[name], columns[name]) for name in names}
    return frame.assign(**changed), tuple(spelled.notes), spelled.guessed
