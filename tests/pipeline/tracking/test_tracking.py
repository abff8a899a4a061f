"""What a run has in MLflow, read from a real SQLite store by MLflow's own client."""

from __future__ import annotations

import json
import subprocess
import time
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from command import Bakeoff, command_in

from bakeoff.pipeline.tracking import provenance


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


def test_the_path_of_pruning_is_a_series(kept: Any, tree: Bakeoff) -> None:
    path = tree.client().get_metric_history(kept.info.run_id, "pruning_path/leaves")
    assert [entry.step for entry in path] == list(range(len(path)))
    assert all(later.value < earlier.value for earlier, later in pairwise(path))


def test_tags_hold_identity_and_provenance_and_the_splits(kept: Any) -> None:
    tags = kept.data.tags
    # The page of a run shows what decides a result before what identifies the process.
    assert [name for name in tags if not name.startswith("mlflow.")][:2] == ["config_hash", "code_hash"]
    assert list(tags).index("versions") < list(tags).index("host") < list(tags).index("heartbeat")
    assert {len(tags[name]) for name in ("config_hash", "dataset_digest", "splits_digest")} == {16}
    assert tags["mlflow.user"]
    assert len(tags["mlflow.source.git.commit"]) == 40
    assert tags["git_dirty"] in ("true", "false")
    rows = json.loads(tags["rows_per_fold"])
    assert list(rows) == ["train", "validation", "test"]
    assert sum(rows.values()) == pytest.approx(178)


def test_the_commit_is_read_and_whether_files_differ_from_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "learner.py"
    file.touch()
    commands = ("init", "add .", "-c user.name=me -c user.email=me@localhost commit -m first", "rev-parse HEAD")
    *_, commit = (subprocess.check_output(["git", *words.split()], text=True).strip() for words in commands)
    ask = provenance.read_git_state.__wrapped__
    assert ask() == (commit, False)
    file.write_text("changed")
    assert ask() == (commit, True)


def test_the_dataset_is_an_input_with_its_digest(kept: Any) -> None:
    (entry,) = kept.inputs.dataset_inputs
    assert entry.dataset.name == "wine"
    assert entry.dataset.digest == kept.data.tags["dataset_digest"]
    assert json.loads(entry.dataset.profile)["num_rows"] == 178


def test_a_single_fold_is_recorded_once_and_a_key_of_the_user_may_stand_in_other_values(bakeoff: Bakeoff) -> None:
    bakeoff("+k=3", "learner=knn", "learner.n_neighbors=${k}", "dataset=iris", "evaluation.validation=0")
    (run,) = bakeoff.runs()
    assert run.data.params["learner.n_neighbors"] == "3"
    assert not [name for name in run.data.metrics if name.startswith("fold/")]


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
