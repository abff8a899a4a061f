"""The keys of a whole sweep, which belong to no job."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hydra.core.override_parser.types import Override
from omegaconf import DictConfig, OmegaConf

from bakeoff.pipeline.config.words import SWEEP_KEYS
from bakeoff.pipeline.errors import UserError, did_you_mean

SEARCH_METHODS = ("none", "zip", "grid", "random")
SPACE_METHODS = ("grid", "random")
"""The values of ``search.method`` that read the space of a learner."""
ON_INVALID = ("stop", "skip")
ON_ERROR = ("continue", "stop")


@dataclass(frozen=True)
class SweepOptions:
    """Options for making and running the jobs of a sweep.

    Attributes
    ----------
    resume : bool
        Whether to skip jobs that are FINISHED in the store.
    workers : int
        The number of processes on this machine.
    timeout : float or None
        The time limit of a job in seconds.
    on_error : str
        ``continue`` after a failed job, or ``stop``.
    on_invalid : {"stop", "skip"}
    dry_run : bool
        Whether to show the plan and run nothing.
    max_jobs : int
        The maximum number of jobs.
    method : str
        A name in `SEARCH_METHODS`: how the jobs are chosen.
    n, seed : int
        The number of random points, and their seed.
    """

    resume: bool
    workers: int
    timeout: float | None
    on_error: str
    on_invalid: str
    dry_run: bool
    max_jobs: int
    method: str
    n: int
    seed: int

    @classmethod
    def read(cls, master: DictConfig) -> SweepOptions:
        """Return the options in the configuration of a sweep.

        Parameters
        ----------
        master : DictConfig

        Raises
        ------
        UserError
            An option is missing or invalid.
        """
        options: Any = OmegaConf.to_container(OmegaConf.masked_copy(master, list(SWEEP_KEYS)), resolve=True)
        missing = [key for key in SWEEP_KEYS if key not in options]
        if missing:
            raise UserError(f"{missing[0]} cannot be removed, because every sweep needs it; leave ~{missing[0]} out.")
        search = options.pop("search") or {}
        return cls(
            **options, method=str(search.get("method", "none")), n=search.get("n", 1), seed=search.get("seed", 0)
        )

    def __post_init__(self) -> None:
        numbers = (
            ("max_jobs", self.max_jobs, self.max_jobs >= 1, "a positive number of jobs"),
            ("workers", self.workers, self.workers >= 1, "a positive integer"),
            ("timeout", self.timeout, self.timeout is None or self.timeout > 0, "a positive number of seconds or null"),
            ("search.n", self.n, _is_whole(self.n, least=1), "a positive integer"),
            ("search.seed", self.seed, _is_whole(self.seed, least=0), "an integer of at least 0"),
        )
        for key, value, is_valid, need in numbers:
            if not is_valid:
                raise UserError(f"{key}={value!r} must be {need}.")
        names = (
            ("on_error", self.on_error, ON_ERROR),
            ("on_invalid", self.on_invalid, ON_INVALID),
            ("search.method", self.method, SEARCH_METHODS),
        )
        for key, name, allowed in names:
            if name not in allowed:
                raise UserError(f"{key}={name!r} is not allowed. {did_you_mean(name, allowed)}")

    @property
    def skips_invalid(self) -> bool:
        """Whether invalid jobs are skipped instead of refusing the whole sweep."""
        return self.on_invalid == "skip"

    @property
    def needs_workers(self) -> bool:
        """Whether jobs run in separate processes, which allows jobs with a time limit to be killed."""
        return self.workers > 1 or self.timeout is not None


def _is_whole(value: Any, least: int) -> bool:
    """Whether a value is a whole number; Booleans, which are integers in Python, are not."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


def require_single_values(overrides: Sequence[Override]) -> None:
    """Reject several values of a key of the whole sweep.

    Parameters
    ----------
    overrides : sequence of Override
        Those that compose the sweep itself.

    Raises
    ------
    UserError
    """
    for override in overrides:
        key = override.key_or_group
        if override.is_sweep_override() and key.split(".")[0] in SWEEP_KEYS:
            raise UserError(f"{override.input_line}: {key} is a key of the whole sweep; give it a single value.")
