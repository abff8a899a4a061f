"""The size of a folder, to which files may be added, and from which they may go, meanwhile."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path


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
