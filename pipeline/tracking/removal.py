"""Runs and models that are deleted for good: their rows in the database, their files, and nothing that is still named.

MLflow's own ``mlflow gc`` deletes the runs that were marked as deleted, and leaves their models, which are most of the
bytes.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from bakeoff.pipeline.config.requests import ExperimentRequest, StoreRequest
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.text.terminal import show_in_line
from bakeoff.pipeline.tracking.deletion import (
    Inventory,
    InventoryModel,
    InventoryRun,
    delete_folder,
    delete_version,
    find_own_folder,
    find_sweep_lists,
    get_backend,
    read_inventory,
)
from bakeoff.pipeline.tracking.find_run import find_run_id
from bakeoff.pipeline.tracking.limited_calls import measure_folder
from bakeoff.pipeline.tracking.registry import RegisteredVersion
from bakeoff.pipeline.tracking.sqlite_file import SQLITE_PREFIX, sqlite_path
from bakeoff.pipeline.tracking.store import Store, open_store
from bakeoff.pipeline.tracking.stored_runs import find_sweep_runs, search_stored_runs

EXPERIMENT = "Default"
"""Each store has it; a collection looks into all experiments."""


@dataclass(frozen=True, kw_only=True)
class RemovalRequest(ExperimentRequest):
    """Runs to delete.

    Attributes
    ----------
    runs : tuple of str
        Ids of runs or their first 8 characters, latest, or best.
    sweep : str
        A sweep whose runs are deleted, or latest.
    filter : str
        The runs to delete in MLflow's language, such as "params.dataset = 'wine'".
    registered : bool
        Whether to delete registered versions as well; otherwise their runs are kept. By default false.
    dry_run : bool
        Whether only to show what would be deleted. By default false.
    """

    runs: tuple[str, ...] = field(default=(), metadata={"word": "RUN"})
    sweep: str = ""
    filter: str = ""
    registered: bool = False
    dry_run: bool = False

    def __post_init__(self) -> None:
        if sum(map(bool, (self.runs, self.sweep, self.filter))) != 1:
            raise UserError('say which runs in one way: RUN ..., sweep=NAME, or filter="...".')


@dataclass(frozen=True, kw_only=True)
class CollectionRequest(StoreRequest):
    """What nothing names any more, in all experiments of a store.

    Attributes
    ----------
    registered : bool
        Whether to delete registered versions of deleted runs as well. By default false.
    dry_run : bool
        Whether only to show what would be deleted. By default false.
    """

    registered: bool = False
    dry_run: bool = False


def plan_removal(request: RemovalRequest) -> tuple[Store, Removal]:
    """Return the store, and what the deletion of runs deletes.

    Parameters
    ----------
    request : RemovalRequest

    Raises
    ------
    UserError
        There is no such run, or the store is a server.
    """
    store = open_store(request.tracking__uri, request.tracking__experiment, create=False)
    inventory = read_inventory(store, "rm")
    return store, plan_runs(store, inventory, _find_run_ids(store, request), request.registered)


def plan_garbage(request: CollectionRequest) -> tuple[Store, Removal]:
    """Return the store, and what its collection deletes.

    Parameters
    ----------
    request : CollectionRequest

    Raises
    ------
    UserError
        There is no store, or it is a server.
    """
    store = open_store(request.tracking__uri, EXPERIMENT, create=False)
    return store, plan_collection(store, read_inventory(store, "gc"), request.registered)


def _find_run_ids(store: Store, request: RemovalRequest) -> list[str]:
    if request.sweep:
        return find_sweep_runs(store, request.sweep)
    if not request.filter:
        return [find_run_id(store, word, must_be_readable=False) for word in request.runs]
    found = search_stored_runs(store, request.filter)
    if not found:
        raise UserError(f"filter={request.filter!r} selects no run in {store.uri}.")
    return [run.run_id for run in found]


CLEAN_UP = (
    "DELETE FROM inputs WHERE destination_type = 'RUN' AND destination_id NOT IN (SELECT run_uuid FROM runs)",
    "DELETE FROM inputs WHERE source_type = 'RUN_OUTPUT' AND source_id NOT IN (SELECT run_uuid FROM runs)",
    "DELETE FROM input_tags WHERE input_uuid NOT IN (SELECT input_uuid FROM inputs)",
    "DELETE FROM datasets WHERE dataset_uuid NOT IN (SELECT source_id FROM inputs WHERE source_type = 'DATASET')",
)
"""Rows of deleted runs that MLflow leaves."""


@dataclass(frozen=True)
class Removal:
    """What is to be deleted, and what is kept although it was asked for.

    Attributes
    ----------
    runs : tuple of InventoryRun
    models : tuple of InventoryModel
    versions : tuple of RegisteredVersion
        Of the registry, which name these runs or models.
    experiments : tuple of str
        Ids of experiments that were deleted in MLflow and are empty afterwards.
    folders : tuple of Path
        With all files of the runs and the models.
    n_bytes : int
        The size of these files.
    kept : tuple of str
        A sentence for each run or model that stays, with the reason.
    """

    runs: tuple[InventoryRun, ...] = ()
    models: tuple[InventoryModel, ...] = ()
    versions: tuple[RegisteredVersion, ...] = ()
    experiments: tuple[str, ...] = ()
    folders: tuple[Path, ...] = ()
    n_bytes: int = 0
    kept: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to delete."""
        return not (self.runs or self.models or self.experiments)


