"""The syntax of modules: what is kept of bakeoff's own is what was parsed, while the source stays the same."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from bakeoff.pipeline import module_syntax
from bakeoff.pipeline.module_syntax import ImportStatement, SyntaxFile, parse_source, read_syntax

SOURCE = b'"""Text."""\nimport a, b.c\nfrom . import d\n\ndef f():\n    from ..e import g, h\n    return g\n'


@pytest.fixture(autouse=True)
def writes_bytecode(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", False)


def kept(path: Path, source: bytes) -> SyntaxFile:
    """Return a file that a process wrote after it had read a module, as the next process opens it."""
    first = SyntaxFile.open(path)
    first.read("module", source)
    first.save()
    return SyntaxFile.open(path)


def test_statements_that_import_are_found_wherever_they_stand() -> None:
    assert read_syntax(parse_source(SOURCE)).imports == (
        ImportStatement("a"),
        ImportStatement("b.c"),
        ImportStatement("", 1, ("d",)),
        ImportStatement("e", 2, ("g", "h")),
    )


def test_a_source_that_stays_the_same_is_parsed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = kept(tmp_path / "new" / "syntax.json", SOURCE)
    parsed = read_syntax(parse_source(SOURCE))
    monkeypatch.setattr(module_syntax, "parse_source", None)
    assert file.read("module", SOURCE) == parsed


def test_a_source_that_has_changed_is_parsed_again(tmp_path: Path) -> None:
    path = tmp_path / "syntax.json"
    changed = SOURCE.replace(b"return g", b"return h")
    before = SyntaxFile.open(path).read("module", SOURCE)
    after = kept(path, SOURCE).read("module", changed)
    assert after == read_syntax(parse_source(changed))
    assert after.fingerprint != before.fingerprint
    assert kept(path, changed).entries["module"][1] == after.fingerprint


def test_comments_and_docstrings_do_not_change_a_fingerprint() -> None:
    edited = SOURCE.replace(b"Text.", b"Other text.").replace(b"return g", b"return g  # why")
    assert read_syntax(parse_source(edited)).fingerprint == read_syntax(parse_source(SOURCE)).fingerprint


@pytest.mark.parametrize("content", ["", "[1]", "{}", '{"reader": "of another version", "entries": {"module": 1}}'])
def test_a_file_that_cannot_be_used_is_replaced(tmp_path: Path, content: str) -> None:
    path = tmp_path / "syntax.json"
    path.write_text(content)
    assert SyntaxFile.open(path).entries == {}
    assert list(kept(path, SOURCE).entries) == ["module"]
    assert list(tmp_path.iterdir()) == [path]


def test_nothing_is_kept_where_python_keeps_no_bytecode(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    kept(tmp_path / "syntax.json", SOURCE)
    (tmp_path / "file").touch()
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    kept(tmp_path / "file" / "syntax.json", SOURCE)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
