"""Everything that a store on this machine holds: runs, models, versions and experiments, the deleted ones included.

MLflow's search does not return what was deleted, and reads all metrics of what it returns. So MLflow's tables are read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.tracking.history import has_lost_process
from bakeoff.pipeline.tracking.registry import RegisteredVersion, list_versions
from bakeoff.pipeline.tracking.run_form import find_fault, tidy_name
from bakeoff.pipeline.tracking.server import is_server
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
