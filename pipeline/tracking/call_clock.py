"""The time of one call of a store, which files may extend."""

from __future__ import annotations

import time
from collections.abc import Callable

MIN_BYTES_PER_SECOND = 100_000
"""Transfers of files have a second more for each of these amounts."""
POLL_SECONDS = 0.25


class CallClock:
    """The time of a call.

    Parameters
    ----------
    limit : float
        In seconds.
    counted : callable or None
        The bytes of files, which give the call more time.
    """

    def __init__(self, limit: float, counted: Callable[[], int] | None) -> None:
        self.limit = limit
        self._counted = counted
        self._start = time.monotonic()

    @property
    def seconds(self) -> float:
        """The time so far."""
        return time.monotonic() - self._start

    @property
    def seconds_left(self) -> float:
        """The time until the call is given up; 0 when it is over."""
        n_bytes = 0 if self._counted is None else self._counted()
        return max(0.0, self.limit + n_bytes / MIN_BYTES_PER_SECOND - self.seconds)

    @property
    def next_pause(self) -> float:
        """The time until the files are counted again, or the call is given up."""
        return self.seconds_left if self._counted is None else min(self.seconds_left, POLL_SECONDS)
