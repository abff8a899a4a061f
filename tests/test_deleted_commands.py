"""A command can be deleted: without its folder and its rows, everything else works."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from bakeoff.pipeline.commands import MAY_IMPORT

ROOT = Path(__file__).parents[1]
COMMANDS = Path("bakeoff/pipeline/commands")
FOLDERS = sorted(folder.name for folder in (ROOT / COMMANDS).iterdir() if (folder / "__init__.py").is_file())
ENTRY = "run"
"""The folder that runs the words without a verb."""
TESTS = {
    "diff": "tests/pipeline/commands/diff/test_changes.py",
    "inspect": "tests/pipeline/commands/inspect/test_association.py",
    "work": "tests/pipeline/commands/work/test_hand_calculation_numbers.py",
}
"""Folders of commands -> a short file of their tests."""


def list_dependent(folder: str) -> set[str]:
    """Return a folder of commands and those that cannot work without it."""
    needing = {name for name, needed in MAY_IMPORT.items() if folder in needed and name != ENTRY}
    return {folder}.union(*map(list_dependent, needing))


def delete_rows(table: Path, folders: set[str]) -> None:
    """Delete the rows of some folders from the table of commands."""
    text = table.read_text()
    lines = text.splitlines(keepends=True)
    for statement in ast.parse(text).body:
        rows = statement.value if isinstance(statement, ast.AnnAssign) else None
        for key, row in zip(rows.keys, rows.values, strict=True) if isinstance(rows, ast.Dict) else ():
            assert key is not None
            if any(f"commands.{folder}." in ast.unparse(row) for folder in folders):
                lines[key.lineno - 1 : row.end_lineno] = [""] * ((row.end_lineno or 0) - key.lineno + 1)
    table.write_text("".join(lines))


@pytest.mark.slow
@pytest.mark.parametrize("folder", [name for name in FOLDERS if name != ENTRY])
def test_everything_else_works_without_the_folder_of_a_command(folder: str, tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    for name in ("bakeoff", "tests"):
        shutil.copytree(ROOT / name, tree / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "conftest.py"):
        shutil.copy(ROOT / name, tree)
    deleted = list_dependent(folder)
    for name in deleted:
        shutil.rmtree(tree / COMMANDS / name)
    delete_rows(tree / COMMANDS / "__init__.py", deleted)

    def call(*words: str, cwd: Path = tmp_path) -> str:
        environment = {**os.environ, "PYTHONPATH": str(tree), "OMP_NUM_THREADS": "1"}
        command = [sys.executable, "-m", *words]
        ended = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False)
        assert ended.returncode == 0, ended.stdout + ended.stderr
        return ended.stdout

    overview = call("bakeoff", "--help")
    assert "bakeoff plan" in overview
    assert ("bakeoff compare" in overview) == ("compare" not in deleted)
    assert "breast_cancer: 569 rows" in call("bakeoff")
    assert "0.3333" in call("bakeoff", "-m", "learner=majority", "dataset=iris", "seed=1,2")
    others = [file for name, file in TESTS.items() if name not in deleted][:2]
    call("pytest", "-q", "-p", "no:cacheprovider", *others, cwd=tree)
