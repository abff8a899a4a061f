"""Paths as users write them."""

from __future__ import annotations

import os
from pathlib import Path


def expand_home(given: str | os.PathLike[str]) -> Path:
    """Return a path in which ``~`` and ``~USER`` at the front are home folders, as in a shell.

    A name such as ``~data`` stays if there is no user ``data``, for which ``Path.expanduser`` would raise RuntimeError.

    Examples
    --------
    >>> expand_home("~no_such_user/a.csv")
    PosixPath('~no_such_user/a.csv')
    """
    return Path(os.path.expanduser(given))
