"""One sweep, run by the command in a process of its own, and what the store has of it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

SWEEP = ("-m", "learner=knn,decision_tree", "dataset=iris,wine", "evaluation=kfold")
JOBS = 4
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
