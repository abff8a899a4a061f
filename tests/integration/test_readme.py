"""Every command of the README runs, in the order of the page."""

from __future__ import annotations

import re
import shlex
import shutil
import warnings
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from command import Bakeoff

from bakeoff import BakeoffWarning

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"


def blocks(language: str) -> list[str]:
    """Return the code blocks of a language."""
    return re.findall(rf"```{language}\n(.*?)```", README.read_text(), flags=re.DOTALL)


def commands() -> list[str]:
    """Return the commands after a dollar sign."""
    return [line[2:] for block in blocks("console") for line in block.splitlines() if line.startswith("$ ")]


@pytest.mark.slow
def test_every_command_of_the_readme_runs(bakeoff: Bakeoff) -> None:
    shutil.copy(ROOT / "examples" / "titanic" / "titanic.csv", bakeoff.folder)
    for line in commands():
        words = shlex.split(line)
        answer = bakeoff(*words[1:])
        assert (words[0], answer.status) == ("bakeoff", 0), f"{line}\n{answer.err}"
    assert "prediction" in set(pd.read_csv(bakeoff.folder / "answers.csv"))
    (program,) = blocks("python")
    frame = pd.read_csv(bakeoff.folder / "titanic.csv").drop(columns=["boat", "body"])
    names: dict[str, Any] = {"frame": frame}
    with warnings.catch_warnings(action="ignore", category=BakeoffWarning):
        exec(program, names)
    assert names["result"].scores.loc["accuracy"].notna().any()


@pytest.mark.parametrize("text", blocks("text"))
def test_messages_in_the_readme_are_the_ones_that_are_printed(bakeoff: Bakeoff, text: str) -> None:
    command, said = text.strip().split("\n", 1)
    assert bakeoff(*shlex.split(command)[2:]).err.strip() == said
