"""Files that appear whole or not at all."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

MAX_STEM_BYTES = 200
"""Of the name of a temporary file: names of 255 bytes are the longest that file systems take."""


@contextmanager
def replace_whole(path: Path) -> Iterator[Path]:
    """Yield the path of a temporary file that takes the place of another one if the block succeeds.

    If it does not, because a disk is full for example, nothing is left of the temporary file, and an earlier file
    remains as it was.

    Parameters
    ----------
    path : Path
        A link is followed, and its target is replaced; the new file has the permissions of the earlier one.

    Raises
    ------
    OSError
        The file cannot be written.
    """
    target = path.resolve()
    # In the same folder, because a file cannot be moved between file systems at once; the extension is kept.
    stem = target.stem.encode()[:MAX_STEM_BYTES].decode(errors="ignore")
    temporary = target.with_name(f".{stem}-{secrets.token_hex(4)}{target.suffix}")
    try:
        yield temporary
        with suppress(FileNotFoundError):
            temporary.chmod(stat.S_IMODE(target.stat().st_mode))
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)