def plan_runs(store: Store, inventory: Inventory, run_ids: Iterable[str], is_registered_included: bool) -> Removal:
    """Return what the deletion of some runs deletes.

    Parameters
    ----------
    store : Store
    inventory : Inventory
    run_ids : iterable of str
    is_registered_included : bool
        Whether to delete registered versions as well; otherwise their runs stay.
    """
    runs = [inventory.runs[run_id] for run_id in dict.fromkeys(run_ids)]
    return _plan(store, inventory, runs, [], is_registered_included)


def plan_collection(store: Store, inventory: Inventory, is_registered_included: bool) -> Removal:
    """Return what nothing names any more: deleted runs and models, and models whose run is not there.

    The arguments are those of `plan_runs`.
    """
    runs = [run for run in inventory.runs.values() if run.is_deleted]
    models = [
        model
        for model in inventory.models.values()
        if model.is_deleted or (model.run_id and model.run_id not in inventory.runs)
    ]
    removal = _plan(store, inventory, runs, models, is_registered_included)
    kept = set(inventory.runs) - {run.run_id for run in removal.runs}
    filled = {inventory.runs[run_id].experiment_id for run_id in kept}
    filled |= {model.experiment_id for model in inventory.models.values() if model not in removal.models}
    empty = tuple(name for name in inventory.deleted_experiments if name not in filled)
    # The lists of sweeps belong to no run.
    lists = [find_sweep_lists(store, inventory.locations[name]) for name in empty]
    folders = [*removal.folders, *(folder for folder in lists if folder is not None)]
    return Removal(
        removal.runs,
        removal.models,
        removal.versions,
        empty,
        tuple(folders),
        sum(map(measure_folder, folders)),
        removal.kept,
    )


def remove(store: Store, removal: Removal) -> None:
    """Delete what was planned, files first, so that an interrupted deletion can be repeated.

    Parameters
    ----------
    store : Store
    removal : Removal
    """
    for folder in removal.folders:
        delete_folder(folder)
    for version in removal.versions:
        delete_version(store, version)
    backend = get_backend(store)
    for model in removal.models:
        backend._hard_delete_logged_model(model.model_id)
    for run in removal.runs:
        backend._hard_delete_run(run.run_id)
    for experiment_id in removal.experiments:
        backend._hard_delete_experiment(experiment_id)


def shrink_database(store: Store) -> str:
    """Give back the space of deleted rows; return why that was not possible, empty if it was.

    Parameters
    ----------
    store : Store
        Only a SQLite file is shrunk; a server does it by itself.
    """
    if not store.uri.startswith(SQLITE_PREFIX):
        return ""
    try:
        with closing(sqlite3.connect(sqlite_path(store.uri))) as database:
            with database:
                for statement in CLEAN_UP:
                    database.execute(statement)
            database.execute("VACUUM")
            database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    except sqlite3.OperationalError as error:
        return f"the database was not made smaller: {error}; repeat `bakeoff gc` when no other process uses it"
    return ""


def _plan(
    store: Store,
    inventory: Inventory,
    runs: Sequence[InventoryRun],
    models: Sequence[InventoryModel],
    is_registered_included: bool,
) -> Removal:
    """Return what is deleted with some runs and models, less what must stay."""
    of_runs = {run.run_id for run in runs}
    of_models = {model.model_id for model in models}
    all_models = [
        model for model in inventory.models.values() if model.run_id in of_runs or model.model_id in of_models
    ]
    versions = _find_versions(inventory, of_runs, {model.model_id for model in all_models})
    kept_runs = {run.run_id: "its process is running" for run in runs if run.is_running}
    kept_models: dict[str, str] = {}
    if not is_registered_included:
        for version in versions:
            reason = f"{_describe_version(version)} is registered; registered=true deletes it as well"
            kept_models[version.model_id] = reason
            kept_runs[version.run_id] = reason
    # A version that names no run or no model keeps none.
    kept_runs.pop("", None)
    deleted_runs = [run for run in runs if run.run_id not in kept_runs]
    deleted_models = [
        model for model in all_models if model.run_id not in kept_runs and model.model_id not in kept_models
    ]
    sentences = [f"{run}: {kept_runs[run.run_id]}" for run in runs if run.run_id in kept_runs]
    sentences += [
        f"model {model.model_id}: {kept_models[model.model_id]}"
        for model in all_models
        if model.model_id in kept_models and model.run_id not in of_runs
    ]
    addresses = {run.run_id: run.address for run in deleted_runs}
    addresses |= {model.model_id: model.address for model in deleted_models}
    found = {owner: find_own_folder(store, address, owner) for owner, address in addresses.items()}
    foreign = [addresses[owner] for owner, folder in found.items() if folder is None]
    if foreign:
        sentences.append(_describe_foreign(foreign))
    folders = [folder for folder in found.values() if folder is not None and folder.is_dir()]
    return Removal(
        tuple(deleted_runs),
        tuple(deleted_models),
        tuple(versions) if is_registered_included else (),
        (),
        tuple(folders),
        sum(map(measure_folder, folders)),
        tuple(sentences),
    )


def _find_versions(
    inventory: Inventory, run_ids: Collection[str], model_ids: Collection[str]
) -> list[RegisteredVersion]:
    return [each for each in inventory.versions if each.run_id in run_ids or each.model_id in model_ids]


def _describe_version(version: RegisteredVersion) -> str:
    aliases = "".join(f" @{alias}" for alias in version.aliases)
    return f"version {version.version} of {version.name}{aliases}"


def _describe_foreign(addresses: Sequence[str]) -> str:
    places = ", ".join(map(show_in_line, addresses))
    return f"the files of {len(addresses)} runs and models, which are not in the folder of this store: {places}"
