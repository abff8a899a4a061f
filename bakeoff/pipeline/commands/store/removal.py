"""Permanent deletion of runs and models: the selection, dependent items, and items that are kept.

MLflow's own ``mlflow gc`` deletes the runs that were marked as deleted, but leaves their models, which take up most of
the space. MLflow's search returns neither deleted models nor those of runs that no longer exist, so its tables are
read.

The addresses of files come from the rows of a store, which somebody else may have written. Before any files are
deleted, `find_own_folder` therefore checks their address.
"""

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from bakeoff.pipeline.config.requests import ExperimentRequest, StoreRequest, Word
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.text.wording import shorten_id, show_in_line
from bakeoff.pipeline.tracking.artifacts import delete_folder, find_own_folder
from bakeoff.pipeline.tracking.heartbeat import has_lost_process
from bakeoff.pipeline.tracking.history import find_sweep_runs
from bakeoff.pipeline.tracking.limited_calls import is_server
from bakeoff.pipeline.tracking.mlflow_tables import (
    DEFAULT_EXPERIMENT,
    READ_JOBS_OF_RUNS,
    READ_MODELS,
    READ_RUNS,
    READ_SEALS,
    StoredItem,
    delete_rows,
    list_batches,
    read_items,
    read_rows,
    shrink_file,
)
from bakeoff.pipeline.tracking.names import find_run_id, list_versions
from bakeoff.pipeline.tracking.sqlite_file import find_file
from bakeoff.pipeline.tracking.store import Store, open_store
from bakeoff.pipeline.tracking.stored_runs import (
    REMOVED_PREFIX,
    find_fault,
    read_stored_runs,
    search_stored_runs,
    tidy_name,
)


@dataclass(frozen=True, kw_only=True)
class RemovalRequest(ExperimentRequest):
    """Runs to delete.

    Attributes
    ----------
    runs : tuple of str
        The ids of runs or their first 8 characters, latest, or best.
    sweep : str
        A sweep whose runs are deleted, or latest.
    filter : str
        The runs to delete in MLflow's language, such as "params.dataset = 'wine'".
    dry_run : bool
        Whether only to show what would be deleted.
    """

    runs: Annotated[tuple[str, ...], Word(place="RUN")] = ()
    sweep: str = ""
    filter: str = ""
    dry_run: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if sum(map(bool, (self.runs, self.sweep, self.filter))) != 1:
            raise UserError('select runs in one way: RUN ..., sweep=NAME, or filter="...".')


@dataclass(frozen=True, kw_only=True)
class CollectionRequest(StoreRequest):
    """The runs that were deleted in MLflow, in all experiments of a store.

    Attributes
    ----------
    dry_run : bool
        Whether only to show what would be deleted.
    """

    dry_run: bool = False


@dataclass(frozen=True)
class Removal:
    """The runs to delete, and the requested runs that are kept.

    Attributes
    ----------
    runs, models : tuple of StoredItem
    folders : tuple of Path
        The folders with all files of the runs and models.
    kept : tuple of str
        A sentence with the reason for each run or model that is kept.
    """

    runs: tuple[StoredItem, ...]
    models: tuple[StoredItem, ...]
    folders: tuple[Path, ...]
    kept: tuple[str, ...]


def measure_folder(folder: Path) -> int:
    """Return the size of all files below a folder, in bytes."""
    return sum(file.lstat().st_size for file in folder.rglob("*") if file.is_file())


def plan_removal(request: RemovalRequest) -> tuple[Store, Removal]:
    """Return the store, and the plan of the deletion of runs.

    Parameters
    ----------
    request : RemovalRequest

    Raises
    ------
    UserError
        There is no such run, or the store is a server.
    """
    store = open_store(request.tracking__uri, request.tracking__experiment, create=False)
    require_database(store)
    runs = read_items(store.client, READ_RUNS)
    wanted = [runs[run_id] for run_id in dict.fromkeys(_find_run_ids(store, request))]
    ids = {*_ids(wanted)}
    models = [each for each in read_items(store.client, READ_MODELS).values() if each.run_id in ids]
    return store, _plan(store, wanted, models)


def plan_garbage(request: CollectionRequest) -> tuple[Store, Removal]:
    """Return the store and what its collection deletes: deleted runs and models, and models whose run does not exist.

    Parameters
    ----------
    request : CollectionRequest

    Raises
    ------
    UserError
        There is no store, or it is a server.
    """
    # Each store has this experiment; a collection covers all experiments.
    store = open_store(request.tracking__uri, DEFAULT_EXPERIMENT, create=False)
    require_database(store)
    runs = read_items(store.client, READ_RUNS)
    active = {run_id for run_id, run in runs.items() if not run.is_deleted}
    models = read_items(store.client, READ_MODELS).values()
    stale = [model for model in models if model.is_deleted or (model.run_id and model.run_id not in active)]
    return store, _plan(store, [run for run in runs.values() if run.is_deleted], stale)


