"""A table of a report, independent of the output format."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

NAME = "name"
"""Names a row; the first column."""
TEXT = "text"
CODE = "code"
NUMBER = "number"
EMPTY = "empty"
"""Says why there is no number."""
BEST_SIGN = "•"
"""Before the best number of several: a pipe has no colours."""


@dataclass(frozen=True)
class Cell:
    """The content of a cell of a table.

    Attributes
    ----------
    text : str
    kind : str
        `NAME`, `TEXT`, `CODE`, `NUMBER` or `EMPTY`.
    note : str
        What belongs to the text and is less important: a deviation, an interval, a remark.
    mark : str
        A sign after them, such as that of a significant difference.
    is_best : bool
    hint : str
        An explanation, where a format can show one on demand.
    """

    text: str
    kind: str = NUMBER
    note: str = ""
    mark: str = ""
    is_best: bool = False
    hint: str = ""

    @property
    def line(self) -> str:
        """Everything but the hint, as text."""
        parts = (BEST_SIGN if self.is_best and self.kind == NUMBER else "", self.text, self.note, self.mark)
        return " ".join(part for part in parts if part)


Row = list[str | Cell]
"""What `make_table` takes; a text has the kind of its column."""


@dataclass(frozen=True)
class Table:
    """A table whose first column names its rows.

    Attributes
    ----------
    title : str
    columns : tuple of Cell
        The headings; the kind of each is that of its column.
    rows : tuple of tuple of Cell
    footnote : str
        What the signs mean, or what is left out.
    n_sums : int
        How many of the last rows sum up the others.
    """

    title: str
    columns: tuple[Cell, ...]
    rows: tuple[tuple[Cell, ...], ...]
    footnote: str = ""
    n_sums: int = 0

    def choose_columns(self, positions: Sequence[int]) -> Table:
        """Return some of the columns."""
        columns, *rows = (tuple(row[position] for position in positions) for row in (self.columns, *self.rows))
        return replace(self, columns=columns, rows=tuple(rows))

    def transpose(self, corner: str, n_sums: int = 0) -> Table:
        """Return the table with rows and columns exchanged.

        Parameters
        ----------
        corner : str
            The heading of the names of the new rows.
        n_sums : int
            How many of the first columns after the names sum up the others; they become the last rows.
        """
        (_, *names), *columns = zip(*(self.columns, *self.rows), strict=True)
        heading = (Cell(corner, NAME), *(replace(name, kind=NUMBER) for name in names))
        rows = [(replace(first, kind=NAME), *cells) for first, *cells in columns]
        return replace(self, columns=heading, rows=(*rows[n_sums:], *rows[:n_sums]), n_sums=n_sums)


def make_table(
    title: str, columns: Iterable[str | Cell], rows: Iterable[Iterable[str | Cell]], footnote: str = ""
) -> Table:
    """Return a table; the first column has names, the others numbers, unless a heading says otherwise.

    Parameters
    ----------
    title : str
    columns : iterable of str or Cell
    rows : iterable of iterables of str or Cell
        A text has the kind of its column.
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
