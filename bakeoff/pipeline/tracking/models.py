"""Models in MLflow: written for a run or as a registered version, and loaded by the word that names one.

The files are those of MLflow's own function for scikit-learn, so that its tools read them too. A model becomes visible
when its files are complete, and bakeoff loads only reviewed and trusted types.
"""

from __future__ import annotations

import json
import platform
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import sklearn
import yaml

from bakeoff.pipeline.config.requests import RunRequest
from bakeoff.pipeline.errors import StoreError, UserError, first_line
from bakeoff.pipeline.model.estimator_file import (
    CODE_FOLDER,
    MODEL_FILE_NAME,
    MissingCode,
    UnreadableEstimator,
    UntrustedType,
    list_own_packages,
    read_reviewed_estimator,
    trusted_types,
    write_own_code,
)
from bakeoff.pipeline.model.pyfunc import LOADER_MODULE, MLMODEL_FILE, PREDICTION, Model, list_outputs
from bakeoff.pipeline.model.training_record import (
    TRAINING_FILE,
    TrainingRecord,
    UnreadableRecord,
    format_record,
    parse_record,
)
from bakeoff.pipeline.tracking import provenance
from bakeoff.pipeline.tracking.artifacts import artifact_folder, delete_model, fetch_folder, find_model_address
from bakeoff.pipeline.tracking.mlflow_tables import DEFAULT_EXPERIMENT, find_mlflow_version, list_store_errors
from bakeoff.pipeline.tracking.names import (
    ModelName,
    RegisteredVersion,
    find_run_id,
    find_version,
    names_run,
    register_version,
)
from bakeoff.pipeline.tracking.provenance import pin_versions
from bakeoff.pipeline.tracking.store import Store, open_store
from bakeoff.pipeline.tracking.stored_runs import read_stored_runs

MODEL_NAME = "model"
"""The name of the model of each run, by which MLflow finds it as ``runs:/ID/model``."""
TOOLS = ("pip", "setuptools", "wheel")
PACKAGES = ("mlflow", "bakeoff", "numpy", "pandas", "scikit-learn", "skops")
"""The packages that a model needs, in the order in which MLflow lists them."""


class ModelPlace(NamedTuple):
    """The address of a logged model's files, its id, and the id of the run that it is from."""

    address: str
    model_id: str
    run_id: str

    def list_keys(self) -> dict[str, str]:
        """Return the place in the keys of MLflow's record of a model."""
        return {
            "artifact_path": self.address,
            "model_id": self.model_id,
            "model_uuid": self.model_id,
            "run_id": self.run_id,
        }


WriteModel = Callable[[Path, ModelPlace], None]
"""Writes the files of a model into a folder."""


def save_model(
    estimator: Any, folder: Path, place: ModelPlace, training: TrainingRecord, trust: Sequence[str] = ()
) -> None:
    """Write a fitted estimator as an MLflow model.

    MLflow's own function would read the versions of all installed packages, and importing it takes a tenth of a short
    run. A test compares the files.

    Parameters
    ----------
    estimator : estimator
        A fitted estimator, which accepts the raw columns of the dataset.
    folder : Path
        An empty folder.
    place : ModelPlace
    training : TrainingRecord
        The record written next to the estimator.
    trust : sequence of str
        Packages whose types the estimator may hold.

    Raises
    ------
    UntrustedType
        The model contains a type that is not trusted.
    """
    import skops.io

    # The types are checked before the file exists, so a model that cannot be loaded is never kept.
    dumped = skops.io.dumps(estimator)
    types = trusted_types(dumped, trust)
    packages = list_own_packages(types)
    (folder / MODEL_FILE_NAME).write_bytes(dumped)
    (folder / TRAINING_FILE).write_text(format_record(training), encoding="utf-8")
    for name, text in environment_files().items():
        (folder / name).write_text(text, encoding="utf-8")
    has_code = write_own_code(packages, folder)
    record = {
        **place.list_keys(),
        "flavors": describe_flavors(types, CODE_FOLDER if has_code else None),
        "is_signature_from_type_hint": False,
        # MLflow's pages show these.
        "metadata": {
            "rows": training.describe_rows(),
            "dataset": training.dataset,
            "dataset_digest": training.dataset_digest,
            "columns": ", ".join(training.features),
        },
        "mlflow_version": find_mlflow_version(),
        "model_size_bytes": len(dumped),
        "prompts": None,
        "signature": {"inputs": None, "outputs": describe_outputs(estimator, training.task), "params": None},
        "type_hint_from_example": False,
        "utc_time_created": str(datetime.now(UTC).replace(tzinfo=None)),
    }
    write_record(record, folder)


def write_record(record: Mapping[str, Any], folder: Path) -> None:
    """Write MLflow's record of a model."""
    # MLflow would use PyYAML's Python dumper, which takes ten times as long as the one in C.
    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    (folder / MLMODEL_FILE).write_text(yaml.dump(record, Dumper=dumper), encoding="utf-8")


def describe_flavors(types: Sequence[str], code: str | None = None) -> dict[str, dict[str, Any]]:
    """Return the loaders of the file: as a scikit-learn estimator, and as MLflow's generic Python function.

    This and `environment_files` are what ``mlflow.sklearn.save_model`` writes, except for the loader of the function
    and the file for conda.

    Parameters
    ----------
    types : sequence of str
        Types in the estimator that are unknown to skops.
    code : str, optional
        The folder with the sources of user-defined packages, in the folder of the model.
    """
    own_code = {"code": code} if code else {}
    function = {
        "env": {"virtualenv": "python_env.yaml"},
        "loader_module": LOADER_MODULE,
        "model_path": MODEL_FILE_NAME,
        "predict_fn": "predict",
        "python_version": platform.python_version(),
        **own_code,
    }
    estimator = {
        "code": code,
        "pickled_model": MODEL_FILE_NAME,
        "serialization_format": "skops",
        "sklearn_version": sklearn.__version__,
        "skops_trusted_types": list(types),
    }
    return {"python_function": function, "sklearn": estimator}


