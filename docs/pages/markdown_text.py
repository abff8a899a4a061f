"""Markdown of generated pages: text whose signs mean nothing, tables, and code."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

_SIGNS = re.compile(r"[\\*_<>\[\]{}|]")


def escape_text(text: str) -> str:
    """Return text that Markdown shows as it is, except that code stays between backticks.

    Parameters
    ----------
    text : str
    """
    parts = text.split("`")
    if len(parts) % 2 == 0:
        return _escape_signs(text)
    shown = [part if row % 2 else _escape_signs(part) for row, part in enumerate(parts)]
    return "`".join(shown)


def format_code(text: str) -> str:
    """Return text as code within a cell of a table; empty for no text."""
    if not text:
        return ""
    spaced = f" {text} " if "`" in text else text
    mark = "``" if "`" in text else "`"
    return f"{mark}{spaced}{mark}".replace("|", "\\|")


def format_table(names: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table.

    Parameters
    ----------
    names : sequence of str
        The names of the columns.
    rows : iterable of sequence of str
        Their cells, as Markdown.
    """
    lines = [names, ["---"] * len(names), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def format_block(code: str, language: str) -> str:
    """Return a block of code."""
    return f"```{language}\n{code}\n```"


def join_parts(parts: Iterable[str]) -> str:
    """Return the parts of a page with an empty line between them; empty parts are left out."""
    return "\n\n".join(part for part in parts if part) + "\n"


def _escape_signs(text: str) -> str:
    # Backslashes would not do: Markdown and its extensions know them before some signs only.
    return _SIGNS.sub(lambda sign: f"&#{ord(sign.group())};", text)
