"""A command is a folder and a row of the table: it can be deleted with them, and added by them."""

from __future__ import annotations

import ast
import shutil
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

import pytest
from forked_calls import Call, Ended, make_calls

from bakeoff.pipeline.commands import COMMANDS as VERBS
from bakeoff.pipeline.commands import MAY_IMPORT, PARTS

ROOT = Path(__file__).parents[1]
COMMANDS = Path("bakeoff/pipeline/commands")
FOLDERS = sorted(folder.name for folder in (ROOT / COMMANDS).iterdir() if (folder / "__init__.py").is_file())
ENTRY = "run"
"""The folder that runs the words without a verb."""
EVERYTHING = """
from importlib import import_module
from pkgutil import walk_packages

from bakeoff.pipeline import commands

for module in walk_packages(commands.__path__, commands.__name__ + "."):
    try:
        import_module(module.name)
    except ModuleNotFoundError as error:
        if error.name.startswith("bakeoff"):
            raise
raise SystemExit(0)
"""
"""A module that imports the modules of all commands, but for those whose extras are missing."""


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
    "tests/pipeline/tables",
)
DELETED = {folder: list_dependent(folder) for folder in FOLDERS if folder != ENTRY}
"""A folder of commands -> what is deleted with it."""


def list_pairs(deleted: set[str]) -> set[tuple[str, str]]:
    """Return each folder that stays with each that is deleted."""
    return {(kept, gone) for kept in FOLDERS for gone in deleted if kept not in deleted}


def choose_trees() -> list[set[str]]:
    """Return what to delete at once so that each folder stays in one of the trees that lack another one.

    What works in all of them works where any folder is deleted alone, and a few trees suffice.
    """
    left = set().union(*map(list_pairs, DELETED.values()))
    trees = []
    while left:
        tree: set[str] = set()
        while more := max((tree | each for each in DELETED.values()), key=lambda each: len(list_pairs(each) & left)):
            if len(list_pairs(more) & left) <= len(list_pairs(tree) & left):
                break
            tree = more
        trees.append(tree)
        left -= list_pairs(tree)
    return trees


TREES = choose_trees()


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


def copy_without(deleted: set[str], tree: Path, *others: str) -> None:
    """Copy the package without some folders of commands and their rows, and other folders and files."""
    # Compiled modules are copied too, which saves time; those that another process is writing have a further extension.
    unfinished = shutil.ignore_patterns("*.pyc.*")
    for name in ("bakeoff", *others):
        copy = shutil.copy if (ROOT / name).is_file() else partial(shutil.copytree, ignore=unfinished)
        copy(ROOT / name, tree / name)
    for name in deleted:
        shutil.rmtree(tree / COMMANDS / name)
    delete_rows(tree / COMMANDS / "__init__.py", deleted)


CALLS: Mapping[str, list[str]] = {"bakeoff": ["--help"], "everything": []}


def call_without(number: int, tree: Path) -> list[Call]:
    """Return the calls of a tree that lacks some folders."""
    copy_without(TREES[number], tree)
    (tree / "everything.py").write_text(EVERYTHING)
    return [Call(module, [words], str(tree), str(tree)) for module, words in CALLS.items()]


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, list[Ended]]:
    """Return what is said in each tree; one process makes all calls, as importing packages takes it longest."""
    folder = tmp_path_factory.mktemp("trees")
    calls = {str(number): call_without(number, folder / str(number)) for number in range(len(TREES))}
    calls |= {
        "alone": call_alone(folder / "alone"),
        "parts": call_parts(folder / "parts"),
        "greet": call_greet(folder / "greet"),
    }
    ended = iter(make_calls([call for each in calls.values() for call in each]))
    return {name: [next(ended) for call in each for _ in call.lines] for name, each in calls.items()}


