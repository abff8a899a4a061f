"""A model that is stored and registered, both or neither."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.model import TrainingRecord
from bakeoff.pipeline.model.allowed_types import UntrustedType
from bakeoff.pipeline.tracking.deletion import delete_model
from bakeoff.pipeline.tracking.models import log_model
from bakeoff.pipeline.tracking.registry import ModelName, RegisteredVersion, register_version
from bakeoff.pipeline.tracking.store import Store


def store_version(
    store: Store,
    name: ModelName,
    estimator: Any,
    record: TrainingRecord,
    *,
    trust: Sequence[str] = (),
    tags: Mapping[str, str] | None = None,
    description: str = "",
) -> RegisteredVersion:
    """Write a model into the experiment of its run, and register it as a new version; if either fails, nothing stays.

    Parameters
    ----------
    store : Store
    name : ModelName
        Of the registered model, with the alias that moves to the new version; the logged model has the same name.
    estimator : estimator
        Fitted.
    record : TrainingRecord
        Names the run.
    trust : sequence of str
        Packages whose types the estimator may hold.
    tags : mapping of str to str, optional
        Of the version.
    description : str
        Of the version.

    Raises
    ------
    UserError
        The store cannot be written, or the estimator holds a type that is not trusted.
    """
    from mlflow.exceptions import MlflowException

    run = store.client.get_run(record.run_id)
    place = replace(store, experiment_id=str(run.info.experiment_id))
    try:
        model_id = log_model(place, name.name, estimator, record, trust, keep_failed=False)
        return _register_or_delete(place, name, model_id, record.run_id, tags or {}, description)
    except (MlflowException, OSError, UntrustedType) as error:
        reason = str(error).splitlines()[0]
        raise UserError(f"the model of run {record.run_id} cannot be stored as {name}: {reason}") from error


def _register_or_delete(
    store: Store, name: ModelName, model_id: str, run_id: str, tags: Mapping[str, str], description: str
) -> RegisteredVersion:
    try:
        return register_version(store, name, model_id, run_id, tags, description)
    except BaseException:
        delete_model(store, model_id)
        raise
