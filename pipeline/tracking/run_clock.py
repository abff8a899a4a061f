"""The time of a run, which goes on evenly when the clock of the machine is set."""

from __future__ import annotations

import time

MILLISECONDS_PER_SECOND = 1000


class RunClock:
    """Starts with the clock of the machine, and then counts.

    Of two values of a metric MLflow shows the one with the later time, and a heartbeat must change: neither may depend
    on a clock that is set back while the run is fitted.
    """

    def __init__(self) -> None:
        self._start = time.time()
        self._start_count = time.monotonic()

    @property
    def seconds(self) -> float:
        """Seconds since 1970."""
        return self._start + time.monotonic() - self._start_count

    @property
    def milliseconds(self) -> int:
        """Milliseconds since 1970."""
        return int(self.seconds * MILLISECONDS_PER_SECOND)
