"""What earlier runs show: which jobs are done, failed or running, how long jobs take, and what belongs to a sweep.

A *look* at a test part is a configuration that was scored on its rows. Each look makes the best score on the part
slightly more optimistic, because it is the best of more attempts. Runs of the same configuration count once, because
repeating a run reveals nothing new. Runs deleted in MLflow also count as long as they are in the store, because their
scores have been seen.

A job that is done before a sweep starts has a run with the tag of an earlier sweep, and a job that is refused has no
run. Each sweep therefore writes the list of its jobs as a small file below the artifacts of its experiment,
``sweeps/<name>.json``. Tags are unsuitable: a run's own tag would have to be changed long after the run has ended,
and a tag of the experiment is limited to 20,000 characters and is read whenever the experiment is opened.
"""

from __future__ import annotations

import json
import math
import time
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from statistics import median
from typing import Any, NamedTuple

from bakeoff.pipeline.errors import UserError, first_line
from bakeoff.pipeline.stages.dataset import Dataset
from bakeoff.pipeline.stages.dataset.guesses import leave_out_guesses
from bakeoff.pipeline.tracking.artifacts import artifact_folder, read_artifact
from bakeoff.pipeline.tracking.heartbeat import PROCESS_TAG, has_lost_process
from bakeoff.pipeline.tracking.mlflow_tables import (
    MAX_VALUES_PER_SCAN,
    READ_EXPERIMENT_TAG,
    READ_PARTLY_SCORED_JOBS,
    READ_RUNS_OF_JOBS,
    READ_SCORED_JOBS,
    Keys,
    list_batches,
    list_store_errors,
)
from bakeoff.pipeline.tracking.names import LATEST
from bakeoff.pipeline.tracking.store import Store
from bakeoff.pipeline.tracking.store_writer import try_twice
from bakeoff.pipeline.tracking.stored_runs import (
    FINISHED,
    IS_FINISHED,
    STOPPED_TAG,
    StoredRun,
    iterate_pages,
    load_runs,
    search_runs,
    write_condition,
)

FAILURE_TAGS = ("config_hash", "overrides", STOPPED_TAG, "mlflow.user", "host")
MAX_TIMED_RUNS = 500
"""The number of runs from which durations are estimated."""
SIZE_KEYS = ("learner", "dataset", PROCESS_TAG, "rows_per_fold", "evaluation.folds", "evaluation.repeats")
LONG_SECONDS = 30.0
"""The duration from which the imports of a process are a small part of its first run."""
FOLDER = "sweeps"
LAST_SWEEP_TAG = "bakeoff.last_sweep"
"""The tag of the experiment that names the last sweep to be started."""
MILLISECONDS_PER_SECOND = 1000


class JobRun(NamedTuple):
    """A run of a job in any experiment, which may be deleted.

    Attributes
    ----------
    job : str
        The ``config_hash``.
    run_id, status : str
    started : int
        Milliseconds since 1970.
    is_deleted : bool
    experiment_id, experiment : str
    """

    job: str
    run_id: str
    status: str
    started: int
    is_deleted: bool
    experiment_id: str
    experiment: str


def read_runs_of_jobs(store: Store, hashes: Collection[str]) -> list[JobRun]:
    """Return all runs of some jobs in all experiments, including failed and deleted ones, the newest first.

    A database is queried for many jobs at a time, which the filter language of servers does not allow.
    """
    if store.is_database:
        batches = list_batches(hashes, MAX_VALUES_PER_SCAN)
        return [JobRun(*row) for batch in batches for row in store.read(READ_RUNS_OF_JOBS, hashes=batch)]
    return [
        JobRun(
            job=run.data.tags["config_hash"],
            run_id=run.info.run_id,
            status=run.info.status,
            started=run.info.start_time,
            is_deleted=run.info.lifecycle_stage == "deleted",
            experiment_id=run.info.experiment_id,
            experiment=experiment,
        )
        for run, experiment in _search_everywhere(store, [f"tags.config_hash = '{each}'" for each in hashes])
    ]


