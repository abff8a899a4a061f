"""Tables for a terminal, by Rich, and as plain text."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import TYPE_CHECKING

from bakeoff.pipeline.tables.table import NAME, NUMBER, TEXT, Cell, Table
from bakeoff.pipeline.text.terminal import PIPE_WIDTH, escape, make_console, show_in_line

if TYPE_CHECKING:
    from rich.console import Console

GAP = "  "
MIN_TEXT_WIDTH = 16
"""Of a column of text, which is folded where a line has no room for it."""
BLANK_MARK = "\N{NO-BREAK SPACE}" * 2
"""In place of a missing mark; an ordinary blank at the end of a cell would be removed."""


def print_table(table: Table, console: Console) -> None:
    """Print a table, in several parts below one another if its columns do not fit, and its footnote."""
    from rich.table import Table as Drawing

    aligned = _align_marks(table)
    for number, positions in enumerate(split_columns(aligned, console.width)):
        if number:
            console.print()
        part = aligned.choose_columns(positions)
        drawing = Drawing(box=None, pad_edge=False, padding=(0, len(GAP), 0, 0), header_style="bold")
        for column in part.columns:
            # Names are folded where a line is too short for them, so that nothing is cut.
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
    """Return which columns stand together in a part that fits into a width; each part begins with the names."""
    widths = [_measure(table, position, width) for position in range(len(table.columns))]
    parts: list[list[int]] = []
    for position, needed in enumerate(widths[1:], start=1):
        if not parts or sum(widths[each] for each in parts[-1]) + needed > width + len(GAP):
            parts.append([0])
        parts[-1].append(position)
    return parts or [[0]]


def render_text(table: Table, width: int = PIPE_WIDTH) -> str:
    """Return a table as plain text of at most a width."""
    file = io.StringIO()
    print_table(table, make_console(file=file, width=width, color_system=None, force_terminal=False))
    return "\n".join(line.rstrip() for line in file.getvalue().splitlines())


def align_lines(table: Table) -> list[str]:
    """Return a table as lines without its footnote, each as long as it is; one without headings has rows alone."""
    cells = [[show_in_line(cell.line) for cell in row] for row in (table.columns, *table.rows)]
    lines = cells if any(cells[0]) else cells[1:]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return [GAP.join(map(str.ljust, line, widths)).rstrip() for line in lines]


def _measure(table: Table, position: int, width: int) -> int:
    """Return the width of a column with the gap behind it."""
    kind = table.columns[position].kind
    most = {NAME: width // 2, TEXT: MIN_TEXT_WIDTH}.get(kind, width)
    return min(most, max(len(row[position].line) for row in (table.columns, *table.rows))) + len(GAP)


def _align_marks(table: Table) -> Table:
    """Return a table in which numbers without a mark have a blank in its place, so that digits stand in columns."""
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
