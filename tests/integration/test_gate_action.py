"""The action of a pull request: the shell lines of ``.github/actions/gate``, as a runner executes them."""

from __future__ import annotations

import subprocess
from functools import partial
from pathlib import Path

import pytest
import yaml
from command import Bakeoff
from page_commands import ROOT
from shell_scripts import run_script

ACTION = yaml.safe_load((ROOT / ".github/actions/gate/action.yml").read_text(encoding="utf-8"))
STEPS = {step["name"]: step for step in ACTION["runs"]["steps"]}
DEFAULTS = {name: given.get("default", "") for name, given in ACTION["inputs"].items()}
SHELL = ("bash", "--noprofile", "--norc", "-eo", "pipefail", "-c")


def run_gate(bakeoff: Bakeoff, served: Path, **inputs: str) -> subprocess.CompletedProcess[str]:
    """Run the step that compares, in a folder with runs; its page is ``page.html``."""
    given = {**DEFAULTS, **inputs}
    variables = {
        "BASE": given["base"],
        "ARGUMENTS": given["arguments"],
        "FAIL_IF": given["fail-if"],
        "PAGE": str(bakeoff.folder / "page.html"),
    }
    return run_script(bakeoff, served, [*SHELL, STEPS["Compare"]["run"]], variables)


def test_no_input_is_a_part_of_a_script() -> None:
    assert [name for name, step in STEPS.items() if "${{" in step.get("run", "")] == []


@pytest.mark.slow
def test_the_gate_ends_with_the_verdict_and_leaves_the_page_of_this_comparison(
    bakeoff: Bakeoff, tmp_path_factory: pytest.TempPathFactory
) -> None:
    make_served = partial(tmp_path_factory.mktemp, "served")
    words = ("dataset=wine", "evaluation=repeated_kfold", "evaluation.repeats=2", "tracking.models=false")
    assert bakeoff("-m", "learner=knn,majority", *words).status == 0
    page = bakeoff.folder / "page.html"
    worse = run_gate(bakeoff, make_served(), base="knn", arguments="sweep=latest\nmetrics=accuracy\n")
    assert (worse.returncode, page.is_file()) == (1, True)
    assert "majority is worse than the base knn" in worse.stderr
    refused = run_gate(bakeoff, make_served(), base="knn", arguments="sweep=latest $(touch made) `touch made`")
    assert (refused.returncode, page.exists(), (bakeoff.folder / "made").exists()) == (2, False, False)
    passed = run_gate(bakeoff, make_served(), base="majority")
    assert (passed.returncode, page.is_file()) == (0, True), passed.stderr
