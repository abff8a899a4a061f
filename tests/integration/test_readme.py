"""Every command of the README runs, in the order of the page."""

from __future__ import annotations

import re
import shlex
import warnings
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from command import Bakeoff
from installed_learners import list_installed_learners

from bakeoff import BakeoffWarning

README = Path(__file__).parents[2] / "README.md"
SHORTER = {"learner=glob(*)": ["tracking.models=false"], "tuning=default": ["evaluation.folds=2"]}
"""Words that take long -> words that are added. Models of all learners are kept in the tests of tracking."""


def blocks(language: str) -> list[str]:
    """Return the code blocks of a language."""
    return re.findall(rf"```{language}\n(.*?)```", README.read_text(), flags=re.DOTALL)


def commands() -> list[str]:
    """Return the commands after a dollar sign."""
    return [line[2:] for block in blocks("console") for line in block.splitlines() if line.startswith("$ ")]


def write_files(folder: Path) -> None:
    """Write the files of the user that the README names."""
    rows = [f"{18 + 7 * i % 60},{['north', 'south', 'east'][i % 3]},{'yes' if i % 4 else 'no'}" for i in range(60)]
    (folder / "my.csv").write_text("\n".join(["age,region,bought", *rows]) + "\n")
    (folder / "new.csv").write_text("age,region\n33,north\n70,west\n")


@pytest.mark.slow
def test_every_command_of_the_readme_runs(bakeoff: Bakeoff) -> None:
    write_files(bakeoff.folder)
    for line in commands():
        given = shlex.split(line)
        words = [*given, *(added for word in given for added in SHORTER.get(word, ()))]
        if words[0] == "bakeoff":
            answer = bakeoff(*words[1:])
            assert answer.status == 0, f"{' '.join(words)}\n{answer.err}"
    # One command runs every classifier, and another one every regressor.
    assert {run.data.params["learner"] for run in bakeoff.runs()} >= set(list_installed_learners())
    assert list(pd.read_parquet(bakeoff.folder / "answers.parquet"))[:2] == ["prediction", "probability_no"]
    (program,) = blocks("python")
    names: dict[str, Any] = {
        "frame": pd.read_csv(bakeoff.folder / "my.csv"),
        "new_rows": pd.read_csv(bakeoff.folder / "new.csv"),
    }
    with warnings.catch_warnings(action="ignore", category=BakeoffWarning):
        exec(program, names)
    assert len(names["model"].predict(names["new_rows"])) == 2


def test_the_page_opens_with_two_commands_of_make_and_others_pass_on_overrides_that_are_tested_here() -> None:
    assert blocks("sh")[0].split("\n")[:2] == ["make run", "make test"]
    made = [line for line in commands() if line.startswith("make")]
    assert made == ['make run ARGS="dataset=wine learner=knn"']


@pytest.mark.parametrize("text", blocks("text"))
def test_messages_in_the_readme_are_the_ones_that_are_printed(bakeoff: Bakeoff, text: str) -> None:
    command, said = text.strip().split("\n", 1)
    assert bakeoff(*shlex.split(command)[2:]).err.strip() == said
