"""The course of examples/course: made by its command, solved from its keys, and graded."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from subprocess import CompletedProcess
from types import ModuleType
from typing import Any

import pytest
import yaml
from answer_sheets import solve, write_answers
from warm_process import run_script

from bakeoff.pipeline.commands.grade import claim_process
from bakeoff.pipeline.commands.grade.answers import read_hand_in
from bakeoff.pipeline.commands.grade.claims import judge_claim, read_exercise
from bakeoff.pipeline.commands.grade.grading import read_folder
from bakeoff.pipeline.commands.grade.marking import mark_sheet
from bakeoff.pipeline.commands.grade.scheme import Scheme

FOLDER = Path(__file__).parents[2] / "examples" / "course"
LECTURES = yaml.safe_load((FOLDER / "course.yaml").read_text(encoding="utf-8"))
NAMES = [f"{number}-{lecture['name']}" for number, lecture in enumerate(LECTURES, start=1)]


def load_maker() -> ModuleType:
    """Return the module that makes the course."""
    spec = importlib.util.spec_from_file_location("make_course", FOLDER / "make.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the course of one student."""
    output = tmp_path_factory.mktemp("course") / "made"
    load_maker().main(f"output={output}", "students=1", "to=html")
    return output


def test_each_lecture_has_a_page_two_sheets_and_an_exercise(course: Path) -> None:
    assert sorted(path.name for path in course.iterdir()) == sorted([*NAMES, "README.md"])
    for name in NAMES:
        entries = {path.name for path in (course / name).iterdir()}
        assert entries == {"README.md", "easy", "hard", "exercise.yaml"}
    links = re.findall(r"\]\((.*?)\)", (course / "README.md").read_text())
    assert len(links) == len(NAMES)
    assert all((course / link).is_file() for link in links)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("sheet", ["easy", "hard"])
def test_the_right_answers_of_a_sheet_have_full_marks(course: Path, tmp_path: Path, name: str, sheet: str) -> None:
    sheets = read_folder(course / name / sheet)
    (code,) = sheets.codes
    key = sheets.make_key(code)
    file = write_answers(tmp_path / "a.csv", code, solve(key))
    page = (course / name / sheet / "sheet-01.html").read_text(encoding="utf-8")
    assert set(re.findall(r'input name="(b\d+)"', page)) == set(solve(key))
    marks = Scheme().award(mark_sheet(key, read_hand_in(file), sheets.request.digits))
    assert sum(mark.points for mark in marks) == sum(mark.most for mark in marks) > 0


def run_claim(command: list[str], **options: Any) -> CompletedProcess[str]:
    """Run a configuration in a process that is there at once; other tests start one as a grader does."""
    return run_script(Path(claim_process.__file__), *command[3:])


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_the_solution_of_an_exercise_keeps_its_claim(
    course: Path, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bakeoff.pipeline.commands.grade.claims.subprocess.run", run_claim)
    (tmp_path / "a.yaml").write_text(yaml.safe_dump(LECTURES[NAMES.index(name)]["solution"]))
    found = judge_claim(read_exercise(course / name / "exercise.yaml"), tmp_path / "a.yaml")
    assert found["points"] == found["of"], found["reason"]
