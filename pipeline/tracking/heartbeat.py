"""Whether the process of a run is alive: on this machine by its id, on another by its heartbeat.

Wall clocks are not used, because they differ between machines and may be adjusted during a run. A process on this
machine is identified by the boot of the machine and its start. A process on another machine counts as dead when its
heartbeat has not changed for a while, by the monotonic clock of this machine.
"""

from __future__ import annotations

import json
import os
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Any

from bakeoff.pipeline.tracking.store import Store

CACHE_VARIABLE = "XDG_CACHE_HOME"
DEFAULT_CACHE = "~/.cache"
OWN_CACHE = "bakeoff"
OWNER_FOLDER = 0o700
OWNER_FILE = 0o600
DIGEST_BYTES = 8
HEARTBEAT_SECONDS = 60.0
"""The interval at which a run updates its tag ``heartbeat`` in the store."""
MAX_SILENT_SECONDS = 15 * HEARTBEAT_SECONDS
"""The time without a new heartbeat after which a run on another machine counts as dead."""
MAX_CLOCK_ERROR_SECONDS = 24 * 3600.0
"""The age of a heartbeat at which no difference between clocks explains it: the run counts as dead at first sight."""
FOLDER = "heartbeats"
STATE_FIELD = 0
START_FIELD = 19
"""Positions in the result of `_read_status`."""
ZOMBIE = "Z"
BOOT_FILE = Path("/proc/sys/kernel/random/boot_id")
PROCESS_TAG = "process"
"""The tag that distinguishes the process of a run from a later one with the same id."""
THREAD_PREFIX = "heartbeat "
"""The prefix of the name of a thread, before the id of its run."""


class Heartbeat:
    """Calls a function at regular intervals, in a separate thread, until it is stopped.

    Parameters
    ----------
    beat : callable
        A function whose exceptions are ignored: a store that is unreachable for a minute does not end a run.
    first : float
        The seconds until the first call.
    owner : str
        The id of the run.
    """

    def __init__(self, beat: Callable[[], None], first: float, owner: str) -> None:
        self._beat = beat
        self._first = first
        self._stopped = threading.Event()
        threading.Thread(target=self._run, name=f"{THREAD_PREFIX}{owner}", daemon=True).start()

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
    """The sign of life that a process has written.

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

    def is_gone(self, place: str, name: str) -> bool:
        """Whether the process has ended.

        Parameters
        ----------
        place : str
            The store or the study that contains the sign.
        name : str
            The name that distinguishes it from other signs there.
        """
        if self.host == socket.gethostname():
            return not is_process_alive(self.pid, self.identity)
        is_ancient = time.time() - self.beat > MAX_CLOCK_ERROR_SECONDS
        seen = name_file(f"{place} {name}")
        return is_ancient or read_even_clock() - find_first_look(seen, read_boot(), self.beat) >= MAX_SILENT_SECONDS


def has_lost_process(store: Store, run: Any) -> bool:
    """Whether the process of an MLflow run has ended without ending the run."""
    tags = run.data.tags
    try:
        sign = ProcessSign(
            host=tags.get("host"),
            pid=int(tags.get("pid", 0)),
            beat=float(tags.get("heartbeat", 0)),
            identity=tags.get(PROCESS_TAG, ""),
        )
    except ValueError:  # the tags were written by another program, which owns the run
        return False
    run_id = str(run.info.run_id)
    if sign.is_own:  # a program or a notebook, whose earlier run could not be ended when its store was lost
        return all(thread.name != f"{THREAD_PREFIX}{run_id}" for thread in threading.enumerate())
    return sign.is_gone(store.uri, run_id)


def name_file(text: str) -> Path:
    """Return the file in which this machine notes when it first saw a heartbeat."""
    digest = blake2b(text.encode(), digest_size=DIGEST_BYTES).hexdigest()
    return find_cache() / FOLDER / f"{digest}.json"


@cache
def find_first_look(file: Path, boot: str, beat: float) -> float:
    """Return the monotonic time when this machine first saw a heartbeat: now, unless an earlier command noted it.

    Parameters
    ----------
    file : Path
        The file in which the time is noted for the next command; if it cannot be written, only this process knows it.
    boot : str
        The identity of this boot of the machine.
    beat : float
    """
    now = read_even_clock()
    with suppress(OSError, ValueError, TypeError, KeyError):
        noted = json.loads(file.read_text())
        # Where a system does not tell its starts from one another, the clock of an earlier one may have been further.
        if (noted["boot"], noted["beat"]) == (boot, beat) and noted["first"] <= now:
            return float(noted["first"])
    with suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True, mode=OWNER_FOLDER)
        draft = file.with_suffix(f".{os.getpid()}")
        draft.write_text(json.dumps({"boot": boot, "beat": beat, "first": now}))
        draft.chmod(OWNER_FILE)
        draft.replace(file)
    return now


def find_cache() -> Path:
    """Return the folder of the user for data outside of stores."""
    return Path(os.environ.get(CACHE_VARIABLE) or DEFAULT_CACHE).expanduser() / OWN_CACHE


def read_even_clock() -> float:
    """Return the seconds since the machine was booted, by a clock that cannot be set."""
    clock = getattr(time, "CLOCK_BOOTTIME", None)
    return time.monotonic() if clock is None else time.clock_gettime(clock)


@cache
def read_boot() -> str:
    """Return the identity of this boot of the machine; empty if the system does not provide one."""
    try:
        return BOOT_FILE.read_text().strip()
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
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:  # a process of another user
        pass
    fields = _read_status(pid)
    is_zombie = bool(fields) and fields[STATE_FIELD] == ZOMBIE
    # On systems without /proc, neither has an identity, and only the id is compared.
    return identity == identify_process(pid) and not is_zombie


def _read_status(pid: int) -> list[str]:
    """Return the fields of proc(5) from the third on: the second, in brackets, may contain spaces and brackets."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []
