"""Stored runs, with their params, tags and means, and the jobs of a sweep that they belong to.

A job that is done before a sweep starts has a run with the tag of an earlier sweep, and a job that is refused has no
run. Each sweep therefore writes the list of its jobs as a small file below the artifacts of its experiment,
``sweeps/<name>.json``. Tags are unsuitable: a run's own tag would have to be changed long after the run has ended,
and a tag of the experiment is limited to 20,000 characters and is read whenever the experiment is opened.
"""

import json
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from tempfile import TemporaryDirectory
from typing import Any

from bakeoff.pipeline.errors import UserError, first_line
from bakeoff.pipeline.tracking.history import FINISHED, find_finished_runs
from bakeoff.pipeline.tracking.mlflow_tables import list_store_errors, read_histories
from bakeoff.pipeline.tracking.run_content import artifact_folder, fetch_folder, read_artifact
from bakeoff.pipeline.tracking.store import Store, load_runs, search_runs, tidy_name, write_condition

FOLDER = "sweeps"
LAST_SWEEP_TAG = "bakeoff.last_sweep"
"""The tag of the experiment that names the last sweep to be started."""
TRIED_TAG = "tried_candidates"
"""The tag of a run with the number of candidates that tuning with a budget tried in each fold, and last on all rows."""
MILLISECONDS_PER_SECOND = 1000


@dataclass(frozen=True)
class RecordedJob:
    """A job of a sweep.

    Attributes
    ----------
    hash : str
        The ``config_hash``; empty if the job could not be composed.
    name, learner, dataset : str
    reason : str
        The reason for refusing the job; empty if it was not refused.
    """

    hash: str
    name: str
    learner: str
    dataset: str
    reason: str = ""


@dataclass(frozen=True)
class SweepRecord:
    """The jobs of a sweep.

    Attributes
    ----------
    name : str
        The value of the tag ``sweep`` of the runs that it started.
    jobs : tuple of RecordedJob
        The jobs; empty for a sweep without a list, whose runs are found only by their tag.
    started : float
        Seconds since 1970.
    """

    name: str
    jobs: tuple[RecordedJob, ...]
    started: float = field(default_factory=time.time)


def write_sweep_record(store: Store, record: SweepRecord) -> None:
    """Write the list of the jobs of a sweep, and name it as the last one.

    Raises
    ------
    UserError
        The artifacts of the experiment cannot be written, for example because the disk is full.
    """
    try:
        address = f"{store.writer.find_location(store.experiment_id)}/{FOLDER}"
        with artifact_folder(store, address, partial(_send_records, store)) as folder:
            (folder / f"{record.name}.json").write_text(json.dumps(asdict(record)))
        store.writer.tag_experiment(store.experiment_id, LAST_SWEEP_TAG, record.name)
    except list_store_errors(OSError) as error:
        reason = first_line(error).rstrip(".")
        raise UserError(
            f"the list of jobs cannot be written to the artifacts of tracking.uri={store.uri}: {reason}; make space, "
            "or choose another store."
        ) from error


def read_sweep_record(store: Store, name: str) -> SweepRecord | None:
    """Return the jobs of a sweep, or None if there is no sweep with that name."""
    recorded = _load_record(store, name)
    if recorded is not None:
        return recorded
    # This is a study, or a sweep of a version that wrote no lists; its runs have the tag.
    found = next(search_runs(store, write_condition("tags.sweep", name), 1), None)
    return None if found is None else SweepRecord(name, (), found.info.start_time / MILLISECONDS_PER_SECOND)


def read_latest_sweep(store: Store) -> SweepRecord | None:
    """Return the sweep that was started last, or None if the experiment has none."""
    last = store.client.get_experiment(store.experiment_id).tags.get(LAST_SWEEP_TAG)
    newest = next(search_runs(store, "tags.sweep != ''", 1), None)
    tagged = None if newest is None else newest.data.tags["sweep"]
    # If two sweeps overlap, the runs of the earlier one may be newer; its list then shows that it started earlier.
    records = [read_sweep_record(store, name) for name in dict.fromkeys((last, tagged)) if name is not None]
    return max((each for each in records if each is not None), key=lambda each: each.started, default=None)


def find_earlier_runs(store: Store, record: SweepRecord, started: Iterable[Any]) -> list[str]:
    """Return the ids of the runs of jobs that were done before a sweep, given the runs that it started."""
    known = {run.data.tags.get("config_hash") for run in started}
    return list(find_finished_runs(store, {job.hash for job in record.jobs if job.hash} - known).values())


def _load_record(store: Store, name: str) -> SweepRecord | None:
    """Return a list of jobs, or None if there is none or the file was written by another program."""
    try:
        address = f"{store.writer.find_location(store.experiment_id)}/{FOLDER}/{name}.json"
        stored: dict[str, Any] = json.loads(read_artifact(store, address))
        jobs: Sequence[dict[str, str]] = stored["jobs"]
        return SweepRecord(name, tuple(RecordedJob(**job) for job in jobs), float(stored["started"]))
    except (ValueError, KeyError, TypeError, RecursionError):
        return None


def _send_records(store: Store, folder: str) -> None:
    """Send lists of jobs to the artifacts of the experiment on a server."""
    from mlflow.store.artifact.artifact_repository_registry import get_artifact_repository

    address = store.writer.find_location(store.experiment_id)
    artifacts = get_artifact_repository(address, tracking_uri=store.uri)
    store.calls.call(artifacts.log_artifacts, folder, FOLDER)


NAME_PARAMS = ("learner", "dataset")
FILTER_EXAMPLE = "params.learner = 'knn' and metrics.test_accuracy > 0.9"
SERIES_PREFIXES = ("fold/", "pruning_path/")
"""Metrics with a value for each fold or pruning step; all others have a single value."""
TABLES = ("predictions.csv", "confusion_matrix.csv", "candidates.csv", "pruning_path.csv", "audit.csv")
"""The artifacts that hold results as tables."""

Series = Mapping[str, tuple[float, ...]]
"""Metric -> one value per fold."""
Place = tuple[str, int]
"""The key of a stored number: the name of its metric, and its step."""


@dataclass(frozen=True)
class StoredRun:
    """A run in the store.

    Attributes
    ----------
    run_id, name : str
    status : str
        The MLflow status: ``FINISHED``, ``FAILED``, ``KILLED`` or ``RUNNING``.
    is_deleted : bool
    started : int
        Milliseconds since 1970.
    params, tags : mapping of str to str
    metrics : mapping of str to float
        The last value of each metric: means over folds.
    address : str
        The location of its artifacts.
    model_id : str
        The id of the run's model; empty if there is none.
    """

    run_id: str
    name: str
    status: str
    is_deleted: bool
    started: int
    params: Mapping[str, str]
    tags: Mapping[str, str]
    metrics: Mapping[str, float]
    address: str = ""
    model_id: str = ""

    @property
    def is_finished(self) -> bool:
        """Whether all folds were evaluated."""
        return self.status == FINISHED


def search_stored_runs(store: Store, query: str = "") -> list[StoredRun]:
    """Return the runs of the experiment that a query selects, the newest first.

    Parameters
    ----------
    store : Store
    query : str
        A query in MLflow's filter language; empty for all runs.

    Raises
    ------
    UserError
        The query is not in MLflow's filter language.
    """
    try:
        return [to_stored_run(run) for run in search_runs(store, query)]
    except list_store_errors() as error:
        reason = " ".join(str(error).split()).removeprefix("INVALID_PARAMETER_VALUE: ")
        raise UserError(
            f"filter={query!r} cannot be read: {reason} A filter is written as in MLflow, for example filter="
            f'"{FILTER_EXAMPLE}".'
        ) from error


def read_stored_runs(store: Store, run_ids: Sequence[str]) -> list[StoredRun]:
    """Return the existing runs with the given ids, in order, from any experiment."""
    return [to_stored_run(store.client.get_run(run_id)) for run_id in run_ids]


def read_scores(store: Store, run_ids: Sequence[str]) -> list[StoredRun]:
    """Return runs of the experiment by their ids, with their metrics and the param that names the headline."""
    return [to_stored_run(run) for run in load_runs(store, run_ids, ["evaluation.metrics"])]


