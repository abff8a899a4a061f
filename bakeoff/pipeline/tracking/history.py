"""Queries about earlier runs in the store: their status, duration and test rows.

A *look* at a test part is a configuration that was scored on its rows. Each look makes the best score on the part
slightly more optimistic, because it is the best of more attempts. Runs of the same configuration count once, because
repeating a run reveals nothing new. Runs deleted in MLflow also count as long as they are in the store, because their
scores have been seen.
"""

import json
import math
import time
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from statistics import median
from typing import Any, NamedTuple

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.stages.dataset import Dataset
from bakeoff.pipeline.stages.dataset.guesses import leave_out_guesses
from bakeoff.pipeline.tracking.heartbeat import PROCESS_TAG, has_lost_process
from bakeoff.pipeline.tracking.mlflow_tables import (
    READ_EXPERIMENTS_OF_JOBS,
    READ_RUNS_OF_JOBS,
    READ_SCORED_JOBS,
    READ_STARTS_OF_JOBS,
    Keys,
    has_database,
    list_batches,
    read_rows,
)
from bakeoff.pipeline.tracking.store import Store, iterate_pages, load_runs, search_runs, write_condition

STOPPED_TAG = "stopped"
"""The tag of a run that a study stopped before its last fold; its value contains the fold."""
FINISHED = "FINISHED"
IS_FINISHED = f"status = '{FINISHED}'"
FAILURE_TAGS = ("config_hash", "overrides", STOPPED_TAG, "mlflow.user", "host")
MAX_TIMED_RUNS = 500
"""The number of runs from which durations are estimated."""
SIZE_KEYS = ("learner", "dataset", PROCESS_TAG, "rows_per_fold", "evaluation.folds", "evaluation.repeats")
LONG_SECONDS = 30.0
"""The duration from which the imports of a process are a small part of its first run."""


def find_finished_runs(store: Store, hashes: Collection[str]) -> dict[str, str]:
    """Return the finished runs of jobs: ``config_hash`` -> run id."""
    found = find_runs_of_jobs(store, hashes, ["config_hash"], [])
    return {job_hash: str(run.info.run_id) for job_hash, run in found.items() if run.info.status == FINISHED}


def find_runs_of_jobs(store: Store, hashes: Collection[str], keys: Keys = None, metrics: Keys = None) -> dict[str, Any]:
    """Return the newest finished run of each job, or its newest run if none finished: ``config_hash`` -> run.

    The parameters are those of `search_runs`. A database is queried for many jobs at a time, which the filter language
    of servers does not allow.
    """
    if has_database(store.client):
        ask = partial(store.calls.call, read_rows, store.client, READ_RUNS_OF_JOBS, experiment=int(store.experiment_id))
        ids = [run_id for batch in list_batches(hashes) for (run_id,) in ask(hashes=batch)]
        runs = load_runs(store, ids, keys, metrics)
    else:
        runs = (run for each in hashes for run in search_runs(store, f"tags.config_hash = '{each}'"))
    found: dict[str, Any] = {}
    for run in runs:
        job_hash = run.data.tags["config_hash"]
        newest = found.setdefault(job_hash, run)
        if newest.info.status != FINISHED == run.info.status:
            found[job_hash] = run
    return found


def list_experiments_of_jobs(store: Store, hashes: Collection[str]) -> list[str]:
    """Return the names of the experiments in which jobs have finished; a server is asked for one of the jobs."""
    if has_database(store.client):
        ask = partial(store.calls.call, read_rows, store.client, READ_EXPERIMENTS_OF_JOBS)
        names = [name for batch in list_batches(hashes) for (name,) in ask(hashes=batch)]
    else:
        runs = _search_everywhere(store, f"{IS_FINISHED} and tags.config_hash = '{min(hashes)}'")
        ids = [run.info.experiment_id for run in runs if run.info.lifecycle_stage == "active"]
        names = [store.client.get_experiment(each).name for each in ids]
    return list(dict.fromkeys(names))


class RunStart(NamedTuple):
    """The start of a run.

    Attributes
    ----------
    job : str
        The ``config_hash``.
    started : int
        Milliseconds since 1970.
    is_deleted : bool
    """

    job: str
    started: int
    is_deleted: bool


def read_starts(store: Store, hashes: Collection[str]) -> list[RunStart]:
    """Return the start of each run of some jobs in all experiments, including failed and deleted runs."""
    if has_database(store.client):
        ask = partial(store.calls.call, read_rows, store.client, READ_STARTS_OF_JOBS)
        return [RunStart(*row) for batch in list_batches(hashes) for row in ask(hashes=batch)]
    runs = (run for each in hashes for run in _search_everywhere(store, f"tags.config_hash = '{each}'"))
    return [
        RunStart(run.data.tags["config_hash"], run.info.start_time, run.info.lifecycle_stage == "deleted")
        for run in runs
    ]


