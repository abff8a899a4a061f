"""The project folder that ``bakeoff init`` makes."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.parts.project import FILES, TEMPLATE, make_project, name_package


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty folder, which is the current one."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_every_file_of_the_template_is_written_under_the_name_of_the_project(here: Path) -> None:
    files = make_project(Path("my-flowers"))
    assert len(files) == len(list(TEMPLATE.iterdir())) + 2 == len(FILES) + 2
    assert {Path("my_flowers/learners.py"), Path("tests/test_my_flowers.py"), Path("data/flowers.csv")} <= set(files)
    texts = [(here / "my-flowers" / file).read_text() for file in files]
    assert not [text for text in texts if "@package@" in text or "@version@" in text]
    assert "trust=[my_flowers]" in (here / "my-flowers" / "Makefile").read_text()


def test_the_path_of_this_machine_is_in_a_file_that_git_ignores(here: Path) -> None:
    files = make_project(Path("flowers_of_mine"))
    with_path = [file for file in files if sys.executable in (here / "flowers_of_mine" / file).read_text()]
    assert with_path == [Path("local.mk")]
    assert "local.mk" in (here / "flowers_of_mine" / ".gitignore").read_text().splitlines()


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("numpy", "a package 'numpy' exists already"),
        ("json", "a package 'json' exists already"),
        ("bakeoff", "a package 'bakeoff' exists already"),
        ("conf", "a package 'conf' exists already"),
        ("1st", "'1st' cannot be the name of a package"),
        ("class", "'class' cannot be the name of a package"),
        ("a+b", "'a+b' cannot be the name of a package"),
        ("nowhere/mine", "cannot be written: No such file"),
    ],
)
def test_names_that_no_project_can_have_are_refused(here: Path, name: str, said: str) -> None:
    with pytest.raises(UserError, match=said.replace("+", r"\+")):
        make_project(Path(name))
    assert list(here.iterdir()) == []


def test_a_folder_of_the_current_folder_is_no_installed_package(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(here))
    (here / "mine").mkdir()
    assert name_package(Path("mine")) == "mine"


def test_what_is_there_is_left_as_it_is(here: Path) -> None:
    (here / "mine").mkdir()
    (here / "mine" / "thesis.txt").write_text("years of work")
    (here / "file").write_text("kept")
    with pytest.raises(UserError, match="is a file, or a folder that holds files"):
        make_project(here / "mine")
    with pytest.raises(UserError, match="is a file, or a folder that holds files"):
        make_project(here / "file")
    assert sorted(path.name for path in here.rglob("*")) == ["file", "mine", "thesis.txt"]
