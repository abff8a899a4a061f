"""Models in MLflow: each run has one, which is found by the id of the run."""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.experiment import FittedModel
from bakeoff.pipeline.stages.dataset import Column, Dataset
from bakeoff.pipeline.stages.dataset.column_record import (
    COLUMNS_FILE,
    GUESSED_TAG,
    KIND_OF_TYPE,
    parse_columns,
    select_features,
)
from bakeoff.pipeline.tracking import model_file
from bakeoff.pipeline.tracking.find_run import find_run_id
from bakeoff.pipeline.tracking.interface import RunDescription
from bakeoff.pipeline.tracking.reading.stored_config import read_stored_config
from bakeoff.pipeline.tracking.store import Store, open_store

REJECTED_CHARACTERS = "/:.%\"'"
"""MLflow does not accept them in the name of a model."""
REQUIREMENTS_FILE = "requirements.txt"
PRELOADED_MODULES = ("mlflow.sklearn", "mlflow.store.tracking.sqlalchemy_store", "skops.io")


def log_model(store: Store, run_id: str, description: RunDescription, dataset: Dataset, model: FittedModel) -> None:
    """Write the model of a run. In MLflow it becomes READY, or FAILED if it cannot be written.

    Parameters
    ----------
    store : Store
    run_id : str
    description : RunDescription
        The model gets the name of the run.
    dataset : Dataset
        Determines the columns that the model requires.
    model : FittedModel
    """
    from mlflow.entities import LoggedModelOutput, LoggedModelStatus
    from mlflow.models import Model as MLflowModel

    client = store.client
    name = model_name(description.name)
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
            model_file.save_model(model.predictor, folder, record, dataset, description.trust)
    except BaseException:
        client.finalize_logged_model(logged.model_id, LoggedModelStatus.FAILED)
        raise
    client.finalize_logged_model(logged.model_id, LoggedModelStatus.READY)
    client.log_outputs(run_id, [LoggedModelOutput(logged.model_id, step=0)])


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


def model_name(run_name: str) -> str:
    """Return the name of a run with the characters replaced that MLflow does not accept in the name of a model.

    Examples
    --------
    >>> model_name("knn p=1.5 a/b:c")
    'knn p=1_5 a_b_c'
    """
    return "".join("_" if character in REJECTED_CHARACTERS else character for character in run_name)


@dataclass(frozen=True)
class StoredModel:
    """The model of a run, with what is needed to apply it to other rows.

    Attributes
    ----------
    model : estimator
        Fitted.
    columns : tuple of Column, of length d
        The features that it requires, in order, as they were in training.
    source_columns : tuple of Column
        All columns of the source, in its order, the target included; empty if the run is of an earlier version, which
        stored the types of the features alone.
    dataset : mapping
        The configuration of the dataset, with the keys of its file that were guessed; empty if it is gone.
    """

    model: Any
    columns: tuple[Column, ...]
    source_columns: tuple[Column, ...] = ()
    dataset: Mapping[str, Any] = field(default_factory=dict)


def load_model(run: str, uri: str | None, experiment: str, dataset: str = "") -> StoredModel:
    """Load the model of a run.

    Parameters
    ----------
    run : str
        The id of a run, ``latest`` for the newest finished run of the experiment, or ``best`` for the one with the
        best headline score.
    uri : str or None
        As for `store_uri`.
    experiment : str
    dataset : str
        Restricts ``latest`` and ``best`` to runs on this dataset.

    Raises
    ------
    UserError
        There is no such run, or it has no model.
    """
    store = open_store(uri, experiment, create=False)
    import mlflow

    mlflow.set_tracking_uri(store.uri)
    run_id = find_run_id(store, run, "predict", dataset)
    model_uri = _find_model_uri(store, run_id)
    info = mlflow.models.get_model_info(model_uri)
    types = {column.name: column.type.name for column in info.signature.inputs}
    source_columns = _read_columns(store, run_id)
    features = select_features(source_columns, list(types))
    if len(features) < len(types):
        source_columns = ()
        features = [Column(name, KIND_OF_TYPE[each], "") for name, each in types.items()]
    flavor = info.flavors.get("sklearn", {})
    if flavor.get("serialization_format") != "skops":  # a model that other code logged
        model = mlflow.sklearn.load_model(model_uri)
    else:
        folder = Path(mlflow.artifacts.download_artifacts(model_uri))
        model = model_file.load_model(folder, flavor.get("skops_trusted_types") or [])
    return StoredModel(model, tuple(features), source_columns, _read_dataset_config(store, run_id))


def _read_columns(store: Store, run_id: str) -> tuple[Column, ...]:
    """Return the columns that a run has stored; none if it is of an earlier version or its artifacts are gone."""
    from mlflow.exceptions import MlflowException

    with TemporaryDirectory(prefix="bakeoff-") as temporary:
        try:
            file = Path(store.client.download_artifacts(run_id, COLUMNS_FILE, temporary))
            return parse_columns(file.read_text(encoding="utf-8"))
        except (MlflowException, OSError):
            return ()


def _read_dataset_config(store: Store, run_id: str) -> Mapping[str, Any]:
    """Return the configuration of a dataset, with the keys of its file that were guessed."""
    try:
        config = dict(read_stored_config(store, run_id)["dataset"])
    except (UserError, KeyError):
        return {}
    tags = store.client.get_run(run_id).data.tags
    return config | json.loads(tags.get(GUESSED_TAG, "{}"))


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
            return model_file.load_reviewed_model(folder, trust), ""
        except model_file.UntrustedType as error:
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


def _find_model_uri(store: Store, run_id: str) -> str:
    outputs = store.client.get_run(run_id).outputs
    if outputs is None or not outputs.model_outputs:
        raise UserError(f"predict: run {run_id} has no model; run it again with tracking.models=true.")
    return f"models:/{outputs.model_outputs[0].model_id}"


def preload_modules() -> None:
    """Import the modules that the first run would import."""
    for module in PRELOADED_MODULES:
        importlib.import_module(module)