def _search_everywhere(store: Store, queries: Iterable[str]) -> Iterator[tuple[Any, str]]:
    """Yield the runs on a server that any query selects, including deleted ones, with the name of their experiment."""
    from mlflow.entities import ViewType

    names = {each.experiment_id: each.name for each in store.client.search_experiments(view_type=ViewType.ALL)}
    for query in queries:
        for page in iterate_pages(partial(store.client.search_runs, list(names), query, ViewType.ALL)):
            yield from ((run, names[run.info.experiment_id]) for run in page)


def find_runs_of_jobs(
    store: Store, hashes: Collection[str], keys: Keys = None, metrics: Keys = None
) -> dict[str, StoredRun]:
    """Return the newest finished run of each job, or its newest run if none finished: ``config_hash`` -> run.

    Runs of other experiments do not count. The parameters are those of `search_runs`.
    """
    runs = read_runs_of_jobs(store, hashes)
    own = [run.run_id for run in runs if run.experiment_id == store.experiment_id and not run.is_deleted]
    found: dict[str, StoredRun] = {}
    for run in load_runs(store, own, keys, metrics):
        newest = found.setdefault(run.tags["config_hash"], run)
        if run.is_finished and not newest.is_finished:
            found[run.tags["config_hash"]] = run
    return found


def find_finished_runs(store: Store, hashes: Collection[str]) -> dict[str, str]:
    """Return the finished runs of jobs: ``config_hash`` -> run id."""
    found = find_runs_of_jobs(store, hashes, ["config_hash"], [])
    return {job_hash: run.run_id for job_hash, run in found.items() if run.is_finished}


def list_experiments_of_jobs(store: Store, hashes: Collection[str]) -> list[str]:
    """Return the names of the experiments in which jobs have finished; a server is asked for one of the jobs."""
    chosen = hashes if store.is_database else sorted(hashes)[:1]
    runs = read_runs_of_jobs(store, chosen)
    return list(dict.fromkeys(run.experiment for run in runs if run.status == FINISHED and not run.is_deleted))


def is_running(store: Store, job_hash: str) -> bool:
    """Whether a live process runs the job, according to the store."""
    query = f"status = 'RUNNING' and tags.config_hash = '{job_hash}'"
    return any(not has_lost_process(run) for run in search_runs(store, query))


def read_heartbeat(store: Store, job_hash: str) -> float:
    """Return the heartbeat of the newest run of a job, in seconds since 1970; 0 if there is none."""
    newest = next(search_runs(store, f"tags.config_hash = '{job_hash}' and tags.heartbeat != ''", 1), None)
    return 0.0 if newest is None else float(newest.tags["heartbeat"])


def end_orphans(store: Store, reason: str = "its process ended without ending the run") -> list[str]:
    """End runs whose process is gone as KILLED, and return their ids.

    A process on this machine is looked up by its id; one on another machine is judged by its heartbeat.

    Parameters
    ----------
    store : Store
    reason : str
        The text for the tag ``error``.
    """
    ended = []
    for run in search_runs(store, "status = 'RUNNING' and tags.heartbeat != ''"):
        run_id = run.run_id
        # The process may have finished its run after the search; now that it has ended, the status no longer changes.
        if has_lost_process(run) and _is_still_running(store, run_id):
            # Another process may end the same run at this moment.
            try_twice(partial(store.client.set_tag, run_id, "error", reason))
            store.writer.end_run(run_id, "KILLED")
            ended.append(run_id)
    return ended


def _is_still_running(store: Store, run_id: str) -> bool:
    return any(run.status == "RUNNING" for run in load_runs(store, [run_id], keys=[], metrics=[]))


def end_killed_runs(store: Store, reason: str) -> list[str]:
    """End the run of a process that was just killed.

    SQLite's write-ahead log may hold the last commit of that process, which is invisible until the file is opened
    again, so the run would reappear as RUNNING. The next write replaces that commit, so one is made first.
    """
    store.writer.tag_experiment(store.experiment_id, "bakeoff.lost", f"{time.time():.3f}")
    return end_orphans(store, reason)


@dataclass(frozen=True)
class FailedJob:
    """A job in the store that did not finish.

    Attributes
    ----------
    overrides : tuple of str
        The overrides from which it can be composed again.
    author : str
        The ``user@host`` of its run, or the known part of it.
    """

    overrides: tuple[str, ...]
    author: str


