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

from pipeline.dataset import Dataset
from pipeline.refusal import Refusal
from pipeline.study.objectives import Direction, Objective
from pipeline.study.space import Space
from pipeline.study.storage import open_storage, storage_url


@dataclass(frozen=True)
class Facts:
    """What a study is about.

    Attributes
    ----------
    name : str
        Made of the rest, and of what is searched: the same command means the same study.
    same : mapping
        What all its trials share: fixed overrides, data, objectives.
    """

    name: str
    same: Mapping[str, Any]
    directions: tuple[Direction, ...]

    @classmethod
    def of(cls, space: Space, objectives: Sequence[Objective], dataset: Dataset) -> Facts:
        """Gather the facts; where runs are kept does not count."""
        fixed = sorted(word for word in space.fixed if word.lstrip("+~").split(".")[0].split("=")[0] != "tracking")
        same = {
            "fixed": fixed,
            "data": dataset.digest(),
            "objectives": [f"{objective.direction} {objective.name}" for objective in objectives],
        }
        searched = {
            dimension.name: distribution_to_json(dimension.distribution)
            for example in space.examples()
            for dimension in (*space.dimensions, *space.own(example))
        }
        text = json.dumps([same, searched], sort_keys=True)
        digest = hashlib.blake2b(text.encode(), digest_size=4).hexdigest()
        return cls(f"{dataset.name}-{digest}", same, tuple(objective.direction for objective in objectives))


@contextmanager
def opened_study(given: str | None, name: str, facts: Facts) -> Iterator[optuna.Study]:
    """Open the study of that name, or make it; its storage is closed in the end.

    Raises
    ------
    Refusal
        The storage cannot be used, or the study is about something else.
    """
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    url = storage_url(given)
    storage = open_storage(url)
    try:
        try:
            study = optuna.create_study(
                storage=storage, study_name=name, directions=facts.directions, load_if_exists=True
            )
            _require_same(study, facts)
        except (optuna.exceptions.StorageInternalError, SQLAlchemyError) as error:
            shown = url.render_as_string(hide_password=True)
            raise Refusal(f"hydra.sweeper.storage={shown!r} cannot be used: {str(error).splitlines()[0]}") from error
        yield study
    finally:
        storage.remove_session()
        storage.engine.dispose()


def _require_same(study: optuna.Study, facts: Facts) -> None:
    known = study.user_attrs.get("same")
    if known is None:
        study.set_user_attr("same", dict(facts.same))
        return
    for key, value in facts.same.items():
        if known.get(key) != value:
            raise Refusal(
                f"hydra.sweeper.study_name={study.study_name!r} was made with {key} {_listed(known.get(key))}, "
                f"and this command has {_listed(value)}; give another study_name."
            )


def _listed(value: Any) -> str:
    return ", ".join(value) if isinstance(value, list) else str(value)
