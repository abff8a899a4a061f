"""Parse text into rows of cells, as they are spelled."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from io import StringIO
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv as arrow_csv

from bakeoff.pipeline.stages.dataset.keys import WHITESPACE, FileLayout

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
        is_short = len(self.content) <= SAMPLE_BYTES or end < 0
        return self if is_short else replace(self, content=self.content[: end + 1])

    def parse(self) -> ParsedText:
        """Return the cells; rows with more or fewer cells than the first one are left out and counted.

        Raises
        ------
        ValueError
            The text cannot be parsed.
        """
        # pyarrow treats a quotation mark after spaces as a letter.
        is_plain = self.layout.separator != WHITESPACE and self.layout.character.isascii()
        is_plain = is_plain and not (self.layout.strip and self.has_quotes)
        table, ragged_counts = _parse_plain(self) if is_plain else _collect_records(self)
        if self.layout.strip:
            columns = [pc.utf8_trim_whitespace(column) for column in table.columns]
            table = pa.table(columns, names=table.column_names)
        return ParsedText(table, ragged_counts)

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
            # Spaces after a separator are skipped, so that several spaces separate two cells; those at the end must go.
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
    records = text.read_records()
    rows: list[Sequence[str]] = [next(records).cells]
    counts: list[int] = []
    for record in records:
        if len(record.cells) == len(rows[0]):
            rows.append(record.cells)
        else:
            counts.append(len(record.cells))
    columns = [pa.array(column, TEXT) for column in zip(*rows, strict=True)]
    return ParsedText(pa.table(columns, names=[f"f{position}" for position in range(len(columns))]), counts)
