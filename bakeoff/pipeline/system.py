"""What not every system offers: signals that a process holds back, forks, locks of the bytes of a file, and users.

Python lacks the names of these on Windows, so the other modules look here and never at the name of the system.
"""

from __future__ import annotations

import os
import signal
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any


def find_signals(*names: str) -> tuple[signal.Signals, ...]:
    """Return those of the named signals that this system has."""
    return tuple(getattr(signal, name) for name in names if hasattr(signal, name))


def _find_module(name: str) -> Any:
    """Return a module of some systems; None on the others."""
    try:
        return import_module(name)
    except ImportError:
        return None


STOPPING_SIGNALS = find_signals("SIGINT", "SIGTERM", "SIGHUP")
ALARM_SIGNALS = find_signals("SIGALRM")
HAS_FORK = hasattr(os, "fork")
PLAIN_FILE = sum(getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_BINARY"))
"""Flags with which `os.open` follows no link, waits for no reader of a pipe, and leaves the ends of lines alone."""
OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
POSIX_LOCKS = _find_module("fcntl")
WINDOWS_LOCKS: Any = None if POSIX_LOCKS else _find_module("msvcrt")
WINDOWS_PROCESSES: Any = None if POSIX_LOCKS else _find_module("_winapi")
SYNCHRONIZE = 0x100000
"""The right to wait for a process of Windows."""
LOCK_OFFSET = 2**30
"""On Windows, nobody can read bytes that are locked, so bytes this far behind them are locked in their place."""


@contextmanager
def hold_signals(numbers: Sequence[int]) -> Iterator[None]:
    """Hold signals back until the block has ended, where the system can."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    earlier = signal.pthread_sigmask(signal.SIG_BLOCK, numbers)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, earlier)


def receive_signals() -> None:
    """Receive the signals that the process which started this one holds back."""
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, STOPPING_SIGNALS)


def call_before_fork(function: Callable[[], None]) -> None:
    """Call a function before each copy of this process is made."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(before=function)


def find_user() -> int:
    """Return the id of the user; 0, as in the status of each file, on a system that does not number its users."""
    return os.geteuid() if hasattr(os, "geteuid") else 0


def is_own(status: os.stat_result) -> bool:
    """Return whether a file or a folder, which may be in a folder of several users, belongs to this user alone."""
    return status.st_uid == find_user() and not status.st_mode & OTHERS_WRITE


def read_own_file(path: Path, most: int = 1 << 28) -> bytes:
    """Return the content of a file that belongs to this user alone; empty if it does not, or has too many bytes.

    Raises
    ------
    OSError
        There is no such file, or it is a link.
    """
    with open(os.open(path, os.O_RDONLY | PLAIN_FILE), "rb") as file:
        status = os.fstat(file.fileno())
        return file.read() if is_own(status) and status.st_size <= most else b""


def has_process(pid: int) -> bool:
    """Return whether this machine has a process with this id.

    Examples
    --------
    >>> has_process(os.getpid())
    True
    """
    try:
        if WINDOWS_PROCESSES is None:
            os.kill(pid, 0)
            return True
        handle = WINDOWS_PROCESSES.OpenProcess(SYNCHRONIZE, False, pid)
    except PermissionError:  # a process of another user
        return True
    except (OSError, OverflowError):
        return False
    try:
        return bool(WINDOWS_PROCESSES.WaitForSingleObject(handle, 0) == WINDOWS_PROCESSES.WAIT_TIMEOUT)
    finally:
        WINDOWS_PROCESSES.CloseHandle(handle)


def lock_bytes(file: int, length: int, offset: int) -> bool:
    """Lock bytes of an open file for this process, unless another one holds them, and return whether it did."""
    try:
        if POSIX_LOCKS is None:
            _seek(file, offset + LOCK_OFFSET)
            WINDOWS_LOCKS.locking(file, WINDOWS_LOCKS.LK_NBLCK, length)
        else:
            POSIX_LOCKS.lockf(file, POSIX_LOCKS.LOCK_EX | POSIX_LOCKS.LOCK_NB, length, offset)
    except (BlockingIOError, PermissionError):
        return False
    return True


def unlock_bytes(file: int, length: int, offset: int) -> None:
    """Unlock bytes that `lock_bytes` has locked."""
    if POSIX_LOCKS is None:
        _seek(file, offset + LOCK_OFFSET)
        WINDOWS_LOCKS.locking(file, WINDOWS_LOCKS.LK_UNLCK, length)
    else:
        POSIX_LOCKS.lockf(file, POSIX_LOCKS.LOCK_UN, length, offset)


def read_bytes(file: int, length: int, offset: int) -> bytes:
    """Return bytes of an open file; fewer where it ends before."""
    if hasattr(os, "pread"):
        return os.pread(file, length, offset)
    _seek(file, offset)
    return os.read(file, length)


def write_bytes(file: int, content: bytes, offset: int) -> None:
    """Write bytes of an open file."""
    if hasattr(os, "pwrite"):
        os.pwrite(file, content, offset)
    else:
        _seek(file, offset)
        os.write(file, content)


def _seek(file: int, offset: int) -> None:
    os.lseek(file, offset, os.SEEK_SET)
