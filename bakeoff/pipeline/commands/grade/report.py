"""The marks of a class as lines of a terminal, tables and pages."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

import pandas as pd

from bakeoff.pipeline.commands.grade.grading import ClassMarks, Marked
from bakeoff.pipeline.commands.grade.marking import EMPTY, FOLLOWS, WRONG, Mark
from bakeoff.pipeline.commands.work.calculation import write_formula, write_ranges
from bakeoff.pipeline.tables.output_file import write_csv
from bakeoff.pipeline.tables.report import Report, render_page
from bakeoff.pipeline.tables.table import TEXT, Cell, Table, align_lines, make_table
from bakeoff.pipeline.text.wording import count_nouns, format_percent

MOST_FREQUENT = 3
"""The slips of a class that the overview names."""


def list_lines(marks: ClassMarks) -> Iterator[str]:
    """Yield the lines of a terminal: one for each student, files that were not marked, and the class."""
    rows = [
        [each.label, each.name, f"{each.points:g} of {each.most:g}", "; ".join(describe_marks(each.marks))]
        for each in marks.students
    ]
    yield from align_lines(make_table("", [""] * 4, rows)) if rows else ()
    for file, reason in sorted(marks.refused.items()):
        yield f"not marked: {file}: {reason}"
    yield from (note for each in marks.students for note in each.notes)
    yield from marks.notes
    yield f"class: {'; '.join(describe_class(marks))}"


def describe_marks(marks: Sequence[Mark]) -> Iterator[str]:
    """Yield what a student lost, step by step, and where the rest is right with these numbers."""
    by_step: dict[int, list[Mark]] = defaultdict(list)
    for mark in marks:
        by_step[mark.step].append(mark)
    for step, own in by_step.items():
        for slip in dict.fromkeys(mark.slip for mark in own if mark.slip):
            lost = sum(mark.most - mark.points for mark in own if mark.slip == slip)
            yield f"step {step}: {slip.name} ({-lost:.3g}): {slip.sentence}"
        for verdict in (WRONG, EMPTY):
            boxes = [mark for mark in own if mark.verdict == verdict]
            if boxes:
                lost = sum(mark.most for mark in boxes)
                yield f"step {step}: {', '.join(mark.cell.box for mark in boxes)} {verdict} ({-lost:.3g})"
    following = [step for step, own in by_step.items() if any(mark.verdict == FOLLOWS for mark in own)]
    if following:
        noun = "steps" if len(following) > 1 else "step"
        yield f"{noun} {write_ranges(following)}: right with these numbers"


def describe_class(marks: ClassMarks) -> Iterator[str]:
    """Yield how many sheets were handed in, the mean, and the most frequent slips."""
    n_marked = len({each.label.partition("-")[0] for each in marks.students})
    n_files = len(marks.students)
    mean = f", mean {sum(each.points for each in marks.students) / n_files:.3g}" if n_files else ""
    yield f"{n_marked} of {count_nouns(marks.n_sheets, 'sheet')} handed in{mean}"
    for (step, name), count in count_slips(marks).most_common(MOST_FREQUENT):
        yield f"{format_percent(count / n_files)} {name} in step {step}"


def count_slips(marks: ClassMarks) -> Counter[tuple[int, str]]:
    """Return how many students made each slip in each step."""
    pairs = ({(mark.step, mark.slip.name) for mark in each.marks if mark.slip} for each in marks.students)
    return Counter(pair for own in pairs for pair in sorted(own))


def write_folder(folder: Path, marks: ClassMarks, command: str) -> None:
    """Write marks.csv, boxes.csv, the page of the class, and the page of each student."""
    rows = [
        {
            "sheet": each.label,
            "name": each.name,
            "points": each.points,
            "of": each.most,
            **Counter(f"{mark.verdict}" for mark in each.marks),
        }
        for each in marks.students
    ]
    write_csv(pd.DataFrame(rows).fillna(0), folder / "marks.csv")
    boxes = [
        {"sheet": each.label, "name": each.name, **describe_box(mark)} for each in marks.students for mark in each.marks
    ]
    write_csv(pd.DataFrame(boxes), folder / "boxes.csv")
    for each in marks.students:
        (folder / f"{each.label}.html").write_text(render_page(report_student(each, command)), encoding="utf-8")
    (folder / "class.html").write_text(render_page(report_class(marks, command)), encoding="utf-8")


def describe_box(mark: Mark) -> dict[str, str]:
    """Return the columns of a box in tables."""
    return {
        "box": mark.cell.box,
        "step": f"{mark.step}",
        "result": f"{mark.cell.column} {mark.cell.row}".strip(),
        "answer": mark.answer,
        "mark": "right with your numbers" if mark.verdict == FOLLOWS else mark.verdict,
        "points": f"{mark.points:g} of {mark.most:g}",
        "right answer": "" if mark.verdict == "right" else show_value(mark.cell.key),
        "remark": mark.remark or (f"{mark.slip.name}: {mark.slip.sentence}" if mark.slip else ""),
    }


def show_value(value: object) -> str:
    """Return the result of a key as it is written on paper."""
    if isinstance(value, frozenset | tuple):
        return ", ".join(show_value(each) for each in (sorted(value) if isinstance(value, frozenset) else value))
    return write_formula(str(value), 4)


def report_student(marked: Marked, command: str) -> Report:
    """Return the page of a student."""
    rows = [[*describe_box(mark).values()] for mark in marked.marks]
    table = tabulate("Boxes", list(describe_box(marked.marks[0])) if rows else ["box"], rows)
    title = f"Sheet {marked.label}{f' of {marked.name}' if marked.name else ''}: {marked.points:g} of {marked.most:g}"
    return Report(title, "", [*describe_marks(marked.marks)], [(table, [])], marked.notes, command)


def report_class(marks: ClassMarks, command: str) -> Report:
    """Return the page of a class: its students, and how often each slip was made in each step."""
    students = [
        [each.label, each.name, f"{each.points:g}", f"{each.most:g}", "; ".join(describe_marks(each.marks))]
        for each in marks.students
    ]
    slips = [[f"{step}", name, f"{count}"] for (step, name), count in count_slips(marks).most_common()]
    refused = [[file, reason] for file, reason in sorted(marks.refused.items())]
    sections = [
        (tabulate("Students", ["sheet", "name", "points", "of", "remarks"], students), []),
        (tabulate("Slips", ["step", "slip", "students"], slips), []),
        (tabulate("Not marked", ["file", "reason"], refused), []),
    ]
    shown = [(table, notes) for table, notes in sections if table.rows]
    return Report("Marks of the class", "", [*describe_class(marks)], shown, marks.notes, command)


def tabulate(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    """Return a table of text."""
    return make_table(title, [Cell(column, TEXT) for column in columns], rows)
