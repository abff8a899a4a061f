"""Tables and text as Markdown, as GitHub and MLflow render it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from bakeoff.pipeline.tables.table import NUMBER, Cell, Table

MARKDOWN_SIGNS = re.compile(r"([\\`*#|~]|(?<!\w)_|_(?!\w)|\](?=[(:\[]))")
"""Signs that Markdown interprets; an underscore within a word is none, and a bracket may begin an interval."""


def render_markdown(table: Table, gap: str = "") -> list[str]:
    """Return the lines of a table, without its title and its footnote.

    Parameters
    ----------
    table : Table
    gap : str
        Markup before each column but the first, for pages that leave no space between them.
    """
    rules = ["---:" if column.kind == NUMBER else "---" for column in table.columns]
    rows = [_join_markdown(map(_write_markdown_cell, row), gap) for row in (table.columns, *table.rows)]
    return [rows[0], _join_markdown(rules, ""), *rows[1:]]


def render_section(table: Table) -> Iterator[str]:
    """Yield the lines of a table with its title as a heading, and its footnote."""
    yield from (f"## {escape_markdown(table.title)}", "", *render_markdown(table), "")
    if table.footnote:
        yield from (escape_markdown(table.footnote), "")


def escape_markdown(text: str) -> str:
    r"""Return a text, on one line, that Markdown shows as it is.

    Examples
    --------
    >>> print(escape_markdown("a_b < c* _d [0, 1] [x](y) &lt;"))
    a_b &lt; c\* \_d [0, 1] [x\](y) &amp;lt;
    """
    escaped = MARKDOWN_SIGNS.sub(r"\\\1", " ".join(text.split()))
    return re.sub(r"&(?=#?\w+;)", "&amp;", escaped).replace("<", "&lt;").replace(">", "&gt;")


def _write_markdown_cell(cell: Cell) -> str:
    escaped = escape_markdown(cell.line)
    return f"**{escaped}**" if cell.is_best else escaped


def _join_markdown(cells: Iterable[str], gap: str) -> str:
    return f"| {f' | {gap}'.join(cells)} |"
