"""Writing a result into the store that could not be stored when its run had finished."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from bakeoff.pipeline.model.pyfunc import MLMODEL_FILE
from bakeoff.pipeline.tracking.addresses import local_path
from bakeoff.pipeline.tracking.entities import to_params
from bakeoff.pipeline.tracking.kept_results import (
    ARTIFACTS,
    HASH_TAG,
    MODEL,
    KeptRun,
    discard_kept,
    find_kept_folder,
    read_kept_run,
)
from bakeoff.pipeline.tracking.models import MODEL_NAME
from bakeoff.pipeline.tracking.run_batches import write_batches
from bakeoff.pipeline.tracking.store import Store

FINISHED = "FINISHED"
ACTIVE = "active"
ERROR_TAGS = ("error", "error_type")
"""What a run says whose process could not end it."""


def send_kept_result(store: Store, job_hash: str) -> str | None:
    """Complete the run of a job whose result could not be stored, and return its id.

    Parameters
    ----------
    store : Store
    job_hash : str
        The ``config_hash``.

    Returns
    -------
    str or None
        None if there is no such result, or the store no longer has its run.

    Raises
    ------
    StoreError
        The store cannot be written; the result stays where it is.
    """
    from mlflow.exceptions import MlflowException

    folder = find_kept_folder(store.uri, {HASH_TAG: job_hash})
    kept = read_kept_run(folder)
    if kept is None:
        return None
    try:
        run = store.client.get_run(kept.run_id)
    except MlflowException:  # the store has no such run: it was made anew, or another one
        run = None
    is_open = run is not None and run.info.lifecycle_stage == ACTIVE and run.data.tags.get(HASH_TAG) == job_hash
    if run is None or not is_open or run.info.status == FINISHED:
        discard_kept(folder)
        return None
    _send_values(store, kept, run)
    upload = partial(store.client.log_artifacts, kept.run_id)
    _send_files(folder / ARTIFACTS, run.info.artifact_uri, upload)
    if (folder / MODEL).is_dir():
        _send_model(store, kept.run_id, folder / MODEL)
    store.client.set_terminated(kept.run_id, FINISHED, kept.ended)
    discard_kept(folder)
    return kept.run_id


def _send_values(store: Store, kept: KeptRun, run: Any) -> None:
    """Write metrics, params and tags, and remove what was written of the failure."""
    from mlflow.entities import Metric

    metrics = [Metric(*values) for values in kept.metrics]
    write_batches(store.client, kept.run_id, metrics, to_params(kept.params), kept.tags)
    for tag in ERROR_TAGS:
        if tag in run.data.tags:
            store.client.delete_tag(kept.run_id, tag)


def _send_files(folder: Path, uri: str, upload: Callable[[str], None]) -> None:
    """Write the files of a folder to where artifacts are to be stored."""
    target = local_path(uri)
    if target is None:
        upload(str(folder))
        return
    # The files can be read by their owner alone, which is no property of an artifact.
    for file in folder.rglob("*"):
        if file.is_file():
            copy = target / file.relative_to(folder)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, copy)


def _send_model(store: Store, run_id: str, folder: Path) -> None:
    """Write the model of a run, under an id of its own."""
    from mlflow.entities import LoggedModelOutput, LoggedModelStatus
    from mlflow.models import Model as MLflowModel

    client = store.client
    logged = client.create_logged_model(store.experiment_id, name=MODEL_NAME, source_run_id=run_id)
    record = MLflowModel.load(str(folder / MLMODEL_FILE))
    record.artifact_path = logged.artifact_location
    record.model_uuid = logged.model_id
    record.model_id = logged.model_id
    record.save(str(folder / MLMODEL_FILE))
    _send_files(folder, logged.artifact_location, partial(client.log_model_artifacts, logged.model_id))
    client.finalize_logged_model(logged.model_id, LoggedModelStatus.READY)
    client.log_outputs(run_id, [LoggedModelOutput(logged.model_id, step=0)])
