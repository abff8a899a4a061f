"""``bakeoff init`` makes a project whose tests, checks and runs work with the Python that has bakeoff."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from command import Bakeoff

ROOT = Path(__file__).parents[2]


def make(folder: Path, *targets: str) -> str:
    """Run make in a folder without a network; return its output."""
    # A make that runs these tests, and the command, give their flags and variables to every process below them.
    inherited = {
        name: value
        for name, value in os.environ.items()
        if name not in ("MAKEFLAGS", "MAKELEVEL", "ARGS", "PYTHON", "VENV", "PYTHONSAFEPATH")
    }
    environment = {**inherited, "PYTHONPATH": str(ROOT), "http_proxy": "http://127.0.0.1:9", "PIP_NO_INDEX": "1"}
    command = ["make", "--no-print-directory", *targets]
    ended = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout + ended.stderr


def list_words(folder: Path, *targets: str) -> list[list[str]]:
    """Return the words that make would give the command."""
    return [shlex.split(line)[3:] for line in make(folder, "--dry-run", *targets).splitlines()]


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
def test_make_test_check_and_run_pass_in_a_new_project(bakeoff: Bakeoff) -> None:
    answer = bakeoff("init", "demo")
    assert (answer.status, answer.err) == (0, "")
    assert "  demo/learners.py\n" in answer.out
    project = bakeoff.folder / "demo"
    assert "Ran 5 tests" in make(project, "test")
    bakeoff.patch.chdir(project)
    checked, ran = (bakeoff(*words) for words in list_words(project, "check", "run"))
    assert (checked.status, ran.status) == (0, 0), checked.err + ran.err
    assert checked.out.count(".yaml: 0 wrong") == 3
    assert "worst_recall" in ran.out.partition("nearest_mean kfold flowers")[2]
    # Its parts are listed as its own.
    own = [line.split()[0] for line in bakeoff("list").out.splitlines() if "(own)" in line]
    assert own == ["flowers", "nearest_mean", "nearest_mean", "worst_recall"]
