"""From a text to its rows of cells, as they are spelled, and the separator between the cells."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from io import StringIO
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv as arrow_csv

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.stages.dataset.keys import SEPARATOR_WORDS, FileLayout, read_sign

WHITESPACE = ("whitespace", r"\s+")
"""Words for any number of spaces and tabs as a separator."""
CANDIDATES: Mapping[str, str] = {",": "comma", ";": "semicolon", "\t": "tab", "|": "pipe"}
"""Separator -> its name."""
SENTINEL = "\x1f"
"""A letter below the last row: if it is read as part of a cell, a quotation is open."""
SAMPLE_BYTES = 1 << 16
MIN_REGULAR_FRACTION = 0.9
"""Of the rows of a sample that must have the same number of cells."""
BLOCK_BYTES = 1 << 24
"""pyarrow reads a text in blocks of this size, which no row may exceed."""
STRADDLING = "straddling object"
"""How the error of pyarrow begins if a row is longer than a block."""
HEAD_BYTES = 1 << 20
"""Of a text, in which the number of columns is counted."""
TEXT = pa.large_string()


class Record(NamedTuple):
    """A row of a text, and its first line in the file, from 1."""

    line: int
    cells: Sequence[str]


class ParsedText(NamedTuple):
    """The rows of a text, that of names included.

    Attributes
    ----------
    table : Table of shape (n, d)
        Of text; empty cells are empty text.
    ragged_counts : list of int
        The number of cells of each row that is left out because it has more or fewer than the first row.
    """

    table: pa.Table
    ragged_counts: list[int]


@dataclass(frozen=True)
class Text:
    """A text in UTF-8 with at least one row, and how its cells are separated.

    Attributes
    ----------
    content : bytes
    separator : str
        A text, a word for one, or one of `WHITESPACE`.
    layout : FileLayout
        Whose quotation mark and `strip` count.
    """

    content: bytes
    separator: str
    layout: FileLayout

    @property
    def character(self) -> str:
        """The separator of cells: for ``whitespace``, one space."""
        return " " if self.separator in WHITESPACE else SEPARATOR_WORDS.get(self.separator, self.separator)

    @cached_property
    def has_quotes(self) -> bool:
        """Whether cells may be quoted."""
        return self.layout.quote is not None and self.layout.quote.encode() in self.content

    @property
    def sample(self) -> Text:
        """The first rows, without the one that is cut."""
        end = self.content.rfind(b"\n", 0, SAMPLE_BYTES)
        is_short = len(self.content) <= SAMPLE_BYTES or end < 0
        return self if is_short else replace(self, content=self.content[: end + 1])

    def parse(self) -> ParsedText:
        """Return the cells; rows with more or fewer cells than the first one are left out and counted.

        Raises
        ------
        ValueError
            The text cannot be parsed.
        """
        is_plain = self.separator not in WHITESPACE and len(self.character) == 1 and self.character.isascii()
        parsed = _parse_plain(self) if is_plain and not self._has_quotes_after_spaces() else _collect_records(self)
        if not self.layout.strip:
            return parsed
        columns = [pc.utf8_trim_whitespace(column) for column in parsed.table.columns]
        return ParsedText(pa.table(columns, names=parsed.table.column_names), parsed.ragged_counts)

    def read_records(self) -> Iterator[Record]:
        """Yield the rows, blank lines aside: slower than `parse`, but with their lines.

        Raises
        ------
        ValueError
            A cell is longer than Python's reader allows.
        """
        text = self.content.decode()
        if len(self.character) > 1:  # no quotation can hide such a separator
            lines = enumerate(text.splitlines(), start=1)
            return (Record(line, row.split(self.character)) for line, row in lines if row)
        is_spaced = self.separator in WHITESPACE
        if is_spaced:
            # Spaces after a separator are skipped, so that several spaces separate two cells; those at the end must go.
            text = re.sub(r"[ \t]+(?=\r?$)", "", text, flags=re.MULTILINE).replace("\t", " ")
        return _read_quoted(text, self.character, self.layout.quote, is_spaced or self.layout.strip)

    def find_open_quote(self) -> int | None:
        """Return the line of a row with a quotation mark that is not closed; None if all are."""
        # Of an even number, the last is closed. Marks inside of cells without quotation, such as 5", are no quotation.
        if not self.has_quotes or self.content.count(str(self.layout.quote).encode()) % 2 == 0:
            return None
        *_, last = replace(self, content=self.content.rstrip() + f"\n{SENTINEL}".encode()).read_records()
        return last.line if last.cells[0] != SENTINEL else None

    def _has_quotes_after_spaces(self) -> bool:
        """Return whether spaces to be left out precede quotation marks, which pyarrow reads as unquoted cells."""
        if not self.layout.strip or not self.has_quotes:
            return False
        start = rb"(^|\n|" + re.escape(self.character.encode()) + rb")"
        return re.search(start + rb" +" + re.escape(str(self.layout.quote).encode()), self.content) is not None


def guess_separator(content: bytes, layout: FileLayout, name: str) -> str | None:
    """Return the separator that splits all rows into the same number of cells, at least two.

    Parameters
    ----------
    content : bytes
        In UTF-8, with at least one row.
    layout : FileLayout
    name : str
        Of the file, for messages.

    Returns
    -------
    str or None
        None if no candidate gives rows of several cells.

    Raises
    ------
    UserError
        Several separators do.
    """
    sample = Text(content, ",", layout).sample
    measured = {}  # separator -> fraction of the rows that have the usual number of cells, and this number
    for separator in CANDIDATES:
        # A decimal comma separates no cells, unless nothing else does.
        if separator.encode() in sample.content and separator != read_sign(layout.decimal):
            table, ragged_counts = replace(sample, separator=separator).parse()
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
    best = max(measured, key=measured.__getitem__, default=None)
    return best if best is not None and measured[best][0] >= MIN_REGULAR_FRACTION else None


def _parse_plain(text: Text) -> ParsedText:
    """Return the cells of a text with one character between them."""
    content = text.content
    counts: list[int] = []

    def leave_out(row: arrow_csv.InvalidRow) -> str:
        counts.append(row.actual_columns)
        return "skip"

    read_options = arrow_csv.ReadOptions(autogenerate_column_names=True, block_size=BLOCK_BYTES)
    parse_options = arrow_csv.ParseOptions(
        delimiter=text.character,
        quote_char=text.layout.quote or False,
        # Searching for line breaks in cells takes time, and without quotation marks there are none.
        newlines_in_values=text.has_quotes,
        invalid_row_handler=leave_out,
    )
    has_row = content.find(b"\n", 0, HEAD_BYTES) >= 0
    # Without a line break at its end, a single row is not found.
    head = (content[:HEAD_BYTES] if has_row else content) + b"\n"
    names = arrow_csv.open_csv(pa.BufferReader(head), read_options, parse_options).schema.names
    if len(names) == 1:
        # A blank line is a row with an empty cell then, unless it is the last one.
        content = content.rstrip(b"\r\n")
        parse_options.ignore_empty_lines = False
    if not content.endswith((b"\n", b"\r")):
        content += b"\n"
    convert_options = arrow_csv.ConvertOptions(column_types=dict.fromkeys(names, TEXT), strings_can_be_null=False)
    counts.clear()
    try:
        table = arrow_csv.read_csv(pa.BufferReader(content), read_options, parse_options, convert_options)
    except pa.ArrowInvalid as error:
        if STRADDLING in str(error):
            raise ValueError(f"a row is longer than {BLOCK_BYTES:,} bytes; shorten its cells") from error
        raise
    return ParsedText(table, counts)


def _collect_records(text: Text) -> ParsedText:
    """Return the cells of a text that pyarrow cannot parse, row by row."""
    rows: list[Sequence[str]] = []
    counts: list[int] = []
    for record in text.read_records():
        is_regular = not rows or len(record.cells) == len(rows[0])
        if is_regular:
            rows.append(record.cells)
        else:
            counts.append(len(record.cells))
    columns = [pa.array(column, TEXT) for column in zip(*rows, strict=True)]
    return ParsedText(pa.table(columns, names=[f"f{position}" for position in range(len(columns))]), counts)


def _read_quoted(text: str, separator: str, quote: str | None, skips_spaces: bool) -> Iterator[Record]:
    """Yield the rows of a text with one letter between cells."""
    reader = csv.reader(
        StringIO(text, newline=""),
        delimiter=separator,
        quotechar=quote,
        quoting=csv.QUOTE_NONE if quote is None else csv.QUOTE_MINIMAL,
        skipinitialspace=skips_spaces,
    )
    line = 1
    try:
        for cells in reader:
            if cells:
                yield Record(line, cells)
            line = reader.line_num + 1
    except csv.Error as error:
        raise ValueError(f"line {line}: {error}") from error
