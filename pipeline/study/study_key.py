"""The identity of a study: the keys of ``hydra.sweeper`` with its objectives, and the name by which a command finds it.

The objectives are metrics of a run, but never its scores on test rows: a score by which something was chosen is no
longer an unbiased estimate. A study therefore chooses by scores on validation rows, and the test scores of its runs are
recorded next to them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from optuna.distributions import distribution_to_json

from bakeoff.pipeline.errors import UserError, did_you_mean
from bakeoff.pipeline.identity.config_hash import hash_config_code
from bakeoff.pipeline.stages.scoring import (
    COST,
    DEFAULTS,
    is_greater_better,
    name_entry,
)
from bakeoff.pipeline.study.space import SearchSpace
from bakeoff.pipeline.sweep.job_runner import JobRunner
from bakeoff.pipeline.sweep.jobs import Job

Direction = Literal["minimize", "maximize"]
SCORE_PREFIXES = ("validation_", "train_")
COST_METRICS = (
    "time/fit", "time/tune", "time/prune", "time/predict",
    "pruning/leaves_before", "pruning/leaves_after", "pruning/depth_before", "pruning/depth_after",
)  # fmt: skip


@dataclass(frozen=True)
class Objective:
    """A metric of a run, and whether it is minimized or maximized."""

    name: str
    direction: Direction

    @property
    def test_name(self) -> str:
        """The same score on test rows; for a cost, its name unchanged."""
        prefix, _, metric = self.name.partition("_")
        return f"test_{metric}" if f"{prefix}_" in SCORE_PREFIXES else self.name


def choose_objectives(
    names: Sequence[str] | str | None,
    directions: Sequence[str] | str | None,
    task: str,
    metrics: Sequence[Any] | None,
    costs: Any = None,
) -> tuple[Objective, ...]:
    """Return the objectives that ``hydra.sweeper`` names.

    Parameters
    ----------
    names : sequence of str, str or None
        None is the headline metric on validation rows.
    directions : sequence of str, str or None
        None is the natural direction of each metric: accuracies are maximized, errors and times minimized.
    task : {"classification", "regression"}
    metrics : sequence or None
        ``evaluation.metrics``.
    costs : mapping, optional
        ``evaluation.costs``, which add the metric ``cost``.

    Raises
    ------
    UserError
        A name is not a metric of the run, or a test score; a direction is invalid, or there are not as many as names.
    """
    entries = DEFAULTS[task] if metrics is None else tuple(metrics)
    if costs is not None:
        entries = (*entries, COST)
    given = _as_list(f"validation_{name_entry(entries[0])}" if names is None else names)
    if not given:
        raise UserError("hydra.sweeper.objectives is empty; name a metric, such as [validation_accuracy].")
    chosen = [_natural_direction(name, entries) for name in given]
    if directions is not None:
        chosen = [_check_direction(direction) for direction in _as_list(directions)]
    if len(chosen) != len(given):
        raise UserError(
            f"hydra.sweeper.direction has {len(chosen)} values, but there are {len(given)} objectives "
            f"({', '.join(given)}); give one for each, or null."
        )
    return tuple(Objective(name, direction) for name, direction in zip(given, chosen, strict=True))


def _as_list(values: Sequence[str] | str) -> list[str]:
    if isinstance(values, str):
        return [values]
    return [str(value) for value in values]


def _check_direction(direction: str) -> Direction:
    for allowed in get_args(Direction):
        if direction == allowed:
            known: Direction = allowed
            return known
    raise UserError(f"hydra.sweeper.direction={direction!r} must be minimize or maximize.")


def _natural_direction(name: str, entries: Sequence[Any]) -> Direction:
    """Return the direction in which a metric gets better."""
    if name in COST_METRICS:
        return "minimize"
    if name.startswith("test_"):
        raise UserError(
            f"hydra.sweeper.objectives names {name!r}, but a test score by which something was chosen is no longer an "
            f"unbiased estimate; name validation_{name.removeprefix('test_')}, and the test score is recorded next to "
            "it."
        )
    scores = {f"{prefix}{name_entry(entry)}": name_entry(entry) for prefix in SCORE_PREFIXES for entry in entries}
    if name not in scores:
        raise UserError(
            f"hydra.sweeper.objectives names {name!r}, which is not a metric of the run; add a score to "
            f"evaluation.metrics first. {did_you_mean(name, (*scores, *COST_METRICS))}"
        )
    return "maximize" if is_greater_better(scores[name], entries) else "minimize"


def require_validation_rows(objectives: Sequence[Objective], spec: Mapping[str, Any]) -> None:
    """Check that validation scores can be objectives: validation rows exist and are used for no other choice.

    Parameters
    ----------
    objectives : sequence of Objective
    spec : mapping
        A settled configuration.

    Raises
    ------
    UserError
        An objective is a validation score, and there are no validation rows, or pruning or tuning uses them.
    """
    names = [objective.name for objective in objectives if objective.name.startswith("validation_")]
    if not names:
        return
    if not spec["evaluation"]["validation"]:
        raise UserError(
            f"the study chooses by {names[0]}, but evaluation.validation=0 leaves no rows for it; "
            "set evaluation.validation=0.2."
        )
    pruning = spec["pruning"].get("method")
    if pruning in ("bottom_up", "best_first"):
        raise UserError(
            f"the study and pruning={pruning} would choose on the same validation rows; "
            "set pruning=none, or pruning=pessimistic, which needs no rows."
        )
    tuning = spec["tuning"]
    if "space" in tuning and tuning["folds"] == 0:
        raise UserError(
            "the study and tuning with tuning.folds=0 would choose on the same validation rows; "
            "set tuning=none, or tuning.folds to 2 or more."
        )
    for part in ("calibration", "threshold"):
        if spec[part].get("folds") == 0:
            raise UserError(
                f"the study and {part} with {part}.folds=0 would use the same validation rows; "
                f"set {part}.folds=5, which uses inner folds of the training rows."
            )


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
