"""``bakeoff.run``: the run of the command, with its numbers as tables, and nothing left in the process that calls."""

from __future__ import annotations

import json
import logging
import os
import re
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from command import Bakeoff, command_in
from doubles import HYDRAS_DEFAULTS
from small_tables import make_frame

import bakeoff
from bakeoff.pipeline.errors import UserError

WORDS = ("learner=decision_tree", "dataset=wine", "evaluation=kfold", "evaluation.folds=3")
pytestmark = [pytest.mark.filterwarnings("ignore::bakeoff.BakeoffWarning"), pytest.mark.usefixtures("folder")]


def read_state() -> dict[str, Any]:
    """Return what a program may have set in its process, and bakeoff uses."""
    from hydra.core.global_hydra import GlobalHydra
    from hydra.core.hydra_config import HydraConfig
    from hydra.version import VersionBase

    root = logging.getLogger()
    mlflow = sys.modules.get("mlflow")
    return {
        "environment": dict(os.environ),
        "arguments": list(sys.argv),
        "path": list(sys.path),
        "folder": os.getcwd(),
        "filters": list(warnings.filters),
        "show": warnings.showwarning,
        "logging": (root.level, list(root.handlers)),
        "streams": (sys.stdout, sys.stderr),
        "hydra": GlobalHydra.instance().hydra,
        "hydra config": HydraConfig.instance().cfg,
        "hydra version": VersionBase.instance().version_base,
        "store": None if mlflow is None else mlflow.get_tracking_uri(),
    }


def test_a_run_has_the_numbers_and_the_hash_of_the_command(folder: Path) -> None:
    with command_in(folder) as command:
        assert command(*WORDS).status == 0
        (stored,) = command.runs()
        predictions = pd.read_csv(folder / command.client().download_artifacts(stored.info.run_id, "predictions.csv"))
    result = bakeoff.run("learner=decision_tree", dataset="wine", evaluation="kfold", evaluation__folds=3)
    metrics = stored.data.metrics
    scores = {name: value for name, value in metrics.items() if name.startswith(("test_", "train_", "validation_"))}
    own = {
        re.sub(r"^(test|train)", rf"\1_{metric}", str(part)): value
        for metric, row in result.scores.to_dict("index").items()
        for part, value in row.items()
        if metric == "accuracy" or not str(part).startswith("train")
    }
    assert own == scores
    assert result.scores.loc["f1":, ["train", "train_std"]].isna().all(axis=None)
    assert result.config_hash == stored.data.tags["config_hash"]
    assert result.score == metrics["test_accuracy"] == result.folds["test_accuracy"].mean()
    assert result.command == "bakeoff dataset=wine learner=decision_tree evaluation=kfold evaluation.folds=3"
    pd.testing.assert_frame_equal(result.predictions, predictions, check_exact=True)
    with command_in(folder) as command:
        newest = command.runs()[0]
    assert (newest.info.run_id, newest.info.status) == (result.run_id, "FINISHED")
    assert json.loads(newest.data.tags["overrides"]) == list(result.command.split()[1:])


def test_a_table_is_a_dataset_like_the_same_file(folder: Path, bakeoff: Bakeoff) -> None:
    frame = make_frame()
    frame.to_csv("mine.csv", index=False)
    words = ("learner=naive_bayes", "dataset=file", "dataset.path=mine.csv", "dataset.target=y")
    assert bakeoff(*words).status == 0
    (by_file,) = bakeoff.runs()
    import bakeoff as package

    result = package.run("learner=naive_bayes", dataset=frame, target="y", dataset_name="mine")
    assert result.config_hash == by_file.data.tags["config_hash"]
    assert result.score == by_file.data.metrics["test_accuracy"]
    assert result.predictions["truth"].tolist() == frame["y"][result.predictions["row"]].tolist()
    assert len(list(folder.glob("outputs/frames/*/mine.parquet"))) == 1
    assert bakeoff("replay", str(result.run_id)).status == 0


def test_a_column_and_a_class_may_be_called_like_omegaconfs_missing_value(folder: Path, bakeoff: Bakeoff) -> None:
    frame = make_frame().rename(columns={"y": "???"})
    first = frame["???"].iloc[0]
    frame["???"] = frame["???"].replace({first: "???"})
    import bakeoff as package

    words = ("learner=naive_bayes", "evaluation.stratify=false")
    result = package.run(*words, dataset=frame, target="???", dataset__positive="???", dataset_name="mine")
    assert "???" in set(result.predictions["truth"])
    assert bakeoff("replay", str(result.run_id)).status == 0


def test_without_tracking_nothing_is_left_and_the_scores_are_the_same(folder: Path) -> None:
    stored = bakeoff.run(*WORDS)
    (folder / "outputs").rename(folder / "elsewhere")
    result = bakeoff.run(*WORDS, tracking="none")
    assert (result.run_id, result.scores.equals(stored.scores)) == (None, True)
    assert [path.name for path in folder.iterdir()] == ["elsewhere"]


