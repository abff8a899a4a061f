"""Limits on the size of a table, which are compared with the metadata of a file before its cells are read."""

from __future__ import annotations

import os
import resource
from collections.abc import Callable
from pathlib import Path

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.text.wording import format_bytes

MAX_EXPANSION = 100
"""Bytes of a text for each byte of its compressed file; tables have 3 to 20."""
MIN_EXPANDED_BYTES = 256 * 1024 * 1024
"""A text of this size is read whatever the size of its compressed file is."""
PIECE_BYTES = 16 * 1024 * 1024
BYTES_OF_CELL = 8
CGROUP_FILES = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))
"""The files in which Linux shows the memory limit of a container."""


def read_machine_bytes() -> int:
    """Return the memory of this machine in bytes, or that of the container or the process if it is limited."""
    physical = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    of_process, _ = resource.getrlimit(resource.RLIMIT_AS)
    limits = [physical, *_read_container_limits()]
    if of_process != resource.RLIM_INFINITY:
        limits.append(of_process)
    return min(limits)


def _read_container_limits() -> list[int]:
    """Return the limits of the container; none outside of one."""
    limits = []
    for file in CGROUP_FILES:
        try:
            text = file.read_text().strip()
        except OSError:
            continue
        if text.isdigit():  # otherwise "max"
            limits.append(int(text))
    return limits


def read_expanded(read: Callable[[int], bytes], file: Path) -> bytes:
    """Return the bytes of a compressed file.

    Parameters
    ----------
    read : callable
        Returns the next bytes, at most a given number.
    file : Path
        The compressed file.

    Raises
    ------
    UserError
        There are more than a table would have, or than half of the memory.
    """
    most = max(MIN_EXPANDED_BYTES, MAX_EXPANSION * file.stat().st_size)
    most = min(most, read_machine_bytes() // 2)
    pieces = []
    n_bytes = 0
    while piece := read(PIECE_BYTES):
        n_bytes += len(piece)
        if n_bytes > most:
            raise UserError(
                f"dataset.path={str(file)!r} holds more than {format_bytes(most)} when it is decompressed, which is "
                f"more than {MAX_EXPANSION} times its size or half of the memory; decompress the file, and give that "
                "one."
            )
        pieces.append(piece)
    return b"".join(pieces)


def require_memory_for_cells(n_rows: int, n_columns: int, file: Path) -> None:
    """Reject a table whose cells would need more memory than the machine has.

    Parameters
    ----------
    n_rows, n_columns : int
        As the file says.
    file : Path

    Raises
    ------
    UserError
    """
    n_bytes = BYTES_OF_CELL * n_rows * n_columns
    if n_bytes > read_machine_bytes():
        raise UserError(
            f"dataset.path={str(file)!r} says that it holds {n_rows:,} rows of {n_columns:,} columns, which need "
            f"{format_bytes(n_bytes)}; this machine has {format_bytes(read_machine_bytes())}. Give a part of the table."
        )