def require_database(store: Store) -> None:
    """Reject a server, whose files are inaccessible."""
    if is_server(store.uri):
        raise UserError(
            f"{store.uri} is a server, so its files are on the server's machine; run this command there with "
            "tracking.uri=URI of its database."
        )


def remove(store: Store, removal: Removal) -> None:
    """Carry out a plan, files first, so that an interrupted deletion can be repeated.

    Parameters
    ----------
    store : Store
    removal : Removal
    """
    _note_in_seals(store, removal)
    for folder in removal.folders:
        delete_folder(folder)
    delete_rows(store.client, _ids(removal.runs), _ids(removal.models))


def _note_in_seals(store: Store, removal: Removal) -> None:
    """Note on each seal and line the jobs that lose runs and their dataset, because their rows will not show it."""
    seals = [seal for (seal,) in read_rows(store.client, READ_SEALS)]
    for batch in list_batches(_ids(removal.runs) if seals else ()):
        for job, dataset in read_rows(store.client, READ_JOBS_OF_RUNS, ids=batch):
            for seal in seals:
                store.client.set_tag(seal, f"{REMOVED_PREFIX}{job}", dataset or "true")


def shrink_database(store: Store) -> str:
    """Free the space of deleted rows; return the reason if that was not possible, otherwise an empty text.

    Parameters
    ----------
    store : Store
        The store; only a SQLite file is shrunk, because servers do so themselves.
    """
    file = find_file(store.uri)
    try:
        if file is not None:
            shrink_file(file)
    except sqlite3.OperationalError as error:
        return f"the database was not made smaller: {error}; repeat `bakeoff gc` when no other process uses it"
    return ""


def describe_item(run: StoredItem) -> str:
    """Return the name of a run or a model, and the beginning of its id."""
    return f"{tidy_name(run.name)} ({shorten_id(run.item_id)})"


def _find_run_ids(store: Store, request: RemovalRequest) -> list[str]:
    if request.sweep:
        return find_sweep_runs(store, request.sweep)
    if not request.filter:
        return [find_run_id(store, word, must_be_readable=False) for word in request.runs]
    found = search_stored_runs(store, request.filter, keys=[], metrics=[])
    if not found:
        raise UserError(f"filter={request.filter!r} selects no run in {store.uri}.")
    return [run.run_id for run in found]


def _plan(store: Store, runs: Sequence[StoredItem], models: Sequence[StoredItem]) -> Removal:
    """Return the plan for deleting runs and models, without the items that must be kept."""
    reasons = {run.item_id: "its process is running" for run in runs if _is_running(store, run)}
    for version in list_versions(store):
        aliases = "".join(f" @{alias}" for alias in version.aliases)
        reason = f"version {version.version} of {version.name}{aliases} is registered; delete that on MLflow's pages"
        # A version that names no run or no model protects none.
        reasons |= dict.fromkeys({version.model_id, version.run_id} - {""}, reason)
    kept = [f"{describe_item(each)}: {reasons[each.item_id]}" for each in (*runs, *models) if each.item_id in reasons]
    deleted_runs = tuple(run for run in runs if run.item_id not in reasons)
    deleted_models = tuple(model for model in models if reasons.keys().isdisjoint((model.item_id, model.run_id)))
    found = {each: find_own_folder(store, each.address, each.item_id) for each in (*deleted_runs, *deleted_models)}
    foreign = [each.address for each, folder in found.items() if folder is None]
    if foreign:
        places = ", ".join(map(show_in_line, foreign))
        kept.append(f"the files of {len(foreign)} runs and models, which are not in the folder of this store: {places}")
    folders = tuple(folder for folder in found.values() if folder is not None and folder.is_dir())
    return Removal(deleted_runs, deleted_models, folders, tuple(kept))


def _ids(items: Sequence[StoredItem]) -> list[str]:
    return [each.item_id for each in items]


def _is_running(store: Store, item: StoredItem) -> bool:
    """Whether a process is writing a run; a faulty run is never written by bakeoff."""
    if item.status != "RUNNING":
        return False
    (run,) = read_stored_runs(store, [item.item_id])
    return not find_fault(run) and not has_lost_process(run)
