"""``bakeoff VERB --help``: what a verb does and which words it takes, from the documentation of its function."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Sequence

HELP_FLAGS = ("-h", "--help")
VERBS_WITH_HELP = ("compare",)
"""Verbs that print a page of their own."""
WORDS_SECTION = re.compile(r"words : sequence of str\n(.*?)(?:\n\n|\Z)", re.DOTALL)


def wants_help(verb: str, words: Sequence[str]) -> bool:
    """Return whether the words of a verb ask for its help."""
    return verb not in VERBS_WITH_HELP and any(word in HELP_FLAGS for word in words)


def format_help(verb: str, function: Callable[[Sequence[str]], int]) -> str:
    """Return what a verb does, and the words that it takes.

    Parameters
    ----------
    verb : str
    function : callable
        Of `load_verb`.
    """
    text = inspect.getdoc(function) or ""
    summary = text.partition("\n\n")[0]
    section = WORDS_SECTION.search(text)
    words = " ".join(section[1].split()) if section else ""
    return f"bakeoff {verb}: {summary}\n\nwords: {words}".replace("``", "").rstrip()
