"""What docs/automation.md shows runs: both loops and the refusal; and it lists every schema."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import pytest
from command import Bakeoff
from documents import SCHEMAS, read_document
from page_commands import ROOT, read_page
from shell_scripts import run_script

PAGE = read_page("docs/automation.md")
LOOP = ROOT / "examples" / "loop" / "loop.py"
MAX_LINES = 40


def read_block(language: str) -> str:
    """Return the only block of a language."""
    (block,) = re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    return str(block)


def test_the_loop_of_the_page_is_that_of_the_examples() -> None:
    code = LOOP.read_text(encoding="utf-8")
    assert read_block("python") == code
    assert len(code.splitlines()) <= MAX_LINES


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::bakeoff.BakeoffWarning")
def test_the_loop_keeps_what_is_better_and_ends_with_the_reserved_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    exec(compile(LOOP.read_text(encoding="utf-8"), str(LOOP), "exec"), {})  # of this repository
    said = capsys.readouterr().out
    assert said.count("\nKEEP") == 2
    assert "was not judged" not in said
    assert said.splitlines()[-1].startswith("BETTER")


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
def test_the_loop_of_a_shell_keeps_by_exit_codes(bakeoff: Bakeoff, tmp_path_factory: pytest.TempPathFactory) -> None:
    answer = run_script(bakeoff, tmp_path_factory.mktemp("served"), ["bash", "-c", read_block("bash")], {})
    assert answer.returncode == 0, answer.stderr
    assert re.findall("^kept .*", answer.stdout, re.MULTILINE) == ["kept naive_bayes"]


def test_the_refusal_of_the_page_is_printed(bakeoff: Bakeoff) -> None:
    found = re.search(r"^\$ bakeoff (learner=.*)\n((?:.*\n)*?)```", PAGE, re.MULTILINE)
    assert found is not None
    answer = bakeoff(*shlex.split(found[1]))
    assert answer.out == found[2]
    read_document(answer.out, "refusal")


def test_the_page_lists_every_schema_with_its_format() -> None:
    for schema in SCHEMAS.glob("*.json"):
        assert f"[{schema.stem}](schemas/{schema.name})" in PAGE
        assert f"`bakeoff.{schema.stem}`" in PAGE
