"""The command line: what it prints, what it keeps, and its exit codes."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from command import Bakeoff

from bakeoff.pipeline.cli.main import keep_writable


def test_a_run_prints_its_scores_its_id_and_how_to_open_the_ui(bakeoff: Bakeoff) -> None:
    answer = bakeoff("learner=majority", "dataset=iris")
    assert answer.status == 0
    assert "accuracy" in answer.out
    run = bakeoff.runs()[0]
    assert run.info.run_id in answer.out
    assert answer.out.splitlines()[-1] == "open  bakeoff ui"


def test_the_default_experiment_prunes_a_tree_on_the_validation_part(bakeoff: Bakeoff) -> None:
    assert bakeoff().status == 0
    run = bakeoff.runs()[0]
    chosen = {key: run.data.params[key] for key in ("dataset", "learner", "evaluation", "pruning")}
    assert chosen == {
        "dataset": "breast_cancer", "learner": "decision_tree", "evaluation": "holdout", "pruning": "best_first"
    }  # fmt: skip
    assert run.data.metrics["pruning/leaves_after"] < run.data.metrics["pruning/leaves_before"]


def test_a_learner_that_cannot_be_pruned_runs_without_pruning_by_default(bakeoff: Bakeoff) -> None:
    assert bakeoff("learner=knn", "dataset=wine").status == 0
    assert bakeoff.runs()[0].data.params["pruning"] == "none"


def test_a_traceback_is_shown_when_it_is_asked_for(bakeoff: Bakeoff, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HYDRA_FULL_ERROR", "1")
    assert "Traceback" in bakeoff("learner=majorty").err


def test_a_failing_learner_ends_its_run_failed_with_the_traceback(bakeoff: Bakeoff) -> None:
    answer = bakeoff("learner=majority", "learner._target_=failing.Failing", "trust=[failing]", "dataset=iris")
    assert answer.status == 1
    assert "failed: RuntimeError: the cure is unknown" in answer.err
    run = bakeoff.runs()[0]
    assert run.info.status == "FAILED"
    assert run.data.tags["error_type"] == "RuntimeError"
    assert "the cure is unknown" in bakeoff.artifact(run, "traceback.txt")


def test_an_interrupted_run_ends_killed(bakeoff: Bakeoff) -> None:
    # Without a model to store, the learner is not tried before the run.
    interrupting = ("learner._target_=failing.Interrupting", "trust=[failing]", "tracking.models=false")
    answer = bakeoff("learner=majority", *interrupting, "dataset=iris")
    assert answer.status == 130
    assert bakeoff.runs()[0].info.status == "KILLED"


def test_a_sweep_is_flat_runs_that_share_a_tag_and_are_named_by_what_varies(bakeoff: Bakeoff) -> None:
    answer = bakeoff("-m", "learner=majority,sklearn_majority", "dataset=iris,wine", "evaluation=kfold")
    assert answer.status == 0
    runs = bakeoff.runs()
    assert sorted(run.info.run_name for run in runs) == [
        "majority iris", "majority wine", "sklearn_majority iris", "sklearn_majority wine"
    ]  # fmt: skip
    assert len({run.data.tags["sweep"] for run in runs}) == 1
    assert not any("mlflow.parentRunId" in run.data.tags for run in runs)


def test_two_runs_of_one_command_share_a_hash_and_no_folder(bakeoff: Bakeoff) -> None:
    for _ in range(2):
        bakeoff("learner=majority", "dataset=iris")
    first, second = bakeoff.runs()
    assert first.data.tags["config_hash"] == second.data.tags["config_hash"]
    assert len(list((bakeoff.folder / "outputs" / "runs").iterdir())) == 2


def test_a_run_is_stored_although_nobody_reads_its_scores(bakeoff: Bakeoff) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as unread:
        lasting = keep_writable(unread)
        bakeoff.patch.setattr(sys, "stdout", lasting)
        answer = bakeoff("learner=majority", "dataset=iris")
        lasting.close()
    assert (answer.status, [run.info.status for run in bakeoff.runs()]) == (0, ["FINISHED"])


@pytest.mark.skipif(not hasattr(os, "eventfd"), reason="no descriptor here answers as a closed pipe of Windows does")
def test_a_closed_pipe_of_windows_discards_as_well() -> None:
    with os.fdopen(os.eventfd(0), "w", encoding="utf-8") as unread:
        print("one, two, three", file=keep_writable(unread))


class Console(io.RawIOBase):
    """What Windows has in place of the file of a terminal."""

    def __init__(self) -> None:
        self.written = b""

    def fileno(self) -> int:
        """Return the descriptor of standard output."""
        return 1

    def writable(self) -> bool:
        """Return whether it can be written to."""
        return True

    def write(self, data: Any) -> int:
        """Keep bytes, and return their number."""
        self.written += bytes(data)
        return len(data)


def test_a_console_of_windows_receives_letters_and_the_codes_of_those_that_it_lacks() -> None:
    console = Console()
    stream = io.TextIOWrapper(io.BufferedWriter(console), encoding="cp1252")
    assert keep_writable(stream) is stream
    print("± • ≤", file=stream, flush=True)
    assert console.written == "± • ".encode("cp1252") + b"\\u2264" + os.linesep.encode()


LOADED = """
import contextlib, io, sys
from bakeoff.pipeline.cli.main import main

def list_loaded(commands):
    for words in commands:
        sys.argv = ["bakeoff", *words]
        with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
            main()
    return [name for name in ("mlflow", "numpy", "pandas", "sklearn", "matplotlib") if name in sys.modules]

light = [["--help"], ["list"], ["list", "learner"], ["--cfg", "job"], ["learner=knn", "learner.n_neighbours=3"]]
print(list_loaded(light), list_loaded([["inspect", "small.csv", "target=y"]]))
"""


def test_help_lists_the_configuration_and_a_misspelled_key_load_no_heavy_package_and_an_inspection_few(
    tmp_path: Path,
) -> None:
    (tmp_path / "small.csv").write_text("x,y\n1,a\n2,b\n3,a\n")
    ended = subprocess.run([sys.executable, "-c", LOADED], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert ended.stdout.strip() == "[] ['numpy', 'pandas']"
    assert "Did you mean 'n_neighbors'?" in ended.stderr
