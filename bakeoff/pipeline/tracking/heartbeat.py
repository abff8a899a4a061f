"""Whether the process of a run is alive, determined by its id on this machine and by its heartbeat on another.

A process on this machine is identified by the boot of the machine and its start time. A process on another machine
counts as dead if its last heartbeat is older than `MAX_SILENT_SECONDS`. If the clocks of two machines differ by more, a
live run is marked as ended in the store, but still stores its results when it finishes.
"""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from bakeoff.pipeline.system import has_process

if TYPE_CHECKING:
    from bakeoff.pipeline.tracking.stored_runs import StoredRun

HEARTBEAT_SECONDS = 60.0
"""The interval at which a run updates its tag ``heartbeat`` in the store."""
MAX_SILENT_SECONDS = 15 * HEARTBEAT_SECONDS
"""The age of a heartbeat at which a run on another machine counts as dead."""
STATE_FIELD = 0
START_FIELD = 19
"""Positions in the result of `_read_status`."""
ZOMBIE = "Z"
BOOT_FILE = Path("/proc/sys/kernel/random/boot_id")
THREAD_PREFIX = "heartbeat "
"""The prefix of the name of a thread, before the id of its run."""
PROCESS_TAG = "process"
"""The tag that distinguishes the process of a run from a later one with the same id."""


class Heartbeat:
    """Calls a function at regular intervals, in a separate thread, until it is stopped.

    Parameters
    ----------
    beat : callable
        A function whose exceptions are ignored, so a store that is unreachable for a minute does not end a run.
    first : float
        The seconds until the first call.
    run_id : str
        The run that is alive as long as the thread.
    """

    def __init__(self, beat: Callable[[], None], first: float, run_id: str) -> None:
        self._beat = beat
        self._first = first
        self._stopped = threading.Event()
        threading.Thread(target=self._run, name=f"{THREAD_PREFIX}{run_id}", daemon=True).start()

    def stop(self) -> None:
        """Stop calling the function."""
        self._stopped.set()

    def _run(self) -> None:
        seconds = self._first
        while not self._stopped.wait(seconds):
            seconds = HEARTBEAT_SECONDS
            with suppress(Exception):
                self._beat()


@dataclass(frozen=True)
class ProcessSign:
    """The sign of life written by a process.

    Attributes
    ----------
    host : str or None
    pid : int
    beat : float
        Its last heartbeat, in seconds since 1970.
    identity : str
        The result of `identify_process`.
    """

    host: str | None
    pid: int
    beat: float
    identity: str

    @property
    def is_own(self) -> bool:
        """Whether the sign belongs to the current process."""
        is_same = self.pid == os.getpid() and self.identity == identify_process(self.pid)
        return is_same and self.host == socket.gethostname()

    @property
    def is_gone(self) -> bool:
        """Whether the process has ended."""
        is_here = self.host == socket.gethostname()
        is_dead = is_here and not is_process_alive(self.pid, self.identity)
        # Without an identity, a process that is alive here may be a later one with the same id.
        if is_dead or (is_here and self.identity):
            return is_dead
        return time.time() - self.beat > MAX_SILENT_SECONDS


def has_lost_process(run: StoredRun) -> bool:
    """Whether the process of a run that bakeoff wrote has ended without ending the run."""
    sign = ProcessSign(
        host=run.tags.get("host"),
        pid=int(run.tags.get("pid", 0)),
        beat=float(run.tags.get("heartbeat", 0)),
        identity=run.tags.get(PROCESS_TAG, ""),
    )
    if sign.is_own:  # a program or notebook whose earlier run could not be ended when its store was lost
        return all(thread.name != f"{THREAD_PREFIX}{run.run_id}" for thread in threading.enumerate())
    return sign.is_gone


@cache
def read_boot() -> str:
    """Return the identity of this boot of the machine; empty if the system does not provide one."""
    try:
        return BOOT_FILE.read_text(encoding="ascii").strip()
    except OSError:
        return ""


def identify_process(pid: int) -> str:
    """Return a text that distinguishes a process from a later one with the same id; empty if there is none."""
    fields = _read_status(pid)
    return f"{read_boot()} {fields[START_FIELD]}" if fields else ""


def is_process_alive(pid: int, identity: str) -> bool:
    """Whether a process on this machine is alive, and is not a later one with the same id.

    Parameters
    ----------
    pid : int
    identity : str
        The result of `identify_process`.

    Examples
    --------
    >>> is_process_alive(os.getpid(), identify_process(os.getpid())), is_process_alive(os.getpid(), "another start")
    (True, False)
    """
    if not has_process(pid):
        return False
    fields = _read_status(pid)
    is_zombie = bool(fields) and fields[STATE_FIELD] == ZOMBIE
    # On systems without /proc, neither has an identity, and only the id is compared.
    return identity == identify_process(pid) and not is_zombie


def _read_status(pid: int) -> list[str]:
    """Return the fields of proc(5) from the third on: the second, in brackets, may contain spaces and brackets."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="latin-1").rpartition(")")[2].split()
    except OSError:
        return []