@cache
def environment_files() -> Mapping[str, str]:
    """Return the files that list the packages a model needs, for pip and virtualenv: name -> text."""
    virtualenv = {
        "python": platform.python_version(),
        "build_dependencies": [requirement for name in TOOLS for requirement in pin_versions(name) or (name,)],
        "dependencies": ["-r requirements.txt"],
    }
    return {
        "requirements.txt": "\n".join(pin_versions(*PACKAGES)),
        "python_env.yaml": yaml.safe_dump(virtualenv, sort_keys=False),
    }


def describe_outputs(estimator: Any, task: str) -> str:
    """Return the types of the predictions, as JSON; the types of the columns are in the training record.

    A column has no type in MLflow's signature. MLflow would refuse whole numbers for double and numbers for string, and
    its server refuses CSV if any type is allowed. The rows are therefore passed unchanged, and `convert_rows` converts
    them to the kinds of training.

    Parameters
    ----------
    estimator : estimator
    task : {"classification", "regression"}
    """
    label_kind = "f" if task == "regression" else estimator.classes_.dtype.kind
    types = {PREDICTION: {"f": "double", "i": "long", "b": "boolean"}.get(label_kind, "string")}
    outputs = list_outputs(estimator)
    return json.dumps([{"type": types.get(name, "double"), "name": name, "required": True} for name in outputs])


def add_run_model(store: Store, run_id: str, write: WriteModel) -> str:
    """Write the model of a run, and note it as the output of the run; return its id.

    Parameters
    ----------
    store : Store
    run_id : str
    write : callable
        Writes the files of the model into a folder.
    """
    return _add_model(store, store.experiment_id, run_id, write)


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
    """Write a model into the experiment of its run and register it as a new version; if either fails, nothing is kept.

    Parameters
    ----------
    store : Store
    name : ModelName
        The name of the registered and the logged model, with the alias that moves to the new version.
    estimator : estimator
        Fitted.
    record : TrainingRecord
        The training record, which names the run.
    trust : sequence of str
        Packages whose types the estimator may hold.
    tags : mapping of str to str, optional
        The tags of the version.
    description : str
        The description of the version.

    Raises
    ------
    UserError
        The store cannot be written, or the estimator holds a type that is not trusted.
    """
    experiment_id = store.writer.find_experiment_id(record.run_id)
    write = partial(save_model, estimator, training=record, trust=trust)
    try:
        model_id = _add_model(store, experiment_id, record.run_id, write, name.name)
        try:
            return register_version(store, name, model_id, record.run_id, tags, description)
        except BaseException:
            _discard_model(store, model_id)
            raise
    except list_store_errors(OSError, UntrustedType) as error:
        reason = first_line(error)
        raise UserError(f"the model of run {record.run_id} cannot be stored as {name}: {reason}") from error


def _add_model(store: Store, experiment_id: str, run_id: str, write: WriteModel, name: str = "") -> str:
    """Write a logged model and return its id; if that fails, nothing is kept. Without a name, it is the run's own."""
    model_id, address = store.writer.create_model(experiment_id, name or MODEL_NAME, run_id)
    try:
        # MLflow's client is made only where it is needed.
        with artifact_folder(store, address, lambda sent: store.client.log_model_artifacts(model_id, sent)) as folder:
            write(folder, ModelPlace(address, model_id, run_id))
        # This ensures that an incomplete model is never loaded.
        store.writer.finish_model(model_id, "" if name else run_id)
    except BaseException:
        _discard_model(store, model_id)
        raise
    return model_id


def _discard_model(store: Store, model_id: str) -> None:
    with suppress(StoreError):  # the first error is the one to report
        delete_model(store, model_id)


def preload_modules() -> None:
    """Import the module that the first run would import."""
    import skops.io  # noqa: F401


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

    Only reviewed types, and types of the packages that the request trusts, are read, regardless of the store.

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
            folder = fetch_folder(store, find_model_address(store, found.model_id), temporary)
        except list_store_errors(OSError) as error:
            raise UserError(f"{title} cannot be read: {first_line(error)}") from None
        missing = [name for name in (MODEL_FILE_NAME, TRAINING_FILE) if not (folder / name).is_file()]
        if missing:
            raise UserError(
                f"{title} cannot be read: there is no {missing[0]} in {folder}. Its files were deleted, "
                "or another program stored it; mlflow.pyfunc.load_model reads models of other programs, with any "
                "code they contain."
            )
        changes: list[str] = []
        try:
            record = parse_record((folder / TRAINING_FILE).read_text(encoding="utf-8"))
            then, now = record.versions, provenance.read_versions()
            changes = [
                f"The model was fitted with {name} {then[name]}, and this is {now[name]}; predictions may differ."
                for name in DECISIVE_PACKAGES
                if name in then and then[name].split(".")[:2] != now[name].split(".")[:2]
            ]
            estimator, notes = read_reviewed_estimator(folder, trust)
        except UntrustedType as error:
            raise UserError(f"{title} {error}") from None
        except (MissingCode, UnreadableEstimator, UnreadableRecord, UnicodeDecodeError) as error:
            raise UserError(" ".join([f"{title} cannot be used: {error}.", *changes])) from None
    return Model(estimator, record, found.name, (*changes, *notes))
