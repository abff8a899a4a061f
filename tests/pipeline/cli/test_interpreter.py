"""What an interpreter must have before a command of any kind is read."""

from __future__ import annotations

import sys

import pytest

from bakeoff.pipeline.cli.main import run_words


@pytest.mark.parametrize("words", [[], ["-m", "seed=1,2"], ["list", "runs"]])
def test_an_interpreter_without_sqlite_is_named(
    words: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "_sqlite3", None)
    assert run_words(words) == 2
    assert f"refused: {sys.executable} lacks the module sqlite3" in capsys.readouterr().err
    assert run_words(["--version"]) == 0
