"""Results that could not be stored are kept on this machine until the next run of the same job stores them.

A result is a folder whose name is the ``config_hash`` of its job, below the user's cache: ``run.json`` with metrics,
params and tags, ``artifacts`` and ``model``. Only its owner can access it. It is moved into place when complete, and a
job with changed code, data or configuration has a different hash.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from tempfile import mkdtemp

import yaml

from bakeoff.pipeline.model.pyfunc import MLMODEL_FILE
from bakeoff.pipeline.tracking import is_own
from bakeoff.pipeline.tracking.history import FINISHED
from bakeoff.pipeline.tracking.mlflow_tables import list_store_errors
from bakeoff.pipeline.tracking.models import ModelPlace, add_run_model, save_model, write_record
from bakeoff.pipeline.tracking.run_content import RunResults, run_folder
from bakeoff.pipeline.tracking.sqlite_file import find_cache
from bakeoff.pipeline.tracking.store import Store
from bakeoff.pipeline.tracking.store_writer import RunValues

FOLDER = "unstored"
OWNER_FOLDER = 0o700
DIGEST_BYTES = 8
RUN_FILE = "run.json"
ARTIFACTS = "artifacts"
MODEL = "model"
HASH_TAG = "config_hash"
ERROR_TAGS = ("error", "error_type")
"""The note on a run that its process could not end."""


@dataclass(frozen=True)
class KeptRun:
    """The values of a run that could not be stored.

    Attributes
    ----------
    run_id : str
        The id of an existing run that has not ended and may lack values.
    ended : int
        The end of the run in milliseconds since 1970.
    values : RunValues
    """

    run_id: str
    ended: int
    values: RunValues


def find_kept_folder(uri: str, tags: Mapping[str, str]) -> Path:
    """Return the folder for the result of a job, whether it exists or not.

    Parameters
    ----------
    uri : str
        The URI of the store.
    tags : mapping of str to str
        The tags of the run, with the hash of its job.
    """
    store = hashlib.blake2b(uri.encode(), digest_size=DIGEST_BYTES).hexdigest()
    return find_cache() / FOLDER / store / tags[HASH_TAG]


def keep_result(folder: Path, run: KeptRun, results: RunResults) -> None:
    """Write a result atomically, in place of an earlier one of the same job.

    Parameters
    ----------
    folder : Path
        From `find_kept_folder`.
    run : KeptRun
    results : RunResults

    Raises
    ------
    OSError
        The result cannot be written.
    """
    folder.parent.mkdir(parents=True, exist_ok=True, mode=OWNER_FOLDER)
    draft = Path(mkdtemp(dir=folder.parent, prefix=".writing-"))
    try:
        (draft / ARTIFACTS).mkdir()
        results.write_artifacts(draft / ARTIFACTS)
        if results.training is not None:
            (draft / MODEL).mkdir()
            trust = results.description.trust
            save_model(
                results.model.predictor, draft / MODEL, ModelPlace(MODEL, "", run.run_id), results.training, trust
            )
        content = {"run_id": run.run_id, "ended": run.ended, **asdict(run.values)}
        (draft / RUN_FILE).write_text(json.dumps(content))
        shutil.rmtree(folder, ignore_errors=True)
        draft.rename(folder)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise


def read_kept_run(folder: Path) -> KeptRun | None:
    """Return the values of a result, or None if there is none that is complete."""
    try:
        if not is_own(folder.lstat()):
            return None
        content = json.loads((folder / RUN_FILE).read_text())
        return KeptRun(content.pop("run_id"), content.pop("ended"), RunValues(**content))
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None


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
        None if there is no such result, or its run is no longer in the store.

    Raises
    ------
    StoreError
        The store cannot be written; the result is kept.
    """
    folder = find_kept_folder(store.uri, {HASH_TAG: job_hash})
    kept = read_kept_run(folder)
    if kept is None:
        return None
    try:
        run = store.client.get_run(kept.run_id)
    except list_store_errors():  # the store has no such run because it was recreated or is a different one
        run = None
    is_open = run is not None and run.info.lifecycle_stage == "active" and run.data.tags.get(HASH_TAG) == job_hash
    if run is None or not is_open or run.info.status == FINISHED:
        shutil.rmtree(folder, ignore_errors=True)
        return None
    store.writer.add_values(kept.run_id, kept.values)
    for tag in ERROR_TAGS:
        if tag in run.data.tags:
            store.client.delete_tag(kept.run_id, tag)
    with run_folder(store, run.info.artifact_uri, kept.run_id) as target:
        shutil.copytree(folder / ARTIFACTS, target, dirs_exist_ok=True)
    if (folder / MODEL).is_dir():
        add_run_model(store, kept.run_id, partial(_copy_model, folder / MODEL))
    store.writer.end_run(kept.run_id, FINISHED, kept.ended)
    shutil.rmtree(folder, ignore_errors=True)
    return kept.run_id


def _copy_model(source: Path, folder: Path, place: ModelPlace) -> None:
    """Copy the files of a model, and put the id of the new logged model into its record."""
    shutil.copytree(source, folder, dirs_exist_ok=True)
    kept = yaml.safe_load((source / MLMODEL_FILE).read_text())
    write_record({**kept, **place.list_keys()}, folder)
