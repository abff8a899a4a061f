"""The project of ``examples/from_hydra`` has the same scores in bakeoff, fold by fold, as its page says."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import mlflow
import pytest
from command import Bakeoff
from page_commands import ROOT, list_commands, write_shown_files
from page_files import write_titanic_folds

from bakeoff.pipeline.tracking.store import open_store

PAGE = "docs/from-hydra.md"
METRICS = ("accuracy", "roc_auc")


def read_folds(database: Path, names: dict[str, str]) -> dict[str, list[float]]:
    """Return the scores of the folds of the only run in a store, by metric."""
    client = mlflow.MlflowClient(f"sqlite:///{database}")
    experiments = [experiment.experiment_id for experiment in client.search_experiments()]
    (run,) = client.search_runs(experiments)
    histories = {metric: client.get_metric_history(run.info.run_id, name) for metric, name in names.items()}
    return {metric: [each.value for each in history] for metric, history in histories.items()}


@pytest.mark.slow
def test_a_project_of_hydra_mlflow_and_scikit_learn_keeps_its_scores_in_every_fold(
    bakeoff: Bakeoff, tmp_path: Path
) -> None:
    project = tmp_path / "project"
    project.mkdir()
    open_store(str(project / "mlflow.db"), "Default")  # MLflow takes long to create it
    subprocess.run([sys.executable, str(ROOT / "examples/from_hydra/train.py")], cwd=project, check=True)
    before = read_folds(project / "mlflow.db", {metric: f"fold_{metric}" for metric in METRICS})

    write_titanic_folds(bakeoff.folder)
    write_shown_files(PAGE, bakeoff.folder)
    (run,) = (command for command in list_commands(PAGE) if command.text.startswith("bakeoff dataset=titanic"))
    assert bakeoff(*run.words[1:]).status == 0
    after = read_folds(bakeoff.folder / "outputs" / "mlflow.db", {metric: f"fold/test_{metric}" for metric in METRICS})

    assert [len(scores) for scores in before.values()] == [5, 5]
    assert after["accuracy"] == before["accuracy"]
    assert after["roc_auc"] == pytest.approx(before["roc_auc"], abs=1e-12)
