"""Runs as the store holds them, many at a time: their params, tags and means, and their series over folds."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from tempfile import TemporaryDirectory
from typing import Any

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.tracking.history import find_finished_runs
from bakeoff.pipeline.tracking.models import fetch_folder
from bakeoff.pipeline.tracking.run_form import tidy_name
from bakeoff.pipeline.tracking.store import MAX_RUNS_PER_PAGE, Store, iterate_runs
from bakeoff.pipeline.tracking.stored_config import find_source, read_stored_config
from bakeoff.pipeline.tracking.sweep_record import read_latest_sweep, read_sweep_record

FINISHED = "FINISHED"
NAME_PARAMS = ("learner", "dataset")
MAX_RUNS_PER_HISTORY_REQUEST = 100
MAX_VALUES_PER_HISTORY_REQUEST = 25_000
"""Limits of MLflow's server for a request of the series of several runs."""
HISTORY_ENDPOINT = "/ajax-api/2.0/mlflow/metrics/get-history-bulk"
FILTER_EXAMPLE = "params.learner = 'knn' and metrics.test_accuracy > 0.9"

Series = Mapping[str, tuple[float, ...]]
"""Metric -> one value per fold."""


@dataclass(frozen=True)
class StoredRun:
    """A run as the store holds it.

    Attributes
    ----------
    run_id, name : str
    status : str
        MLflow's: ``FINISHED``, ``FAILED``, ``KILLED``, ``RUNNING``.
    is_deleted : bool
    started : int
        Milliseconds since 1970.
    params, tags : mapping of str to str
    metrics : mapping of str to float
        The last value of each: means over folds.
    """

    run_id: str
    name: str
    status: str
    is_deleted: bool
    started: int
    params: Mapping[str, str]
    tags: Mapping[str, str]
    metrics: Mapping[str, float]

    @property
    def is_finished(self) -> bool:
        """Whether all folds were evaluated."""
        return self.status == FINISHED


def search_stored_runs(store: Store, query: str = "", max_runs: int | None = None) -> list[StoredRun]:
    """Return the runs of the experiment that a query selects, the newest first.

    Parameters
    ----------
    store : Store
    query : str
        In MLflow's filter language; empty for all runs.
    max_runs : int, optional

    Raises
    ------
    UserError
        The query is not in MLflow's filter language.
    """
    runs = _iterate_runs(store, query)
    return [_to_stored_run(run) for run in islice(runs, max_runs)]


def read_stored_runs(store: Store, run_ids: Sequence[str]) -> list[StoredRun]:
    """Return the runs of some ids, which exist, in their order; they may belong to any experiment."""
    return [_to_stored_run(store.client.get_run(run_id)) for run_id in run_ids]


def find_runs_of_jobs(store: Store, hashes: Collection[str]) -> dict[str, StoredRun]:
    """Return the newest finished run of each job, else its newest run of another status: ``config_hash`` -> run.

    As in `find_finished_runs`, the newest runs are read first, twice as many as there are jobs, and only the jobs that
    are not among them are looked for one by one.
    """
    wanted = set(hashes)
    finished: dict[str, StoredRun] = {}
    others: dict[str, StoredRun] = {}
    n_newest = 2 * len(wanted)
    for run in islice(_iterate_runs(store, "", n_newest), n_newest):
        job_hash = run.data.tags.get("config_hash")
        if job_hash in wanted:
            kept = finished if run.info.status == FINISHED else others
            kept.setdefault(job_hash, _to_stored_run(run))
    for job_hash in sorted(wanted - finished.keys()):
        for run in _iterate_runs(store, f"tags.config_hash = '{job_hash}'"):
            kept = finished if run.info.status == FINISHED else others
            kept.setdefault(job_hash, _to_stored_run(run))
    return {**others, **finished}


def read_series(
    store: Store, runs: Sequence[StoredRun], metrics: Iterable[str]
) -> dict[str, dict[str, tuple[float, ...]]]:
    """Return the values over folds of some metrics: run id -> metric -> values, in the order of the folds.

    A run with a single split has no series, and its mean is the one value. A metric that a run does not have is missing
    from its mapping.

    Parameters
    ----------
    store : Store
    runs : sequence of StoredRun
    metrics : iterable of str
        Names of means, such as ``test_accuracy``; their series are stored as ``fold/test_accuracy``.
    """
    series: dict[str, dict[str, tuple[float, ...]]] = {run.run_id: {} for run in runs}
    for metric in metrics:
        key = f"fold/{metric}"
        with_series = [run.run_id for run in runs if key in run.metrics]
        for run_id, values in _read_histories(store, with_series, key).items():
            series[run_id][metric] = values
        # A single split has no series, since its one value is the mean.
        for run in runs:
            if metric in run.metrics and key not in run.metrics:
                series[run.run_id][metric] = (run.metrics[metric],)
    return series


