"""The marks of a class as lines of a terminal, tables and pages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import pandas as pd

from bakeoff.pipeline.commands.grade.grading import ClassMarks, Marked
from bakeoff.pipeline.commands.grade.marking import EMPTY, FOLLOWS, RIGHT, WRONG, Mark
from bakeoff.pipeline.commands.work.calculation import write_formula, write_ranges
from bakeoff.pipeline.tables.output_file import write_csv
from bakeoff.pipeline.tables.report import Report, render_page
from bakeoff.pipeline.tables.table import TEXT, Cell, Table, align_lines, make_table
from bakeoff.pipeline.text.wording import count_nouns, format_percent

MOST_FREQUENT = 3
"""The slips of a class that the overview names."""
SHOWN_DIGITS = 4


def list_lines(marks: ClassMarks) -> Iterator[str]:
    """Yield the lines of a terminal: one for each student, files that were not marked, notes, and the class."""
    rows = [[each.label, each.name, each.score, "; ".join(describe_marks(each.marks))] for each in marks.students]
    yield from align_lines(make_table("", [""] * 4, rows)) if rows else ()
    yield from (f"not marked: {file}: {reason}" for file, reason in sorted(marks.refused.items()))
    yield from (note for each in marks.students for note in each.notes)
    yield from marks.notes
    yield f"class: {'; '.join(describe_class(marks))}"


def describe_marks(marks: Sequence[Mark]) -> Iterator[str]:
    """Yield what a student lost, step by step, and where the rest is right with these numbers."""
    faults = {WRONG: "is wrong", EMPTY: "is empty"}
    lost: Counter[tuple[int, str]] = Counter()
    for mark in marks:
        fault = mark.slip.name if mark.slip else faults.get(mark.verdict, "")
        # A step with many wrong boxes is one remark.
        lost[mark.step, fault] += mark.most - mark.points
    yield from (f"step {step}: {fault} (-{points:.3g})" for (step, fault), points in lost.items() if fault)
    following = sorted({mark.step for mark in marks if mark.verdict == FOLLOWS})
    if following:
        yield f"step {write_ranges(following)}: right with these numbers"


def describe_class(marks: ClassMarks) -> Iterator[str]:
    """Yield how many sheets were handed in, the mean, and the most frequent slips."""
    points = [each.points for each in marks.students]
    mean = f", mean {sum(points) / len(points):.3g}" if points else ""
    yield f"{len(points)} handed in of {count_nouns(marks.n_sheets, 'sheet')}{mean}"
    for (step, name), count in count_slips(marks).most_common(MOST_FREQUENT):
        yield f"{format_percent(count / len(points))}: {name} in step {step}"


def count_slips(marks: ClassMarks) -> Counter[tuple[int, str]]:
    """Return how many students made each slip in each step."""
    pairs = ({(mark.step, mark.slip.name) for mark in each.marks if mark.slip} for each in marks.students)
    return Counter(pair for own in pairs for pair in sorted(own))


def write_folder(folder: Path, marks: ClassMarks, command: str) -> None:
    """Write marks.csv, boxes.csv, the page of the class, and the page of each student."""
    boxes = {each: pd.DataFrame(map(describe_box, each.marks)) for each in marks.students}
    rows = [
        {"sheet": each.label, "name": each.name, "points": each.points, "of": sum(mark.most for mark in each.marks)}
        for each in marks.students
    ]
    write_csv(pd.DataFrame(rows), folder / "marks.csv")
    named = [table.assign(sheet=each.label, name=each.name) for each, table in boxes.items()]
    write_csv(pd.concat(named) if named else pd.DataFrame(), folder / "boxes.csv")
    reports = {each.label: report_student(each, table, command) for each, table in boxes.items()}
    for name, report in {**reports, "class": report_class(marks, command)}.items():
        (folder / f"{name}.html").write_text(render_page(report), encoding="utf-8")


def describe_box(mark: Mark) -> dict[str, str]:
    """Return the columns of a box in tables."""
    right = "" if mark.verdict == RIGHT else write_value(mark.cell.key)
    return {
        "box": mark.cell.box,
        "step": str(mark.step),
        "result": f"{mark.cell.column} {mark.cell.row}".strip(),
        "answer": mark.answer,
        "mark": "right with your numbers" if mark.verdict == FOLLOWS else mark.verdict,
        "points": f"{mark.points:.4g} of {mark.most:.4g}",
        "right answer": right,
        "remark": mark.remark,
    }


def write_value(value: object) -> str:
    """Return the result of a key as it is written on paper."""
    if isinstance(value, frozenset | tuple):
        return ", ".join(map(write_value, sorted(value) if isinstance(value, frozenset) else value))
    return write_formula(str(value), SHOWN_DIGITS)


def report_student(marked: Marked, boxes: pd.DataFrame, command: str) -> Report:
    """Return the page of a student."""
    title = " ".join(filter(None, ["Sheet", marked.label, marked.name]))
    sections = [(tabulate("Boxes", boxes), [])]
    return Report(f"{title}: {marked.score}", "", [*describe_marks(marked.marks)], sections, marked.notes, command)


def report_class(marks: ClassMarks, command: str) -> Report:
    """Return the page of a class: its students, how often each slip was made in each step, and what was not marked."""
    students = [(each.label, each.name, each.score, "; ".join(describe_marks(each.marks))) for each in marks.students]
    slips = [(step, name, count) for (step, name), count in count_slips(marks).most_common()]
    tables = {
        "Students": pd.DataFrame(students, columns=["sheet", "name", "points", "remarks"]),
        "Slips": pd.DataFrame(slips, columns=["step", "slip", "students"]),
        "Not marked": pd.DataFrame(sorted(marks.refused.items()), columns=["file", "reason"]),
    }
    sections = [(tabulate(title, table), []) for title, table in tables.items() if len(table)]
    return Report("Marks of the class", "", [*describe_class(marks)], sections, marks.notes, command)


def tabulate(title: str, table: pd.DataFrame) -> Table:
    """Return a table of texts."""
    return make_table(title, [Cell(name, TEXT) for name in table.columns], table.astype(str).to_numpy().tolist())
