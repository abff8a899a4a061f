"""The heartbeat of a run: at regular intervals it writes to the store that its process is alive."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress

from bakeoff.pipeline.tracking.process_signs import HEARTBEAT_SECONDS

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
