"""The time that a job may take."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class TimedOut(BaseException):
    """A job exceeded its time limit; no ``except Exception`` in a learner catches it."""


@contextmanager
def limit_time(seconds: float | None) -> Iterator[None]:
    """Raise TimedOut in this thread after some seconds; None sets no limit."""
    if seconds is None:
        yield
        return

    def raise_timed_out(number: int, frame: Any) -> None:
        raise TimedOut(f"the job took longer than timeout={seconds:g} seconds")

    # Python calls the handler in the main thread, which is the one that runs the job.
    previous_handler = signal.signal(signal.SIGALRM, raise_timed_out)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous_handler)
