"""What a run has in MLflow, read with MLflow's own client from a real SQLite store."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pandas as pd
import pytest
import yaml
from command import Bakeoff, command_in
from killing import wait_for
from warm_process import OUTPUT, Start

from bakeoff.learners import REGISTRY

CONF = Path(__file__).parents[2] / "conf"


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Bakeoff:
    """Return the command in a folder whose store holds the run of a pruned tree over three folds."""
    words = ["learner=decision_tree", "dataset=wine", "evaluation=kfold", "evaluation.folds=3", "pruning=best_first"]
    with command_in(tmp_path_factory.mktemp("tree")) as bakeoff:
        answer = bakeoff(*words)
    assert answer.status == 0, answer.err
    return bakeoff


@pytest.fixture
def kept(tree: Bakeoff) -> Any:
    """Return the run of the tree."""
    return tree.runs()[0]


def test_params_hold_the_choices_and_every_value_by_its_dotted_name(kept: Any) -> None:
    params = kept.data.params
    assert params["dataset"] == "wine"
    assert params["pruning"] == "best_first"
    assert params["learner.criterion"] == "gini"
    assert params["evaluation.folds"] == "3"
    assert params["evaluation.validation"] == "0.2"
    assert params["seed"] == "0"


def test_the_headline_metric_is_the_first_in_the_store(kept: Any) -> None:
    assert next(iter(kept.data.metrics)) == "test_accuracy"


def test_folds_are_steps_of_one_metric_and_their_mean_is_the_plain_name(kept: Any, tree: Bakeoff) -> None:
    history = tree.client().get_metric_history(kept.info.run_id, "fold/test_accuracy")
    values = [entry.value for entry in sorted(history, key=lambda entry: entry.step)]
    assert [entry.step for entry in history] == [0, 1, 2]
    assert kept.data.metrics["test_accuracy"] == pytest.approx(np.mean(values))
    assert kept.data.metrics["test_accuracy_std"] == pytest.approx(np.std(values, ddof=1))
    assert kept.data.metrics["time/fit"] > 0
    assert kept.data.metrics["time/predict"] > 0


def test_pruning_is_recorded_before_and_after_and_as_a_path(kept: Any, tree: Bakeoff) -> None:
    metrics = kept.data.metrics
    for size in ("leaves", "depth"):
        assert metrics[f"pruning/{size}_after"] <= metrics[f"pruning/{size}_before"]
    assert metrics["pruning/test_accuracy_after"] == pytest.approx(metrics["test_accuracy"])
    assert metrics["pruning/validation_accuracy_after"] >= metrics["pruning/validation_accuracy_before"]
    path = tree.client().get_metric_history(kept.info.run_id, "pruning_path/leaves")
    assert [entry.step for entry in path] == list(range(len(path)))
    assert all(later.value < earlier.value for earlier, later in pairwise(path))


def test_tags_hold_identity_and_provenance(kept: Any) -> None:
    tags = kept.data.tags
    assert len(tags["config_hash"]) == len(tags["dataset_digest"]) == 16
    assert tags["mlflow.user"]
    assert len(tags["mlflow.source.git.commit"]) == 40
    assert tags["git_dirty"] in ("true", "false")


def test_tags_say_on_which_splits_a_run_was_scored(kept: Any) -> None:
    tags = kept.data.tags
    assert len(tags["splits_digest"]) == 16
    rows = json.loads(tags["rows_per_fold"])
    assert list(rows) == ["train", "validation", "test"]
    assert sum(rows.values()) == pytest.approx(178)


def test_the_dataset_is_an_input_with_its_digest(kept: Any) -> None:
    (entry,) = kept.inputs.dataset_inputs
    assert entry.dataset.name == "wine"
    assert entry.dataset.digest == kept.data.tags["dataset_digest"]
    assert json.loads(entry.dataset.profile)["num_rows"] == 178


def test_predictions_of_all_test_rows_agree_with_the_scores(kept: Any, tree: Bakeoff) -> None:
    from io import StringIO

    table = pd.read_csv(StringIO(tree.artifact(kept, "predictions.csv")))
    assert sorted(table["row"]) == list(range(178))
    right = (table["truth"] == table["predicted"]).groupby(table["fold"]).mean()
    assert right.mean() == pytest.approx(kept.data.metrics["test_accuracy"])


def test_the_resolved_configuration_is_an_artifact_that_runs_again(kept: Any, tree: Bakeoff) -> None:
    spec = yaml.safe_load(tree.artifact(kept, "config.yaml"))
    assert spec["learner"]["_target_"] == "bakeoff.learners.DecisionTreeClassifier"
    assert spec["evaluation"]["validation"] == 0.2


def test_the_confusion_matrix_counts_every_row(kept: Any, tree: Bakeoff) -> None:
    from io import StringIO

    table = pd.read_csv(StringIO(tree.artifact(kept, "confusion_matrix.csv")), index_col=0)
    assert table.to_numpy().sum() == 178


def test_tuning_keeps_the_table_of_candidates_and_the_chosen_parameters(bakeoff: Bakeoff) -> None:
    space = ["space.n_neighbors=[1,5]", "space.weights=[uniform]"]
    bakeoff("learner=knn", "dataset=wine", "tuning=grid", *space, "evaluation=kfold")
    run = bakeoff.runs()[0]
    assert run.data.params["tuned.n_neighbors"] in ("1", "5")
    lines = bakeoff.artifact(run, "candidates.csv").splitlines()
    assert lines[0] == "fold,n_neighbors,weights,validation_score,fit_seconds"
    assert len(lines) == 1 + 2 * (5 + 1)  # two candidates in five folds and in the fit on all rows


SAVED = sorted(file.stem for file in (CONF / "learner").glob("*.yaml"))


def test_every_learner_of_the_registry_has_an_option() -> None:
    assert set(REGISTRY) <= set(SAVED)


@pytest.mark.slow
@pytest.mark.parametrize("name", SAVED)
def test_the_model_of_every_option_is_kept_and_predicts_the_same(
    bakeoff: Bakeoff, name: str, recwarn: pytest.WarningsRecorder
) -> None:
    import mlflow

    spec = yaml.safe_load((CONF / "learner" / f"{name}.yaml").read_text())
    regression = any(word in spec["_target_"] for word in ("Regressor", "LinearRegression", "Ridge"))
    dataset = "cars" if regression else "iris"
    answer = bakeoff(f"learner={name}", f"dataset={dataset}", "preprocessing=standardize", "pruning=none")
    assert answer.status == 0, answer.err
    run = bakeoff.runs()[0]
    model_id = run.outputs.model_outputs[0].model_id
    mlflow.set_tracking_uri(f"sqlite:///{bakeoff.folder}/outputs/mlflow.db")
    model = mlflow.pyfunc.load_model(f"models:/{model_id}")
    from bakeoff.pipeline.stages.dataset import load_bundled, load_lecture_table

    data = load_bundled("iris") if dataset == "iris" else load_lecture_table("cars", "distance", "regression")
    table = pd.read_csv(bakeoff.client().download_artifacts(run.info.run_id, "predictions.csv"))
    again = np.asarray(model.predict(data.X.iloc[table["row"]])["prediction"])
    if regression:
        np.testing.assert_allclose(again, table["predicted"], rtol=1e-12)
    else:
        assert list(again) == list(table["predicted"])


ELSEWHERE = """
import sys, pandas, mlflow
mlflow.set_tracking_uri(sys.argv[1])
table = mlflow.pyfunc.load_model(sys.argv[2]).predict(pandas.read_csv(sys.argv[3], dtype=str))
print("\\n".join(map(str, table["prediction"])))
"""


@pytest.mark.slow
def test_a_fresh_process_elsewhere_predicts_the_same_from_text_columns(bakeoff: Bakeoff, tmp_path: Path) -> None:
    bakeoff("learner=naive_bayes", "dataset=mortgage", "evaluation=holdout", "evaluation.stratify=false")
    run = bakeoff.runs()[0]
    rows = CONF.parent / "pipeline" / "stages" / "dataset" / "tables" / "mortgage.csv"
    data = pd.read_csv(rows, dtype=str).drop(columns="decision")
    data.to_csv(tmp_path / "rows.csv", index=False)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    uri = f"sqlite:///{bakeoff.folder}/outputs/mlflow.db"
    model = f"models:/{run.outputs.model_outputs[0].model_id}"
    answer = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", ELSEWHERE, uri, model, str(tmp_path / "rows.csv")],
        cwd=elsewhere, capture_output=True, text=True, check=True, timeout=120,
    )  # fmt: skip
    assert bakeoff("predict", run.info.run_id, str(tmp_path / "rows.csv"), "output=p.csv").status == 0
    here = pd.read_csv(bakeoff.folder / "p.csv")["prediction"]
    assert answer.stdout.split() == list(here)


def test_a_single_fold_is_recorded_once(bakeoff: Bakeoff) -> None:
    bakeoff("learner=majority", "dataset=iris")
    metrics = bakeoff.runs()[0].data.metrics
    assert "test_accuracy" in metrics
    assert not [name for name in metrics if name.startswith("fold/")]


def test_params_of_a_long_run_are_written_before_its_first_scores(
    bakeoff: Bakeoff, monkeypatch: pytest.MonkeyPatch
) -> None:
    from bakeoff.pipeline.stages.dataset import load_bundled
    from bakeoff.pipeline.tracking import RunDescription
    from bakeoff.pipeline.tracking.run import MLflowTracker

    monkeypatch.setattr("bakeoff.pipeline.tracking.run.FLUSH_SECONDS", 0.01)
    experiment = SimpleNamespace(dataset=load_bundled("iris"))
    tracker = MLflowTracker(f"sqlite:///{bakeoff.folder}/outputs/mlflow.db", models=False)
    description = RunDescription("lasting", {"learner": "knn"}, {"config_hash": "of the job"}, "")
    with tracker.start_run(description, cast(Any, experiment)) as run:
        until = time.monotonic() + 60
        while not (found := bakeoff.client().get_run(run.run_id)).data.params and time.monotonic() < until:
            time.sleep(0.02)
        assert found.info.status == "RUNNING"
        assert found.data.params == {"learner": "knn"}


@pytest.mark.slow
def test_sigterm_ends_a_run_killed(bakeoff: Bakeoff, start: Start) -> None:
    words = ["learner=majority", "learner._target_=failing.Sleeping", "trust=[failing]", "dataset=iris"]
    # Without a model there is no trial fit, which sleeps before the run begins.
    process = start(bakeoff.folder, [*words, "tracking.models=false"])
    wait_for(bakeoff.folder / "asleep")
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == 128 + signal.SIGTERM
    assert bakeoff.runs()[0].info.status == "KILLED"


@pytest.mark.slow
def test_processes_that_start_together_without_a_store_lose_nothing(bakeoff: Bakeoff, start: Start) -> None:
    words = ["learner=majority", "dataset=iris", "tracking.models=false"]
    processes = [start(bakeoff.folder, [*words, f"seed={seed}"]) for seed in range(4)]
    assert [process.wait(180) for process in processes] == [0] * 4, (bakeoff.folder / OUTPUT).read_text()
    assert sorted(run.data.params["seed"] for run in bakeoff.runs()) == list("0123")
    assert all(run.info.status == "FINISHED" for run in bakeoff.runs())
