"""`bakeoff grade`: a class from its sheets to its marks, and what cannot be marked."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from answer_sheets import SHEETS, read_codes, solve, write_answers

from bakeoff.pipeline.commands.grade.answers import HandIn
from bakeoff.pipeline.commands.grade.command import grade_answers
from bakeoff.pipeline.commands.grade.grading import grade_class, read_folder
from bakeoff.pipeline.commands.grade.marking import Mark, mark_sheet
from bakeoff.pipeline.commands.grade.report import list_lines
from bakeoff.pipeline.commands.grade.request import GradeRequest
from bakeoff.pipeline.commands.grade.scheme import read_scheme
from bakeoff.pipeline.commands.work.command import make_class_sheet, work_by_hand
from bakeoff.pipeline.commands.work.request import WorkRequest
from bakeoff.pipeline.errors import UserError

WORDS = WorkRequest(words=SHEETS["naive_bayes"], table="random", rows="6", blank=0.6, students=3, output=Path("none"))


@pytest.fixture(scope="module")
def sheets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the sheets of three students."""
    folder = tmp_path_factory.mktemp("class") / "sheets"
    work_by_hand(replace(WORDS, output=folder, to="terminal"))
    return folder


@pytest.fixture(scope="module")
def keys(sheets: Path) -> dict[str, dict[str, str]]:
    """Return the right answers of each sheet, by its code."""
    found = read_folder(sheets)
    made = [make_class_sheet(found.request, number)[1] for number in (1, 2, 3)]
    return {key.code: solve(key) for key in made}


@pytest.fixture
def files(tmp_path: Path, keys: dict[str, dict[str, str]]) -> list[str]:
    """Return the files of three students, of whom the third answers nothing right."""
    answers = [*keys.values()]
    answers[2] = {box: f"{70 + number}.5" for number, box in enumerate(answers[2])}
    names = ("Ada", "<b>Bob</b>", "../../etc/passwd")
    rows = zip(keys, answers, names, strict=True)
    return [str(write_answers(tmp_path / f"{number}.csv", *row)) for number, row in enumerate(rows)]


def test_the_codes_of_the_sheets_and_the_boxes_stand_on_them(sheets: Path, keys: dict[str, dict[str, str]]) -> None:
    assert read_codes(sheets) == [*keys]
    text = (sheets / "sheet-01.txt").read_text()
    assert set(re.findall(r"b\d+(?=\[)", text)) == set(keys[read_codes(sheets)[0]])


