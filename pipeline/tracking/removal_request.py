"""What the user asks to be deleted, and the plan of it."""

from __future__ import annotations

from dataclasses import dataclass, field

from bakeoff.pipeline.config.requests import ExperimentRequest, StoreRequest
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.tracking.find_run import find_run_id
from bakeoff.pipeline.tracking.inventory import read_inventory
from bakeoff.pipeline.tracking.reading.stored_runs import search_stored_runs
from bakeoff.pipeline.tracking.removal import Removal, plan_collection, plan_runs
from bakeoff.pipeline.tracking.run_record import find_sweep_runs
from bakeoff.pipeline.tracking.store import Store, open_store

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