def is_running(store: Store, job_hash: str) -> bool:
    """Whether a live process runs the job, according to the store."""
    query = f"status = 'RUNNING' and tags.config_hash = '{job_hash}'"
    return any(not has_lost_process(run) for run in search_runs(store, query))


def read_heartbeat(store: Store, job_hash: str) -> float:
    """Return the heartbeat of the newest run of a job, in seconds since 1970; 0 if there is none."""
    newest = next(search_runs(store, f"tags.config_hash = '{job_hash}' and tags.heartbeat != ''", 1), None)
    return 0.0 if newest is None else float(newest.data.tags["heartbeat"])


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
        run_id = str(run.info.run_id)
        # The process may have finished its run after the search; now that it has ended, the status no longer changes.
        if has_lost_process(run) and _is_still_running(store, run_id):
            store.client.set_tag(run_id, "error", reason)
            store.writer.end_run(run_id, "KILLED")
            ended.append(run_id)
    return ended


def _is_still_running(store: Store, run_id: str) -> bool:
    return any(run.info.status == "RUNNING" for run in load_runs(store, [run_id], keys=[], metrics=[]))


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
        tags = run.data.tags
        if STOPPED_TAG not in tags:
            author = name_author(tags.get("mlflow.user", ""), tags.get("host", ""))
            unfinished[tags["config_hash"]] = FailedJob(_read_overrides(run), author)
    finished = find_finished_runs(store, unfinished)
    return [job for job_hash, job in unfinished.items() if job_hash not in finished]


def name_author(user: str, host: str) -> str:
    """Return ``user@host`` for the author of a run."""
    return f"{user or 'unknown'}@{host or 'unknown'}"


def _read_overrides(run: Any) -> tuple[str, ...]:
    """Return the overrides of a run; raise UserError if they were truncated in the tag."""
    try:
        return tuple(json.loads(run.data.tags["overrides"]))
    except ValueError:
        raise UserError(
            f"run {run.info.run_id} failed, but its arguments are too long for the store; repeat its sweep, or "
            f"delete it with bakeoff rm {run.info.run_id}."
        ) from None


def read_durations(store: Store) -> dict[tuple[str, str, int], float]:
    """Return the median duration of finished runs in seconds: by learner, dataset and the result of `measure_size`.

    The first run of a process, whose duration includes imports, counts only if it is long.
    """
    durations: dict[tuple[str, str, int], list[float]] = {}
    runs = list(search_runs(store, IS_FINISHED, MAX_TIMED_RUNS, SIZE_KEYS, ["fits"]))
    # The newest run comes first, so the oldest one of each process remains.
    first_runs = {run.data.tags.get(PROCESS_TAG): run.info.run_id for run in runs}.values()
    for run in runs:
        params, tags = run.data.params, run.data.tags
        seconds = max(0, (run.info.end_time or 0) - run.info.start_time) / 1000  # the clock may have been set back
        if run.info.run_id not in first_runs or seconds >= LONG_SECONDS:
            size = measure_size(params, tags, run.data.metrics.get("fits", 1))
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


def _read_scored_jobs(store: Store, dataset_digest: str) -> list[tuple[str, str | None]]:
    """Return the configuration and splits of each finished run on a dataset in all experiments, including deleted runs.

    A database is queried directly, in 2 ms for 400 runs: MLflow's search would read all their metrics, in 3 s.
    """
    if has_database(store.client):
        rows = store.calls.call(read_rows, store.client, READ_SCORED_JOBS, dataset=dataset_digest)
        return [(job, splits) for job, splits in rows]
    query = f"{IS_FINISHED} and tags.dataset_digest = '{dataset_digest}' and tags.config_hash != ''"
    runs = _search_everywhere(store, query)
    return [(run.data.tags["config_hash"], run.data.tags.get("splits_digest")) for run in runs]


def _search_everywhere(store: Store, query: str) -> Iterator[Any]:
    """Yield the runs of all experiments that a query selects, including deleted ones."""
    from mlflow.entities import ViewType

    experiments = store.client.search_experiments(view_type=ViewType.ALL)
    ids = [experiment.experiment_id for experiment in experiments]
    pages = iterate_pages(partial(store.client.search_runs, ids, query, ViewType.ALL))
    return (run for page in pages for run in page)
