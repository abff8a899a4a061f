"""The identity of a study: its objectives, the keys of ``hydra.sweeper``, and a name derived from the command.

The objectives are metrics of a run, but never its scores on test rows, because a score used for a choice is no longer
an unbiased estimate. A study therefore chooses by scores on validation rows, and records the test scores of its runs
next to them.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass
from typing import Any, Literal

from optuna.distributions import distribution_to_json

from bakeoff.pipeline.errors import UserError, did_you_mean
from bakeoff.pipeline.stages.dataset import Dataset
from bakeoff.pipeline.stages.scoring.entries import is_greater_better, name_entry
from bakeoff.pipeline.stages.scoring.names import COST, DEFAULTS
from bakeoff.pipeline.sweep import job_runner, jobs
from bakeoff.pipeline.sweep.study.space import SearchSpace

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
        """The name of the same score on test rows; for a cost, its name unchanged."""
        prefix, _, metric = self.name.partition("_")
        return f"test_{metric}" if f"{prefix}_" in SCORE_PREFIXES else self.name


def choose_objectives(
    names: Sequence[str] | str | None, task: str, metrics: Sequence[Any] | None, costs: Any = None
) -> tuple[Objective, ...]:
    """Return the objectives named in ``hydra.sweeper``; accuracies are maximized, errors and times minimized.

    Parameters
    ----------
    names : sequence of str, str or None
        The names of the objectives; None for the headline metric on validation rows.
    task : {"classification", "regression"}
    metrics : sequence or None
        The value of ``evaluation.metrics``.
    costs : mapping, optional
        The value of ``evaluation.costs``, which adds the metric ``cost``.

    Raises
    ------
    UserError
        A name is not a metric of the run, or is a test score.
    """
    entries = DEFAULTS[task] if metrics is None else tuple(metrics)
    if costs is not None:
        entries = (*entries, COST)
    if names is None:
        names = f"validation_{name_entry(entries[0])}"
    given = [names] if isinstance(names, str) else names
    if not given:
        raise UserError("hydra.sweeper.objectives is empty; name a metric, such as [validation_accuracy].")
    return tuple(Objective(name, _find_direction(name, entries)) for name in given)


def _find_direction(name: str, entries: Sequence[Any]) -> Direction:
    """Return the direction in which a metric improves."""
    if name in COST_METRICS:
        return "minimize"
    if name.startswith("test_"):
        raise UserError(
            f"hydra.sweeper.objectives names {name!r}, but a test score that was used for a choice is no longer "
            f"unbiased; name validation_{name.removeprefix('test_')}, and the test score is recorded as well."
        )
    scores = {f"{prefix}{name_entry(entry)}": name_entry(entry) for prefix in SCORE_PREFIXES for entry in entries}
    if name not in scores:
        raise UserError(
            f"hydra.sweeper.objectives names {name!r}, which is not a metric of the run; add a score to "
            f"evaluation.metrics first. {did_you_mean(name, (*scores, *COST_METRICS))}"
        )
    return "maximize" if is_greater_better(scores[name], entries) else "minimize"


def require_validation_rows(objectives: Sequence[Objective], spec: Mapping[str, Any], dataset: Dataset) -> None:
    """Check that validation scores can be objectives: validation rows exist and are not used for other choices.

    Parameters
    ----------
    objectives : sequence of Objective
    spec : mapping
        A settled configuration.
    dataset : Dataset
        The dataset, which may name validation rows.

    Raises
    ------
    UserError
        An objective is a validation score, but there are no validation rows, or pruning or tuning uses them.
    """
    names = [objective.name for objective in objectives if objective.name.startswith("validation_")]
    if not names:
        return
    if not spec["evaluation"]["validation"] and not dataset.names_validation_rows:
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
    for part in ("tuning", "calibration", "threshold"):
        if spec[part].get("folds") == 0:
            raise UserError(
                f"the study and {part} with {part}.folds=0 would use the same validation rows; "
                f"set {part}=none, or {part}.folds=5, which uses inner folds of the training rows."
            )


DIGEST_BYTES = 4


@dataclass(frozen=True)
class StudySettings:
    """The keys of ``hydra.sweeper``, which are documented in ``conf/hydra/sweeper/optuna.yaml``."""

    sampler: dict[str, Any]
    pruner: dict[str, Any]
    params: dict[str, str]
    n_trials: int
    objectives: list[str] | str | None
    storage: str | None

    def require_trials(self, max_jobs: int) -> None:
        """Reject a number of trials that is zero or exceeds the number of jobs that a sweep may have.

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
        The dataset, with a digest of the objectives, the search space, and the data and code of the jobs at its edges.
    objectives : tuple of Objective
    spec : mapping
        The settled configuration of one job.
    """

    name: str
    objectives: tuple[Objective, ...]
    spec: Mapping[str, Any]

    @property
    def aims(self) -> str:
        """The objectives with their directions."""
        return ", ".join(f"{objective.direction} {objective.name}" for objective in self.objectives)


def make_study_key(
    space: SearchSpace, edge_jobs: Sequence[jobs.Job], runner: job_runner.JobRunner, names: Sequence[str] | str | None
) -> StudyKey:
    """Return the key of the study that a command describes.

    Parameters
    ----------
    space : SearchSpace
    edge_jobs : sequence of Job
        The jobs at the edges of the space; at least one.
    runner : JobRunner
    names : sequence of str, str or None
        The value of ``hydra.sweeper.objectives``.

    Raises
    ------
    UserError
        An objective is invalid, or there are no validation rows by which to choose.
    """
    spec = edge_jobs[0].spec
    evaluation = spec["evaluation"]
    task = runner.resources.get_dataset(spec).task
    objectives = choose_objectives(names, task, evaluation.get("metrics"), evaluation.get("costs"))
    for job in edge_jobs:
        require_validation_rows(objectives, job.spec, runner.resources.get_dataset(job.spec))
    searched = {
        name: distribution_to_json(dimension.distribution) for name, dimension in space.all_dimensions().items()
    }
    identity = [list(map(astuple, objectives)), searched, sorted(job.hash for job in edge_jobs)]
    encoded = json.dumps(identity, sort_keys=True).encode()
    digest = hashlib.blake2b(encoded, digest_size=DIGEST_BYTES).hexdigest()
    return StudyKey(f"{edge_jobs[0].dataset}-{digest}", objectives, spec)
