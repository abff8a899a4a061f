"""How the jobs of a sweep are run together: keys of the command line that are no part of any job."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bakeoff.pipeline.errors import UserError, did_you_mean

SEARCHES = ("none", "zip", "grid", "random")


@dataclass(frozen=True)
class SweepOptions:
    """How the jobs of a sweep are run together.

    Attributes
    ----------
    resume : bool
        Leave out what is FINISHED in the store.
    workers : int
        Processes on this machine.
    timeout : float or None
        Seconds that a job may take.
    on_error : str
        ``continue``, ``stop``, or ``stop_after:N``.
    on_invalid : {"stop", "skip"}
    dry_run : bool
    search : mapping
        ``method``, and for ``random`` also ``n`` and ``seed``.
    """

    resume: bool
    workers: int
    timeout: float | None
    on_error: str
    on_invalid: str
    dry_run: bool
    search: Mapping[str, Any]

    def __post_init__(self) -> None:
        if self.workers < 1:
            raise UserError(f"workers={self.workers} must be a whole number from 1.")
        if self.timeout is not None and not self.timeout > 0:
            raise UserError(f"timeout={self.timeout} must be a positive number of seconds, or null.")
        if self.on_invalid not in ("stop", "skip"):
            raise UserError(f"on_invalid={self.on_invalid!r}: {did_you_mean(self.on_invalid, ('stop', 'skip'))}")
        method = str(self.search.get("method"))
        if method not in SEARCHES:
            raise UserError(f"search.method={method!r}: {did_you_mean(method, SEARCHES)}")
        n = self.search.get("n", 1)
        if isinstance(n, bool) or not isinstance(n, int) or n < 1:
            raise UserError(f"search.n={n!r} must be a whole number from 1.")
        assert self.failures_allowed is None or self.failures_allowed >= 0

    @property
    def failures_allowed(self) -> int | None:
        """The number of failures that end the sweep; None: all are borne."""
        word, _, count = self.on_error.partition(":")
        if word == "continue" and not count:
            return None
        if word == "stop" and not count:
            return 1
        if word == "stop_after" and count.isdigit() and int(count) > 0:
            return int(count)
        raise UserError(f"on_error={self.on_error!r} must be continue, stop, or stop_after:N with N from 1.")
