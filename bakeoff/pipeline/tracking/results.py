"""The results of a finished run, which are kept on this machine if they cannot be stored.

The next run of the same job stores kept results. They are a folder whose name is the ``config_hash`` of the job, below
the user's cache: ``run.json`` with metrics, params and tags, ``artifacts`` and ``model``. Only its owner can access it.
It is moved into place when it is complete, and a job with changed code, data or configuration has a different hash.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from tempfile import mkdtemp

import yaml

from bakeoff.pipeline.experiment import Experiment, FittedModel, FoldResult
from bakeoff.pipeline.model.pyfunc import MLMODEL_FILE
from bakeoff.pipeline.model.training_record import TrainingRecord
from bakeoff.pipeline.system import is_own
from bakeoff.pipeline.tracking import Figure, RunDescription, card
from bakeoff.pipeline.tracking.artifacts import run_folder
from bakeoff.pipeline.tracking.mlflow_tables import list_store_errors
from bakeoff.pipeline.tracking.models import ModelPlace, add_run_model, save_model, write_record
from bakeoff.pipeline.tracking.sqlite_file import find_cache
from bakeoff.pipeline.tracking.store import Store
from bakeoff.pipeline.tracking.store_writer import RunValues
from bakeoff.pipeline.tracking.stored_config import CONFIG_FILE
from bakeoff.pipeline.tracking.stored_runs import FINISHED

FOLDER = "unstored"
OWNER_FOLDER = 0o700
DIGEST_BYTES = 8
RUN_FILE = "run.json"
ARTIFACTS = "artifacts"
MODEL = "model"
ERROR_TAGS = ("error", "error_type")
"""The note on a run that its process could not end."""


@dataclass
class RunResults:
    """The results of a finished run.

    Attributes
    ----------
    description : RunDescription
    experiment : Experiment
    folds : sequence of FoldResult
    model : FittedModel
        The run's model.
    figures : sequence of Figure
    training : TrainingRecord or None
        The training record of the model; None if models are not kept.
    tags : mapping of str to str
        The tags of the finished run, which those of a failure replace.
    """

    description: RunDescription
    experiment: Experiment
    folds: Sequence[FoldResult]
    model: FittedModel
    figures: Sequence[Figure]
    training: TrainingRecord | None = None
    tags: Mapping[str, str] = field(default_factory=dict)

    def write_artifacts(self, folder: Path) -> None:
        """Write all files but the model."""
        card.write_tables(folder, self.experiment, self.folds, self.model)
        (folder / CONFIG_FILE).write_text(self.description.config, encoding="utf-8")
        for figure in self.figures:
            figure.save(folder, self.experiment, self.folds, self.model)

    def write_model(self, folder: Path, place: ModelPlace) -> None:
        """Write the files of the model, whose training record must be known."""
        assert self.training is not None
        save_model(self.model.predictor, folder, place, self.training, self.description.trust)


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


def find_kept_folder(uri: str, job_hash: str) -> Path:
    """Return the folder for the result of a job in the store at a URI, whether it exists or not."""
    store = hashlib.blake2b(uri.encode(), digest_size=DIGEST_BYTES).hexdigest()
    return find_cache() / FOLDER / store / job_hash


def keep_result(folder: Path, run: KeptRun, results: RunResults) -> None:
    """Write a result as a whole or not at all, in place of an earlier one of the same job.

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
            results.write_model(draft / MODEL, ModelPlace(MODEL, "", run.run_id))
        (draft / RUN_FILE).write_text(json.dumps(asdict(run)), encoding="utf-8")
        shutil.rmtree(folder, ignore_errors=True)
        draft.rename(folder)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise


def read_kept_run(folder: Path) -> KeptRun | None:
    """Return the values of a result, or None if there is none that is complete and belongs to this user."""
    try:
        if not is_own(folder.lstat()):
            return None
        content = json.loads((folder / RUN_FILE).read_text(encoding="utf-8"))
        return KeptRun(content["run_id"], content["ended"], RunValues(**content["values"]))
    except (OSError, ValueError, TypeError, KeyError):
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
    folder = find_kept_folder(store.uri, job_hash)
    kept = read_kept_run(folder)
    if kept is None:
        return None
    try:
        run = store.client.get_run(kept.run_id)
    except list_store_errors():  # the store has no such run because it was recreated or is a different one
        run = None
    is_open = run is not None and run.info.lifecycle_stage == "active" and run.data.tags.get("config_hash") == job_hash
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
    kept = yaml.safe_load((source / MLMODEL_FILE).read_text(encoding="utf-8"))
    write_record({**kept, **place.list_keys()}, folder)
