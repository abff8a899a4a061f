"""The identity of a study: the keys of ``hydra.sweeper``, and the name under which a command finds its study."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from optuna.distributions import distribution_to_json

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.identity.config_hash import hash_config_code
from bakeoff.pipeline.study.objectives import Objective, choose_objectives, require_validation_rows
from bakeoff.pipeline.study.space import SearchSpace
from bakeoff.pipeline.sweep.job_runner import JobRunner
from bakeoff.pipeline.sweep.jobs import Job

COSMETIC_KEYS = ("tracking", "trust", "figures")
"""Keys that define how runs are kept. Commands that differ only in these continue the same study."""
DIGEST_BYTES = 4


@dataclass(frozen=True)
class StudySettings:
    """The keys of ``hydra.sweeper``; ``conf/hydra/sweeper/optuna.yaml`` documents them."""

    sampler: dict[str, Any]
    pruner: dict[str, Any]
    params: dict[str, str]
    n_trials: int
    objectives: list[str] | str | None
    direction: list[str] | str | None
    study_name: str | None
    storage: str | None

    def require_trials(self, max_jobs: int) -> None:
        """Reject no trials, and more than a sweep may have jobs.

        Parameters
        ----------
        max_jobs : int

        Raises
        ------
        UserError
        """
        if not 1 <= self.n_trials <= max_jobs:
            raise UserError(
                f"hydra.sweeper.n_trials={self.n_trials} must be an integer from 1 to max_jobs={max_jobs}, the limit "
                "of a sweep."
            )


@dataclass(frozen=True)
class StudyKey:
    """The key that identifies a study.

    Attributes
    ----------
    name : str
        The given one, or else the dataset and a digest of ``shared`` and of the search space.
    shared : mapping
        What all trials of the study share: fixed overrides, data, objectives and code.
    objectives : tuple of Objective
    spec : mapping
        The settled configuration of one job.
    """

    name: str
    shared: Mapping[str, Any]
    objectives: tuple[Objective, ...]
    spec: Mapping[str, Any]

    @property
    def seed(self) -> int:
        """The ``seed`` of the experiment."""
        return int(self.spec["seed"])

    @property
    def trust(self) -> tuple[str, ...]:
        """The packages that the user trusts."""
        return tuple(self.spec["trust"])


def make_study_key(
    space: SearchSpace, edge_jobs: Sequence[Job], runner: JobRunner, settings: StudySettings
) -> StudyKey:
    """Return the key of the study that a command describes.

    Parameters
    ----------
    space : SearchSpace
    edge_jobs : sequence of Job
        The jobs at the edges of the space, at least one.
    runner : JobRunner
    settings : StudySettings

    Raises
    ------
    UserError
        An objective is invalid, or there are no validation rows to choose by.
    """
    spec = edge_jobs[0].spec
    dataset = runner.resources.get_dataset(spec)
    evaluation = spec["evaluation"]
    objectives = choose_objectives(
        settings.objectives, settings.direction, dataset.task, evaluation.get("metrics"), evaluation.get("costs")
    )
    for job in edge_jobs:
        require_validation_rows(objectives, job.spec)
    code_hashes = {hash_config_code(job.spec) for job in edge_jobs}
    shared = {
        "fixed": sorted(override for override in space.fixed if _top_level_key(override) not in COSMETIC_KEYS),
        "data": dataset.digest(),
        "objectives": [f"{objective.direction} {objective.name}" for objective in objectives],
        "code": _digest(sorted(code_hashes)),
    }
    searched = {
        name: distribution_to_json(dimension.distribution) for name, dimension in space.all_dimensions().items()
    }
    job_hashes = sorted(job.hash for job in edge_jobs)
    digest = _digest([shared, searched, job_hashes])
    name = settings.study_name or f"{dataset.name}-{digest}"
    return StudyKey(name, shared, objectives, spec)


def _top_level_key(override: str) -> str:
    return override.lstrip("+~").split(".")[0].split("=")[0]


def _digest(value: Any) -> str:
    encoded = json.dumps(value, sort_keys=True).encode()
    return hashlib.blake2b(encoded, digest_size=DIGEST_BYTES).hexdigest()