def _iterate_runs(store: Store, query: str, max_runs: int | None = None) -> Iterator[Any]:
    """Yield the runs that a query of a user selects, the newest first; with a maximum, no page is longer than that."""
    from mlflow.exceptions import MlflowException

    page_size = min(max_runs or MAX_RUNS_PER_PAGE, MAX_RUNS_PER_PAGE)
    try:
        yield from iterate_runs(store, query, page_size=page_size)
    except MlflowException as error:
        raise _explain_filter(query, error) from error


def _explain_filter(query: str, error: Exception) -> UserError:
    reason = " ".join(str(error).split())
    reason = reason.removeprefix("INVALID_PARAMETER_VALUE: ")
    return UserError(
        f"filter={query!r} cannot be read: {reason} A filter is written as in MLflow, for example filter="
        f'"{FILTER_EXAMPLE}".'
    )


def _to_stored_run(run: Any) -> StoredRun:
    return StoredRun(
        run_id=str(run.info.run_id),
        name=tidy_name(str(run.info.run_name or "")),
        status=str(run.info.status),
        is_deleted=run.info.lifecycle_stage == "deleted",
        started=int(run.info.start_time or 0),
        params={**run.data.params, **_tidy_names(run.data.params)},
        tags=dict(run.data.tags),
        metrics=dict(run.data.metrics),
    )


def _tidy_names(params: Mapping[str, str]) -> dict[str, str]:
    """Return the params that are names, which tables show."""
    return {key: tidy_name(params[key]) for key in NAME_PARAMS if key in params}


def _read_histories(store: Store, run_ids: Sequence[str], key: str) -> dict[str, tuple[float, ...]]:
    """Return the series of one metric: run id -> values by step."""
    by_step: dict[str, dict[int, float]] = {}
    for start in range(0, len(run_ids), MAX_RUNS_PER_HISTORY_REQUEST):
        batch = run_ids[start : start + MAX_RUNS_PER_HISTORY_REQUEST]
        for run_id, step, value in _read_batch(store, batch, key):
            by_step.setdefault(run_id, {})[step] = value
    return {run_id: tuple(values[step] for step in sorted(values)) for run_id, values in by_step.items()}


def _read_batch(store: Store, run_ids: Sequence[str], key: str) -> list[tuple[str, int, float]]:
    """Return (run id, step, value) of some runs: in one request if the store has one for several runs.

    MLflow's client reads the series of one run at a time. Its own pages ask for several: in a database by a method of
    the store, on a server by a request. Both are tried, and single requests serve where neither is there or where the
    answer may have been cut.
    """
    backend = store.client._tracking_client.store
    rows: list[tuple[str, int, float]] | None = None
    if hasattr(backend, "get_metric_history_bulk"):
        found = backend.get_metric_history_bulk(run_ids, key, MAX_VALUES_PER_HISTORY_REQUEST)
        rows = [(each.run_id, each.step, each.value) for each in found]
    elif hasattr(backend, "get_host_creds"):
        rows = _request_batch(backend, run_ids, key)
    if rows is not None and len(rows) < MAX_VALUES_PER_HISTORY_REQUEST:
        return rows
    histories = {run_id: store.client.get_metric_history(run_id, key) for run_id in run_ids}
    return [(run_id, each.step, each.value) for run_id, history in histories.items() for each in history]


def _request_batch(backend: Any, run_ids: Sequence[str], key: str) -> list[tuple[str, int, float]] | None:
    """Ask a server for the series of several runs; None if it does not answer that request."""
    from mlflow.exceptions import MlflowException
    from mlflow.utils.rest_utils import http_request

    query = {"run_id": list(run_ids), "metric_key": key, "max_results": MAX_VALUES_PER_HISTORY_REQUEST}
    try:
        response = http_request(backend.get_host_creds(), HISTORY_ENDPOINT, "GET", params=query, raise_on_status=False)
        if response.status_code != 200:
            return None
        metrics = json.loads(response.text)["metrics"]
    except (MlflowException, ValueError, KeyError):
        return None
    return [(each["run_id"], int(each["step"]), float(each["value"])) for each in metrics]


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


def find_runs_of_sweep(store: Store, sweep: str) -> list[str]:
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
