"""The keys of a sweep: they define how its jobs are made and run together, and are not part of any job."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bakeoff.pipeline.errors import UserError, did_you_mean

SEARCH_METHODS = ("none", "zip", "grid", "random")
ON_INVALID = ("stop", "skip")
DEFAULT_MAX_JOBS = 100_000


@dataclass(frozen=True)
class SweepOptions:
    """How the jobs of a sweep are made and run together.

    Attributes
    ----------
    resume : bool
        Whether to skip jobs that are FINISHED in the store.
    workers : int
        The number of processes on this machine.
    timeout : float or None
        The time limit of a job in seconds.
    on_error : str
        ``continue``, ``stop``, or ``stop_after:N``.
    on_invalid : {"stop", "skip"}
    dry_run : bool
        Whether to show the plan and run nothing.
    search : mapping
        ``method``, and for ``random`` also ``n`` and ``seed``.
    max_jobs : int
        The largest number of jobs that are made.
    """

    resume: bool
    workers: int
    timeout: float | None
    on_error: str
    on_invalid: str
    dry_run: bool
    search: Mapping[str, Any]
    max_jobs: int = DEFAULT_MAX_JOBS

    def __post_init__(self) -> None:
        if self.max_jobs < 1:
            raise UserError(f"max_jobs={self.max_jobs} must be a positive number of jobs.")
        if self.workers < 1:
            raise UserError(f"workers={self.workers} must be a positive integer.")
        if self.timeout is not None and not self.timeout > 0:
            raise UserError(f"timeout={self.timeout} must be a positive number of seconds, or null.")
        if self.on_invalid not in ON_INVALID:
            raise UserError(
                f"on_invalid={self.on_invalid!r} is not allowed. {did_you_mean(self.on_invalid, ON_INVALID)}"
            )
        method = str(self.search.get("method"))
        if method not in SEARCH_METHODS:
            raise UserError(f"search.method={method!r} is not a method. {did_you_mean(method, SEARCH_METHODS)}")
        # A bool is an int in Python, and search.n=true is an error all the same.
        n = self.search.get("n", 1)
        if isinstance(n, bool) or not isinstance(n, int) or n < 1:
            raise UserError(f"search.n={n!r} must be a positive integer.")
        seed = self.search.get("seed", 0)
        if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
            raise UserError(f"search.seed={seed!r} must be a whole number from 0.")
        _ = self.max_failures  # which checks on_error

    @property
    def max_failures(self) -> int | None:
        """The number of failures that ends the sweep; None if it continues after any number."""
        word, _, count = self.on_error.partition(":")
        if word == "continue" and not count:
            return None
        if word == "stop" and not count:
            return 1
        if word == "stop_after" and count.isdigit() and int(count) > 0:
            return int(count)
        raise UserError(f"on_error={self.on_error!r} must be continue, stop, or stop_after:N with N at least 1.")
