"""The project folder that ``bakeoff init`` makes."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.parts.project import make_project


def test_the_path_of_this_machine_is_in_a_file_that_git_ignores(folder: Path) -> None:
    files = make_project(Path("flowers_of_mine"))
    with_path = [file for file in files if sys.executable in (folder / "flowers_of_mine" / file).read_text()]
    assert with_path == [Path("local.mk")]
    assert "local.mk" in (folder / "flowers_of_mine" / ".gitignore").read_text().splitlines()


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("conf", "a package 'conf' exists already"),
        ("class", "'class' cannot be the name of a package"),
        ("a+b", "'a+b' cannot be the name of a package"),
        ("nowhere/mine", "cannot be written: No such file"),
    ],
)
def test_names_that_no_project_can_have_are_refused(folder: Path, name: str, said: str) -> None:
    with pytest.raises(UserError, match=said.replace("+", r"\+")):
        make_project(Path(name))
    assert list(folder.iterdir()) == []
