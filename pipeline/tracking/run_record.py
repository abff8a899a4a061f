"""Everything that a store holds of one run, as plain values: what a replay compares with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from tempfile import TemporaryDirectory
from typing import Any

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.tracking.history import find_finished_runs
from bakeoff.pipeline.tracking.models import fetch_folder
from bakeoff.pipeline.tracking.reading.stored_config import read_stored_config
from bakeoff.pipeline.tracking.reading.stored_data import find_source
from bakeoff.pipeline.tracking.run_form import tidy_name
from bakeoff.pipeline.tracking.store import Store, iterate_runs
from bakeoff.pipeline.tracking.sweep_record import read_latest_sweep, read_sweep_record

SERIES_PREFIXES = ("fold/", "pruning_path/")
"""Metrics with a value for each fold, or for each step of pruning; each of the others has one value."""
TABLES = (
    "predictions.csv", "confusion_matrix.csv", "candidates.csv", "choices.csv", "pruning_path.csv", "audit.csv",
    "unseen_values.csv",
)  # fmt: skip
"""The artifacts that hold results as tables."""

Place = tuple[str, int]
"""Where a stored number is: the name of its metric, and its step."""


@dataclass(frozen=True)
class RunRecord:
    """A run as the store holds it.

    Attributes
    ----------
    run_id, name, status : str
    tags : mapping of str to str
    spec : mapping
        The settled configuration.
    metrics : mapping of (str, int) to float
        (name, step) -> value. NaN is a value; infinite values are never stored.
    tables : mapping of str to str
        Name -> text, of the `TABLES` that are there.
    source : str
        Where the rows of the dataset came from: for a file, its absolute path at the time of the run.
    model_id : str or None
        The model of the run; None if it has stored none.
    """

    run_id: str
    name: str
    status: str
    tags: Mapping[str, str]
    spec: Mapping[str, Any]
    metrics: Mapping[Place, float]
    tables: Mapping[str, str]
    source: str
    model_id: str | None


def read_run_record(store: Store, run_id: str) -> RunRecord:
    """Read a run; nothing in the store changes.

    Parameters
    ----------
    store : Store
    run_id : str

    Raises
    ------
    UserError
        There is no such run, it was deleted, its configuration is gone, or another program stored it.
    """
    spec = read_stored_config(store, run_id)
    run = store.client.get_run(run_id)
    if run.info.lifecycle_stage == "deleted":
        raise UserError(f"run {run_id} was deleted; restore it in MLflow, or name another run.")
    return RunRecord(
        run_id=str(run.info.run_id),
        name=tidy_name(str(run.info.run_name)),
        status=str(run.info.status),
        tags=dict(run.data.tags),
        spec=spec,
        metrics=_read_metrics(store, run),
        tables=_read_tables(store, run),
        source=find_source(run),
        model_id=_find_model_id(run),
    )


def find_runs_of_jobs(store: Store, sweep: str) -> list[str]:
    """Return the ids of the runs of all jobs of a sweep, those that were done before it first.

    Parameters
    ----------
    store : Store
    sweep : str
        The name of a sweep, or ``latest``.

    Raises
    ------
    UserError
        There is no such sweep.
    """
    record = read_latest_sweep(store) if sweep == "latest" else read_sweep_record(store, sweep)
    if record is None or not record.jobs:
        return find_sweep_runs(store, sweep)
    started = list(iterate_runs(store, f"tags.sweep = '{record.name}'", order_by=["start_time ASC"]))
    known = {run.data.tags.get("config_hash") for run in started}
    hashes = {job.hash for job in record.jobs if job.hash}
    earlier = find_finished_runs(store, hashes - known)
    return [*earlier.values(), *(str(run.info.run_id) for run in started)]


def find_sweep_runs(store: Store, sweep: str) -> list[str]:
    """Return the ids of the runs of a sweep, in the order in which they started.

    Parameters
    ----------
    store : Store
    sweep : str
        The name of a sweep, or ``latest``.

    Raises
    ------
    UserError
        No run carries that name.
    """
    name = _find_latest_sweep(store) if sweep == "latest" else sweep
    if "'" in name:
        raise UserError(
            f"sweep={name!r}: a name with a quotation mark cannot be searched for; name its runs by their ids."
        )
    runs = iterate_runs(store, f"tags.sweep = '{name}'", order_by=["start_time ASC"])
    ids = [str(run.info.run_id) for run in runs]
    if not ids:
        raise UserError(
            f"sweep={name}: no run in {store.uri} belongs to a sweep of this name; `bakeoff ui` lists them."
        )
    return ids


def _find_latest_sweep(store: Store) -> str:
    found: Sequence[Any] = store.client.search_runs(
        [store.experiment_id], "tags.sweep != ''", max_results=1, order_by=["start_time DESC"]
    )
    if not found:
        raise UserError(f"sweep=latest: there is no run of a sweep in {store.uri} yet.")
    return str(found[0].data.tags["sweep"])


def _read_metrics(store: Store, run: Any) -> dict[Place, float]:
    values: dict[Place, float] = {}
    for name, latest in run.data.metrics.items():
        if not name.startswith(SERIES_PREFIXES):
            values[name, 0] = latest
            continue
        # A run holds the last value of each metric; the values of a series have to be asked for.
        for entry in store.client.get_metric_history(run.info.run_id, name):
            values[name, entry.step] = entry.value
    return values


def _read_tables(store: Store, run: Any) -> dict[str, str]:
    """Return the tables among the artifacts of a run; none if its folder is gone."""
    from mlflow.exceptions import MlflowException

    with TemporaryDirectory(prefix="bakeoff-") as temporary:
        try:
            folder = fetch_folder(store, run.info.artifact_uri, temporary)
        except (MlflowException, OSError):
            return {}
        return {name: (folder / name).read_text() for name in TABLES if (folder / name).is_file()}


def _find_model_id(run: Any) -> str | None:
    if not run.outputs or not run.outputs.model_outputs:
        return None
    # A run stores one model, so that the first one is the only one.
    return str(run.outputs.model_outputs[0].model_id)
