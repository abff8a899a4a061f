"""Models in MLflow: each run has one, which is found by the id of the run."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from bakeoff.pipeline.errors import StoreError
from bakeoff.pipeline.model import TrainingRecord
from bakeoff.pipeline.model.allowed_types import UntrustedType
from bakeoff.pipeline.model.estimator_file import UnreadableEstimator, read_reviewed_estimator
from bakeoff.pipeline.model.own_code import MissingCode
from bakeoff.pipeline.tracking import model_file
from bakeoff.pipeline.tracking.addresses import local_path
from bakeoff.pipeline.tracking.deletion import delete_model
from bakeoff.pipeline.tracking.folder_size import measure_folder
from bakeoff.pipeline.tracking.store import Store

MODEL_NAME = "model"
"""The name of the model of each run, by which MLflow finds it as ``runs:/ID/model``."""
PRELOADED_MODULES = (
    "alembic.command",
    "filelock",
    "mlflow.models",
    "mlflow.store.tracking.sqlalchemy_store",
    "skops.io",
    "sqlalchemy.dialects.sqlite",
)
"""What a run imports late."""


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


def log_model(
    store: Store,
    name: str,
    estimator: Any,
    training: TrainingRecord,
    trust: Sequence[str],
    *,
    keep_failed: bool = True,
) -> str:
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
    keep_failed : bool
        Whether a model that cannot be written stays, so that pages show it beside its run.
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
        with suppress(StoreError):  # the first error is the one to report
            if keep_failed:
                client.finalize_logged_model(logged.model_id, LoggedModelStatus.FAILED)
            else:
                delete_model(store, logged.model_id)
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
    path = local_path(uri)
    if path is not None:
        path.mkdir(parents=True, exist_ok=True)
        yield path
        return
    with TemporaryDirectory(prefix="bakeoff-") as folder:
        yield Path(folder)
        upload(folder)


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
            estimator, _ = read_reviewed_estimator(folder, trust)
            return estimator, ""
        except (UntrustedType, MissingCode, UnreadableEstimator) as error:
            return None, str(error)
        except (MlflowException, OSError) as error:
            return None, f"the model of the run cannot be read: {str(error).splitlines()[0]}"


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
    path = local_path(uri)
    if path is not None:
        return path
    from mlflow.artifacts import download_artifacts

    received = partial(measure_folder, Path(temporary))
    options = {"dst_path": temporary, "tracking_uri": store.uri}
    return Path(store.calls.call(download_artifacts, uri, count_bytes=received, **options))


def preload_modules() -> None:
    """Import the modules that the first run would import."""
    for module in PRELOADED_MODULES:
        importlib.import_module(module)
