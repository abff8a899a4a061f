"""How a worker process starts: as a copy of this process where that is safe, else from a server process.

A copy has all modules that this process has imported, and takes a few milliseconds. The server process imports them
once more, which takes as long as a short run.
"""

from __future__ import annotations

import multiprocessing
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from multiprocessing import forkserver
from multiprocessing.connection import Connection
from pathlib import Path
from types import ModuleType
from typing import Any

from bakeoff.pipeline.tracking.models import preload_modules

PRELOAD_MODULE = "bakeoff.pipeline.sweep.worker_preload"
THREADS_FOLDER = Path("/proc/self/task")
"""Linux has a folder in it for each thread of this process, with the name of the thread."""
COPIED_THREADS = frozenset({"jemalloc_bg_thd"})
"""Threads that libraries start again in a copy: that of the memory allocator of Arrow, which pandas loads."""
HELD_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def can_copy_process() -> bool:
    """Return whether a copy of this process works.

    A copy has one thread, and would wait forever for a lock that another thread held. On macOS, libraries of the
    system do not work in it.
    """
    if sys.platform != "linux":
        return False
    return sum(name not in COPIED_THREADS for name in _list_threads()) == 1


def _list_threads() -> list[str]:
    """Return the names of the threads of this process."""
    names = []
    for folder in THREADS_FOLDER.iterdir():
        with suppress(FileNotFoundError, ProcessLookupError):  # the thread ended after its folder was listed
            names.append((folder / "comm").read_text().strip())
    return names


def prepare_server() -> None:
    """Start the server process, if it will be needed, so that it imports while this process does other work."""
    if not can_copy_process():
        _run_server()


def start_process(
    function: Callable[..., None],
    arguments: Sequence[Any],
    inherited: Sequence[Connection],
    disconnect: Callable[[], None],
) -> Any:
    """Start a process that calls a function, and return it.

    Parameters
    ----------
    function : callable
        Calls `receive_signals` when it is ready for them.
    arguments : sequence
        Of the function.
    inherited : sequence of Connection
        Passed as the last argument to a copy of this process, which has them as well.
    disconnect : callable
        Closes what a copy must not share, such as connections to a database.
    """
    if can_copy_process():
        context: Any = multiprocessing.get_context("fork")
        preload_modules()
        disconnect()
        arguments = (*arguments, inherited)
    else:
        context = _run_server()
    process = context.Process(target=function, args=arguments, daemon=True)
    # A signal that arrives halfway would leave a process that nobody ends, or be handled in the copy as it is here.
    previous = signal.pthread_sigmask(signal.SIG_BLOCK, HELD_SIGNALS)
    try:
        with _hidden_main_module():
            process.start()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, previous)
    return process


def receive_signals() -> None:
    """Let signals arrive in a process that was started, which has its own handlers now."""
    signal.pthread_sigmask(signal.SIG_UNBLOCK, HELD_SIGNALS)


def _run_server() -> Any:
    """Start the server process unless it runs already, and return the context that starts processes from it."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([PRELOAD_MODULE])
    with _hidden_main_module():
        forkserver.ensure_running()
    return context


@contextmanager
def _hidden_main_module() -> Iterator[None]:
    """Hide the main module from processes that start: they would run a script that calls bakeoff a second time."""
    main_module = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main_module
