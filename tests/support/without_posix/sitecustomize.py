"""A system like Windows, as far as Linux can be one: whoever imports bakeoff finds no name that POSIX alone has.

Python imports this module when it starts, so it holds in each process whose path has its folder, workers included. The
modules that Windows has instead are played by those of Linux. Other packages keep what they have found before.
"""

from __future__ import annotations

import asyncio  # noqa: F401
import os
import shutil  # noqa: F401
import signal
import subprocess  # noqa: F401
import sys
import warnings
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

import filelock  # noqa: F401

NAMES = {
    os: (
        "fork", "forkpty", "geteuid", "getuid", "O_CLOEXEC", "O_NOFOLLOW", "O_NONBLOCK", "pread", "pwrite",
        "register_at_fork", "sched_getaffinity",
    ),
    signal: ("SIGHUP", "SIGALRM", "setitimer", "alarm", "pthread_sigmask", "SIG_BLOCK", "SIG_UNBLOCK", "SIG_SETMASK"),
}  # fmt: skip
PASSED_ON = (__name__, "pathlib", "genericpath", "posixpath", "os")
"""Modules that look for a file on behalf of their caller."""
RUNNING = 258
"""What Windows returns for a process that has not ended."""


class Removal:
    """A finder that finds nothing; when bakeoff is imported first, it removes the names."""

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: Any = None) -> ModuleSpec | None:
        """Remove the names before bakeoff is imported."""
        if name == "bakeoff" and self in sys.meta_path:
            sys.meta_path.remove(self)
            remove_names()
        return None


def remove_names() -> None:
    """Remove the names, and hide the files in /proc."""
    modules: Any = sys.modules
    modules["msvcrt"] = make_locks()
    modules["_winapi"] = make_processes()
    for name in ("fcntl", "pwd"):
        modules[name] = None  # an import of it fails
    for module, names in NAMES.items():
        for name in names:
            delattr(module, name)
    hide_processes()
    # Windows reads files in another encoding than UTF-8 unless one is named.
    warnings.simplefilter("ignore", EncodingWarning)
    warnings.filterwarnings("error", category=EncodingWarning, module=r"bakeoff\.")


def make_locks() -> ModuleType:
    """Return a module that locks bytes at the position of a file, as ``msvcrt`` does.

    There, a process cannot lock its own bytes twice, and unlocks exactly the bytes that it has locked.
    """
    import fcntl

    lockf, LOCK_EX, LOCK_NB, LOCK_UN = fcntl.lockf, fcntl.LOCK_EX, fcntl.LOCK_NB, fcntl.LOCK_UN

    held: set[tuple[int, int, int]] = set()

    def locking(file: int, mode: int, length: int) -> None:
        place = (file, os.lseek(file, 0, os.SEEK_CUR), length)
        if (place in held) == (mode != LOCK_UN):
            raise PermissionError(13, "Permission denied")
        try:
            lockf(file, mode, length, place[1])
        except BlockingIOError:
            raise PermissionError(13, "Permission denied") from None
        held.symmetric_difference_update({place})

    module: Any = ModuleType("msvcrt")
    module.LK_NBLCK, module.LK_UNLCK, module.locking = LOCK_EX | LOCK_NB, LOCK_UN, locking
    return module


def make_processes() -> ModuleType:
    """Return a module that tells whether a process has ended, as ``_winapi`` does, and keep `os.kill` from telling."""
    kill = os.kill

    def open_process(rights: int, inherits: bool, pid: int) -> int:
        kill(pid, 0)
        return pid

    def send_signal(pid: int, number: int) -> None:
        if number == 0:
            raise OSError(22, "Windows would send Ctrl-C")
        kill(pid, number)

    os.kill = send_signal
    module: Any = ModuleType("_winapi")
    module.WAIT_TIMEOUT = RUNNING
    module.OpenProcess = open_process
    module.WaitForSingleObject = lambda handle, milliseconds: RUNNING
    module.CloseHandle = lambda handle: None
    return module


def hide_processes() -> None:
    """Hide what /proc tells from bakeoff, which opens its files, lists them, and looks whether they are there."""
    stat = os.stat

    def hide(event: str, arguments: tuple[Any, ...]) -> None:
        if event in ("open", "os.listdir", "os.scandir") and is_hidden(arguments[0]):
            raise FileNotFoundError(2, "No such file or directory", arguments[0])

    def stat_others(path: Any, **keys: Any) -> os.stat_result:
        if is_hidden(path):
            raise FileNotFoundError(2, "No such file or directory", path)
        return stat(path, **keys)

    os.stat = stat_others
    sys.addaudithook(hide)


def is_hidden(path: Any) -> bool:
    """Return whether bakeoff asks for a path that Windows and macOS lack; psutil, for example, asks for them too."""
    if not isinstance(path, str | os.PathLike) or not os.fspath(path).startswith("/proc"):
        return False
    frame = sys._getframe()
    while frame.f_back is not None and frame.f_globals["__name__"].partition(".")[0] in PASSED_ON:
        frame = frame.f_back
    return str(frame.f_globals["__name__"]).startswith("bakeoff.")


sys.meta_path.insert(0, Removal())
