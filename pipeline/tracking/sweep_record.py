"""The jobs of a sweep: all that its command line describes, including those finished earlier.

A job that is done before a sweep starts has a run with the tag of an earlier sweep, and a job that is refused has no
run. So each sweep writes the list of its jobs, as a small file below the artifacts of its experiment,
``sweeps/<name>.json``. Tags could not hold it: a run's own tag would have to be changed long after the run has ended,
and a tag of the experiment is limited to 20,000 characters and is read whenever the experiment is opened.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from bakeoff.pipeline.tracking.history import find_finished_runs
from bakeoff.pipeline.tracking.run_content import fetch_folder
from bakeoff.pipeline.tracking.store import Store, search_runs

FOLDER = "sweeps"
LAST_SWEEP_TAG = "bakeoff.last_sweep"
"""The tag of the experiment that names the sweep that was started last."""
MILLISECONDS_PER_SECOND = 1000


@dataclass(frozen=True)
class RecordedJob:
    """A job of a sweep.

    Attributes
    ----------
    hash : str
        Its ``config_hash``; empty if it could not be composed.
    name, learner, dataset : str
    reason : str
        The reason why it was refused; empty if it was not.
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
        That of the tag ``sweep`` of the runs that it started.
    jobs : tuple of RecordedJob
        Empty for a sweep without a list, whose runs are found only by their tag.
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
    OSError
        The artifacts of the experiment cannot be written, for example because the disk is full.
    """
    from mlflow.exceptions import MlflowException

    try:
        with TemporaryDirectory(prefix="bakeoff-") as folder:
            file = Path(folder) / f"{record.name}.json"
            file.write_text(json.dumps(asdict(record)))
            store.calls.call(_open_artifacts(store).log_artifact, str(file), FOLDER)
        store.client.set_experiment_tag(store.experiment_id, LAST_SWEEP_TAG, record.name)
    except MlflowException as error:  # a server reports its own failures in this way
        raise OSError(str(error).splitlines()[0]) from error


def read_sweep_record(store: Store, name: str) -> SweepRecord | None:
    """Return the jobs of a sweep; None if there is no sweep of that name."""
    recorded = _load_record(store, name)
    if recorded is not None:
        return recorded
    # A study, or a version that wrote no lists: its runs carry the tag.
    found = next(search_runs(store, f"tags.sweep = '{name}'", 1), None) if "'" not in name else None
    return None if found is None else SweepRecord(name, (), found.info.start_time / MILLISECONDS_PER_SECOND)


def read_latest_sweep(store: Store) -> SweepRecord | None:
    """Return the sweep that was started last; None if the experiment has none."""
    last = store.client.get_experiment(store.experiment_id).tags.get(LAST_SWEEP_TAG)
    newest = next(search_runs(store, "tags.sweep != ''", 1), None)
    tagged = None if newest is None else newest.data.tags["sweep"]
    # Of two sweeps at the same time, the runs of the earlier one may be newer: its list then shows that it is earlier.
    records = [read_sweep_record(store, name) for name in dict.fromkeys((last, tagged)) if name is not None]
    return max((each for each in records if each is not None), key=lambda each: each.started, default=None)


def find_earlier_runs(store: Store, record: SweepRecord, started: Iterable[Any]) -> list[str]:
    """Return the ids of the runs of jobs that were done before a sweep, given the runs that it started."""
    known = {run.data.tags.get("config_hash") for run in started}
    return list(find_finished_runs(store, {job.hash for job in record.jobs if job.hash} - known).values())


def _load_record(store: Store, name: str) -> SweepRecord | None:
    """Return a list of jobs; None if there is none, or another program has written the file."""
    from mlflow.exceptions import MlflowException

    try:
        with TemporaryDirectory(prefix="bakeoff-") as temporary:
            # Of a folder on this machine MLflow would make a copy, in a thread, and workers are copied from a process
            # without.
            file = fetch_folder(store, f"{_locate_artifacts(store)}/{FOLDER}/{name}.json", temporary)
            stored: dict[str, Any] = json.loads(file.read_text())
        jobs: Sequence[dict[str, str]] = stored["jobs"]
        return SweepRecord(name, tuple(RecordedJob(**job) for job in jobs), float(stored["started"]))
    except (MlflowException, OSError, ValueError, KeyError, TypeError, RecursionError):
        return None


def _open_artifacts(store: Store) -> Any:
    """Return MLflow's access to the artifacts of the experiment, on this machine or on a server."""
    from mlflow.store.artifact.artifact_repository_registry import get_artifact_repository

    return get_artifact_repository(_locate_artifacts(store), tracking_uri=store.uri)


def _locate_artifacts(store: Store) -> str:
    return str(store.client.get_experiment(store.experiment_id).artifact_location)
