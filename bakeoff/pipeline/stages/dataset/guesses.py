"""Guess the signs of numbers in text, and keys that are not given, where the text has only one possible meaning.

`NumberSigns` converts numbers to their usual spelling. Each guess is made by a function of a sample, which returns the
keys and a sentence that a run reports.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.stages.dataset.keys import COMMA, DECIMAL_SIGNS, LOOKALIKES, POINT, name_sign, read_sign
from bakeoff.pipeline.stages.dataset.parser import Text
from bakeoff.pipeline.stages.dataset.spelling import AMONG_NUMBERS, EVERYWHERE
from bakeoff.pipeline.stages.dataset.units import PARENTHESES, SPACE

EXPONENT = r"([eE][+-]?\d+)?"
ONLY_POINT = rf"^[+-]?\d*\.\d+{EXPONENT}$"
GROUPS_OF_POINTS = r"^[+-]?\d{1,3}(\.\d{3})+$"


class NumberSigns(NamedTuple):
    """The format of numbers: the decimal sign, and the sign between groups of digits and the unit if there are any."""

    decimal: str = POINT
    thousands: str | None = None
    unit: str = ""

    @property
    def pattern(self) -> str:
        """The regular expression of a number that may have these signs."""
        groups = "" if self.thousands is None else rf"|\d{{1,3}}({_write_class(self.thousands)}\d{{3}})+"
        number = rf"(\d*{groups})({re.escape(self.decimal)}\d*)?{EXPONENT}"
        if not self.unit:
            return rf"^\s*[+-]?{number}\s*$"
        unit = "" if self.unit == PARENTHESES else re.escape(self.unit)
        quantity = rf"[+-]?{SPACE}({unit})?{SPACE}[+-]?{number}{SPACE}({unit})?{SPACE}"
        return rf"^{SPACE}({quantity}|\({SPACE}{quantity}\)){SPACE}$"

    @property
    def keys(self) -> dict[str, str]:
        """The keys of a layout for these signs."""
        keys = {"decimal": name_sign(self.decimal)}
        return keys if self.thousands is None else keys | {"thousands": name_sign(self.thousands)}

    def spell(self, cells: pa.ChunkedArray) -> pa.ChunkedArray:
        """Return text in which numbers have a decimal point and no other sign; other cells are unchanged."""
        plain = cells
        for character in _list_lookalikes(self.thousands or ""):
            plain = pc.replace_substring(plain, character, "")
        plain = plain if self.decimal == POINT else pc.replace_substring(plain, self.decimal, POINT)
        is_number = pc.match_substring_regex(cells, self.pattern)
        if self.decimal == COMMA and len(find_points(cells, self)) > 0:
            # If some points are decimal points, so is that of 1.500.
            is_number = pc.and_(is_number, pc.match_substring(cells, COMMA))
        if self.unit:
            is_number = pc.and_(is_number, pc.match_substring_regex(cells, r"\d"))
            plain = pc.replace_substring_regex(strip_unit(plain, self.unit), r"[\s\p{Zs}]+", "")
        return pc.if_else(is_number, plain, cells)


def strip_unit(cells: pa.Array, unit: str) -> pa.Array:
    """Return text without a unit, and with a sign in place of parentheses."""
    plain = pc.utf8_trim_whitespace(pc.replace_substring(cells, unit, ""))
    return pc.replace_substring_regex(plain, rf"^\({SPACE}(.*?){SPACE}\)$", r"-\1")


def _list_lookalikes(sign: str) -> str:
    """Return the characters that count as a sign between groups of digits."""
    return LOOKALIKES.get(sign, sign)


def _write_class(sign: str) -> str:
    return f"[{_list_lookalikes(sign)}]"


def read_signs(decimal: str | None, thousands: str | None, unit: str = "") -> NumberSigns:
    """Return the signs specified by the keys of a dataset."""
    separator = read_sign(thousands)
    # Points between groups of digits imply a decimal comma.
    return NumberSigns(read_sign(decimal) or (COMMA if separator == POINT else POINT), separator, unit)


def answer_points(table: pa.Table, signs: NumberSigns, source: str) -> list[str]:
    """Return sentences about cells with a decimal point in columns of numbers with a decimal comma.

    Parameters
    ----------
    table : Table of shape (n, d)
    signs : NumberSigns
    source : str
        The name of the file, for messages.

    Raises
    ------
    UserError
        Points in a column with decimal commas may separate groups of digits.
    """
    if signs.decimal != COMMA:
        return []
    return [note for name in table.column_names for note in _answer_points_in(table.column(name), name, signs, source)]


def find_points(cells: pa.ChunkedArray, signs: NumberSigns) -> pa.ChunkedArray:
    """Return the cells with a decimal point that are not numbers with these signs."""
    others = cells.filter(pc.invert(pc.match_substring_regex(cells, signs.pattern)))
    return _select(others, ONLY_POINT)


def _answer_points_in(cells: pa.ChunkedArray, name: str, signs: NumberSigns, source: str) -> list[str]:
    """Return a sentence about cells with a decimal point among numbers with a decimal comma."""
    pointed = find_points(cells, signs)
    if len(pointed) == 0:
        return []
    if signs.thousands is None and pc.all(pc.match_substring_regex(pointed, GROUPS_OF_POINTS)).as_py():
        raise UserError(
            f"column {name!r} of {source} holds {str(pointed[0])!r}, although the decimal sign is a comma; if the "
            "point separates thousands, add dataset.thousands=point."
        )
    return [
        f"{len(pointed)} cells of column {name!r} have a decimal point, such as {str(pointed[0])!r}, although the "
        "decimal sign is a comma; they are read as they are."
    ]


SEMICOLON = ";"
CANDIDATES: Mapping[str, str] = {COMMA: "comma", SEMICOLON: "semicolon", "\t": "tab", "|": "pipe"}
"""Separator -> its name."""
MIN_FRACTION = 0.9
"""The minimum fraction of sampled rows with the same number of cells, or of cells in a column that are numbers with a
comma; the others are missing cells in any spelling, or mistakes."""
MISSING = pa.array(sorted({spelling.lower() for spelling in EVERYWHERE | AMONG_NUMBERS}), pa.large_string())
"""Spellings of a missing cell, in lower case."""
LEADING_GROUP = r"^[+-]?[1-9]\d{0,2}(\.\d{3})+$"
WHOLE_OR_GROUPED = r"^[+-]?(0|[1-9]\d{0,2})(\.\d{3})*$"
"""A whole number below 1000, or one with points between groups of digits."""
N_FIRST_CELLS = 100
MIN_GROUPED_CELLS = 5
"""With fewer cells than this, three digits after every point are not significant."""


CONFIRMATION = "confirms it)."
"""The end of a sentence about a guess without an alternative, which is reported only once."""


class Guess(NamedTuple):
    """Keys of a layout with their values, and a sentence about them."""

    keys: dict[str, str]
    sentence: str


def leave_out_guesses(notes: Iterable[str]) -> list[str]:
    """Return notes without the sentences about guesses that have no alternative."""
    return [note for note in notes if not note.endswith(CONFIRMATION)]


def guess_separator(text: Text, name: str) -> Guess:
    """Guess the separator that splits all rows into the same number of cells, at least two; otherwise a comma.

    Parameters
    ----------
    text : Text
    name : str
        The name of the file, for messages.

    Raises
    ------
    UserError
        Several separators split the rows in this way.
    """
    sample = text.sample
    measured = {}  # separator -> fraction of the rows that have the usual number of cells, and this number
    for separator in CANDIDATES:
        # A comma in numbers is a decimal comma unless no other separator is found.
        if separator.encode() in sample.content and separator != read_sign(text.layout.decimal):
            table, ragged_counts = replace(sample, layout=replace(text.layout, separator=separator)).parse()
            counts = Counter(ragged_counts) + Counter({table.num_columns: table.num_rows})
            usual, n_usual = counts.most_common(1)[0]
            if usual > 1:
                measured[separator] = (n_usual / counts.total(), usual)
    whole = [separator for separator, (fraction, _) in measured.items() if fraction == 1]
    if len(whole) > 1:
        readings = " and ".join(f"{CANDIDATES[each]!r} gives {measured[each][1]} columns" for each in whole)
        remedies = " or ".join(f"dataset.separator={CANDIDATES[each]}" for each in whole)
        raise UserError(f"the separator of {name} cannot be guessed: {readings}; give {remedies}.")
    # The fraction takes precedence over the number of cells: a text may contain many commas.
    best = max(measured, key=measured.__getitem__, default=COMMA)
    if best not in measured or measured[best][0] < MIN_FRACTION:
        # Decimal commas in a single column do not separate cells either.
        has_one_column = b"," not in sample.content.partition(b"\n")[0] and not measured
        best = SEMICOLON if has_one_column and read_sign(text.layout.decimal) == COMMA else COMMA
    word = CANDIDATES[best]
    return Guess(
        {"separator": best}, f"The separator is assumed to be a {word} (dataset.separator={word} {CONFIRMATION}"
    )


def looks_like_data(first_row: Sequence[str], below: pa.Table) -> bool:
    """Return whether the first row of a file seems to contain data instead of column names.

    It does if each cell resembles the cells below it: a number above numbers, or text that also occurs below. Empty
    cells are ignored.
    """
    cells = [cell.strip() for cell in first_row]
    if not any(cells) or below.num_rows == 0:
        return False
    pairs = zip(cells, below.columns, strict=True)
    return all(_fits_column(cell, column) for cell, column in pairs if cell)


def _fits_column(cell: str, column: pa.ChunkedArray) -> bool:
    """Return whether a cell is like the cells of a column."""
    cells = pc.utf8_trim_whitespace(column)
    if pc.any(pc.equal(cells, cell)).as_py():
        return True
    try:
        float(cell)
        # A column without any cell below the first row is uninformative, and counts as numeric.
        pc.cast(pc.if_else(pc.is_in(pc.utf8_lower(cells), MISSING), None, cells), pa.float64())
    except ValueError:
        return False
    return True


CHARACTERS = "".join((*LOOKALIKES.values(), COMMA))
"""The signs in numbers, besides points, that are searched for."""
SIGNED_NUMBER = rf"^\s*[+-]?[.,]?\d[\d.{CHARACTERS}]*{EXPONENT}\s*$"


MARKED = f"[{CHARACTERS}]"


class SignedColumn(NamedTuple):
    """A column of numbers with signs: an example cell, and its signs as far as the cells show their meaning."""

    name: str
    example: str
    decimal: str | None = None
    thousands: str | None = None


def guess_signs(table: pa.Table, source: str, characters: Collection[str] = CHARACTERS) -> Guess | None:
    """Guess the signs of numbers from the columns of numbers with signs; None if there are no such columns.

    Parameters
    ----------
    table : Table of shape (n, d)
        A table of text.
    source : str
        The name of the file, for messages.
    characters : collection of str
        The signs that occur in the file, besides points.

    Raises
    ------
    UserError
        Commas have, or may have, two meanings, or several signs separate groups of digits.
    """
    examined = [_examine_signs(name, table.column(name), characters, source) for name in table.column_names]
    columns = [column for column in examined if column is not None]
    # Points between groups of digits imply a decimal comma.
    implied = [(COMMA, column) for column in columns if column.thousands == POINT]
    decimals = dict([*implied, *((column.decimal, column) for column in columns if column.decimal)])
    doubtful = [] if decimals else [column for column in columns if COMMA in column.example]
    if doubtful or len(decimals) > 1:
        shown = [f"column {each.name!r} holds {each.example!r}" for each in decimals.values() or doubtful[:1]]
        raise UserError(
            f"the comma in {source} may be a decimal sign or a thousands separator: {' and '.join(shown)}; "
            "give dataset.decimal=comma or dataset.thousands=comma; with dataset.decimal=point, such cells are text."
        )
    thousands = {column.thousands: column.example for column in columns if column.thousands}
    _require_one_sign(thousands, source)
    if not decimals and not thousands:
        return _doubt_points(columns) if columns else None
    signs = read_signs(next(iter(decimals), None), next(iter(thousands), None))
    sentences = []
    for sign, meaning in ((signs.decimal, "a decimal sign"), (signs.thousands, "a thousands separator")):
        names = [column.name for column in columns if sign in (column.decimal, column.thousands, *column.example)]
        if sign is not None and names:
            sentences.append(f"The {name_sign(sign)} in {list_columns(names)} is assumed to be {meaning}")
    keys = " ".join(f"dataset.{key}={value}" for key, value in signs.keys.items())
    return Guess(signs.keys, f"{'. '.join(sentences)} ({keys} {CONFIRMATION}")


def list_columns(names: Sequence[str]) -> str:
    """Return columns in words."""
    return f"column{'s' * (len(names) > 1)} {', '.join(map(repr, names))}"


def _require_one_sign(examples: Mapping[Any, str], where: str) -> None:
    """Raise UserError if there are several signs between groups of digits, each with a cell."""
    if len(examples) > 1:
        shown = " and ".join(map(repr, examples.values()))
        raise UserError(
            f"{where} has several thousands separators, as in {shown}; use the same one everywhere, or read such "
            "cells as text with dataset.decimal=point."
        )


def _examine_signs(name: str, cells: pa.ChunkedArray, characters: Collection[str], source: str) -> SignedColumn | None:
    """Return the signs of a column; None if it does not consist of numbers, or has no signs."""
    head = _drop_empty(cells.slice(0, N_FIRST_CELLS))
    if len(head) > 0 and _measure_fraction(head, SIGNED_NUMBER) == 0:
        return None
    if not any(pc.any(pc.match_substring(cells, character)).as_py() for character in characters):
        example = _find_group(cells)
        thousands_sign = POINT if example.count(POINT) > 1 else None
        return SignedColumn(name, example, None, thousands_sign) if example else None
    numbers = _select(cells, SIGNED_NUMBER)
    marked = _select(numbers, MARKED)
    if len(marked) == 0 or len(numbers) < MIN_FRACTION * len(_drop_empty(cells)):
        return None
    groups = _find_groups(numbers)
    possible = [NumberSigns(*signs) for signs in product(DECIMAL_SIGNS, (None, *groups)) if len({*signs}) == 2]
    fractions = {signs: _measure_fraction(numbers, signs.pattern) for signs in possible}
    best = max(fractions.values())
    if best < MIN_FRACTION or not groups.keys() <= {*DECIMAL_SIGNS}:
        _require_one_sign(groups, f"column {name!r} of {source}")
    # Cells of one length such as 110 001 may be codes.
    may_be_codes = " " in groups.get(" ", "") and pc.count_distinct(pc.utf8_length(numbers)).as_py() == 1
    if best < MIN_FRACTION or may_be_codes:
        return None
    decimals, thousands = (
        {*each} for each in zip(*(signs[:2] for signs, fraction in fractions.items() if fraction == best), strict=True)
    )
    return SignedColumn(name, next(iter(groups.values()), str(marked[0])), _get_only(decimals), _get_only(thousands))


def _find_groups(numbers: pa.ChunkedArray) -> dict[str, str]:
    """Return the signs that separate groups of digits wherever they occur, each with a cell."""
    found = {}
    for sign in (*LOOKALIKES, *DECIMAL_SIGNS):
        marked = _select(numbers, _write_class(sign))
        grouped = _select(marked, rf"^\s*[+-]?[1-9]\d{{0,2}}({_write_class(sign)}\d{{3}})+([.,]\d*)?\s*$")
        if len(grouped) > 0 and len(grouped) >= MIN_FRACTION * len(marked):
            found[sign] = str(grouped[0])
    return found


def _get_only(values: Collection[str | None]) -> str | None:
    return next(iter(values)) if len(values) == 1 else None


def _doubt_points(columns: Sequence[SignedColumn]) -> Guess:
    """Return a sentence about columns in which every point may separate groups of digits."""
    names = list_columns([column.name for column in columns])
    return Guess(
        {},
        f"The point in {names} is assumed to be a decimal sign, as in {columns[0].example} "
        "(dataset.decimal=point confirms it); if it separates thousands, add dataset.thousands=point.",
    )


def _find_group(column: pa.ChunkedArray) -> str:
    """Return a cell such as 1.234, or 1.234.567, of a column with three digits after each point; empty for others."""
    # Nearly all columns of decimals are recognized by their first cells, and searching all cells takes as long as
    # reading them.
    for cells in (column.slice(0, N_FIRST_CELLS), column):
        filled = _drop_empty(cells)
        pointed = filled.filter(pc.match_substring(filled, POINT))
        has_others = len(pointed) > 0 and _measure_fraction(pointed, LEADING_GROUP) < 1
        if has_others or _measure_fraction(filled, WHOLE_OR_GROUPED) < MIN_FRACTION:
            return ""
    clear = _select(pointed, r"\..*\.")
    return str(clear[0]) if len(clear) else "" if len(pointed) < MIN_GROUPED_CELLS else str(pointed[0])


def _drop_empty(cells: pa.ChunkedArray) -> pa.ChunkedArray:
    return cells.filter(pc.not_equal(cells, ""))


def _select(cells: pa.ChunkedArray, pattern: str) -> pa.ChunkedArray:
    """Return the cells that match a regular expression."""
    return cells.filter(pc.match_substring_regex(cells, pattern))


def _measure_fraction(cells: pa.ChunkedArray, pattern: str) -> float:
    """Return the fraction of cells that match a regular expression."""
    n_matching = pc.sum(pc.match_substring_regex(cells, pattern)).as_py() or 0
    return n_matching / max(1, len(cells))
