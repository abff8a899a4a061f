"""The table of a report, independent of the output format, and its form on a terminal.

Rich prints it on a terminal; a pipe receives plain text.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from bakeoff.pipeline.text.wording import escape, show_in_line

if TYPE_CHECKING:
    from rich.console import Console


NAME = "name"
"""The kind of a cell that names a row, in the first column."""
TEXT = "text"
CODE = "code"
NUMBER = "number"
EMPTY = "empty"
"""The kind of a cell that explains why there is no number."""
BEST_SIGN = "•"
"""Precedes the best of several numbers, because a pipe has no colours."""


@dataclass(frozen=True)
class Cell:
    """The content of a cell of a table.

    Attributes
    ----------
    text : str
    kind : str
        `NAME`, `TEXT`, `CODE`, `NUMBER` or `EMPTY`.
    note : str
        Additional, less important text: a deviation, an interval or a remark.
    mark : str
        A sign after text and note, such as that of a significant difference.
    is_best : bool
    hint : str
        An explanation, shown on demand by formats that support it.
    """

    text: str
    kind: str = NUMBER
    note: str = ""
    mark: str = ""
    is_best: bool = False
    hint: str = ""

    @property
    def line(self) -> str:
        """Everything except the hint, as text."""
        parts = (BEST_SIGN if self.is_best and self.kind == NUMBER else "", self.text, self.note, self.mark)
        return " ".join(part for part in parts if part)


Row = list[str | Cell]
"""A cell passed to `make_table`; a plain string has the kind of its column."""


@dataclass(frozen=True)
class Table:
    """A table whose first column contains the row names.

    Attributes
    ----------
    title : str
    columns : tuple of Cell
        The headings; the kind of each heading is that of its column.
    rows : tuple of tuple of Cell
    footnote : str
        An explanation of signs and omissions.
    """

    title: str
    columns: tuple[Cell, ...]
    rows: tuple[tuple[Cell, ...], ...]
    footnote: str

    def choose_columns(self, positions: Sequence[int]) -> Table:
        """Return a table with only some of the columns."""
        columns, *rows = (tuple(row[position] for position in positions) for row in (self.columns, *self.rows))
        return replace(self, columns=columns, rows=tuple(rows))


def make_table(
    title: str, columns: Iterable[str | Cell], rows: Iterable[Iterable[str | Cell]], footnote: str = ""
) -> Table:
    """Return a table; the first column contains names and the others numbers, unless a heading declares otherwise.

    Parameters
    ----------
    title : str
    columns : iterable of str or Cell
    rows : iterable of iterables of str or Cell
        The rows, in which a plain string has the kind of its column.
    footnote : str

    Examples
    --------
    >>> make_table("", ["learner", "accuracy"], [["knn", "0.9"]]).rows
    ((Cell(text='knn', kind='name', note='', mark='', is_best=False, hint=''), \
Cell(text='0.9', kind='number', note='', mark='', is_best=False, hint='')),)
    """
    headings = tuple(
        column if isinstance(column, Cell) else Cell(column, NUMBER if position else NAME)
        for position, column in enumerate(columns)
    )
    cells = (
        tuple(
            cell if isinstance(cell, Cell) else Cell(cell, heading.kind)
            for cell, heading in zip(row, headings, strict=True)
        )
        for row in rows
    )
    return Table(title, headings, tuple(cells), footnote)


GAP = "  "
MIN_TEXT_WIDTH = 16
"""The minimum width of a text column, which is folded if a line has no room for it."""
BLANK_MARK = "\N{NO-BREAK SPACE}" * 2
"""Replaces a missing mark; an ordinary blank at the end of a cell would be removed."""


def print_table(table: Table, console: Console) -> None:
    """Print a table with its footnote, in several parts below one another if its columns do not fit."""
    from rich.table import Table as Drawing

    aligned = _align_marks(table)
    for number, positions in enumerate(split_columns(aligned, console.width)):
        if number:
            console.print()
        part = aligned.choose_columns(positions)
        drawing = Drawing(box=None, pad_edge=False, padding=(0, len(GAP), 0, 0), header_style="bold")
        for column in part.columns:
            # Names are folded if a line is too short for them, so that nothing is cut off.
            width = console.width // 2 if column.kind == NAME else None
            drawing.add_column(
                escape(column.line),
                justify="right" if column.kind == NUMBER else "left",
                overflow="fold",
                max_width=width,
            )
        for row in part.rows:
            drawing.add_row(*map(_write_cell, row))
        console.print(drawing, soft_wrap=False)
    if table.footnote:
        console.print(escape(table.footnote), style="dim", soft_wrap=False)


def split_columns(table: Table, width: int) -> list[list[int]]:
    """Divide the columns into parts that fit a width; each part begins with the names."""
    widths = [_measure(table, position, width) for position in range(len(table.columns))]
    parts: list[list[int]] = []
    for position, needed in enumerate(widths[1:], start=1):
        if not parts or sum(widths[each] for each in parts[-1]) + needed > width + len(GAP):
            parts.append([0])
        parts[-1].append(position)
    return parts or [[0]]


def align_lines(table: Table) -> list[str]:
    """Return the lines of a table without its footnote and of unlimited width; without headings, return only rows."""
    cells = [[show_in_line(cell.line) for cell in row] for row in (table.columns, *table.rows)]
    lines = cells if any(cells[0]) else cells[1:]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return [GAP.join(map(str.ljust, line, widths)).rstrip() for line in lines]


def _measure(table: Table, position: int, width: int) -> int:
    """Return the width of a column, including the gap after it."""
    kind = table.columns[position].kind
    most = {NAME: width // 2, TEXT: MIN_TEXT_WIDTH}.get(kind, width)
    return min(most, max(len(row[position].line) for row in (table.columns, *table.rows))) + len(GAP)


def _align_marks(table: Table) -> Table:
    """Return a table in which numbers without a mark are padded with a blank, so that digits are aligned."""
    has_marks = [any(row[position].mark for row in table.rows) for position in range(len(table.columns))]
    rows = (
        tuple(
            replace(cell, mark=BLANK_MARK[1:]) if has_mark and not cell.mark else cell
            for cell, has_mark in zip(row, has_marks, strict=True)
        )
        for row in table.rows
    )
    return replace(table, rows=tuple(rows))


def _write_cell(cell: Cell) -> str:
    text = escape(cell.line)
    if cell.is_best:
        return f"[bold green]{text}[/]" if cell.kind == NUMBER else f"[bold]{text}[/]"
    return text
