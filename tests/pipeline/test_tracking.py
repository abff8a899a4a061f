"""What a run has in MLflow, read with MLflow's own client from a real SQLite store."""

from __future__ import annotations

import json
import signal
import time
from itertools import pairwise
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from command import Bakeoff, command_in
from killing import wait_for
from warm_process import Start


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


PARAMS = {
    "dataset": "wine", "pruning": "best_first", "learner.criterion": "gini", "evaluation.folds": "3",
    "evaluation.validation": "0.2", "seed": "0",
}  # fmt: skip


def test_params_hold_the_choices_and_every_value_by_its_dotted_name(kept: Any) -> None:
    assert PARAMS.items() <= kept.data.params.items()


def test_folds_are_steps_of_one_metric_and_their_mean_is_the_plain_name(kept: Any, tree: Bakeoff) -> None:
    history = tree.client().get_metric_history(kept.info.run_id, "fold/test_accuracy")
    values = [entry.value for entry in sorted(history, key=lambda entry: entry.step)]
    assert [entry.step for entry in history] == [0, 1, 2]
    assert kept.data.metrics["test_accuracy"] == pytest.approx(np.mean(values))
    assert kept.data.metrics["test_accuracy_std"] == pytest.approx(np.std(values, ddof=1))
    assert kept.data.metrics["time/fit"] > 0
    assert kept.data.metrics["time/predict"] > 0


def test_the_path_of_pruning_is_a_series(kept: Any, tree: Bakeoff) -> None:
    path = tree.client().get_metric_history(kept.info.run_id, "pruning_path/leaves")
    assert [entry.step for entry in path] == list(range(len(path)))
    assert all(later.value < earlier.value for earlier, later in pairwise(path))


def test_tags_hold_identity_and_provenance_and_the_splits(kept: Any) -> None:
    tags = kept.data.tags
    assert {len(tags[name]) for name in ("config_hash", "dataset_digest", "splits_digest")} == {16}
    assert tags["mlflow.user"]
    assert len(tags["mlflow.source.git.commit"]) == 40
    assert tags["git_dirty"] in ("true", "false")
    rows = json.loads(tags["rows_per_fold"])
    assert list(rows) == ["train", "validation", "test"]
    assert sum(rows.values()) == pytest.approx(178)


def test_the_dataset_is_an_input_with_its_digest(kept: Any) -> None:
    (entry,) = kept.inputs.dataset_inputs
    assert entry.dataset.name == "wine"
    assert entry.dataset.digest == kept.data.tags["dataset_digest"]
    assert json.loads(entry.dataset.profile)["num_rows"] == 178


def test_tuning_keeps_the_table_of_candidates_and_the_chosen_parameters(bakeoff: Bakeoff) -> None:
    space = ["space.n_neighbors=[1,5]", "space.weights=[uniform]"]
    bakeoff("learner=knn", "dataset=wine", "tuning=grid", *space, "evaluation=kfold")
    run = bakeoff.runs()[0]
    assert run.data.params["tuned.n_neighbors"] in ("1", "5")
    assert bakeoff.artifact(run, "candidates.csv").startswith("fold,n_neighbors,weights,validation_score,fit_seconds")


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
