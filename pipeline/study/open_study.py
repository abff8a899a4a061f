"""Finding the study that a command means, or making it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import optuna
from optuna.distributions import distribution_to_json
from sqlalchemy.exc import SQLAlchemyError

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.identity import hash_config_code
from bakeoff.pipeline.study.objectives import Objective, choose_objectives, require_validation_rows
from bakeoff.pipeline.study.space import Space
from bakeoff.pipeline.study.storage import is_there, open_storage, storage_url
from bakeoff.pipeline.sweep.job_runner import JobRunner
from bakeoff.pipeline.sweep.jobs import Job

COSMETIC = ("tracking", "trust", "figures")
"""Keys that say how runs are kept; studies that differ in them alone are one."""
LOST = (optuna.exceptions.StorageInternalError, SQLAlchemyError)
"""What is raised when a storage does not answer."""


@dataclass(frozen=True)
class Question:
    """What a study is about.

    Attributes
    ----------
    name : str
        Made of the rest, and of what is searched: the same command means the same study.
    same : mapping
        What all its trials share: fixed overrides, data, objectives, code.
    objectives : tuple of Objective
    spec : mapping
        Settled, of one job.
    """

    name: str
    same: Mapping[str, Any]
    objectives: tuple[Objective, ...]
    spec: Mapping[str, Any]

    @property
    def seed(self) -> int:
        """The experiment's."""
        return int(self.spec["seed"])

    @property
    def trust(self) -> tuple[str, ...]:
        """Further packages whose classes may be named."""
        return tuple(self.spec["trust"])

    @classmethod
    def of(cls, space: Space, jobs: Sequence[Job], runner: JobRunner, settings: Any) -> Question:
        """Gather what a study is about.

        Parameters
        ----------
        space : Space
        jobs : sequence of Job
            At the edges of the space.
        runner : JobRunner
        settings : Settings

        Raises
        ------
        UserError
            Objectives that are none, or no rows to choose by.
        """
        spec = jobs[0].spec
        dataset = runner.resources.get_dataset(spec)
        objectives = choose_objectives(
            settings.objectives, settings.direction, dataset.task, spec["evaluation"].get("metrics")
        )
        for job in jobs:
            require_validation_rows(objectives, job.spec)
        same = {
            "fixed": sorted(word for word in space.fixed if _key(word) not in COSMETIC),
            "data": dataset.digest(),
            "objectives": [f"{objective.direction} {objective.name}" for objective in objectives],
            "code": _digest(sorted({hash_config_code(job.spec) for job in jobs})),
        }
        searched = {name: distribution_to_json(each.distribution) for name, each in space.all_dimensions().items()}
        digest = _digest([same, searched, sorted(job.hash for job in jobs), settings.custom_search_space])
        return cls(f"{dataset.name}-{digest}", same, objectives, spec)


def finished_trials(given: str | None, name: str) -> int:
    """Return how many trials a study has finished, if it is there; a look makes none."""
    url = storage_url(given)
    if not is_there(url):
        return 0
    storage = open_storage(url)
    try:
        study = optuna.load_study(study_name=name, storage=storage)
        done = (optuna.trial.TrialState.COMPLETE, optuna.trial.TrialState.PRUNED)
        return len(study.get_trials(deepcopy=False, states=done))
    except KeyError:
        return 0
    finally:
        storage.remove_session()
        storage.engine.dispose()


@contextmanager
def opened_study(given: str | None, name: str, question: Question) -> Iterator[optuna.Study]:
    """Open the study of that name, or make it; its storage is closed in the end.

    Raises
    ------
    UserError
        The storage cannot be used, or the study is about something else.
    """
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    url = storage_url(given)
    storage = open_storage(url)
    directions = [objective.direction for objective in question.objectives]
    try:
        try:
            study = optuna.create_study(storage=storage, study_name=name, directions=directions, load_if_exists=True)
            _require_same(study, question)
        except LOST as error:
            shown = url.render_as_string(hide_password=True)
            raise UserError(f"hydra.sweeper.storage={shown!r} cannot be used: {str(error).splitlines()[0]}") from error
        yield study
    finally:
        storage.remove_session()
        storage.engine.dispose()


def _require_same(study: optuna.Study, question: Question) -> None:
    known = study.user_attrs.get("same")
    if known is None:
        study.set_user_attr("same", dict(question.same))
        return
    for key, value in question.same.items():
        if known.get(key) != value:
            raise UserError(
                f"hydra.sweeper.study_name={study.study_name!r} was made with {key} {_listed(known.get(key))}, "
                f"and this command has {_listed(value)}; give another study_name."
            )


def _key(word: str) -> str:
    return word.lstrip("+~").split(".")[0].split("=")[0]


def _listed(value: Any) -> str:
    return ", ".join(value) if isinstance(value, list) else str(value)


def _digest(value: Any) -> str:
    return hashlib.blake2b(json.dumps(value, sort_keys=True).encode(), digest_size=4).hexdigest()
