"""A text row by row, with the lines of the file: slower than pyarrow, for errors and for separators that it lacks."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from io import StringIO

from bakeoff.pipeline.stages.dataset.reading.layout import SEPARATOR_WORDS, FileLayout

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
