"""What the tables of the page consist of: entries with a text, a note and a mark."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Entry:
    """The content of one cell of a table.

    Attributes
    ----------
    text : str
    note : str
        Written smaller, after the text.
    mark : str
        Written raised, after the note.
    classes : str
        Of the style sheet: ``number``, ``best``, ``better``, ``worse``, ``empty``.
    title : str
        Shown by browsers when the pointer rests on the entry.
    """

    text: str
    note: str = ""
    mark: str = ""
    classes: str = "number"
    title: str = ""


@dataclass(frozen=True)
class Table:
    """A table whose first column names its rows.

    Attributes
    ----------
    caption : str
    header : sequence of Entry
    rows : sequence of sequences of Entry
    footer : sequence of sequences of Entry
        Rows of sums below the others.
    is_stacked : bool
        Whether notes stand below the texts, because there are many columns.
    """

    caption: str
    header: Sequence[Entry]
    rows: Sequence[Sequence[Entry]]
    footer: Sequence[Sequence[Entry]] = ()
    is_stacked: bool = False


def name_row(text: str) -> Entry:
    """Return the entry that names a row, or the column of the names."""
    return Entry(text, classes="name")