def read_series(
    store: Store, runs: Sequence[StoredRun], metrics: Iterable[str]
) -> dict[str, dict[str, tuple[float, ...]]]:
    """Return the values over folds of some metrics: run id -> metric -> values, in the order of the folds.

    A run with a single split has no series; its mean is the only value. Metrics that a run lacks are missing from its
    mapping.

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
        by_step: dict[str, dict[int, float]] = {run.run_id: {} for run in runs if key in run.metrics}
        for run_id, step, value in read_histories(store.client, list(by_step), key):
            by_step[run_id][step] = value
        for run in runs:
            if run.run_id in by_step:
                series[run.run_id][metric] = tuple(value for _, value in sorted(by_step[run.run_id].items()))
            elif metric in run.metrics:
                series[run.run_id][metric] = (run.metrics[metric],)
    return series


def find_runs_of_sweep(store: Store, sweep: str) -> list[str]:
    """Return the ids of the runs of all jobs of a sweep, starting with those done before the sweep.

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
    started = list(search_runs(store, write_condition("tags.sweep", record.name), keys=["config_hash"], metrics=[]))
    return [*find_earlier_runs(store, record, started), *_list_oldest_first(started)]


def find_sweep_runs(store: Store, sweep: str) -> list[str]:
    """Return the ids of the runs of a sweep, in the order in which they started; see `find_sweep_name`."""
    query = write_condition("tags.sweep", find_sweep_name(store, sweep))
    return _list_oldest_first(list(search_runs(store, query, keys=["sweep"], metrics=[])))


def find_sweep_name(store: Store, sweep: str) -> str:
    """Return the name of a sweep that has runs.

    Parameters
    ----------
    store : Store
    sweep : str
        The name of a sweep, or ``latest``.

    Raises
    ------
    UserError
        No run has that sweep name.
    """
    query = "tags.sweep != ''" if sweep == "latest" else write_condition("tags.sweep", sweep)
    newest = next(search_runs(store, query, 1), None)
    if newest is None:
        raise UserError(
            f"sweep={sweep}: no run in {store.uri} belongs to a sweep of this name; `bakeoff ui` lists them."
        )
    return str(newest.data.tags["sweep"])


def _list_oldest_first(runs: Sequence[Any]) -> list[str]:
    return [str(run.info.run_id) for run in reversed(runs)]


def to_stored_run(run: Any) -> StoredRun:
    """Return a run of `search_runs` or MLflow."""
    params = dict(run.data.params)
    # A run stores one model, so the first one is the only one.
    models = run.outputs.model_outputs if run.outputs else []
    shown = {key: tidy_name(params[key]) for key in NAME_PARAMS if key in params}
    return StoredRun(
        run_id=str(run.info.run_id),
        name=tidy_name(str(run.info.run_name or "")),
        status=str(run.info.status),
        is_deleted=run.info.lifecycle_stage == "deleted",
        started=int(run.info.start_time or 0),
        params={**params, **shown},
        tags=dict(run.data.tags),
        metrics=dict(run.data.metrics),
        address=str(run.info.artifact_uri),
        model_id=str(models[0].model_id) if models else "",
    )


def read_values(store: Store, run: StoredRun) -> dict[Place, float]:
    """Return all numbers of a run: (name, step) -> value. NaN is a value; infinite values are never stored."""
    values: dict[Place, float] = {}
    for name, latest in run.metrics.items():
        if name.startswith(SERIES_PREFIXES):  # a run contains only the last value of these
            values |= {(name, step): value for _, step, value in read_histories(store.client, [run.run_id], name)}
        else:
            values[name, 0] = latest
    return values


def read_tables(store: Store, run: StoredRun) -> dict[str, str]:
    """Return the texts of the `TABLES` among the artifacts of a run; they are empty if its folder was deleted."""
    with TemporaryDirectory(prefix="bakeoff-") as temporary:
        try:
            folder = fetch_folder(store, run.address, temporary)
        except list_store_errors(OSError):
            return {}
        return {name: (folder / name).read_text() for name in TABLES if (folder / name).is_file()}
