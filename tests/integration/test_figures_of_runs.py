"""``bakeoff figures``, and figures by name on the command line, in a real store."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from command import Bakeoff, command_in

WORDS = ("dataset=file", "dataset.path=points.csv", "dataset.target=side", "learner=naive_bayes", "evaluation=kfold")


def write_points(folder: Path) -> None:
    rows = range(40)
    table = pd.DataFrame({"x": [i * 7 % 11 + 0.0 for i in rows], "y": [i * 5 % 13 + 0.0 for i in rows]})
    table["side"] = ["left" if x < y else "right" for x, y in zip(table["x"], table["y"], strict=True)]
    table.to_csv(folder / "points.csv", index=False)


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Bakeoff:
    """Return the command in a folder whose store holds one run, without figures."""
    folder = tmp_path_factory.mktemp("kept")
    write_points(folder)
    with command_in(folder) as bakeoff:
        answer = bakeoff(*WORDS, "tracking.models=false")
    assert answer.status == 0, answer.err
    return bakeoff


@pytest.fixture
def bakeoff_there(kept: Bakeoff, bakeoff: Bakeoff, monkeypatch: pytest.MonkeyPatch) -> Bakeoff:
    """Return the command in the folder of the store."""
    monkeypatch.chdir(kept.folder)
    return Bakeoff(kept.folder, bakeoff.capture, monkeypatch)


def list_artifacts(bakeoff: Bakeoff) -> set[str]:
    run = bakeoff.runs()[0]
    return {file.path for file in bakeoff.client().list_artifacts(run.info.run_id)}


def test_figures_go_into_a_folder_and_the_run_does_not_change(bakeoff_there: Bakeoff, tmp_path: Path) -> None:
    before = (list_artifacts(bakeoff_there), bakeoff_there.runs()[0].data.metrics)
    target = tmp_path / "new" / "folder"
    answer = bakeoff_there("figures", "latest", "roc", "{learning_curve: {sizes: [0.5, 1]}}", f"output={target}")
    assert answer.status == 0, answer.err
    names = ["learning_curve.csv", "learning_curve.png", "roc.png"]
    assert sorted(file.name for file in target.iterdir()) == names
    assert (target / "roc.png").read_bytes().startswith(b"\x89PNG")
    assert "5 folds) again" in answer.err
    assert (list_artifacts(bakeoff_there), bakeoff_there.runs()[0].data.metrics) == before


def test_figures_become_artifacts_of_the_run_and_its_numbers_stay(bakeoff_there: Bakeoff) -> None:
    run = bakeoff_there.runs()[0]
    answer = bakeoff_there("figures", run.info.run_id[:10], "confusion_matrix", "validation_curve")
    assert answer.status == 0, answer.err
    # The space of the learner's option is found, although the run was not tuned.
    assert {"confusion_matrix.png", "validation_curve.png", "validation_curve.csv"} <= list_artifacts(bakeoff_there)
    paths = [line.removeprefix("figure ") for line in answer.out.splitlines()]
    assert all((bakeoff_there.folder / path).is_file() for path in paths)
    assert bakeoff_there.runs()[0].data.metrics == run.data.metrics
    assert bakeoff_there.runs()[0].info.end_time == run.info.end_time


def test_figures_of_a_finished_run_are_those_that_the_run_would_have_drawn(
    bakeoff_there: Bakeoff, tmp_path: Path
) -> None:
    assert bakeoff_there("figures", "latest", "calibration", "importances", f"output={tmp_path}").status == 0
    answer = bakeoff_there(
        *WORDS, "figures=[calibration,importances]", "tracking.models=false", "tracking.experiment=again"
    )
    assert answer.status == 0, answer.err
    paths = [line.removeprefix("figure ") for line in answer.out.splitlines() if line.startswith("figure ")]
    assert [Path(path).name for path in paths] == ["calibration.png", "importances.png"]
    assert all((bakeoff_there.folder / path).is_file() for path in paths)
    client = bakeoff_there.client()
    experiment = client.get_experiment_by_name("again")
    (run,) = client.search_runs([experiment.experiment_id])
    for name in ("calibration.png", "importances.png", "importances.csv"):
        stored = Path(client.download_artifacts(run.info.run_id, name))
        assert stored.read_bytes() == (tmp_path / name).read_bytes()


REFUSED = {
    "no run": ([], "usage: bakeoff figures RUN [NAME ...]"),
    "an unknown run": (["0123456789"], "there is no run '0123456789'"),
    "an unknown name": (["latest", "rok"], "Did you mean 'roc'?"),
    "an unknown key": (["latest", "outputs=here"], "Did you mean 'output'?"),
    "a figure that does not apply": (["latest", "candidates"], "tuning=none"),
    "a file as a folder": (["latest", "output=points.csv"], "is a file"),
    "braces that are no YAML": (["latest", "{roc"], "is not YAML"),
    "another store": (["latest", "tracking.uri=nothing.db"], "there is no store"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_drawn_is_refused_and_leaves_nothing(bakeoff_there: Bakeoff, name: str) -> None:
    words, sentence = REFUSED[name]
    before = sorted(file.name for file in bakeoff_there.folder.iterdir())
    answer = bakeoff_there("figures", *words)
    assert answer.status == 2
    assert sentence in answer.err
    assert sorted(file.name for file in bakeoff_there.folder.iterdir()) == before


def test_other_scores_than_the_stored_ones_and_a_run_that_is_not_finished_are_refused(bakeoff: Bakeoff) -> None:
    assert bakeoff("dataset=iris", "learner=majority", "tracking.models=false").status == 0
    run = bakeoff.runs()[0]
    bakeoff.client().log_metric(run.info.run_id, "test_accuracy", 0.5)
    answer = bakeoff("figures", "latest", "confusion_matrix", "output=here")
    assert answer.status == 2
    assert "test_accuracy was 0.5 and is 0.3333333333" in answer.err
    assert not (bakeoff.folder / "here").exists()
    bakeoff.client().set_terminated(run.info.run_id, "FAILED")
    answer = bakeoff("figures", run.info.run_id)
    assert answer.status == 2
    assert "is FAILED: only a finished run" in answer.err


def test_figures_of_a_run_that_is_not_stored_are_not_drawn_and_the_command_says_so(bakeoff: Bakeoff) -> None:
    answer = bakeoff("dataset=iris", "learner=majority", "figures=all", "tracking=none")
    assert answer.status == 0
    assert "with tracking=none, none are drawn" in answer.err


def test_a_run_without_figures_loads_neither_them_nor_matplotlib(tmp_path: Path) -> None:
    code = (
        "import sys\n"
        "from bakeoff.pipeline.cli.main import run_words\n"
        "status = run_words(['dataset=colours', 'learner=majority', 'evaluation=leave_one_out', 'tracking=none'])\n"
        "assert status == 0\n"
        "sys.exit(' '.join({'matplotlib', 'bakeoff.pipeline.commands.figures'} & set(sys.modules)) or 0)\n"
    )
    ended = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")
