"""From a text to its rows of cells, as they are spelled, and the separator between the cells."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv as arrow_csv

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.stages.dataset.keys import SEPARATOR_WORDS, FileLayout, read_sign

WHITESPACE = ("whitespace", r"\s+")
"""Words for any number of spaces and tabs as a separator."""
SENTINEL = "\x1f"
"""A letter below the last row: if it is read as part of a cell, a quotation is open."""


@dataclass(frozen=True)
class Record:
    """A row of a text.

    Attributes
    ----------
    line : int
        Its first line in the file, from 1.
    cells : sequence of str
    """

    line: int
    cells: Sequence[str]


def read_records(content: bytes, separator: str, layout: FileLayout) -> Iterator[Record]:
    """Yield the rows of a text, blank lines aside.

    Parameters
    ----------
    content : bytes
        In UTF-8.
    separator : str
        Between cells; one of `WHITESPACE` for any number of spaces and tabs.
    layout : FileLayout
        Whose quotation mark and `strip` count.

    Raises
    ------
    ValueError
        A cell is longer than Python's reader allows.
    """
    text = content.decode()
    character = SEPARATOR_WORDS.get(separator, separator)
    if separator in WHITESPACE:
        # Spaces after a separator are skipped, so that several spaces separate two cells; those at the end must go.
        text = re.sub(r"[ \t]+(?=\r?$)", "", text, flags=re.MULTILINE).replace("\t", " ")
        return _read_quoted(text, " ", layout.quote, skips_spaces=True)
    if len(character) > 1:
        return _split_lines(text, character)
    return _read_quoted(text, character, layout.quote, layout.strip)


def find_open_quote(content: bytes, separator: str, layout: FileLayout) -> int | None:
    """Return the line of a row with a quotation mark that is not closed; None if all are."""
    mark = b"" if layout.quote is None else layout.quote.encode()
    # Of an even number, the last is closed. Marks inside of cells without quotation, such as 5", are no quotation.
    if not mark or mark not in content or content.count(mark) % 2 == 0:
        return None
    last = None
    for record in read_records(content.rstrip() + f"\n{SENTINEL}".encode(), separator, layout):
        last = record
    is_open = last is not None and last.cells[0] != SENTINEL
    return last.line if last is not None and is_open else None


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


def _split_lines(text: str, separator: str) -> Iterator[Record]:
    """Yield the rows of a text with several letters between cells, which no quotation can hide."""
    for line, row in enumerate(text.splitlines(), start=1):
        if row:
            yield Record(line, row.split(separator))


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

    def leave_out(row: arrow_csv.InvalidRow) -> str:
        counts.append(row.actual_columns)
        return "skip"

    has_quotes = layout.quote is not None and layout.quote.encode() in content
    read_options = arrow_csv.ReadOptions(autogenerate_column_names=True, block_size=BLOCK_BYTES)
    parse_options = arrow_csv.ParseOptions(
        delimiter=separator,
        quote_char=layout.quote or False,
        # Looking for line breaks inside of cells takes time, and without quotation marks there are none.
        newlines_in_values=has_quotes,
        invalid_row_handler=leave_out,
    )
    names = arrow_csv.open_csv(pa.BufferReader(_draw_first_rows(content)), read_options, parse_options).schema.names
    if len(names) == 1:
        # A blank line is a row with an empty cell then, unless it is the last one.
        content = content.rstrip(b"\r\n")
        parse_options.ignore_empty_lines = False
    if not content.endswith((b"\n", b"\r")):
        # pyarrow does not find a single row without a line break.
        content += b"\n"
    convert_options = arrow_csv.ConvertOptions(column_types=dict.fromkeys(names, TEXT), strings_can_be_null=False)
    counts.clear()
    try:
        table = arrow_csv.read_csv(pa.BufferReader(content), read_options, parse_options, convert_options)
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


CANDIDATES: Mapping[str, str] = {",": "comma", ";": "semicolon", "\t": "tab", "|": "pipe"}
"""Separator -> its name."""
DEFAULT_SEPARATOR = ","
SAMPLE_BYTES = 1 << 16
MIN_REGULAR_FRACTION = 0.9
"""Of the rows of a sample that must have the same number of cells."""


@dataclass(frozen=True)
class Regularity:
    """How regular the rows of a sample are with a separator.

    Attributes
    ----------
    n_cells : int
        The most frequent number of cells of a row.
    fraction : float
        Of the rows that have this number of cells.
    """

    n_cells: int
    fraction: float


def guess_separator(content: bytes, layout: FileLayout, file: Path) -> str | None:
    """Return the separator that gives all rows the same number of cells, at least two.

    Parameters
    ----------
    content : bytes
        In UTF-8, with at least one row.
    layout : FileLayout
    file : Path
        For messages.

    Returns
    -------
    str or None
        None if no candidate gives rows of several cells.

    Raises
    ------
    UserError
        Several separators do.
    """
    sample = draw_sample(content)
    # A decimal comma separates no cells, unless nothing else does.
    candidates = [each for each in CANDIDATES if each.encode() in sample and each != read_sign(layout.decimal)]
    measured = {each: _measure(sample, each, layout) for each in candidates}
    tables = {each: found for each, found in measured.items() if found.n_cells > 1}
    whole = [each for each, found in tables.items() if found.fraction == 1]
    if len(whole) > 1:
        readings = " and ".join(f"{CANDIDATES[each]!r} gives {tables[each].n_cells} columns" for each in whole)
        remedies = " or ".join(f"dataset.separator={CANDIDATES[each]}" for each in whole)
        raise UserError(f"the separator of {file.name} cannot be guessed: {readings}; give {remedies}.")
    regular = {each: found for each, found in tables.items() if found.fraction >= MIN_REGULAR_FRACTION}
    # The fraction decides before the number of cells: a text may hold many commas.
    ranked = sorted(regular, key=lambda each: (regular[each].fraction, regular[each].n_cells))
    return ranked[-1] if ranked else None


def name_separator(separator: str) -> str:
    """Return the word for a separator, or the separator itself if there is none."""
    return CANDIDATES.get(separator, separator)


def draw_sample(content: bytes) -> bytes:
    """Return the first rows of a text, without the one that is cut."""
    if len(content) <= SAMPLE_BYTES:
        return content
    end = content.rfind(b"\n", 0, SAMPLE_BYTES)
    return content if end < 0 else content[: end + 1]


def _measure(sample: bytes, separator: str, layout: FileLayout) -> Regularity:
    cells = parse_cells(sample, separator, layout)
    n_regular, n_cells = cells.table.shape
    counts = Counter(cells.ragged_counts)
    counts[n_cells] += n_regular
    usual, n_usual = counts.most_common(1)[0]
    return Regularity(usual, n_usual / counts.total())