def test_a_class_is_marked_and_its_pages_are_written(
    sheets: Path, files: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "marks"
    answer = grade_answers(GradeRequest(task=sheets, files=tuple(files), output=output))
    assert answer.status == 0
    assert {file.name for file in output.iterdir()} == {
        "marks.csv",
        "boxes.csv",
        "class.html",
        "s01.html",
        "s02.html",
        "s03.html",
    }
    marks = pd.read_csv(output / "marks.csv")
    assert marks["points"].tolist()[:2] == marks["of"].tolist()[:2]
    assert marks["points"].iloc[2] == 0
    document = answer.values()
    assert [each["points"] for each in document["marks"]] == marks["points"].tolist()
    assert document["refused"] == {}
    boxes = pd.read_csv(output / "boxes.csv")
    assert boxes.groupby("sheet")["box"].count().tolist() == marks["of"].astype(int).tolist()
    page = (output / "s02.html").read_text()
    assert "&lt;b&gt;Bob" in page
    assert "<b>Bob" not in page
    assert "http" not in re.sub(r'xmlns="[^"]*"', "", page)
    lines = capsys.readouterr().out.splitlines()
    assert re.match(r"s01 +Ada +(\d+) of \1$", lines[0].strip())
    assert re.search(rf"^class: 3 handed in of 3 sheets, mean .* of {marks['of'].mean():.3g}(;|$)", lines[-1])


def test_names_can_be_hidden_and_the_points_of_a_sheet_set(sheets: Path, files: list[str], tmp_path: Path) -> None:
    output, scheme = tmp_path / "marks", tmp_path / "scheme.yaml"
    scheme.write_text("{total: 20}")
    grade_answers(GradeRequest(task=sheets, files=tuple(files), output=output, names="hide", scheme=scheme))
    assert not any("Ada" in file.read_text() for file in output.iterdir())
    assert pd.read_csv(output / "marks.csv")["of"].tolist() == [20, 20, 20]


def test_the_order_of_the_files_has_no_effect(sheets: Path, files: list[str]) -> None:
    request = GradeRequest(task=sheets, files=tuple(files))
    expected = [*list_lines(grade_class(request))]
    backwards = grade_class(replace(request, files=tuple(reversed(files))))
    assert [*list_lines(backwards)] == expected


def test_a_file_that_cannot_be_marked_is_listed_and_the_others_are_marked(
    sheets: Path, files: list[str], keys: dict[str, dict[str, str]], tmp_path: Path
) -> None:
    code = next(iter(keys))
    others = {
        "none.csv": None,
        "text.csv": "hello",
        "other.csv": "box,answer\nsheet,s09-abcdef\n",
        "old.csv": f"box,answer\nsheet,{code[:4]}000000\n",
        "twice.csv": f"box,answer\nsheet,{code}\nname,Ada\nb1,2\n",
    }
    for name, text in others.items():
        if text is not None:
            (tmp_path / name).write_text(text)
    given = (*files, *(str(tmp_path / name) for name in others))
    marks = grade_class(GradeRequest(task=sheets, files=given))
    reasons = {Path(file).name: reason for file, reason in marks.refused.items()}
    assert "cannot be read" in reasons["none.csv"]
    assert "does not begin with the line box,answer" in reasons["text.csv"]
    assert "there is no sheet s09-abcdef in this folder" in reasons["other.csv"]
    assert "sheets were made anew after it was printed" in reasons["old.csv"]
    assert "handed in more than once" in reasons["twice.csv"]
    assert "handed in more than once" in reasons["0.csv"]
    assert [each.label for each in marks.students] == ["s02", "s03"]
    assert grade_answers(GradeRequest(task=sheets, files=given)).status == 1


def test_unknown_boxes_and_formulas_of_spreadsheets_are_told(
    sheets: Path, keys: dict[str, dict[str, str]], tmp_path: Path
) -> None:
    code, right = next(iter(keys.items()))
    box = next(iter(right))
    file = write_answers(tmp_path / "a.csv", code, {**right, box: "=1+1", "b999": "1"})
    (student,) = grade_class(GradeRequest(task=sheets, files=(str(file),))).students
    assert student.notes == ["s01: 1 answer to unknown boxes, such as b999"]
    (mark,) = [mark for mark in student.marks if mark.cell.box == box]
    assert (mark.verdict, mark.remark) == ("cannot be read", "a formula of a spreadsheet; write its result")


def test_a_sheet_whose_table_was_changed_is_not_marked(tmp_path: Path) -> None:
    table = tmp_path / "t.csv"
    table.write_text("a,y\nu,no\nv,yes\nu,no\nv,yes\n")
    folder = tmp_path / "sheets"
    words = {"learner": "naive_bayes", "dataset": "file", "dataset.path": str(table), "dataset.target": "y"}
    work_by_hand(
        WorkRequest(words={**words, "preprocessing": "none"}, blank=0.8, students=1, output=folder, to="terminal")
    )
    (code,) = read_codes(folder)
    file = write_answers(tmp_path / "a.csv", code, {"b1": "0.5"})
    request = GradeRequest(task=folder, files=(str(file),))
    assert len(grade_class(request).students) == 1
    table.write_text("a,y\nu,no\nv,yes\nu,yes\nv,yes\n")
    assert "cannot be made again" in next(iter(grade_class(request).refused.values()))


SCHEMES = [
    ("{total: 20}", 20.0),
    ("{steps: {5: 9}}", None),
    ("{total: 10, slip: 0, follows: 0.5}", 10.0),
]


@pytest.fixture(scope="module")
def right_marks(sheets: Path, keys: dict[str, dict[str, str]]) -> list[Mark]:
    """Return the marks of a sheet whose answers are all right."""
    code, answers = next(iter(keys.items()))
    return mark_sheet(read_folder(sheets).make_key(code), HandIn("a.csv", code, "", answers), 4)


@pytest.mark.parametrize(("scheme", "total"), SCHEMES)
def test_a_scheme_sets_the_points(right_marks: list[Mark], tmp_path: Path, scheme: str, total: float | None) -> None:
    file = tmp_path / "scheme.yaml"
    file.write_text(scheme)
    marks = read_scheme(file, range(1, 9)).award(right_marks)
    most = sum(mark.most for mark in marks)
    assert sum(mark.points for mark in marks) == pytest.approx(most)
    n_last = sum(mark.step == 5 for mark in marks)
    assert most == pytest.approx(total if total is not None else len(marks) - n_last + (9 if n_last else 0))


@pytest.mark.parametrize(
    ("scheme", "message"),
    [
        ("{steps: {77: 1}}", "step 77: 1; boxes are in steps"),
        ("{steps: {5: -1}}", "step 5: -1; boxes are in steps"),
        ("{slip: 2}", "slip=2 must be at least 0 and at most 1"),
        ("{total: many}", "total='many' must be a number"),
        ("{sum: 3}", "step sum: 3; boxes are in steps"),
        ("[1]", "must contain keys, such as"),
    ],
)
def test_a_scheme_that_does_not_fit_is_refused(tmp_path: Path, scheme: str, message: str) -> None:
    file = tmp_path / "scheme.yaml"
    file.write_text(scheme)
    with pytest.raises(UserError, match=re.escape(message)):
        read_scheme(file, (1, 5))


def test_the_reasons_of_files_are_told_if_none_of_them_fits_the_scheme(sheets: Path, tmp_path: Path) -> None:
    (tmp_path / "scheme.yaml").write_text("{steps: {5: 9}}")
    request = GradeRequest(task=sheets, files=("none.csv",), scheme=tmp_path / "scheme.yaml")
    assert "cannot be read" in grade_class(request).refused["none.csv"]
