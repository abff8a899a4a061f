"""Models in MLflow: one for each run, found again by the run's id."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.experiment import FittedModel
from bakeoff.pipeline.stages.dataset import Dataset
from bakeoff.pipeline.tracking import model_file
from bakeoff.pipeline.tracking.interface import RunDescription
from bakeoff.pipeline.tracking.store import Store, open_store


def log_model(store: Store, run_id: str, description: RunDescription, dataset: Dataset, model: FittedModel) -> None:
    """Save a run's model, as READY, or FAILED if it cannot be written.

    Parameters
    ----------
    store : Store
    run_id : str
    description : RunDescription
        Of the run: the model has its name.
    dataset : Dataset
        Tells which columns the model takes.
    model : FittedModel
    """
    from mlflow.entities import LoggedModelOutput, LoggedModelStatus
    from mlflow.models import Model as Record

    client = store.client
    logged = client.create_logged_model(store.experiment_id, name=model_name(description.name), source_run_id=run_id)
    record = Record(
        artifact_path=logged.artifact_location,
        model_uuid=logged.model_id,
        run_id=run_id,
        model_id=logged.model_id,
    )
    try:
        upload = partial(client.log_model_artifacts, logged.model_id)
        with artifact_folder(logged.artifact_location, upload) as folder:
            model_file.save_model(model.pipeline, folder, record, dataset, description.trust)
    except BaseException:
        client.finalize_logged_model(logged.model_id, LoggedModelStatus.FAILED)
        raise
    client.finalize_logged_model(logged.model_id, LoggedModelStatus.READY)
    client.log_outputs(run_id, [LoggedModelOutput(logged.model_id, step=0)])


@contextmanager
def artifact_folder(uri: str, upload: Callable[[str], None]) -> Iterator[Path]:
    """Give a folder for artifacts: where they will lie if that is on this machine, else one that is uploaded."""
    if uri.startswith("file://"):
        path = Path(url2pathname(urlsplit(uri).path))
        path.mkdir(parents=True, exist_ok=True)
        yield path
        return
    with TemporaryDirectory(prefix="bakeoff-") as folder:
        yield Path(folder)
        upload(folder)


def model_name(run_name: str) -> str:
    """Return the run's name without the characters that MLflow refuses in a model's.

    Examples
    --------
    >>> model_name("knn p=1.5 a/b:c")
    'knn p=1_5 a_b_c'
    """
    return "".join("_" if character in "/:.%\"'" else character for character in run_name)


def load_model(run: str, uri: str | None, experiment: str) -> tuple[Any, dict[str, str]]:
    """Load the model of a run.

    Parameters
    ----------
    run : str
        The run's id, or ``latest`` for the newest finished run of the experiment.
    uri : str or None
        As for `store_uri`.
    experiment : str

    Returns
    -------
    model : estimator
        Fitted.
    kinds : dict of str to str
        The columns that it takes, and their types in MLflow's words.

    Raises
    ------
    UserError
        No such run, or a run without a model.
    """
    store = open_store(uri, experiment, create=False)
    import mlflow
    from mlflow.exceptions import MlflowException

    mlflow.set_tracking_uri(store.uri)
    run_id = _latest(store) if run == "latest" else run
    try:
        outputs = store.client.get_run(run_id).outputs
    except MlflowException as error:
        raise UserError(
            f"predict: there is no run {run_id!r} in {store.uri}; the pages of `bakeoff ui` list them."
        ) from error
    if outputs is None or not outputs.model_outputs:
        raise UserError(f"predict: run {run_id} kept no model; run it again with tracking.models=true.")
    address = f"models:/{outputs.model_outputs[0].model_id}"
    inputs = mlflow.models.get_model_info(address).signature.inputs
    column_types = {column.name: column.type.name for column in inputs}
    flavor = mlflow.models.get_model_info(address).flavors.get("sklearn", {})
    if flavor.get("serialization_format") != "skops":  # other code logged it
        return mlflow.sklearn.load_model(address), column_types
    folder = Path(mlflow.artifacts.download_artifacts(address))
    return model_file.load_model(folder, flavor.get("skops_trusted_types") or []), column_types


def _latest(store: Store) -> str:
    found = store.client.search_runs(
        [store.experiment_id], filter_string="status = 'FINISHED'", max_results=1, order_by=["start_time DESC"]
    )
    if not found:
        raise UserError(f"predict: there is no finished run in {store.uri} yet.")
    return str(found[0].info.run_id)


def preload_modules() -> None:
    """Import now what a run needs later."""
    for module in ("mlflow.sklearn", "mlflow.store.tracking.sqlalchemy_store", "skops.io"):
        importlib.import_module(module)
