"""One sweep, run by the command in a process of its own, and what the store has of it."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from warm_process import OUTPUT, Command

SLOW = (
    "-m", "dataset=iris", "learner=majority", "learner._target_=failing.Slow", "trust=[failing]",
    "tracking.models=false", "evaluation.metrics=[accuracy]",
)  # fmt: skip
SWEEP = ("-m", "learner=knn,decision_tree", "dataset=iris,wine", "evaluation=kfold")
JOBS = 4
WAIT_SECONDS = 300
DEADLY = '''
import os, signal
from bakeoff.learners import MajorityClassifier

class Deadly(MajorityClassifier):
    """Ends its process, as a machine without memory does."""

    def fit(self, X, y, sample_weight=None):
        os.kill(os.getpid(), signal.SIGKILL)
'''


def bakeoff(folder: Path, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run the command in a folder."""
    return subprocess.run(
        [sys.executable, "-m", "bakeoff", *words], cwd=folder, env={**os.environ, **variables}, capture_output=True,
        text=True, timeout=900, check=False,
    )  # fmt: skip


def write_deadly_learner(folder: Path) -> tuple[str, ...]:
    """Write a learner that ends its process; return the words of a sweep in which one job of three uses it."""
    (folder / "deadly.py").write_text(DEADLY)
    (folder / "more" / "learner").mkdir(parents=True)
    (folder / "more" / "learner" / "deadly.yaml").write_text("# Ends its process.\n_target_: deadly.Deadly\n")
    sweep = ("-m", "--config-dir", str(folder / "more"), "trust=[deadly]", "learner=deadly,majority,knn")
    return (*sweep, "dataset=iris", "evaluation=kfold")


def read_jobs(folder: Path) -> list[tuple[str, str, int]]:
    """Return the hash, the status and the process of each run in the SQLite file of a folder."""
    query = """
        SELECT job.value, status, process.value FROM runs
        JOIN tags AS job ON job.run_uuid = runs.run_uuid AND job.key = 'config_hash'
        JOIN tags AS process ON process.run_uuid = runs.run_uuid AND process.key = 'pid'
    """
    with closing(sqlite3.connect(folder / "outputs" / "mlflow.db")) as database:
        return [(job, status, int(process)) for job, status, process in database.execute(query)]


def wait_for_finished(sweep: Command, folder: Path, n_jobs: int) -> list[int]:
    """Wait until so many jobs of a sweep are finished and others run; return the processes of the latter."""
    end = time.monotonic() + WAIT_SECONDS
    while sweep.poll() is None and time.monotonic() < end:
        if (folder / "outputs" / "mlflow.db").exists():
            found = read_jobs(folder)
            running = [process for _, status, process in found if status == "RUNNING"]
            if running and sum(status == "FINISHED" for _, status, _ in found) >= n_jobs:
                return running
        time.sleep(0.05)
    raise TimeoutError(f"{n_jobs} jobs were not finished: {(folder / OUTPUT).read_text()[-2000:]}")


def require_each_once(folder: Path, n_jobs: int) -> None:
    """Assert that every job is FINISHED once, and that nothing is RUNNING."""
    found = read_jobs(folder)
    finished = Counter(job for job, status, _ in found if status == "FINISHED")
    assert len(finished) == n_jobs
    assert set(finished.values()) == {1}
    assert not [job for job, status, _ in found if status == "RUNNING"]


def runs(uri: str, experiment: str = "bakeoff") -> list[Any]:
    """Return all runs of an experiment."""
    from mlflow import MlflowClient

    client = MlflowClient(tracking_uri=uri)
    found = client.get_experiment_by_name(experiment)
    return [] if found is None else list(client.search_runs([found.experiment_id], max_results=5000))


def scores(uri: str, experiment: str = "bakeoff") -> dict[str, Mapping[str, Any]]:
    """Return the exact values of all metrics except times of each finished run, by the name of the run."""
    from mlflow import MlflowClient

    client = MlflowClient(tracking_uri=uri)
    found: dict[str, Mapping[str, Any]] = {}
    for run in runs(uri, experiment):
        if run.info.status == "FINISHED":
            values = {name: value.hex() for name, value in run.data.metrics.items() if "time/" not in name}
            history = client.get_metric_history(run.info.run_id, "fold/test_accuracy")
            values["folds"] = sorted((each.step, each.value.hex()) for each in history)
            found[run.info.run_name] = values
    return found
