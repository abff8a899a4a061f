"""The keys of ``hydra.sweeper`` for a study; ``conf/hydra/sweeper/optuna.yaml`` documents them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from bakeoff.pipeline.errors import UserError


@dataclass(frozen=True)
class StudySettings:
    """The keys of ``hydra.sweeper``."""

    sampler: dict[str, Any]
    pruner: dict[str, Any]
    params: dict[str, Any]
    n_trials: int
    n_jobs: int | None
    objectives: list[str] | str | None
    direction: list[str] | str | None
    study_name: str | None
    storage: str | None
    max_failure_rate: float | None
    custom_search_space: str | None

    def __post_init__(self) -> None:
        _require_positive("n_trials", self.n_trials)
        if self.n_jobs is not None:
            _require_positive("n_jobs", self.n_jobs)
        if self.max_failure_rate is not None and not 0 <= self.max_failure_rate <= 1:
            raise UserError(f"hydra.sweeper.max_failure_rate={self.max_failure_rate!r} must lie between 0 and 1.")

    def require_few_trials(self, max_jobs: int) -> None:
        """Reject more trials than a sweep may have jobs.

        Parameters
        ----------
        max_jobs : int

        Raises
        ------
        UserError
        """
        if self.n_trials > max_jobs:
            raise UserError(
                f"hydra.sweeper.n_trials={self.n_trials} asks for more jobs than max_jobs={max_jobs}; ask for fewer "
                "trials, or set a larger max_jobs."
            )


def _require_positive(key: str, value: int) -> None:
    if value < 1:
        raise UserError(f"hydra.sweeper.{key}={value!r} must be an integer of at least 1.")
