"""Open the study of a command in its storage, or create it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import optuna
from optuna.trial import TrialState
from sqlalchemy.exc import SQLAlchemyError

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.study.storage import has_storage, open_storage, parse_storage_url
from bakeoff.pipeline.study.study_key import StudyKey

FINISHED_STATES = (TrialState.COMPLETE, TrialState.PRUNED)
"""The states that count as finished: a trial that was stopped before its last fold need not be repeated."""
STORAGE_ERRORS = (optuna.exceptions.StorageInternalError, SQLAlchemyError)
"""Errors that a storage raises if it does not respond."""
SHARED_ATTRIBUTE = "same"
"""The user attribute of a study that holds `StudyKey.shared`."""


def count_finished_trials(storage: str | None, name: str) -> int:
    """Return the number of finished trials of a study; 0 if there is none, in which case none is created.

    Parameters
    ----------
    storage : str or None
        As ``hydra.sweeper.storage``.
    name : str
    """
    url = parse_storage_url(storage)
    if not has_storage(url):
        return 0
    opened = open_storage(url)
    try:
        study = optuna.load_study(study_name=name, storage=opened)
        return len(study.get_trials(deepcopy=False, states=FINISHED_STATES))
    except KeyError:
        return 0
    finally:
        opened.remove_session()
        opened.engine.dispose()


@contextmanager
def open_study(storage: str | None, name: str, key: StudyKey) -> Iterator[optuna.Study]:
    """Open the study of that name, or create it; close its storage at the end.

    Parameters
    ----------
    storage : str or None
        As ``hydra.sweeper.storage``.
    name : str
    key : StudyKey

    Raises
    ------
    UserError
        The storage cannot be used, or the study of that name has other data, objectives, code or fixed overrides.
    """
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    url = parse_storage_url(storage)
    opened = open_storage(url)
    directions = [objective.direction for objective in key.objectives]
    try:
        try:
            study = optuna.create_study(storage=opened, study_name=name, directions=directions, load_if_exists=True)
            _require_same_key(study, key)
        except STORAGE_ERRORS as error:
            shown = url.render_as_string(hide_password=True)
            raise UserError(f"hydra.sweeper.storage={shown!r} cannot be used: {str(error).splitlines()[0]}") from error
        yield study
    finally:
        opened.remove_session()
        opened.engine.dispose()


def _require_same_key(study: optuna.Study, key: StudyKey) -> None:
    """Record the key in a new study; compare it with the key of an existing one."""
    recorded = study.user_attrs.get(SHARED_ATTRIBUTE)
    if recorded is None:
        study.set_user_attr(SHARED_ATTRIBUTE, dict(key.shared))
        return
    for part, value in key.shared.items():
        if recorded.get(part) != value:
            raise UserError(
                f"hydra.sweeper.study_name={study.study_name!r} was created with {part} "
                f"{_format_part(recorded.get(part))}, and this command has {_format_part(value)}; "
                "give another study_name."
            )


def _format_part(value: Any) -> str:
    return ", ".join(value) if isinstance(value, list) else str(value)
