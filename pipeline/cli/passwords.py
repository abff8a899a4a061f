"""Passwords in the words of the command line, which sweeps print and store."""

from __future__ import annotations

import re
from collections.abc import Iterable

from bakeoff.pipeline.errors import UserError

PASSWORD = re.compile(r"\bdataset\.url=.*?://[^/@]*:(?!\$)[^/@]+@")
"""A literal password in the URL of a database; a name of an environment variable, with ``$``, is none."""


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
    if any(PASSWORD.search(word) for word in words):
        raise UserError(
            "dataset.url holds a password, which would be stored with the run; write the name of an environment "
            "variable in its place, 'dataset.url=postgresql://user:$PASSWORD@host/database', and export it."
        )
