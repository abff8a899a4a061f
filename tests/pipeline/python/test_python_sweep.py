"""``bakeoff.sweep``: the jobs of a command with -m, and their scores as tables."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from command import command_in
from small_tables import make_frame

import bakeoff
from bakeoff.pipeline.python.sweep import SweepResult, find_store
from bakeoff.version import PACKAGE_FOLDER

WORDS = ("learner=knn,naive_bayes", "dataset=iris,wine", "evaluation=kfold", "evaluation.folds=3")
ROOT = PACKAGE_FOLDER.parent
SCRIPT = """
import os
import pandas as pd
import bakeoff
print("the script runs")
frame = pd.DataFrame({"size": [(7 * i) % 41 / 2 for i in range(40)], "y": ["a", "b", "b", "a"] * 10})
bakeoff.sweep("learner=majority", dataset=frame, target="y", workers=2, tracking="none")
os.environ["MLFLOW_TRACKING_URI"] = "sqlite:///second.db"
result = bakeoff.sweep("learner=majority,naive_bayes", dataset=frame, target="y", workers=2)
print(*result.runs["state"])
"""
pytestmark = [pytest.mark.filterwarnings("ignore::bakeoff.BakeoffWarning"), pytest.mark.usefixtures("folder")]


def test_a_sweep_is_that_of_the_command_and_its_jobs_are_run_once(folder: Path) -> None:
    result = bakeoff.sweep(*WORDS)
    assert result.runs["state"].tolist() == ["finished"] * 4
    with command_in(folder) as command:
        answer = command("-m", *WORDS)
        scores = {run.info.run_id: run.data.metrics["test_accuracy"] for run in command.runs()}
    assert "4 already done" in answer.out
    assert dict(zip(result.runs["run_id"], result.runs["score"], strict=True)) == scores
    again = bakeoff.sweep(
        "evaluation.folds=3", learner=["knn", "naive_bayes"], dataset=["iris", "wine"], evaluation="kfold"
    )
    assert again.runs["state"].tolist() == ["skipped"] * 4
    assert again.runs["reason"].tolist() == [""] * 4
    pd.testing.assert_frame_equal(again.table, result.table)
    assert list(again.runs.columns) == list(result.runs.columns)
    means = result.runs.pivot(index="configuration", columns="dataset", values="test_accuracy")
    pd.testing.assert_frame_equal(means.loc[result.table.index, result.table.columns], result.table)


def test_tables_of_python_are_datasets_of_a_sweep_with_and_without_a_store(folder: Path) -> None:
    tables = {"one": make_frame(), "two": make_frame().drop(columns="noise")}
    here = bakeoff.sweep(learner=["majority", "knn"], dataset=tables, target="y", tracking="none")
    there = bakeoff.sweep(learner=["majority", "knn"], dataset=tables, target="y")
    pd.testing.assert_frame_equal(here.table, there.table)
    assert list(there.table.columns) == ["one", "two"]
    assert here.runs["run_id"].isna().all()
    assert sorted(file.name for file in folder.glob("outputs/frames/*/*")) == ["one.parquet", "two.parquet"]


def test_a_failed_job_is_a_row_with_its_reason_and_a_warning(folder: Path) -> None:
    with pytest.warns(bakeoff.BakeoffWarning, match="RuntimeError: the cure is unknown"):
        result = bakeoff.sweep(
            "learner=majority", "learner._target_=failing.Failing,bakeoff.learners.MajorityClassifier",
            trust=["failing"], dataset="wine",
        )  # fmt: skip
    assert result.runs["state"].tolist() == ["failed", "finished"]
    assert result.runs["reason"][0] == "RuntimeError: the cure is unknown"
    assert result.best_run == result.runs["run_id"][1]
    assert "the cure is unknown" in result._repr_html_()


def test_a_dry_run_is_the_plan(folder: Path) -> None:
    plan = bakeoff.sweep(
        learner="knn", learner__n_neighbors=[1, 3, 1, 500], dataset=make_frame(), target="y", dry_run=True
    )
    assert plan.runs["state"].tolist() == ["to do", "to do", "invalid"]
    assert plan.failures == ()
    assert "to do" in plan._repr_html_()
    assert not list(folder.rglob("*.db"))
    with pytest.raises(bakeoff.UserError, match="0 headline scores"):
        _ = plan.table


def test_the_best_run_is_that_of_one_dataset_and_one_score() -> None:
    lowest = bakeoff.sweep(learner=["mean", "ridge"], dataset="diabetes", evaluation__metrics=[["rmse"]])
    assert lowest.best_run == lowest.runs.sort_values("score")["run_id"].iloc[0]
    assert list(lowest.tables) == ["test_rmse"]
    several = bakeoff.sweep("learner=majority,knn", "dataset=iris,wine", tracking="none")
    with pytest.raises(bakeoff.UserError, match="of one dataset"):
        _ = several.best_run
    measured = bakeoff.sweep("learner=mean", dataset="diabetes", evaluation__metrics=[["rmse"], ["mae"]])
    with pytest.raises(bakeoff.UserError, match="with one headline score"):
        _ = measured.best_run


@pytest.mark.slow
def test_workers_do_not_run_a_script_again_and_have_the_variables_of_the_moment(folder: Path) -> None:
    (folder / "script.py").write_text(SCRIPT)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    ended = subprocess.run(
        [sys.executable, "-W", "ignore", "script.py"], env=environment, capture_output=True, text=True, timeout=300,
        check=False,
    )  # fmt: skip
    assert (ended.returncode, ended.stdout) == (0, "the script runs\nfinished finished\n"), ended.stderr
    assert (folder / "second.db").exists()
    from mlflow import MlflowClient

    client = MlflowClient(tracking_uri=f"sqlite:///{folder}/second.db")
    assert len(client.search_runs([client.search_experiments(filter_string="name = 'bakeoff'")[0].experiment_id])) == 2


def test_the_store_defaults_to_that_of_the_first_result() -> None:
    made = SweepResult("s", pd.DataFrame(), (), "", {"uri": "sqlite:///a.db", "experiment": None}, ())
    assert find_store([made], {"tracking__uri": None, "alpha": 0.1}) == {
        "tracking__uri": "sqlite:///a.db",
        "alpha": 0.1,
    }
    assert find_store(["latest", made], {"tracking__uri": "b.db"}) == {"tracking__uri": "b.db"}
    assert find_store(["latest"], {}) == {}
