"""The code that is stored with a model is compared with the code here, and not run."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from bakeoff.pipeline.model.estimator_file import CODE_FOLDER, MissingCode, compare_code


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    """Return the folder of the code of a model."""
    folder = tmp_path / "model" / CODE_FOLDER
    folder.mkdir(parents=True)
    return folder


def test_stored_code_is_not_run_where_the_package_is_not_here(stored: Path) -> None:
    (stored / "code_of_a_model.py").write_text("raise SystemExit\n")
    before = list(sys.path)
    with pytest.raises(MissingCode, match="needs the package 'code_of_a_model'"):
        compare_code(["code_of_a_model"], stored.parent)
    assert sys.path == before


def test_code_that_differs_from_the_stored_code_is_reported(
    stored: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "changed_code.py").write_text("DIGITS = 1\n")
    (stored / "changed_code.py").write_text("DIGITS = 1\n")
    assert compare_code(["changed_code"], stored.parent) == []
    (stored / "changed_code.py").write_text("DIGITS = 2\n")
    (note,) = compare_code(["changed_code"], stored.parent)
    assert note.startswith("the installed code of changed_code differs")
