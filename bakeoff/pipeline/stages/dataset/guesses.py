"""Tables of text: their rows of cells, and guesses of the keys that are not given.

`Text` parses rows of cells as they are spelled. The separator, a header and the signs in numbers are guessed where the
text has only one possible meaning; each guess has a sentence that a run reports. `NumberSigns` converts numbers to
their usual spelling.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from io import StringIO
from itertools import product
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv as arrow_csv

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.stages.dataset.clock import CLOCK, spell_hours
from bakeoff.pipeline.stages.dataset.keys import (
    COMMA,
    DECIMAL_SIGNS,
    LOOKALIKES,
    POINT,
    WHITESPACE,
    FileLayout,
    name_sign,
    read_sign,
)
from bakeoff.pipeline.stages.dataset.source import are_row_names
from bakeoff.pipeline.stages.dataset.spelling import (
    AMONG_NUMBERS,
    DASHES,
    EVERYWHERE,
    N_FIRST_CELLS,
    PARENTHESES,
    SPACE,
)

SENTINEL = "\x1f"
"""A letter appended below the last row; if it is read as part of a cell, a quotation is open."""
SAMPLE_BYTES = 1 << 16
BLOCK_BYTES = 1 << 24
"""pyarrow reads text in blocks of this size, which no row may exceed."""
HEAD_BYTES = 1 << 20
"""The size of the sample of the text in which columns are counted."""
TEXT = pa.large_string()


class Record(NamedTuple):
    """A row of cells, and its first line in the file, from 1."""

    line: int
    cells: Sequence[str]


class ParsedText(NamedTuple):
    """The rows of parsed text, including the header.

    Attributes
    ----------
    table : Table of shape (n, d)
        The cells as text; empty cells are empty strings.
    ragged_counts : list of int
        The number of cells of each row that is left out because it has more or fewer than the first row.
    """

    table: pa.Table
    ragged_counts: list[int]


@dataclass(frozen=True)
class Text:
    """UTF-8 text with at least one row, and its layout with a known separator."""

    content: bytes
    layout: FileLayout

    @cached_property
    def has_quotes(self) -> bool:
        """Whether cells may be quoted."""
        return self.layout.quote is not None and self.layout.quote.encode() in self.content

    @property
    def sample(self) -> Text:
        """The first rows, without a truncated one."""
        end = self.content.rfind(b"\n", 0, SAMPLE_BYTES)
        return self if len(self.content) <= SAMPLE_BYTES or end < 0 else replace(self, content=self.content[: end + 1])

    def parse(self) -> ParsedText:
        """Return the cells; rows with more or fewer cells than the first one are left out and counted.

        If the first row has one cell less than all others, which begin with row names or end with a separator, an empty
        cell is added to it.

        Raises
        ------
        ValueError
            The text cannot be parsed.
        """
        parsed = self._parse_rows()
        n_cells = parsed.table.num_columns
        is_short = parsed.table.num_rows == 1 < n_cells and {*parsed.ragged_counts} == {n_cells + 1}
        if not is_short or not self.layout.has_names:
            return parsed
        rows = self.content.lstrip(b"\r\n")
        empty = str(self.layout.quote) * 2 if self.layout.separator == WHITESPACE else ""
        first = f"{empty}{self.layout.character}".encode() + rows
        padded = replace(self, content=self.content.replace(rows, first))._parse_rows().table
        header, below = padded.slice(0, 1), padded.slice(1)
        if pc.all(pc.equal(below.columns[-1], "")).as_py():
            moved = header.select([*range(1, n_cells + 1), 0]).rename_columns(header.column_names)
            return ParsedText(pa.concat_tables([moved, below]), [])
        return ParsedText(padded, []) if _begins_with_names(below) else parsed

    def _parse_rows(self) -> ParsedText:
        """Return the rows that have as many cells as the first one."""
        # pyarrow treats a quotation mark after spaces as a letter.
        is_spaced = self.layout.separator == WHITESPACE or (self.layout.strip and self.has_quotes)
        is_plain = self.layout.character.isascii() and not is_spaced
        parsed = _parse_plain(self) if is_plain else _collect_records(self)
        if not self.layout.strip:
            return parsed
        table = parsed.table
        return parsed._replace(table=pa.table(list(map(pc.utf8_trim_whitespace, table.columns)), table.column_names))

    def read_records(self) -> Iterator[Record]:
        """Yield the rows other than blank lines, with their line numbers; this is slower than `parse`.

        Raises
        ------
        ValueError
            A cell is longer than Python's reader allows.
        """
        text = self.content.decode()
        is_spaced = self.layout.separator == WHITESPACE
        if is_spaced:
            # Spaces after a separator are skipped, so several may separate two cells; trailing spaces must be removed.
            text = re.sub(r"(?<![ \t])[ \t]++(?=\r?$)", "", text, flags=re.MULTILINE).replace("\t", " ")
        reader = csv.reader(
            StringIO(text, newline=""),
            delimiter=self.layout.character,
            quotechar=self.layout.quote,
            quoting=csv.QUOTE_NONE if self.layout.quote is None else csv.QUOTE_MINIMAL,
            skipinitialspace=is_spaced or self.layout.strip,
        )
        line = 1
        try:
            for cells in reader:
                if cells:
                    yield Record(line, cells)
                line = reader.line_num + 1
        except csv.Error as error:
            raise ValueError(f"line {line}: {error}") from error

    def find_open_quote(self) -> int | None:
        """Return the line of a row with an unclosed quotation mark, or None if there is none."""
        # If the number of marks is even, the last is closed. Marks within unquoted cells, such as 5", are not quotation
        # marks.
        if not self.has_quotes or self.content.count(str(self.layout.quote).encode()) % 2 == 0:
            return None
        *_, last = replace(self, content=self.content.rstrip() + f"\n{SENTINEL}".encode()).read_records()
        return last.line if last.cells[0] != SENTINEL else None


def _begins_with_names(rows: pa.Table) -> bool:
    """Return whether rows begin with row names; if the first one has text above numbers, it is the header."""
    names, *columns = rows.columns
    is_header = any(_are_numbers(column.slice(1)) and not _are_numbers(column.slice(0, 1)) for column in columns)
    return not is_header and are_row_names(names.to_pandas())


def _parse_plain(text: Text) -> ParsedText:
    """Parse text that pyarrow can parse, and return its cells."""
    content = text.content
    counts: list[int] = []

    def leave_out(row: arrow_csv.InvalidRow) -> str:
        counts.append(row.actual_columns)
        return "skip"

    read_options = arrow_csv.ReadOptions(autogenerate_column_names=True, block_size=BLOCK_BYTES)
    parse_options = arrow_csv.ParseOptions(
        delimiter=text.layout.character,
        quote_char=text.layout.quote or False,
        # Searching for line breaks in cells takes time, and without quotation marks there are none.
        newlines_in_values=text.has_quotes,
        invalid_row_handler=leave_out,
    )
    has_row = content.find(b"\n", 0, HEAD_BYTES) >= 0
    # pyarrow does not find a single row without a line break at its end.
    head = (content[:HEAD_BYTES] if has_row else content) + b"\n"
    names = arrow_csv.open_csv(pa.BufferReader(head), read_options, parse_options).schema.names
    if len(names) == 1:
        # A blank line then becomes a row with an empty cell, unless it is the last one.
        content = content.rstrip(b"\r\n")
        parse_options.ignore_empty_lines = False
    if not content.endswith((b"\n", b"\r")):
        content += b"\n"
    convert_options = arrow_csv.ConvertOptions(column_types=dict.fromkeys(names, TEXT), strings_can_be_null=False)
    counts.clear()
    table = arrow_csv.read_csv(pa.BufferReader(content), read_options, parse_options, convert_options)
    return ParsedText(table, counts)


def _collect_records(text: Text) -> ParsedText:
    """Parse text that pyarrow cannot parse, row by row, and return its cells."""
    rows = [record.cells for record in text.read_records()]
    counts = [len(row) for row in rows if len(row) != len(rows[0])]
    columns = zip(*(row for row in rows if len(row) == len(rows[0])), strict=True)
    table = {f"f{position}": pa.array(column, TEXT) for position, column in enumerate(columns)}
    return ParsedText(pa.table(table), counts)


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
        if self.unit == CLOCK:
            return spell_hours(cells)
        signed = plain = read_minus(cells)
        for character in LOOKALIKES.get(self.thousands or "", self.thousands or ""):
            plain = pc.replace_substring(plain, character, "")
        plain = plain if self.decimal == POINT else pc.replace_substring(plain, self.decimal, POINT)
        is_number = pc.match_substring_regex(signed, self.pattern)
        if self.decimal == COMMA and len(find_points(signed, self)) > 0:
            # If some points are decimal points, so is the point of 1.500.
            is_number = pc.and_(is_number, pc.match_substring(cells, COMMA))
        if self.unit:
            is_number = pc.and_(is_number, pc.match_substring_regex(cells, r"\d"))
            plain = pc.replace_substring_regex(strip_unit(plain, self.unit), r"[\s\p{Zs}]+", "")
        return pc.if_else(is_number, plain, cells)


def read_minus(cells: pa.Array) -> pa.Array:
    """Return text with a hyphen in place of a minus sign or dash in front of a number."""
    if not any(pc.any(pc.match_substring(cells, dash)).as_py() for dash in DASHES):
        return cells
    # A currency may stand before or behind the sign.
    return pc.replace_substring_regex(cells, rf"^([^\d{DASHES}]{{0,8}})[{DASHES}]([^\d{DASHES}]{{0,8}}\d)", r"\1-\2")


def strip_unit(cells: pa.Array, unit: str) -> pa.Array:
    """Return text without a unit, and with a sign in place of parentheses."""
    plain = pc.utf8_trim_whitespace(pc.replace_substring(cells, unit, ""))
    return pc.replace_substring_regex(plain, rf"^\({SPACE}(.*?){SPACE}\)$", r"-\1")


def _write_class(sign: str) -> str:
    """Return the pattern of the characters that count as a sign between groups of digits."""
    return f"[{LOOKALIKES.get(sign, sign)}]"


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
    notes = []
    for name in table.column_names:
        pointed = find_points(table.column(name), signs)
        if len(pointed) == 0:
            continue
        cell = str(pointed[0])
        if signs.thousands is None and pc.all(pc.match_substring_regex(pointed, GROUPS_OF_POINTS)).as_py():
            raise UserError(
                f"column {name!r} of {source} holds {cell!r}, although the decimal sign is a comma; if the point "
                "separates thousands, add dataset.thousands=point."
            )
        notes.append(
            f"{len(pointed)} cells of column {name!r} have a decimal point, such as {cell!r}, although the decimal "
            "sign is a comma; they are read as they are."
        )
    return notes


def find_points(cells: pa.ChunkedArray, signs: NumberSigns) -> pa.ChunkedArray:
    """Return the cells with a decimal point that are not numbers with these signs."""
    others = cells.filter(pc.invert(pc.match_substring_regex(cells, signs.pattern)))
    return _select(others, ONLY_POINT)


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

    Spaces are tried last, because they occur in cells and behind other separators.

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
    spaced = None if whole else replace(sample, layout=replace(text.layout, separator=WHITESPACE)).parse()
    if spaced and spaced.table.num_columns > 1 and not spaced.ragged_counts:
        best = WHITESPACE
    elif best not in measured or measured[best][0] < MIN_FRACTION:
        # Decimal commas in a single column do not separate cells either.
        has_one_column = b"," not in sample.content.partition(b"\n")[0] and not measured
        best = SEMICOLON if has_one_column and read_sign(text.layout.decimal) == COMMA else COMMA
    word = CANDIDATES.get(best, best)
    article = "" if best == WHITESPACE else "a "
    return Guess(
        {"separator": best}, f"The separator is assumed to be {article}{word} (dataset.separator={word} {CONFIRMATION}"
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
    return all(fits_column(cell, column) for cell, column in pairs if cell)


def fits_column(cell: str, column: pa.ChunkedArray) -> bool:
    """Return whether a cell is like the cells of a column."""
    if pc.any(pc.equal(pc.utf8_trim_whitespace(column), cell)).as_py():
        return True
    try:
        float(cell)
    except ValueError:
        return False
    # A column without any cell below the first row is uninformative, and counts as numeric.
    return _are_numbers(column)


def _are_numbers(column: pa.ChunkedArray) -> bool:
    """Return whether the cells of a column of text are numbers or missing."""
    cells = pc.utf8_trim_whitespace(column)
    try:
        pc.cast(pc.if_else(pc.is_in(pc.utf8_lower(cells), MISSING), None, cells), pa.float64())
    except ValueError:
        return False
    return True


CHARACTERS = "".join((*LOOKALIKES.values(), COMMA))
"""The signs in numbers, besides points, whose meaning is guessed."""
SEARCHED = CHARACTERS + DASHES
"""The signs that are searched for in a source."""
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
        pointed = [column for column in columns if POINT in column.example]
        if not pointed:
            return None
        names = list_columns([column.name for column in pointed])
        return Guess(
            {},
            f"The point in {names} is assumed to be a decimal sign, as in {pointed[0].example} "
            "(dataset.decimal=point confirms it); if it separates thousands, add dataset.thousands=point.",
        )
    signs = read_signs(next(iter(decimals), None), next(iter(thousands), None))
    keys = " ".join(f"dataset.{key}={value}" for key, value in signs.keys.items())
    return Guess(signs.keys, f"{_describe_signs(signs, columns)} ({keys} {CONFIRMATION}")


def _describe_signs(signs: NumberSigns, columns: Sequence[SignedColumn]) -> str:
    """Return the meaning of each sign, with the columns in which it occurs; the full stop is left out."""
    sentences = []
    for sign, meaning in ((signs.decimal, "a decimal sign"), (signs.thousands, "a thousands separator")):
        names = [column.name for column in columns if sign in (column.decimal, column.thousands, *column.example)]
        if sign is not None and names:
            sentences.append(f"The {name_sign(sign)} in {list_columns(names)} is assumed to be {meaning}")
    return ". ".join(sentences)


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
        thousands = POINT if example.count(POINT) > 1 else None
        return SignedColumn(name, example, None, thousands) if example else None
    numbers = _select(cells, SIGNED_NUMBER)
    marked = _select(numbers, MARKED)
    if len(marked) == 0 or len(numbers) < MIN_FRACTION * len(_drop_empty(cells)):
        return None
    groups = _find_groups(numbers)
    possible = [NumberSigns(*signs) for signs in product(DECIMAL_SIGNS, (None, *groups)) if len({*signs}) == 2]
    fractions = [_measure_fraction(numbers, signs.pattern) for signs in possible]
    best = max(fractions)
    found = [signs for signs, fraction in zip(possible, fractions, strict=True) if fraction == best]
    if best < MIN_FRACTION or not groups.keys() <= {*DECIMAL_SIGNS}:
        _require_one_sign(groups, f"column {name!r} of {source}")
    # Cells of one length such as 110 001 may be codes.
    may_be_codes = " " in groups.get(" ", "") and pc.count_distinct(pc.utf8_length(numbers)).as_py() == 1
    if best < MIN_FRACTION or may_be_codes:
        return None
    readable = _select(marked, found[0].pattern)
    if len(readable) == 0:
        return None
    example = next(iter(groups.values()), str(readable[0]))
    meanings = [{*values} for values in zip(*found, strict=True)]  # of each sign; several are unknown
    decimal, thousands, _ = (each.pop() if len(each) == 1 else None for each in meanings)
    return SignedColumn(name, example, decimal, thousands)


def _find_groups(numbers: pa.ChunkedArray) -> dict[str, str]:
    """Return the signs that separate groups of digits in nearly all cells that contain them, each with an example."""
    found = {}
    for sign in (*LOOKALIKES, *DECIMAL_SIGNS):
        marked = _select(numbers, _write_class(sign))
        grouped = _select(marked, rf"^\s*[+-]?[1-9]\d{{0,2}}({_write_class(sign)}\d{{3}})+([.,]\d*)?\s*$")
        if len(grouped) > 0 and len(grouped) >= MIN_FRACTION * len(marked):
            found[sign] = str(grouped[0])
    return found


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
    return len(_select(cells, pattern)) / max(1, len(cells))