def find_failed_jobs(store: Store, sweep: str | None = None) -> list[FailedJob]:
    """Return the jobs that ended FAILED or KILLED and were never FINISHED, the oldest first.

    Runs that a study stopped are not among them.

    Parameters
    ----------
    store : Store
    sweep : str, optional
        The name of a sweep; only its jobs are returned.
    """
    # By hash, so that a job that failed several times is returned once.
    unfinished: dict[str, FailedJob] = {}
    query = "status != 'FINISHED' and status != 'RUNNING' and tags.config_hash != '' and tags.overrides != ''"
    if sweep:
        query += f" and {write_condition('tags.sweep', sweep)}"
    for run in search_runs(store, query, keys=FAILURE_TAGS, metrics=[]):
        tags = run.tags
        if STOPPED_TAG not in tags:
            author = name_author(tags.get("mlflow.user", ""), tags.get("host", ""))
            unfinished[tags["config_hash"]] = FailedJob(_read_overrides(run), author)
    finished = find_finished_runs(store, unfinished)
    return [job for job_hash, job in unfinished.items() if job_hash not in finished]


def name_author(user: str, host: str) -> str:
    """Return ``user@host`` for the author of a run."""
    return f"{user or 'unknown'}@{host or 'unknown'}"


def _read_overrides(run: StoredRun) -> tuple[str, ...]:
    """Return the overrides of a run; raise UserError if they were truncated in the tag."""
    try:
        return tuple(json.loads(run.tags["overrides"]))
    except ValueError:
        raise UserError(
            f"run {run.run_id} failed, but its arguments are too long for the store; repeat its sweep, or "
            f"delete it with bakeoff rm {run.run_id}."
        ) from None


def read_durations(store: Store) -> dict[tuple[str, str, int], float]:
    """Return the median duration of finished runs in seconds: by learner, dataset and the result of `measure_size`.

    The first run of a process, whose duration includes imports, counts only if it is long.
    """
    durations: dict[tuple[str, str, int], list[float]] = {}
    runs = list(search_runs(store, IS_FINISHED, MAX_TIMED_RUNS, SIZE_KEYS, ["fits"]))
    # The newest run comes first, so the oldest one of each process remains.
    first_runs = {run.tags.get(PROCESS_TAG): run.run_id for run in runs}.values()
    for run in runs:
        params, tags = run.params, run.tags
        seconds = max(0, run.ended - run.started) / 1000  # the clock may have been set back
        if run.run_id not in first_runs or seconds >= LONG_SECONDS:
            size = measure_size(params, tags, run.metrics.get("fits", 1))
            durations.setdefault((params.get("learner", ""), params.get("dataset", ""), size), []).append(seconds)
    return {key: median(values) for key, values in durations.items()}


def measure_size(params: Mapping[str, str], tags: Mapping[str, str], n_fits: float) -> int:
    """Return the size of a job as a power of two: the training rows of all fits in all folds.

    Parameters
    ----------
    params, tags : mapping of str to str
        The params and tags of its run.
    n_fits : float
        The number of fits in each fold.
    """
    n_rows = json.loads(tags.get("rows_per_fold", "{}")).get("train", 0)
    counts = [params.get(f"evaluation.{key}", "") for key in ("folds", "repeats")]
    n_folds = math.prod(int(text) for text in counts if text.isdecimal())
    return round(math.log2(1 + n_rows * n_fits * n_folds))


def list_remarks(dataset: Dataset, store: Store | None) -> list[str]:
    """Return the remarks on a dataset; guesses that a key confirms are among them until a run has used the rows."""
    others = leave_out_guesses(dataset.remarks)
    if store is None or len(others) == len(dataset.remarks):
        return list(dataset.remarks)
    is_known = any(search_runs(store, f"tags.dataset_digest = '{dataset.digest()}'", 1))
    return others if is_known else list(dataset.remarks)


def count_looks(store: Store, dataset_digest: str, splits_digest: str = "", config_hash: str = "") -> int:
    """Return the number of configurations in the store that were scored on the test rows of an evaluation.

    Parameters
    ----------
    store : Store
    dataset_digest, splits_digest : str
        Tags of the runs; without `splits_digest`, all configurations that were scored on the dataset count.
    config_hash : str
        A configuration that is counted even if it has no finished run in the store.
    """
    hashes = {job for job, splits in _read_scored_jobs(store, dataset_digest) if splits_digest in ("", splits)}
    return len(hashes | {config_hash} - {""})


