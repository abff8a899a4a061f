"""Load the model that a word names."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from bakeoff.pipeline.config.requests import RunRequest
from bakeoff.pipeline.errors import UserError, first_line
from bakeoff.pipeline.model.allowed_types import UntrustedType
from bakeoff.pipeline.model.estimator_file import (
    MODEL_FILE_NAME,
    MissingCode,
    UnreadableEstimator,
    read_reviewed_estimator,
)
from bakeoff.pipeline.model.pyfunc import Model
from bakeoff.pipeline.model.training_record import TRAINING_FILE, TrainingRecord, UnreadableRecord, parse_record
from bakeoff.pipeline.tracking import provenance
from bakeoff.pipeline.tracking.mlflow_tables import DEFAULT_EXPERIMENT, list_store_errors
from bakeoff.pipeline.tracking.names import find_run_id, find_version, names_run
from bakeoff.pipeline.tracking.run_content import fetch_folder
from bakeoff.pipeline.tracking.store import Store, open_store
from bakeoff.pipeline.tracking.stored_runs import read_stored_runs

DECISIVE_PACKAGES = ("bakeoff", "scikit-learn")
"""Packages whose versions may affect predictions; versions of other packages are recorded but not compared."""


@dataclass(frozen=True)
class FoundModel:
    """A stored model named by a word.

    Attributes
    ----------
    run_id : str
        The run from which it comes.
    model_id : str
        The id of the logged model.
    name : str
        The version of a registered model if the word named one; empty if it named a run.
    """

    run_id: str
    model_id: str
    name: str = ""


def find_model(store: Store, word: str, dataset: str = "") -> FoundModel:
    """Return the model that an argument selects: the model of a run, or a version of a registered model.

    Parameters
    ----------
    store : Store
    word, dataset : str
        As for `find_run_id`.

    Raises
    ------
    UserError
        There is no such run or registered model, or the run has no stored model.
    """
    # A registered model exists even if the run from which it comes was deleted.
    version = find_version(store, word)
    if version is not None and version.model_id:
        return FoundModel(version.run_id, version.model_id, f"{version.name}, version {version.version}")
    run_id = find_run_id(store, word, dataset)
    (run,) = read_stored_runs(store, [run_id])
    if not run.model_id:
        raise UserError(f"run {run_id} has no model; run it again with tracking.models=true.")
    return FoundModel(run_id, run.model_id)


def load_model(request: RunRequest) -> Model:
    """Load the model that a request names.

    Only reviewed types and those of the packages that the request trusts are read, regardless of the store.

    Raises
    ------
    UserError
        There is no such run or model, it needs untrusted code, or it was stored by another version.
    """
    # A registered model is found without the experiment of its run.
    experiment = request.tracking__experiment if names_run(request.run) else DEFAULT_EXPERIMENT
    store = open_store(request.tracking__uri, experiment, create=False)
    return open_model(store, find_model(store, request.run, request.dataset), request.trust)


def open_model(store: Store, found: FoundModel, trust: Sequence[str] = ()) -> Model:
    """Load a stored model; for the errors see `load_model`."""
    title = f"the model {found.name}" if found.name else f"the model of run {found.run_id}"
    with TemporaryDirectory(prefix="bakeoff-") as temporary:
        try:
            location = store.client.get_logged_model(found.model_id).artifact_location
            folder = fetch_folder(store, location, temporary)
        except list_store_errors(OSError) as error:
            raise UserError(f"{title} cannot be read: {first_line(error)}") from None
        if not (folder / MODEL_FILE_NAME).is_file():
            raise UserError(
                f"{title} cannot be read: there is no {MODEL_FILE_NAME} in {folder}. Its files were deleted, "
                "or another program stored it; mlflow.pyfunc.load_model reads those, with any code they contain."
            )
        record = _read_record(folder, title)
        estimator, notes = _read_estimator(folder, trust, record, title)
    return Model(estimator, record, found.name, (*_compare_versions(record.versions), *notes))


def _read_record(folder: Path, title: str) -> TrainingRecord:
    file = folder / TRAINING_FILE
    if not file.is_file():
        raise UserError(
            f"{title} has no {TRAINING_FILE}: the file was deleted, or another program stored the model; run again."
        )
    try:
        return parse_record(file.read_text(encoding="utf-8"))
    except (UnreadableRecord, UnicodeDecodeError) as error:
        raise UserError(f"{title} cannot be used: {error}.") from None


def _read_estimator(
    folder: Path, trust: Sequence[str], record: TrainingRecord, title: str
) -> tuple[Any, Sequence[str]]:
    try:
        return read_reviewed_estimator(folder, trust)
    except UntrustedType as error:
        raise UserError(f"{title} {error}") from None
    except (MissingCode, UnreadableEstimator) as error:
        versions = " ".join(_compare_versions(record.versions))
        raise UserError(f"{title} cannot be used: {error}. {versions}".strip()) from None


def _compare_versions(then: Mapping[str, str]) -> list[str]:
    """Return a sentence for each package whose version differs from the one with which a model was fitted."""
    return [
        f"The model was fitted with {name} {then[name]}, and this is {now}; predictions may differ."
        for name, now in _read_decisive_versions().items()
        # The third number only denotes bug fixes.
        if name in then and then[name].split(".")[:2] != now.split(".")[:2]
    ]


def _read_decisive_versions() -> dict[str, str]:
    versions = provenance.read_versions()
    return {name: versions[name] for name in DECISIVE_PACKAGES}
