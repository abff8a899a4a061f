"""Paths as users write them, and the size of what is below them."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
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


def measure_folder(folder: Path) -> int:
    """Return the size of all files below a folder, in bytes.

    Links do not count, nor do files that another process deletes meanwhile.
    """
    n_bytes = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):
                status = os.lstat(Path(parent, name))
                n_bytes += status.st_size if stat.S_ISREG(status.st_mode) else 0
    return n_bytes
