"""A table of text, which the terminal, Markdown and LaTeX write each in its own way."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class TextTable:
    """A table of text.

    Attributes
    ----------
    title : str
    columns : tuple of str
    rows : tuple of tuple of str
    emphasized : frozenset of (int, int)
        Row and column of the entries that are best.
    footnote : str
        What is left out or what the signs mean.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    emphasized: frozenset[tuple[int, int]] = frozenset()
    footnote: str = ""

    def iterate_rows(self) -> Iterator[list[tuple[str, bool]]]:
        """Yield each row as pairs of an entry and whether it is emphasized."""
        for number, row in enumerate(self.rows):
            yield [(entry, (number, column) in self.emphasized) for column, entry in enumerate(row)]


def choose_columns(table: TextTable, keep: Sequence[int]) -> TextTable:
    """Return some columns of a table, in their order."""
    columns = tuple(table.columns[column] for column in keep)
    rows = tuple(tuple(row[column] for column in keep) for row in table.rows)
    emphasized = frozenset((row, keep.index(column)) for row, column in table.emphasized if column in keep)
    return TextTable(table.title, columns, rows, emphasized, table.footnote)
