"""A heartbeat: while a run lasts, it says from time to time that it is alive."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress

from bakeoff.pipeline.tracking.history import HEARTBEAT_SECONDS


class Heartbeat:
    """Calls a function after some seconds, then every so many, until it is stopped; shorter runs never hear it.

    Parameters
    ----------
    beat : callable
        What it raises is forgotten: a store that cannot be reached for a minute does not end a run.
    seconds : float
    first : float, optional
        Until the first call, where that is another time.
    """

    def __init__(
        self, beat: Callable[[], None], seconds: float = HEARTBEAT_SECONDS, first: float | None = None
    ) -> None:
        self._beat = beat
        self._first = seconds if first is None else first
        self._seconds = seconds
        self._stopped = threading.Event()
        threading.Thread(target=self._go, name="heartbeat", daemon=True).start()

    def stop(self) -> None:
        """End it."""
        self._stopped.set()

    def _go(self) -> None:
        seconds = self._first
        while not self._stopped.wait(seconds):
            seconds = self._seconds
            with suppress(Exception):
                self._beat()
