"""A command is a folder and a row of the table: it can be deleted with them, and added by them."""

from __future__ import annotations

import ast
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from forked_calls import Call, Ended, make_calls

from bakeoff.pipeline.commands import MAY_IMPORT, PARTS

ROOT = Path(__file__).parents[1]
COMMANDS = Path("bakeoff/pipeline/commands")
FOLDERS = sorted(folder.name for folder in (ROOT / COMMANDS).iterdir() if (folder / "__init__.py").is_file())
ENTRY = "run"
"""The folder that runs the words without a verb."""
UNIT_TESTS = Path("tests/pipeline/commands")
TESTS = {
    "diff": str(UNIT_TESTS / "diff" / "test_changes.py"),
    "inspect": str(UNIT_TESTS / "inspect" / "test_association.py"),
    "work": str(UNIT_TESTS / "work" / "test_work_formats.py"),
}
"""Folders of commands -> a short file of their tests."""


def list_dependent(folder: str) -> set[str]:
    """Return a folder of commands and those that cannot work without it."""
    needing = {name for name, needed in MAY_IMPORT.items() if folder in needed}
    return {folder}.union(*map(list_dependent, needing))


PYTEST_WORDS = (
    "-q",
    "-p",
    "no:cacheprovider",
    "-W",
    "ignore:Module already imported:pytest.PytestAssertRewriteWarning",
)
DELETED = {folder: list_dependent(folder) for folder in FOLDERS if folder != ENTRY}
"""A folder of commands -> what is deleted with it."""


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


def copy_without(deleted: set[str], tree: Path) -> None:
    """Copy the package and its tests without some folders of commands and their rows."""
    # Compiled modules are copied too, which saves time; those that another process is writing have a further extension.
    unfinished = shutil.ignore_patterns("*.pyc.*")
    for name in ("bakeoff", "tests"):
        shutil.copytree(ROOT / name, tree / name, ignore=unfinished)
    for name in ("pyproject.toml", "conftest.py"):
        shutil.copy(ROOT / name, tree)
    for name in deleted:
        shutil.rmtree(tree / COMMANDS / name)
    delete_rows(tree / COMMANDS / "__init__.py", deleted)


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, list[Ended]]:
    """Return what overview, default experiment, sweep and tests say without each folder and those that need it."""
    work = str(tmp_path_factory.mktemp("work"))  # one store for all, which takes long to create
    calls: list[Call] = []
    for number, (folder, deleted) in enumerate(DELETED.items()):
        tree = tmp_path_factory.mktemp(folder) / "tree"
        copy_without(deleted, tree)
        sweep = ["-m", "learner=majority", "dataset=iris", f"seed={number},{number + len(DELETED)}"]
        other = next(file for name, file in TESTS.items() if name not in deleted)
        calls.append(Call("bakeoff", [["--help"], [], sweep], work, str(tree)))
        calls.append(Call("pytest", [[*PYTEST_WORDS, other]], str(tree), str(tree)))
    ended = make_calls(calls)
    return {folder: ended[4 * number : 4 * number + 4] for number, folder in enumerate(DELETED)}


@pytest.mark.slow
@pytest.mark.parametrize("folder", DELETED)
def test_everything_else_works_without_the_folder_of_a_command(folder: str, answers: Mapping[str, list[Ended]]) -> None:
    assert [answer.output for answer in answers[folder] if answer.status != 0] == []
    overview, experiment, sweep, _ = (answer.output for answer in answers[folder])
    assert "bakeoff plan" in overview
    assert ("bakeoff compare" in overview) == ("compare" not in DELETED[folder])
    assert "breast_cancer: 569 rows" in experiment
    assert "0.3333" in sweep


PART_LINES: Sequence[Sequence[str]] = (
    ("compare", "scores.csv", "greater_is_better=true", "item=dataset"),
    ("compare", "scores.csv", "greater_is_better=true", "plan=0.1"),
    ("plan", "-m", "learner=knn,svm", "difference=0.1"),
    ("plan", "-m", "learner=knn,svm", "seal=ours", "metrics=accuracy"),
)


def test_a_word_whose_folder_was_deleted_is_refused_and_its_verb_works(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    copy_without({module.split(".")[1] for module in PARTS.values()}, tree)
    rows = [f"{dataset},{learner},{number}" for dataset in "ab" for number, learner in enumerate(("knn", "svm"))]
    (tmp_path / "scores.csv").write_text("\n".join(["dataset,learner,score", *rows]))
    lines: list[Sequence[str]] = [PART_LINES[0][:3], *PART_LINES]
    compared, *refused = make_calls([Call("bakeoff", [[*words]], str(tmp_path), str(tree)) for words in lines])
    assert "svm has the best mean rank" in compared.output
    for words, answer in zip(PART_LINES, refused, strict=True):
        word = next(part for part in PARTS if any(each.startswith(f"{part}=") for each in words))
        assert f"{word}= needs a part of bakeoff that is not installed" in answer.output
    assert [answer.status for answer in (compared, *refused)] == [0, 2, 2, 2, 2]


NEW_COMMAND = '''
"""Greet someone."""

from dataclasses import dataclass
from typing import Annotated

from bakeoff.pipeline.config.requests import Bounds, Request, Word


@dataclass(frozen=True, kw_only=True)
class GreetingRequest(Request):
    """A greeting.

    Attributes
    ----------
    name : str
        Who is greeted.
    times : int
        How often.
    """

    name: Annotated[str, Word(place="NAME")]
    times: Annotated[int, Word(allowed=Bounds(1, 3))] = 1


def greet(request: GreetingRequest) -> int:
    """Print a greeting."""
    print(f"Hello {request.name}! " * request.times)
    return 0
'''
NEW_ROW = """
    "greet": Command("NAME", "print a greeting", "commands.greet.command.greet",
        "commands.greet.command.GreetingRequest"),
"""


def test_a_verb_is_one_folder_and_one_row(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    shutil.copytree(ROOT / "bakeoff", tree / "bakeoff", ignore=shutil.ignore_patterns("*.pyc.*"))
    folder = tree / COMMANDS / "greet"
    folder.mkdir()
    (folder / "__init__.py").touch()
    (folder / "command.py").write_text(NEW_COMMAND)
    table = tree / COMMANDS / "__init__.py"
    opening = "COMMANDS: Mapping[str, Command] = {"
    table.write_text(table.read_text().replace(opening, opening + NEW_ROW))
    lines = [["--help"], ["greet", "Ada", "times=2"], ["help", "greet"], ["greet", "Ada", "times=4"], ["greet", "x=1"]]
    ended = make_calls([Call("bakeoff", lines, str(tmp_path), str(tree))])
    overview, greeted, described, refused, unknown = (answer.output for answer in ended)
    assert "bakeoff greet NAME               print a greeting" in overview
    assert greeted.strip() == "Hello Ada! Hello Ada!"
    assert "bakeoff greet NAME [times=…]\n\nPrint a greeting." in described
    assert "How often. Allowed: at least 1 and at most 3. Default: 1." in described
    assert "refused: greet: times=4 must be at least 1 and at most 3. How often." in refused
    assert "refused: greet: x is not a key. Allowed: times, to=json." in unknown
    assert [answer.status for answer in ended] == [0, 0, 0, 2, 2]