def count_looks_by_splits(store: Store, dataset_digest: str) -> Counter[str | None]:
    """Return the number of configurations that were scored on a dataset, by the fingerprint of their splits."""
    return Counter(splits for job, splits in set(_read_scored_jobs(store, dataset_digest)) if job)


def list_looks(store: Store, dataset_digest: str) -> set[str]:
    """Return the ``config_hash`` of each run that has shown a score on a dataset, finished or not, also if deleted."""
    return {job for job, _ in _read_scored_jobs(store, dataset_digest, with_unfinished=True)} - {""}


def _read_scored_jobs(
    store: Store, dataset_digest: str, *, with_unfinished: bool = False
) -> list[tuple[str, str | None]]:
    """Return the configuration and splits of each finished run on a dataset in all experiments, including deleted runs.

    A run that has not finished may have the scores of some folds.

    A database is queried directly, in 2 ms for 400 runs: MLflow's search would read all their metrics, in 3 s.
    """
    if store.is_database:
        query = READ_PARTLY_SCORED_JOBS if with_unfinished else READ_SCORED_JOBS
        return [(job, splits) for job, splits in store.read(query, dataset=dataset_digest)]
    query = f"tags.dataset_digest = '{dataset_digest}' and tags.config_hash != ''"
    if not with_unfinished:
        query = f"{IS_FINISHED} and {query}"
    found = [run.data for run, _ in _search_everywhere(store, [query])]
    scored = [data for data in found if not with_unfinished or any(name.startswith("test_") for name in data.metrics)]
    return [(data.tags["config_hash"], data.tags.get("splits_digest")) for data in scored]


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
            (folder / f"{record.name}.json").write_text(json.dumps(asdict(record)), encoding="utf-8")
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
    return None if found is None else SweepRecord(name, (), found.started / MILLISECONDS_PER_SECOND)


def read_latest_sweep(store: Store) -> SweepRecord | None:
    """Return the sweep that was started last, or None if the experiment has none."""
    last = _find_last_sweep(store)
    newest = next(search_runs(store, "tags.sweep != ''", 1), None)
    tagged = None if newest is None else newest.tags["sweep"]
    # If two sweeps overlap, the runs of the earlier one may be newer; its list then shows that it started earlier.
    records = [read_sweep_record(store, name) for name in dict.fromkeys((last, tagged)) if name is not None]
    return max((each for each in records if each is not None), key=lambda each: each.started, default=None)


def _find_last_sweep(store: Store) -> str | None:
    """Return the name of the sweep whose list of jobs was written last."""
    if store.is_database:
        rows = store.read(READ_EXPERIMENT_TAG, experiment=int(store.experiment_id), key=LAST_SWEEP_TAG)
        return next((str(value) for (value,) in rows), None)
    return dict(store.client.get_experiment(store.experiment_id).tags).get(LAST_SWEEP_TAG)


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
    record = read_latest_sweep(store) if sweep == LATEST else read_sweep_record(store, sweep)
    if record is None or not record.jobs:
        return find_sweep_runs(store, sweep)
    started = list(search_runs(store, write_condition("tags.sweep", record.name), keys=["config_hash"], metrics=[]))
    earlier = {job.hash for job in record.jobs if job.hash} - {run.tags.get("config_hash") for run in started}
    return [*find_finished_runs(store, earlier).values(), *(run.run_id for run in reversed(started))]


def find_sweep_runs(store: Store, sweep: str) -> list[str]:
    """Return the ids of the runs of a sweep, in the order in which they started; see `find_sweep_name`."""
    query = write_condition("tags.sweep", find_sweep_name(store, sweep))
    return [run.run_id for run in reversed(list(search_runs(store, query, keys=["sweep"], metrics=[])))]


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
    query = "tags.sweep != ''" if sweep == LATEST else write_condition("tags.sweep", sweep)
    newest = next(search_runs(store, query, 1), None)
    if newest is None:
        raise UserError(
            f"sweep={sweep}: no run in {store.uri} belongs to a sweep of this name; `bakeoff ui` lists them."
        )
    return newest.tags["sweep"]
