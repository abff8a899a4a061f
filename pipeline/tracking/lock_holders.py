"""Which processes of this machine hold a lock on a SQLite file."""

from __future__ import annotations

import os
from pathlib import Path

LOCKS = Path("/proc/locks")
"""The locks that the kernel of Linux knows: number, kind, mode, access, process, device:inode, first and last byte."""
WRITE_ACCESS = "WRITE"
FIELD_COUNT = 8
SUFFIXES = ("", "-shm", "-wal", "-journal")
"""SQLite locks bytes of the database or, with a write-ahead log, of the file of shared memory beside it."""


def describe_holders(path: Path) -> str:
    """Return the processes that lock a SQLite file for writing, such as ``process 41 (python)``; empty if unknown.

    The file is not opened: closing it would release the locks that this process holds on it.

    Parameters
    ----------
    path : Path
    """
    inodes = {inode for suffix in SUFFIXES if (inode := _find_inode(Path(f"{path}{suffix}"))) is not None}
    try:
        lines = LOCKS.read_text().splitlines()
    except OSError:
        return ""
    holders = {_read_holder(line.split(), inodes) for line in lines} - {None, os.getpid()}
    return ", ".join(f"process {pid}{_find_name(pid)}" for pid in sorted(pid for pid in holders if pid))


def _read_holder(fields: list[str], inodes: set[int]) -> int | None:
    """Return the process of a line of `LOCKS`, if it locks one of these files for writing."""
    if len(fields) != FIELD_COUNT or fields[3] != WRITE_ACCESS:
        return None
    inode = int(fields[5].rpartition(":")[2])
    return int(fields[4]) if inode in inodes else None


def _find_inode(path: Path) -> int | None:
    try:
        return path.stat().st_ino
    except OSError:
        return None


def _find_name(pid: int) -> str:
    """Return the name of a program in brackets; not its arguments, which may hold a secret."""
    try:
        return f" ({Path(f'/proc/{pid}/comm').read_text().strip()})"
    except OSError:
        return ""
