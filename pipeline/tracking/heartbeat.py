"""Whether the process of a run is alive: on this machine by its id, on another by its heartbeat.

No clock that can be set decides: two machines differ, and a clock is put right while runs are fitted. A process of this
machine is recognised by the boot of the machine and its place in it. That of another counts as dead when its heartbeat
has not changed for a while by the clock of this machine that counts from its start, whatever time it names.
"""

from __future__ import annotations

import json
import os
import socket
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b
from pathlib import Path

CACHE_VARIABLE = "XDG_CACHE_HOME"
DEFAULT_CACHE = "~/.cache"
OWN_CACHE = "bakeoff"
OWNER_FOLDER = 0o700
DIGEST_BYTES = 8
HEARTBEAT_SECONDS = 60.0
"""The interval at which a run writes to the store, in its tag ``heartbeat``, that it is alive."""
MAX_SILENT_SECONDS = 15 * HEARTBEAT_SECONDS
"""How long this machine sees the same heartbeat until the run on another machine counts as dead."""
MAX_CLOCK_ERROR_SECONDS = 24 * 3600.0
"""The age of a heartbeat at which no difference between clocks explains it: the run counts as dead at first sight."""
FOLDER = "heartbeats"
STATE_FIELD = 0
START_FIELD = 19
"""Positions in what `_read_status` returns."""
ZOMBIE = "Z"
BOOT_FILE = Path("/proc/sys/kernel/random/boot_id")


@dataclass(frozen=True)
class ProcessSign:
    """What a process has written of itself.

    Attributes
    ----------
    host : str or None
    pid : int
    beat : float
        Its last heartbeat, in seconds since 1970.
    identity : str
        From `identify_process`.
    """

    host: str | None
    pid: int
    beat: float
    identity: str

    @property
    def is_own(self) -> bool:
        """Whether it is the process that asks."""
        is_same = self.pid == os.getpid() and self.identity == identify_process(self.pid)
        return is_same and self.host == socket.gethostname()

    def is_gone(self, place: str, name: str) -> bool:
        """Whether the process has ended.

        Parameters
        ----------
        place : str
            The store or the study that holds the sign.
        name : str
            What tells it from the other signs there.
        """
        if self.host == socket.gethostname():
            return not is_process_alive(self.pid, self.identity)
        is_ancient = time.time() - self.beat > MAX_CLOCK_ERROR_SECONDS
        return is_ancient or _open_silences(place).has_lasted(name, self.beat, MAX_SILENT_SECONDS)


class Silences:
    """Since when the heartbeats of other machines have not changed, as this machine has seen them.

    Parameters
    ----------
    file : Path
        Keeps what was seen for the next command.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        self._seen: dict[str, tuple[float, float]] = {}

    def has_lasted(self, name: str, beat: float, seconds: float) -> bool:
        """Whether a heartbeat has been the same for some time.

        Parameters
        ----------
        name : str
            Whose heartbeat it is.
        beat : float
        seconds : float
        """
        now = read_even_clock()
        known = self._seen.get(name) or self._read().get(name)
        is_same = known is not None and known[0] == beat and known[1] <= now
        if known is None or not is_same:
            self._seen[name] = (beat, now)
            self._write()
            return False
        self._seen[name] = known
        return now - known[1] >= seconds

    def _read(self) -> dict[str, tuple[float, float]]:
        """Return what was seen since the machine was started; nothing if the file cannot be read."""
        with suppress(OSError, ValueError, KeyError, TypeError, AttributeError):
            stored = json.loads(self._file.read_text())
            if stored["boot"] == read_boot():
                return {str(name): (float(beat), float(first)) for name, (beat, first) in stored["seen"].items()}
        return {}

    def _write(self) -> None:
        # A file that cannot be written is known to this process alone.
        with suppress(OSError):
            self._file.parent.mkdir(parents=True, exist_ok=True, mode=OWNER_FOLDER)
            text = json.dumps({"boot": read_boot(), "seen": {**self._read(), **self._seen}})
            descriptor, draft = tempfile.mkstemp(dir=self._file.parent)
            with os.fdopen(descriptor, "w") as file:
                file.write(text)
            os.replace(draft, self._file)


def find_cache() -> Path:
    """Return the folder of the user in which bakeoff keeps what no store holds."""
    return Path(os.environ.get(CACHE_VARIABLE) or DEFAULT_CACHE).expanduser() / OWN_CACHE


@cache
def _open_silences(place: str) -> Silences:
    """Return what this machine has seen of a store or study."""
    name = blake2b(place.encode(), digest_size=DIGEST_BYTES).hexdigest()
    return Silences(find_cache() / FOLDER / f"{name}.json")


def read_even_clock() -> float:
    """Return seconds since the machine was started, which nobody can set."""
    clock = getattr(time, "CLOCK_BOOTTIME", None)
    return time.monotonic() if clock is None else time.clock_gettime(clock)


@cache
def read_boot() -> str:
    """Return what tells this start of the machine from others; empty where the system does not say."""
    try:
        return BOOT_FILE.read_text().strip()
    except OSError:
        return ""


def identify_process(pid: int) -> str:
    """Return what tells a process from a later one with the same id; empty where the system does not say."""
    fields = _read_status(pid)
    return f"{read_boot()} {fields[START_FIELD]}" if fields else ""


def is_process_alive(pid: int, identity: str) -> bool:
    """Whether a process on this machine is alive, and is not a later one that was given the same id.

    Parameters
    ----------
    pid : int
    identity : str
        From `identify_process`.

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
    # Where the system has no /proc, neither has an identity, and the id alone decides.
    return identity == identify_process(pid) and not is_zombie


def _read_status(pid: int) -> list[str]:
    """Return the fields of proc(5) from the third on: the second, in brackets, may contain spaces and brackets."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


THREAD_PREFIX = "heartbeat "
"""What the name of a thread begins with; its owner follows."""


class Heartbeat:
    """Calls a function at regular intervals, in a thread of its own, until it is stopped.

    Parameters
    ----------
    beat : callable
        Its exceptions are ignored: a store that cannot be reached for a minute does not end a run.
    seconds : float
        The interval.
    first : float, optional
        The time until the first call, if it differs from the interval.
    owner : str
        What is alive as long as the heartbeat is, such as the id of a run.
    """

    def __init__(
        self,
        beat: Callable[[], None],
        seconds: float = HEARTBEAT_SECONDS,
        first: float | None = None,
        owner: str = "",
    ) -> None:
        self._beat = beat
        self._first = seconds if first is None else first
        self._seconds = seconds
        self._stopped = threading.Event()
        threading.Thread(target=self._run, name=f"{THREAD_PREFIX}{owner}", daemon=True).start()

    def stop(self) -> None:
        """Make no further calls."""
        self._stopped.set()

    def _run(self) -> None:
        seconds = self._first
        while not self._stopped.wait(seconds):
            seconds = self._seconds
            with suppress(Exception):
                self._beat()


def is_beating(owner: str) -> bool:
    """Whether this process has a heartbeat of an owner."""
    return any(thread.name == f"{THREAD_PREFIX}{owner}" for thread in threading.enumerate())