@pytest.mark.slow
@pytest.mark.parametrize("number", range(len(TREES)), ids=lambda number: ",".join(sorted(TREES[number])))
def test_every_command_that_stays_is_there_without_the_folders_of_others(
    number: int, said: Mapping[str, list[Ended]]
) -> None:
    overview, everything = said[str(number)]
    assert everything == Ended(0, "")
    assert overview.status == 0, overview.output
    rows, *_ = overview.output.partition("\nAn experiment")
    for folder in FOLDERS:
        verbs = [verb for verb, row in VERBS.items() if row.function.split(".")[1] == folder]
        listed = [verb for verb in verbs if f"\nbakeoff {verb} " in rows]
        assert listed == ([] if folder in TREES[number] else verbs)


def call_alone(tree: Path) -> list[Call]:
    """Return the calls of a tree without any command that can be deleted."""
    copy_without({*DELETED}, tree, "tests", "pyproject.toml", "conftest.py")
    lines = [["--help"], [], ["-m", "learner=majority", "dataset=iris", "seed=0,1"]]
    return [Call("bakeoff", lines, str(tree), str(tree)), Call("pytest", [[*PYTEST_WORDS]], str(tree), str(tree))]


@pytest.mark.slow
def test_experiments_sweeps_and_tests_work_without_any_other_command(said: Mapping[str, list[Ended]]) -> None:
    assert [answer.output for answer in said["alone"] if answer.status != 0] == []
    overview, experiment, sweep, _ = (answer.output for answer in said["alone"])
    assert "bakeoff compare" not in overview
    assert "breast_cancer: 569 rows" in experiment
    assert "0.3333" in sweep


PART_LINES: Sequence[Sequence[str]] = (
    ("compare", "scores.csv", "greater_is_better=true", "item=dataset"),
    ("compare", "scores.csv", "greater_is_better=true", "plan=0.1"),
    ("plan", "-m", "learner=knn,svm", "difference=0.1"),
    ("plan", "-m", "learner=knn,svm", "seal=ours", "metrics=accuracy"),
)


def call_parts(tree: Path) -> list[Call]:
    """Return the calls of a tree without the folders of further words of verbs."""
    copy_without({module.split(".")[1] for module in PARTS.values()}, tree)
    rows = [f"{dataset},{learner},{number}" for dataset in "ab" for number, learner in enumerate(("knn", "svm"))]
    (tree / "scores.csv").write_text("\n".join(["dataset,learner,score", *rows]))
    lines: list[Sequence[str]] = [PART_LINES[0][:3], *PART_LINES]
    return [Call("bakeoff", [[*words]], str(tree), str(tree)) for words in lines]


@pytest.mark.slow
def test_a_word_whose_folder_was_deleted_is_refused_and_its_verb_works(said: Mapping[str, list[Ended]]) -> None:
    compared, *refused = said["parts"]
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


def call_greet(tree: Path) -> list[Call]:
    """Return the calls of a tree with a further command."""
    copy_without(set(), tree)
    folder = tree / COMMANDS / "greet"
    folder.mkdir()
    (folder / "__init__.py").touch()
    (folder / "command.py").write_text(NEW_COMMAND)
    table = tree / COMMANDS / "__init__.py"
    opening = "COMMANDS: Mapping[str, Command] = {"
    table.write_text(table.read_text().replace(opening, opening + NEW_ROW))
    lines = [["--help"], ["greet", "Ada", "times=2"], ["help", "greet"], ["greet", "Ada", "times=4"], ["greet", "x=1"]]
    return [Call("bakeoff", lines, str(tree), str(tree))]


@pytest.mark.slow
def test_a_verb_is_one_folder_and_one_row(said: Mapping[str, list[Ended]]) -> None:
    overview, greeted, described, refused, unknown = (answer.output for answer in said["greet"])
    assert "bakeoff greet NAME               print a greeting" in overview
    assert greeted.strip() == "Hello Ada! Hello Ada!"
    assert "bakeoff greet NAME [times=…]\n\nPrint a greeting." in described
    assert "How often. Allowed: at least 1 and at most 3. Default: 1." in described
    assert "refused: greet: times=4 must be at least 1 and at most 3. How often." in refused
    assert "refused: greet: x is not a key. Allowed: times, to=json." in unknown
    assert [answer.status for answer in said["greet"]] == [0, 0, 0, 2, 2]
