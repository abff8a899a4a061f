"""Keys of the command line with lists of names or cells, as messages recommend them."""

from __future__ import annotations

import re
from collections.abc import Iterable

from bakeoff.pipeline.text.words import quote_text

PLAIN_WORD = re.compile(r"[A-Za-z_][\w./-]*")
"""A word that needs no quotation marks in a list of the command line."""
OTHER_MEANING = frozenset({"true", "false", "null", "nan", "inf"})
"""Words that are no text without quotation marks."""


def format_list_key(key: str, names: Iterable[str]) -> str:
    """Return a key of the dataset with a list, in quotation marks where the command line needs them.

    Examples
    --------
    >>> format_list_key("keep", ["age", "body mass (g)"])
    "dataset.keep=[age,'body mass (g)']"
    """
    return f"dataset.{key}=[{','.join(quote_word(name) for name in names)}]"


def quote_word(word: str) -> str:
    """Return a word as it stands in a list of the command line."""
    if PLAIN_WORD.fullmatch(word) and word.lower() not in OTHER_MEANING:
        return word
    return quote_text(word)
