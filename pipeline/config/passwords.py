"""Passwords in the words of the command line, which sweeps print and store."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.text.secrets import conceal_words, find_secrets
from bakeoff.pipeline.text.words import join_words

QUERY_KEY = "dataset.url="
"""The key of the address of a database; a reference with ``$`` takes the place of its password."""


def reject_passwords(words: Iterable[str]) -> None:
    """Reject a command line that holds the password of a database, without repeating it.

    Parameters
    ----------
    words : iterable of str

    Raises
    ------
    UserError
        A word gives ``dataset.url`` a password.

    Examples
    --------
    >>> reject_passwords(["dataset.url=postgresql://me:$PASSWORD@host/x", "dataset.url=sqlite:///my.db"])
    """
    if any(QUERY_KEY in word and find_secrets(word) for word in words):
        raise UserError(
            "dataset.url holds a password, which would be stored with the run; write the name of an environment "
            "variable in its place, 'dataset.url=postgresql://user:$PASSWORD@host/database', and export it."
        )


def conceal_passwords(words: Sequence[str]) -> list[str]:
    """Return the words of a command with references in place of passwords, and say so.

    Parameters
    ----------
    words : sequence of str
    """
    concealed, names = conceal_words(words)
    if names:
        variables = join_words(names)
        print(
            f"note: the command holds a password, which is not stored; {variables} stands in its place: export it to "
            "repeat the commands that are shown.",
            file=sys.stderr,
        )
    return concealed
