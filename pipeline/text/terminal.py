"""Text for a terminal: control characters in names and cells are escaped."""

from __future__ import annotations

import os
import re
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

PIPE_WIDTH = 160
"""In characters: files and pipes have no width of their own, at which names would have to be broken."""
UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""Control characters but tabs and ends of lines, and those that reverse the direction of writing."""


def show_controls(text: str) -> str:
    r"""Return a text with its control characters as Python writes them.

    Examples
    --------
    >>> print(show_controls("a\x1b[2Jb"))
    a\x1b[2Jb
    """
    return UNSAFE.sub(lambda found: ascii(found.group())[1:-1], text)


def show_in_line(text: str) -> str:
    r"""Return a text on one line: ends of lines, too, are shown as Python writes them.

    Examples
    --------
    >>> print(show_in_line("a\nb\x1b[2J"))
    a\nb\x1b[2J
    """
    return "".join(character if character.isprintable() else ascii(character)[1:-1] for character in text)


def escape(text: str) -> str:
    """Return a text that Rich prints unchanged: markup in it has no effect, and control characters are shown."""
    from rich import markup  # the start of the command does without Rich

    return markup.escape(show_controls(text))


def print_note(note: str) -> None:
    """Print a sentence to standard error."""
    print(show_controls(note), file=sys.stderr)


def make_console(*, stderr: bool = False, quiet: bool = False, **options: Any) -> Console:
    """Return a console of Rich for standard output or error, which breaks no line and colours nothing by itself.

    Parameters
    ----------
    stderr, quiet : bool
    **options
        Further arguments of ``Console``.
    """
    from rich.console import Console

    console = Console(stderr=stderr, quiet=quiet, highlight=False, emoji=False, soft_wrap=True, **options)
    if not console.is_terminal and "COLUMNS" not in os.environ and "width" not in options:
        console.width = PIPE_WIDTH
    return console
