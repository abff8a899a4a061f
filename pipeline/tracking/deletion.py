"""Deleting what is stored: the files of runs and models, a logged model, and a registered version.

The addresses of files come from the rows of a store, which somebody else may have written. So one question is asked
before any of them is deleted: `find_own_folder`.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.tracking.addresses import LOCAL_FOLDERS, local_path
from bakeoff.pipeline.tracking.faults import is_server
from bakeoff.pipeline.tracking.history import has_lost_process
from bakeoff.pipeline.tracking.registry import RegisteredVersion, list_versions, open_registry
from bakeoff.pipeline.tracking.run_form import find_fault, tidy_name
from bakeoff.pipeline.tracking.store import Store

DELETED = "deleted"
RUNNING = "RUNNING"


@dataclass(frozen=True)
class InventoryRun:
    """A run of the store.

    Attributes
    ----------
    run_id, name : str
    experiment_id : str
    address : str
        Of its artifacts.
    is_deleted, is_running : bool
    """

    run_id: str
    name: str
    experiment_id: str
    address: str
    is_deleted: bool
    is_running: bool

    def __str__(self) -> str:
        """Return the name and the beginning of the id."""
        return f"{self.name} ({self.run_id[:8]})"


@dataclass(frozen=True)
class InventoryModel:
    """A logged model of the store.

    Attributes
    ----------
    model_id, run_id : str
        The run is the one that it comes from; it may be empty, or gone.
    experiment_id : str
    address : str
        Of its files.
    is_deleted : bool
    """

    model_id: str
    run_id: str
    experiment_id: str
    address: str
    is_deleted: bool


@dataclass(frozen=True)
class Inventory:
    """Everything that a store holds.

    Attributes
    ----------
    runs : mapping of str to InventoryRun
    models : mapping of str to InventoryModel
    versions : sequence of RegisteredVersion
    locations : mapping of str to str
        Experiment -> the address of its artifacts.
    deleted_experiments : sequence of str
    """

    runs: Mapping[str, InventoryRun]
    models: Mapping[str, InventoryModel]
    versions: Sequence[RegisteredVersion]
    locations: Mapping[str, str]
    deleted_experiments: Sequence[str]


def read_inventory(store: Store, verb: str) -> Inventory:
    """Return everything that a store holds.

    Parameters
    ----------
    store : Store
    verb : str
        Begins the error message.

    Raises
    ------
    UserError
        The store is a server, which alone reaches its files.
    """
    if is_server(store.uri):
        raise UserError(
            f"{verb}: {store.uri} is a server, whose files are on its machine; run this command there with "
            "tracking.uri=URI of its database."
        )
    from mlflow.store.tracking.dbmodels.models import SqlExperiment, SqlLoggedModel, SqlRun

    with get_backend(store).ManagedSessionMaker() as session:
        columns = (SqlRun.run_uuid, SqlRun.name, SqlRun.experiment_id, SqlRun.artifact_uri, SqlRun.lifecycle_stage)
        runs = session.query(*columns, SqlRun.status).all()
        models = session.query(
            SqlLoggedModel.model_id,
            SqlLoggedModel.source_run_id,
            SqlLoggedModel.experiment_id,
            SqlLoggedModel.artifact_location,
            SqlLoggedModel.lifecycle_stage,
        ).all()
        experiments = session.query(
            SqlExperiment.experiment_id, SqlExperiment.artifact_location, SqlExperiment.lifecycle_stage
        ).all()
    return Inventory(
        runs={row[0]: _make_run(store, row) for row in runs},
        models={row[0]: InventoryModel(row[0], row[1] or "", str(row[2]), row[3], row[4] == DELETED) for row in models},
        versions=list_versions(store),
        locations={str(row[0]): row[1] or "" for row in experiments},
        deleted_experiments=[str(row[0]) for row in experiments if row[2] == DELETED],
    )


def get_backend(store: Store) -> Any:
    """Return MLflow's access to the database, which has more methods than its client."""
    return store.client._tracking_client.store


def _make_run(store: Store, row: Any) -> InventoryRun:
    run_id, name, experiment_id, address, stage, status = row
    is_running = status == RUNNING and _is_alive(store, run_id)
    return InventoryRun(run_id, tidy_name(name or ""), str(experiment_id), address or "", stage == DELETED, is_running)


def _is_alive(store: Store, run_id: str) -> bool:
    run = store.client.get_run(run_id)
    # No process of ours would write a run with a fault.
    return not find_fault(run) and not has_lost_process(store, run)


OWNER_ID = re.compile(r"(m-)?[0-9a-f]{32}")
"""The id of a run or of a logged model."""
FILES_FOLDER = "artifacts"
"""In the folder of a run or a model; the folder has no other content."""
SWEEPS_FOLDER = "sweeps"
"""In the folder of an experiment, with a list of jobs for each sweep."""


def find_own_folder(store: Store, address: str, owner: str) -> Path | None:
    """Return the folder with the files of a run or a model, if bakeoff wrote it below the folder of the store.

    Parameters
    ----------
    store : Store
        On this machine, in a SQLite file; no other store has a folder.
    address : str
        As the store records it.
    owner : str
        The id of the run or the model, which names the folder around its files.

    Returns
    -------
    Path or None
        Without links, so that it can be deleted.
    """
    folder = _resolve_below(store, address)
    is_written = folder is not None and folder.parts[-2:] == (owner, FILES_FOLDER)
    return folder if is_written and OWNER_ID.fullmatch(owner) else None


def find_sweep_lists(store: Store, address: str) -> Path | None:
    """Return the folder with the lists of the sweeps of an experiment; None as for `find_own_folder`, or without any.

    Parameters
    ----------
    store : Store
    address : str
        Of the artifacts of the experiment.
    """
    folder = _resolve_below(store, f"{address}/{SWEEPS_FOLDER}")
    is_written = folder is not None and folder.is_dir() and all(file.suffix == ".json" for file in folder.iterdir())
    return folder if is_written else None


def delete_folder(folder: Path) -> None:
    """Delete a folder that `find_own_folder` or `find_sweep_lists` has found, and the one around it if it is empty."""
    shutil.rmtree(folder, ignore_errors=True)
    with suppress(OSError):  # other files are there
        folder.parent.rmdir()


def delete_model(store: Store, model_id: str) -> None:
    """Delete a logged model, and its files if they are below the folder of the store; others stay.

    Parameters
    ----------
    store : Store
    model_id : str
    """
    location = store.client.get_logged_model(model_id).artifact_location
    store.client.delete_logged_model(model_id)
    folder = find_own_folder(store, location, model_id)
    if folder is not None:
        delete_folder(folder)


def delete_version(store: Store, version: RegisteredVersion) -> None:
    """Delete a version of a registered model with its aliases, and the name of the model with its last version."""
    registry = open_registry(store)
    registry.delete_model_version(version.name, str(version.version))
    if not list_versions(store, version.name):
        registry.delete_registered_model(version.name)


def _resolve_below(store: Store, address: str) -> Path | None:
    """Return where an address leads, if that is below the folders of artifacts in the folder of the store."""
    path = local_path(address)
    if store.folder is None or path is None:
        return None
    try:
        resolved = path.resolve()
        root = store.folder.resolve()
    except (OSError, RuntimeError, ValueError):  # links in a circle, or no path at all
        return None
    is_below = any(root / name in resolved.parents for name in LOCAL_FOLDERS)
    return resolved if is_below else None
