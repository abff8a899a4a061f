"""The marks of a class as lines of a terminal, tables and pages."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import pandas as pd

from bakeoff.pipeline.commands.grade.grading import ClassMarks
from bakeoff.pipeline.commands.grade.marking import EMPTY, FOLLOWS, RIGHT, UNREAD, WRONG, Mark
from bakeoff.pipeline.commands.work.calculation import write_formula
from bakeoff.pipeline.tables.output_file import write_csv
from bakeoff.pipeline.tables.report import Report, Section, render_page
from bakeoff.pipeline.tables.table import TEXT, Cell, align_lines, make_table
from bakeoff.pipeline.text.wording import count_nouns, format_percent, write_ranges

MOST_FREQUENT = 3
"""The slips of a class that the overview names."""
SHOWN_DIGITS = 4
COLUMNS = ("box", "answer", "mark", "right answer", "points", "step", "result")
COMMAND = "bakeoff grade SHEETS ANSWERS output=FOLDER"


def list_lines(marks: ClassMarks) -> Iterator[str]:
    """Yield the lines of a terminal: one for each student, files that were not marked, notes, and the class."""
    rows = [[each.label, each.name, each.score, "; ".join(describe_marks(each.marks))] for each in marks.students]
    yield from align_lines(make_table("", [""] * 4, rows)) if rows else ()
    yield from (f"not marked: {file}: {reason}" for file, reason in sorted(marks.refused.items()))
    yield from (note for each in marks.students for note in each.notes)
    yield f"class: {'; '.join(describe_class(marks))}"


def describe_marks(marks: Sequence[Mark]) -> Iterator[str]:
    """Yield what a student lost, step by step, and where the rest is right with these numbers."""
    faults = {WRONG: "is wrong", EMPTY: "is empty", UNREAD: UNREAD}
    lost: dict[tuple[int, str], float] = defaultdict(float)
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
    n_students = len(marks.students)
    handed_in = f"{n_students} handed in of {count_nouns(marks.n_sheets, 'sheet')}"
    if n_students:
        # Sheets may have different numbers of boxes.
        points, most = (fmean(getattr(each, name) for each in marks.students) for name in ("points", "most"))
        handed_in += f", mean {points:.3g} of {most:.3g}"
    yield handed_in
    for (step, name), count in count_slips(marks).most_common(MOST_FREQUENT):
        yield f"{format_percent(count / n_students)}: {name} in step {step}"


def count_slips(marks: ClassMarks) -> Counter[tuple[int, str]]:
    """Return how many students made each slip in each step."""
    pairs = ({(mark.step, mark.slip.name) for mark in each.marks if mark.slip} for each in marks.students)
    return Counter(pair for own in pairs for pair in sorted(own))


def write_folder(folder: Path, marks: ClassMarks) -> None:
    """Write marks.csv, boxes.csv, the page of the class, and the page of each student."""
    rows = [
        {"sheet": each.label, "name": each.name, **describe_box(mark)} for each in marks.students for mark in each.marks
    ]
    boxes = pd.DataFrame(rows, columns=["sheet", "name", *COLUMNS])
    write_csv(boxes, folder / "boxes.csv")
    students = pd.DataFrame(
        [
            (each.label, each.name, each.points, each.most, "; ".join(describe_marks(each.marks)))
            for each in marks.students
        ],
        columns=["sheet", "name", "points", "of", "remarks"],
    )
    write_csv(students, folder / "marks.csv")
    for each in marks.students:
        title = " ".join(filter(None, ["Sheet", each.label, each.name]))
        own = boxes.loc[boxes["sheet"] == each.label, [*COLUMNS]]
        verdict = [*describe_marks(each.marks)]
        write_page(folder / f"{each.label}.html", f"{title}: {each.score}", verdict, {"Boxes": own}, each.notes)
    slips = [(step, name, count) for (step, name), count in count_slips(marks).most_common()]
    tables = {
        "Students": students,
        "Slips": pd.DataFrame(slips, columns=["step", "slip", "students"]),
        "Not marked": pd.DataFrame(sorted(marks.refused.items()), columns=["file", "reason"]),
    }
    write_page(folder / "class.html", "Marks of the class", [*describe_class(marks)], tables)


def write_page(
    file: Path, title: str, verdict: Sequence[str], tables: Mapping[str, pd.DataFrame], notes: Sequence[str] = ()
) -> None:
    """Write a page with tables of text, without those that have no rows."""
    sections: list[Section] = [
        (make_table(name, [Cell(str(column), TEXT) for column in table], table.astype(str).to_numpy().tolist()), [])
        for name, table in tables.items()
        if len(table)
    ]
    file.write_text(render_page(Report(title, "", verdict, sections, notes, COMMAND)), encoding="utf-8")


def describe_box(mark: Mark) -> dict[str, str]:
    """Return the columns of a box in tables."""
    verdict = "right with your numbers" if mark.verdict == FOLLOWS else mark.verdict
    cells = (
        mark.cell.box,
        mark.answer,
        ": ".join(filter(None, [verdict, mark.remark])),
        "" if mark.verdict == RIGHT else write_value(mark.cell.key),
        f"{mark.points:.4g} of {mark.most:.4g}",
        str(mark.step),
        f"{mark.cell.column} {mark.cell.row}".strip(),
    )
    return dict(zip(COLUMNS, cells, strict=True))


def write_value(value: object) -> str:
    """Return the result of a key as it is written on paper."""
    if isinstance(value, frozenset | tuple):
        return ", ".join(map(write_value, sorted(value) if isinstance(value, frozenset) else value))
    return write_formula(str(value), SHOWN_DIGITS)


def list_claims(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return a line for each configuration that was handed in."""
    cells = [[row["answer"], f"{row['points']} of {row['of']}", row["reason"]] for row in rows]
    return align_lines(make_table("", [""] * 3, cells))


def write_claims(folder: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write marks.csv and the page of a class that has handed in configurations."""
    table = pd.DataFrame(rows)
    write_csv(table, folder / "marks.csv")
    write_page(folder / "class.html", "Marks of the class", [], {"Configurations": table})
