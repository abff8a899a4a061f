"""From a text to its cells, as they are spelled."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from bakeoff.pipeline.stages.dataset.reading.layout import SEPARATOR_WORDS, FileLayout
from bakeoff.pipeline.stages.dataset.reading.records import WHITESPACE, read_records

BLOCK_BYTES = 1 << 24
"""pyarrow reads a text in blocks of this size, which no row may exceed."""
STRADDLING = "straddling object"
"""How the error of pyarrow begins if a row is longer than a block."""
HEAD_BYTES = 1 << 20
"""Of a text, in which the number of columns is counted."""
TEXT = pa.large_string()


@dataclass(frozen=True)
class Cells:
    """The rows of a text, that of names included.

    Attributes
    ----------
    table : Table of shape (n, d)
        Of text; empty cells are empty text.
    ragged_counts : tuple of int
        The number of cells of each row that is left out because it has more or fewer than the first row.
    """

    table: pa.Table
    ragged_counts: tuple[int, ...] = ()


def parse_cells(content: bytes, separator: str, layout: FileLayout) -> Cells:
    """Return the cells of a text; rows with more or fewer cells than the first one are left out and counted.

    Parameters
    ----------
    content : bytes
        In UTF-8, with at least one row.
    separator : str
        Between cells: a text, a word for one, or ``whitespace``.
    layout : FileLayout
        Whose quotation mark and `strip` count.

    Raises
    ------
    ValueError
        The text cannot be parsed.
    """
    character = SEPARATOR_WORDS.get(separator, separator)
    is_plain = separator not in WHITESPACE and len(character) == 1 and character.isascii()
    if is_plain and not (layout.strip and _has_quotes_after_spaces(content, character, layout)):
        cells = _parse_plain(content, character, layout)
    else:
        cells = _collect_records(content, separator, layout)
    return Cells(_strip_cells(cells.table), cells.ragged_counts) if layout.strip else cells


def _parse_plain(content: bytes, separator: str, layout: FileLayout) -> Cells:
    """Return the cells of a text with one character between them."""
    counts: list[int] = []

    def leave_out(row: csv.InvalidRow) -> str:
        counts.append(row.actual_columns)
        return "skip"

    has_quotes = layout.quote is not None and layout.quote.encode() in content
    read_options = csv.ReadOptions(autogenerate_column_names=True, block_size=BLOCK_BYTES)
    parse_options = csv.ParseOptions(
        delimiter=separator,
        quote_char=layout.quote or False,
        # Looking for line breaks inside of cells takes time, and without quotation marks there are none.
        newlines_in_values=has_quotes,
        invalid_row_handler=leave_out,
    )
    names = csv.open_csv(pa.BufferReader(_draw_first_rows(content)), read_options, parse_options).schema.names
    if len(names) == 1:
        # A blank line is a row with an empty cell then, unless it is the last one.
        content = content.rstrip(b"\r\n")
        parse_options.ignore_empty_lines = False
    if not content.endswith((b"\n", b"\r")):
        # pyarrow does not find a single row without a line break.
        content += b"\n"
    convert_options = csv.ConvertOptions(column_types=dict.fromkeys(names, TEXT), strings_can_be_null=False)
    counts.clear()
    try:
        table = csv.read_csv(pa.BufferReader(content), read_options, parse_options, convert_options)
    except pa.ArrowInvalid as error:
        if STRADDLING in str(error):
            raise ValueError(f"a row is longer than {BLOCK_BYTES:,} bytes; shorten its cells") from error
        raise
    return Cells(table, tuple(counts))


def _draw_first_rows(content: bytes) -> bytes:
    """Return the beginning of a text with at least one row."""
    has_row = content.find(b"\n", 0, HEAD_BYTES) >= 0
    # Without a line break at its end, a single row is not found.
    return (content[:HEAD_BYTES] if has_row else content) + b"\n"


def _collect_records(content: bytes, separator: str, layout: FileLayout) -> Cells:
    """Return the cells of a text that pyarrow cannot parse, row by row."""
    rows: list[Sequence[str]] = []
    counts: list[int] = []
    for record in read_records(content, separator, layout):
        is_regular = not rows or len(record.cells) == len(rows[0])
        if is_regular:
            rows.append(record.cells)
        else:
            counts.append(len(record.cells))
    columns = [pa.array(column, TEXT) for column in zip(*rows, strict=True)]
    names = [f"f{position}" for position in range(len(columns))]
    return Cells(pa.table(columns, names=names), tuple(counts))


def _has_quotes_after_spaces(content: bytes, separator: str, layout: FileLayout) -> bool:
    """Return whether quotation marks follow spaces, which pyarrow takes for the beginning of an unquoted cell."""
    if layout.quote is None:
        return False
    start = rb"(^|\n|" + re.escape(separator.encode()) + rb")"
    return re.search(start + rb" +" + re.escape(layout.quote.encode()), content) is not None


def _strip_cells(table: pa.Table) -> pa.Table:
    columns = [pc.utf8_trim_whitespace(column) for column in table.columns]
    return pa.table(columns, names=table.column_names)
