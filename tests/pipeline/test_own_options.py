"""Options of the user in ``conf/`` of the current folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from bakeoff.pipeline.config.options import (
    find_own_folder,
    read_own_listing,
    require_own_names,
)
from bakeoff.pipeline.errors import UserError


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty folder, which is the current one."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(project: Path, name: str, text: str = "# A sentence.\n_target_: mine.Mine\n") -> Path:
    """Write a file into ``conf/`` and return the folder."""
    file = project / "conf" / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return project / "conf"


def test_a_folder_without_a_group_is_of_another_program(project: Path) -> None:
    assert find_own_folder() is None
    folder = write(project, "model/big.yaml")
    assert find_own_folder() is None
    write(project, "metric/profit.yaml")
    assert find_own_folder() == folder
    write(project, "config.yaml")
    assert find_own_folder() is None


def test_the_first_comment_describes_an_option(project: Path) -> None:
    write(project, "learner/mine.yaml")
    write(project, "learner/other.yaml", "_target_: mine.Other\n")
    assert read_own_listing("learner") == {"mine": "A sentence.", "other": ""}
    assert read_own_listing("dataset") == {}


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("learner/knn.yaml", r"^conf/learner/knn\.yaml has the name of a built-in option"),
        ("dataset/shared/columns.yaml", r"^conf/dataset/shared/columns\.yaml has the name"),
    ],
)
def test_names_that_nothing_would_read_or_two_things_would_have_are_refused(
    project: Path, name: str, answer: str
) -> None:
    folder = write(project, "learner/fine.yaml")
    require_own_names(folder)
    write(project, name)
    with pytest.raises(UserError, match=answer):
        require_own_names(folder)
