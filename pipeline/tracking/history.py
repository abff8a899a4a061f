"""What the store knows of earlier runs: which are finished, which died without a word, and how long they took."""

from __future__ import annotations

import json
import os
import socket
import time
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bakeoff.pipeline.tracking.store import Store

HEARTBEAT_SECONDS = 60.0
"""A run that takes longer says so often, in its tag ``heartbeat``, that it is alive."""
SILENT_SECONDS = 15 * HEARTBEAT_SECONDS
"""A run of another machine that was silent for so long is taken for dead."""
STOPPED_TAG = "stopped"
"""The tag of a run that a study stopped before its last fold; its value says after which."""
STOPPED_TAGS = (STOPPED_TAG, "pruned")
"""The tags by which such a run is recognised: earlier versions called it pruned."""
MAX_SINGLE_QUERIES = 20
"""So many jobs are asked for one by one."""


def find_finished_runs(store: Store, hashes: Collection[str]) -> dict[str, str]:
    """Return the finished runs of jobs: ``config_hash`` -> run id.

    Many jobs are looked for among the newest runs first, which costs a third of asking for each (on SQLite 2 ms instead
    of 5); not among all, since a store may hold far more runs than the sweep has jobs.
    """
    wanted, found = set(hashes), dict[str, str]()
    most = 2 * len(wanted) if len(wanted) > MAX_SINGLE_QUERIES else 0
    seen = 0
    for run in _search(store, "status = 'FINISHED'", most):
        seen += 1
        key = run.data.tags.get("config_hash")
        if key in wanted:
            found.setdefault(key, str(run.info.run_id))
        if len(found) == len(wanted):
            break
    if most and seen < most:  # all of them
        return found
    queries = ((each, f"status = 'FINISHED' and tags.config_hash = '{each}'") for each in wanted - found.keys())
    return found | {each: str(run.info.run_id) for each, query in queries for run in _search(store, query, most=1)}


def read_metrics(store: Store, run_id: str) -> dict[str, float]:
    """Return what a run measured: means over folds, by name."""
    return dict(store.client.get_run(run_id).data.metrics)


def is_running(store: Store, job_hash: str) -> bool:
    """Whether a living process runs the job, as far as the store knows."""
    query = f"status = 'RUNNING' and tags.config_hash = '{job_hash}'"
    return any(not _is_dead(run) for run in _search(store, query))


def end_orphans(store: Store, reason: str = "its process ended without a word") -> list[str]:
    """End runs KILLED whose process is gone: of this machine by its number, of others by their heartbeat.

    Returns
    -------
    list of str
        Their ids.
    """
    ended = []
    for run in _search(store, "status = 'RUNNING' and tags.heartbeat != ''"):
        if _is_dead(run):
            store.client.set_tag(run.info.run_id, "error", reason)
            store.client.set_terminated(run.info.run_id, "KILLED")
            ended.append(str(run.info.run_id))
    return ended


def end_killed_runs(store: Store, reason: str) -> list[str]:
    """End the run of a process that was just killed.

    SQLite's write-ahead log may hold a last commit of that process which nobody sees until the file is opened anew: a
    run that would come back RUNNING.  The next write takes its place, so one is made first.
    """
    store.client.set_experiment_tag(store.experiment_id, "bakeoff.lost", f"{time.time():.3f}")
    return end_orphans(store, reason)


def find_failed_jobs(store: Store, sweep: str | None = None) -> list[tuple[str, ...]]:
    """Return the overrides of the jobs that ended FAILED or KILLED, and were never FINISHED, the oldest first.

    A run that a study stopped because further folds were not worth their time is none of them.

    Parameters
    ----------
    store : Store
    sweep : str, optional
        Only jobs of this sweep.
    """
    lost: dict[str, tuple[str, ...]] = {}
    for status in ("FAILED", "KILLED"):
        for run in _search(store, f"status = '{status}'" + (f" and tags.sweep = '{sweep}'" if sweep else "")):
            tags = run.data.tags
            was_stopped = any(tag in tags for tag in STOPPED_TAGS)
            if "config_hash" in tags and "overrides" in tags and not was_stopped:
                lost[tags["config_hash"]] = tuple(json.loads(tags["overrides"]))
    done = find_finished_runs(store, lost)
    return [overrides for key, overrides in lost.items() if key not in done]


@dataclass(frozen=True)
class Durations:
    """How long finished runs took, in seconds, by what was chosen."""

    seconds: Mapping[tuple[str, ...], float]

    @classmethod
    def of(cls, store: Store, most: int = 500) -> Durations:
        """Read the newest finished runs."""
        sums: dict[tuple[str, ...], list[float]] = {}
        for run in _search(store, "status = 'FINISHED'", most=most):
            if run.info.end_time is not None:
                took = (run.info.end_time - run.info.start_time) / 1000
                params = run.data.params
                for key in _keys(params.get("learner", ""), params.get("dataset", "")):
                    sums.setdefault(key, []).append(took)
        return cls({key: sum(values) / len(values) for key, values in sums.items()})

    def estimate(self, learner: str, dataset: str) -> float | None:
        """Return the mean of the same learner on the same dataset, else of the learner; None if there is neither."""
        return next((self.seconds[key] for key in _keys(learner, dataset) if key in self.seconds), None)


def _keys(learner: str, dataset: str) -> Iterator[tuple[str, ...]]:
    yield learner, dataset
    yield (learner,)


def _search(store: Store, query: str, most: int | None = None) -> Iterator[Any]:
    token, left = None, most
    while left is None or left > 0:
        page = store.client.search_runs(
            [store.experiment_id], query, max_results=1000 if left is None else min(left, 1000), page_token=token
        )
        yield from page
        token, left = page.token, None if left is None else left - len(page)
        if not token:
            return


def _is_dead(run: Any) -> bool:
    tags = run.data.tags
    pid, started, heartbeat = int(tags.get("pid", 0)), run.info.start_time / 1000, float(tags.get("heartbeat", 0))
    return is_process_gone(tags.get("host"), pid, started, heartbeat)


def is_process_gone(host: str | None, pid: int, since: float, heartbeat: float) -> bool:
    """Whether a process is gone: of this machine by its number, of another one if it was silent for long.

    Parameters
    ----------
    host : str or None
    pid : int
    since, heartbeat : float
        When it was seen first and last, in seconds since 1970.
    """
    if host == socket.gethostname():
        return not is_process_alive(pid, since)
    return time.time() - heartbeat > SILENT_SECONDS


def is_process_alive(pid: int, since: float) -> bool:
    """Whether a process of this machine lives, and is the one that lived at a time (numbers are given again).

    Parameters
    ----------
    pid : int
    since : float
        Seconds since 1970.

    Examples
    --------
    >>> is_process_alive(os.getpid(), time.time()), is_process_alive(os.getpid(), 0.0)
    (True, False)
    """
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        uptime = float(Path("/proc/uptime").read_text().split()[0])
    except OSError:  # no such folder on this system, or the process ended just now
        return Path("/proc/self").exists() is False
    started = time.time() - uptime + int(fields[19]) / os.sysconf("SC_CLK_TCK")
    return fields[0] != "Z" and started <= since + 1
