"""The code that a model stores: its own files, and no others."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from bakeoff.pipeline.model.own_code import CODE_FOLDER, MissingCode, make_importable


@pytest.fixture
def stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of the code of a model."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    folder = tmp_path / "model" / CODE_FOLDER
    folder.mkdir(parents=True)
    return folder


def find_copy() -> Path:
    """Return the folder that was added to the path of imports."""
    return Path(sys.path[-1])


def test_links_in_the_code_of_a_model_are_not_followed(stored: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "private.py").write_text("SECRET = 1\n")
    package = stored / "code_of_a_model"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "linked.py").symlink_to(outside / "private.py")
    (package / "folder").symlink_to(outside)
    make_importable(["code_of_a_model"], stored.parent)
    copied = {path.relative_to(find_copy()).as_posix() for path in find_copy().rglob("*")}
    assert copied == {"code_of_a_model", "code_of_a_model/__init__.py"}


@pytest.mark.parametrize("name", ["linked_package", "linked_package.py"])
def test_a_package_that_is_a_link_is_not_stored_with_the_model(stored: Path, tmp_path: Path, name: str) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "__init__.py").write_text("")
    (stored / name).symlink_to(outside / "__init__.py" if name.endswith(".py") else outside)
    before = list(sys.path)
    with pytest.raises(MissingCode, match="needs the package 'linked_package'"):
        make_importable(["linked_package"], stored.parent)
    assert sys.path == before
