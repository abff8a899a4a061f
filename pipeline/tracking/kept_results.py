"""Results that could not be stored: they stay on this machine, and the next run of the same job stores them.

A result is a folder whose name is the ``config_hash`` of its job, below the user's cache: ``run.json`` with metrics,
params and tags, ``artifacts`` and ``model``. Only its owner can read it. It is moved into place when it is complete,
and a job whose code, data or configuration has changed has another hash.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from bakeoff.pipeline.model.pyfunc import MLMODEL_FILE
from bakeoff.pipeline.tracking.addresses import local_path
from bakeoff.pipeline.tracking.heartbeat import DIGEST_BYTES, OWNER_FILE, OWNER_FOLDER, find_cache
from bakeoff.pipeline.tracking.metric_log import to_params, write_batches
from bakeoff.pipeline.tracking.models import MODEL_NAME
from bakeoff.pipeline.tracking.store import Store

FOLDER = "unstored"
RUN_FILE = "run.json"
ARTIFACTS = "artifacts"
MODEL = "model"
HASH_TAG = "config_hash"
NO_HASH = "unknown"
"""In place of the hash of a run that has none."""


@dataclass(frozen=True)
class KeptRun:
    """The values of a run that could not be stored.

    Attributes
    ----------
    run_id : str
        The run exists, but may lack values, and did not end.
    ended : int
        Milliseconds since 1970.
    metrics : sequence of (str, float, int, int)
        Name, value, milliseconds since 1970, and step.
    params, tags : mapping of str to str
    """

    run_id: str
    ended: int
    metrics: Sequence[tuple[str, float, int, int]]
    params: Mapping[str, str]
    tags: Mapping[str, str]


def find_kept_folder(uri: str, tags: Mapping[str, str]) -> Path:
    """Return the folder of the result of a job, whether there is one or not.

    Parameters
    ----------
    uri : str
        Of the store.
    tags : mapping of str to str
        Of the run, with the hash of its job.
    """
    store = hashlib.blake2b(uri.encode(), digest_size=DIGEST_BYTES).hexdigest()
    return find_cache() / FOLDER / store / tags.get(HASH_TAG, NO_HASH)


def keep_result(folder: Path, run: KeptRun, write_files: Callable[[Path], None]) -> None:
    """Write a result, in place of an earlier one of the same job; in full or not at all.

    Parameters
    ----------
    folder : Path
        From `find_kept_folder`.
    run : KeptRun
    write_files : callable
        Writes the artifacts and the model into folders of a folder.

    Raises
    ------
    OSError
        There is no place for it.
    """
    folder.parent.mkdir(parents=True, exist_ok=True, mode=OWNER_FOLDER)
    draft = Path(mkdtemp(dir=folder.parent, prefix=".writing-"))
    try:
        write_files(draft)
        (draft / RUN_FILE).write_text(json.dumps(asdict(run)))
        for path in draft.rglob("*"):
            path.chmod(OWNER_FOLDER if path.is_dir() else OWNER_FILE)
        shutil.rmtree(folder, ignore_errors=True)
        draft.rename(folder)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise


def read_kept_run(folder: Path) -> KeptRun | None:
    """Return the values of a result; None if there is none that this user has written."""
    try:
        # A folder of another user, or a link, may hold anything.
        found = folder.lstat()
        is_own = found.st_uid == os.getuid() and found.st_mode & 0o777 == OWNER_FOLDER and not folder.is_symlink()
        stored: dict[str, Any] = json.loads((folder / RUN_FILE).read_text()) if is_own else {}
        return KeptRun(**stored) if stored else None
    except (OSError, ValueError, TypeError):
        return None


def discard_kept(folder: Path) -> None:
    """Delete a result."""
    shutil.rmtree(folder, ignore_errors=True)


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