def test_the_process_that_calls_is_as_it_was(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HYDRA_FULL_ERROR", "0")
    bakeoff.run(*WORDS, tracking="none")  # imports what changes the filters of warnings
    before = read_state()
    bakeoff.run(*WORDS)
    with pytest.raises(UserError):
        bakeoff.run("learner=none_such")
    with pytest.raises(RuntimeError):
        bakeoff.run("learner=majority", learner___target_="failing.Failing", trust=["failing"], dataset="wine")
    bakeoff.sweep("learner=majority,knn", dataset="wine")
    assert read_state() == before


def test_a_program_that_uses_hydra_itself_can_call(folder: Path) -> None:
    import hydra
    from hydra.core.global_hydra import GlobalHydra
    from omegaconf import OmegaConf

    (folder / "theirs").mkdir()
    (folder / "theirs" / "app.yaml").write_text("answer: ${now:%Y}\n")
    with hydra.initialize_config_dir(str(folder / "theirs"), **HYDRAS_DEFAULTS):
        engine = GlobalHydra.instance().hydra
        result = bakeoff.run(*WORDS, tracking="none")
        assert GlobalHydra.instance().hydra is engine
        composed = hydra.compose("app")
    OmegaConf.resolve(composed)
    assert int(composed.answer) > 2000
    assert result.metric == "accuracy"


def test_threads_get_the_scores_of_one_call() -> None:
    learners = ("majority", "naive_bayes", "knn")

    def score(learner: str) -> float:
        return bakeoff.run(learner=learner, dataset="wine", evaluation="kfold", tracking="none").score

    alone = [score(learner) for learner in learners]
    before = read_state()
    with ThreadPoolExecutor(3) as threads:
        assert list(threads.map(score, learners)) == alone
    assert read_state() == before


@pytest.mark.parametrize(
    ("learner", "error", "status"), [("Failing", RuntimeError, "FAILED"), ("Interrupting", KeyboardInterrupt, "KILLED")]
)
def test_a_learner_that_fails_raises_its_own_error(
    learner: str, error: type[BaseException], status: str, folder: Path
) -> None:
    with pytest.raises(error):
        bakeoff.run(
            "learner=majority", f"learner._target_=failing.{learner}", "trust=[failing]", "dataset=wine",
            "tracking.models=false",
        )  # fmt: skip
    with command_in(folder) as command:
        assert command.runs()[0].info.status == status


def test_what_may_be_wrong_is_a_warning_at_the_line_that_called() -> None:
    frame = make_frame().assign(id=[f"k{i}" for i in range(60)]).set_index(pd.Index([f"r{i}" for i in range(60)]))
    with pytest.warns(bakeoff.BakeoffWarning) as caught:
        result = bakeoff.run("learner=majority", dataset=frame, target="y", tracking="none")
    said = [str(warning.message) for warning in caught]
    assert tuple(said) == result.notes
    assert any("Left out as identifiers: id" in sentence for sentence in said)
    assert {warning.filename for warning in caught} == {__file__}


def test_a_result_is_shown_as_text_and_as_html() -> None:
    frame = make_frame().rename(columns={"size": "<b>size</b>"}).assign(id=[f"k{i}" for i in range(60)])
    result = bakeoff.run("learner=majority", dataset=frame, target="y", dataset_name="<i>&mine", tracking="none")
    score = f"{result.score:.4f}"
    assert repr(result) == f"<RunResult majority <i>&mine: test accuracy {score}, not stored>"
    page = result._repr_html_()
    assert score in page
    assert "&lt;i&gt;&amp;mine" in page
    assert "<i>" not in page


def test_the_model_of_a_result_is_the_one_that_is_stored(folder: Path) -> None:
    frame = make_frame()
    result = bakeoff.run("learner=naive_bayes", dataset=frame, target="y")
    assert result.run_id is not None
    stored = bakeoff.load(result.run_id[:8])
    rows = frame.drop(columns="y")
    pd.testing.assert_frame_equal(stored.predict(rows), result.model.predict(rows))
    assert stored.record == result.model.record
    assert stored.record.describe_rows() == "fitted on 36 of 60 rows (12 for validation, 12 for the test)"
    tested = result.predictions
    again = result.model.predict(rows.iloc[tested["row"]]).reset_index(drop=True)
    assert again["prediction"].tolist() == tested["predicted"].tolist()
    assert again["probability_yes"].tolist() == tested["probability_yes"].tolist()
    assert result.model.record.describe_rows() in result._repr_html_()


def test_a_time_limit_outside_the_main_thread_is_refused_and_nothing_is_stored(folder: Path) -> None:
    with ThreadPoolExecutor(1) as pool, pytest.raises(UserError, match="timeout limits only the main thread"):
        pool.submit(bakeoff.run, *WORDS, "timeout=1m").result()
    with command_in(folder) as command:
        assert command.runs() == []
