"""Numbers in text with a decimal comma or with signs between groups of digits, spelled as usual."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.stages.dataset.keys import COMMA, POINT, name_sign, read_sign

EXPONENT = r"([eE][+-]?\d+)?"
ONLY_POINT = rf"^[+-]?\d*\.\d+{EXPONENT}$"
GROUPS_OF_POINTS = r"^[+-]?\d{1,3}(\.\d{3})+$"


@dataclass(frozen=True)
class NumberSigns:
    """How numbers are written: the decimal sign, and the sign between groups of digits if there is one.

    What else stands in the cells of numbers, such as units, belongs here: the pattern recognises such cells, and
    `spell` removes it.
    """

    decimal: str = POINT
    thousands: str | None = None

    @property
    def pattern(self) -> str:
        """The regular expression of a number that may have these signs."""
        groups = "" if self.thousands is None else rf"|\d{{1,3}}({re.escape(self.thousands)}\d{{3}})+"
        return rf"^\s*[+-]?(\d*{groups})({re.escape(self.decimal)}\d*)?{EXPONENT}\s*$"

    @property
    def keys(self) -> dict[str, str]:
        """The keys of a layout for these signs."""
        keys = {"decimal": name_sign(self.decimal)}
        return keys if self.thousands is None else keys | {"thousands": name_sign(self.thousands)}

    def spell(self, cells: pa.ChunkedArray) -> pa.ChunkedArray:
        """Return text in which numbers have a decimal point and no other sign; other cells stay as they are."""
        plain = cells if self.thousands is None else pc.replace_substring(cells, self.thousands, "")
        plain = plain if self.decimal == POINT else pc.replace_substring(plain, self.decimal, POINT)
        return pc.if_else(pc.match_substring_regex(cells, self.pattern), plain, cells)


ENGLISH = NumberSigns(POINT, COMMA)
GERMAN = NumberSigns(COMMA, POINT)


def choose_signs(keys: Mapping[str, str | None]) -> NumberSigns | None:
    """Return the signs that the keys ``decimal`` and ``thousands`` of a layout give; None if both are missing."""
    decimal, thousands = read_sign(keys.get("decimal")), read_sign(keys.get("thousands"))
    if decimal is None and thousands is None:
        return None
    # Points between groups of digits imply a decimal comma.
    return NumberSigns(decimal or (COMMA if thousands == POINT else POINT), thousands)


def spell_numbers(table: pa.Table, signs: NumberSigns, source: str) -> tuple[pa.Table, list[str]]:
    """Return a table of text in which numbers are spelled as usual, and sentences about cells with another sign.

    Parameters
    ----------
    table : Table of shape (n, d)
    signs : NumberSigns
    source : str
        The name of the file, for messages.

    Raises
    ------
    UserError
        A point beside decimal commas may separate groups of digits.
    """
    if signs == NumberSigns():
        return table, []
    notes = []
    columns = []
    for name, cells in zip(table.column_names, table.columns, strict=True):
        columns.append(signs.spell(cells))
        if signs.decimal == COMMA:
            notes += _answer_points(cells, name, signs, source)
    return pa.table(columns, names=table.column_names), notes


def _answer_points(cells: pa.ChunkedArray, name: str, signs: NumberSigns, source: str) -> list[str]:
    """Return a sentence about cells with a decimal point among numbers with a decimal comma."""
    others = cells.filter(pc.invert(pc.match_substring_regex(cells, signs.pattern)))
    pointed = others.filter(pc.match_substring_regex(others, ONLY_POINT))
    if len(pointed) == 0:
        return []
    if signs.thousands is None and pc.all(pc.match_substring_regex(pointed, GROUPS_OF_POINTS)).as_py():
        raise UserError(
            f"column {name!r} of {source} holds {str(pointed[0])!r}, although the decimal sign is a comma; if the "
            "point stands between groups of digits, add dataset.thousands=point."
        )
    return [
        f"{len(pointed)} cells of column {name!r} have a decimal point, such as {str(pointed[0])!r}, although the "
        "decimal sign is a comma; they are read as they are."
    ]
