"""Models in MLflow: each run has one, which is found by the id of the run."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.model import Model, TrainingRecord
from bakeoff.pipeline.model.allowed_types import UntrustedType
from bakeoff.pipeline.model.estimator_file import read_reviewed_estimator
from bakeoff.pipeline.model.training_record import TRAINING_FILE, UnreadableRecord, parse_record
from bakeoff.pipeline.tracking import model_file
from bakeoff.pipeline.tracking.earlier_models import rebuild_record
from bakeoff.pipeline.tracking.find_run import find_run_and_version
from bakeoff.pipeline.tracking.store import Store, open_store

MODEL_NAME = "model"
"""The name of the model of each run, by which MLflow finds it as ``runs:/ID/model``."""
REQUIREMENTS_FILE = "requirements.txt"
PRELOADED_MODULES = ("mlflow.sklearn", "mlflow.store.tracking.sqlalchemy_store", "skops.io")


def log_run_model(store: Store, estimator: Any, training: TrainingRecord, trust: Sequence[str]) -> str:
    """Write the model of a run, and note it as the output of the run; return its id.

    Parameters
    ----------
    store : Store
    estimator : estimator
        Fitted.
    training : TrainingRecord
        Names the run.
    trust : sequence of str
        Packages whose types the estimator may hold.
    """
    from mlflow.entities import LoggedModelOutput

    model_id = log_model(store, MODEL_NAME, estimator, training, trust)
    store.client.log_outputs(training.run_id, [LoggedModelOutput(model_id, step=0)])
    return model_id


def log_model(store: Store, name: str, estimator: Any, training: TrainingRecord, trust: Sequence[str]) -> str:
    """Write a model into MLflow, and return its id; it becomes READY, or FAILED if it cannot be written.

    Parameters
    ----------
    store : Store
    name : str
        What MLflow's pages show; several models may have the same.
    estimator : estimator
        Fitted.
    training : TrainingRecord
        Names the run that the model comes from.
    trust : sequence of str
        Packages whose types the estimator may hold.
    """
    from mlflow.entities import LoggedModelStatus
    from mlflow.models import Model as MLflowModel

    client = store.client
    run_id = training.run_id
    logged = client.create_logged_model(store.experiment_id, name=name, source_run_id=run_id)
    record = MLflowModel(
        artifact_path=logged.artifact_location,
        model_uuid=logged.model_id,
        run_id=run_id,
        model_id=logged.model_id,
    )
    # The model becomes READY only when all files are written, so that an incomplete one is never loaded.
    upload = partial(client.log_model_artifacts, logged.model_id)
    try:
        with artifact_folder(logged.artifact_location, upload) as folder:
            model_file.save_model(estimator, folder, record, training, trust)
    except BaseException:
        client.finalize_logged_model(logged.model_id, LoggedModelStatus.FAILED)
        raise
    client.finalize_logged_model(logged.model_id, LoggedModelStatus.READY)
    return str(logged.model_id)


@contextmanager
def artifact_folder(uri: str, upload: Callable[[str], None]) -> Iterator[Path]:
    """Yield a folder for artifacts: their final one if that is on this machine, else a temporary one to upload.

    Parameters
    ----------
    uri : str
        Where the artifacts are to be stored.
    upload : callable
        Sends the files of a temporary folder there.
    """
    if uri.startswith("file://"):
        path = Path(url2pathname(urlsplit(uri).path))
        path.mkdir(parents=True, exist_ok=True)
        yield path
        return
    with TemporaryDirectory(prefix="bakeoff-") as folder:
        yield Path(folder)
        upload(folder)


@dataclass(frozen=True)
class FoundModel:
    """A stored model that a word names.

    Attributes
    ----------
    run_id : str
        The run that it comes from.
    model_id : str
        Of the logged model.
    name : str
        What the word named: a run, or a version of a registered model.
    """

    run_id: str
    model_id: str
    name: str


def find_model(store: Store, word: str, verb: str, dataset: str = "") -> FoundModel:
    """Return the model that a word names: that of a run, or a version of a registered model.

    Parameters
    ----------
    store : Store
    word, verb, dataset : str
        As for `find_run_id`.

    Raises
    ------
    UserError
        There is no such run or registered model, or the run has stored no model.
    """
    run_id, version = find_run_and_version(store, word, verb, dataset)
    if version is not None and version.model_id:
        return FoundModel(run_id, version.model_id, f"{version.name}, version {version.version}")
    outputs = store.client.get_run(run_id).outputs
    if outputs is None or not outputs.model_outputs:
        raise UserError(f"{verb}: run {run_id} has no model; run it again with tracking.models=true.")
    return FoundModel(run_id, str(outputs.model_outputs[0].model_id), "")


def load_model(
    word: str, uri: str | None, experiment: str, dataset: str = "", trust: Sequence[str] = (), verb: str = "predict"
) -> Model:
    """Load the model that a word names.

    Only types that were reviewed are read, and those of the packages in ``trust``, whatever the store says.

    Parameters
    ----------
    word : str
        The id of a run, ``latest`` for the newest finished run of the experiment, ``best`` for the one with the best
        headline score, or the name of a registered model, alone, with ``@alias``, or with ``/version``.
    uri : str or None
        As for `store_uri`.
    experiment : str
    dataset : str
        Restricts ``latest`` and ``best`` to runs on this dataset.
    trust : sequence of str
        Packages of the user whose code the model may run.
    verb : str
        Begins each error message.

    Raises
    ------
    UserError
        There is no such run or model, it needs code that is not trusted, or another version stored it.
    """
    store = open_store(uri, experiment, create=False)
    found = find_model(store, word, verb, dataset)
    with TemporaryDirectory(prefix="bakeoff-") as temporary:
        location = store.client.get_logged_model(found.model_id).artifact_location
        folder = fetch_folder(store, location, temporary)
        try:
            estimator = read_reviewed_estimator(folder, trust)
        except UntrustedType as error:
            raise UserError(f"{verb}: {error}") from None
        record = _read_record(store, found, folder)
    return Model(estimator, record, found.name)


def _read_record(store: Store, found: FoundModel, folder: Path) -> TrainingRecord:
    file = folder / TRAINING_FILE
    if not file.is_file():
        return rebuild_record(store, found.run_id, folder)
    try:
        return parse_record(file.read_text(encoding="utf-8"))
    except UnreadableRecord as error:
        raise UserError(f"the model of run {found.run_id} cannot be used: {error}.") from None


def load_reviewed_model(store: Store, model_id: str, trust: Sequence[str]) -> tuple[Any | None, str]:
    """Load a model if all its types are trusted here, whatever the store says to trust.

    Parameters
    ----------
    store : Store
    model_id : str
    trust : sequence of str
        Packages that the user trusts.

    Returns
    -------
    model : estimator or None
        Fitted.
    reason : str
        Why there is none.
    """
    from mlflow.exceptions import MlflowException

    with TemporaryDirectory(prefix="bakeoff-") as temporary:
        try:
            location = store.client.get_logged_model(model_id).artifact_location
            folder = fetch_folder(store, location, temporary)
            return read_reviewed_estimator(folder, trust), ""
        except UntrustedType as error:
            return None, str(error)
        except (MlflowException, OSError) as error:
            return None, f"the model of the run cannot be read: {str(error).splitlines()[0]}"


def read_requirements(store: Store, model_id: str) -> dict[str, str]:
    """Return the versions that a model was stored with: package -> version; empty if its files are gone."""
    from mlflow.exceptions import MlflowException

    with TemporaryDirectory(prefix="bakeoff-") as temporary:
        try:
            location = store.client.get_logged_model(model_id).artifact_location
            lines = (fetch_folder(store, location, temporary) / REQUIREMENTS_FILE).read_text().splitlines()
        except (MlflowException, OSError):
            return {}
    return {name: version for name, separator, version in (line.partition("==") for line in lines) if separator}


def fetch_folder(store: Store, uri: str, temporary: str) -> Path:
    """Return a folder with the artifacts at a URI: where they are, if that is this machine, else copies of them.

    Parameters
    ----------
    store : Store
    uri : str
        As MLflow records it for a run or a model.
    temporary : str
        Receives the copies.
    """
    if uri.startswith("file://"):
        return Path(url2pathname(urlsplit(uri).path))
    from mlflow.artifacts import download_artifacts

    return Path(download_artifacts(uri, dst_path=temporary, tracking_uri=store.uri))


def preload_modules() -> None:
    """Import the modules that the first run would import."""
    for module in PRELOADED_MODULES:
        importlib.import_module(module)
