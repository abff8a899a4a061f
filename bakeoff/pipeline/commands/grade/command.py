"""``bakeoff grade``: marks for the answers of a class."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from os.path import abspath, commonpath, relpath
from pathlib import Path
from typing import Any

from bakeoff.pipeline.commands.grade.request import GradeRequest
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.tables.document import Answer
from bakeoff.pipeline.tables.output_file import fill_folder, require_output_folder
from bakeoff.pipeline.text.wording import print_note, show_controls

EXIT_REFUSED = 1


def grade_answers(request: GradeRequest) -> Answer:
    """Mark sheets that students have filled in, or run the configurations that they hand in.

    Returns
    -------
    Answer
        Its exit code is 1 if a file was not marked, else 0.

    Raises
    ------
    UserError
        There are no answers or sheets, the scheme does not fit them, or the output cannot be written.
    """
    from bakeoff.pipeline.commands.grade.claims import judge_claim, read_exercise
    from bakeoff.pipeline.commands.grade.grading import grade_class
    from bakeoff.pipeline.commands.grade.report import list_claims, list_lines, write_claims, write_folder

    if not request.files:
        raise UserError(f"no answers were given; name their files, as in bakeoff grade {request.task} answers/*.csv.")
    if request.output is not None:
        require_output_folder(request.output, "output")
    write: Callable[[Path], None]
    rows: list[dict[str, Any]]
    refused: Mapping[str, str] = {}
    if request.task.is_dir():
        marks = grade_class(request)
        lines, write, refused = [*list_lines(marks)], partial(write_folder, marks=marks), marks.refused
        rows = [
            {"sheet": each.label, "name": each.name, "points": each.points, "of": each.most} for each in marks.students
        ]
    else:
        exercise = read_exercise(request.task)
        files = sorted({*request.files})
        # Files of the same name may lie in a folder for each student.
        common = commonpath([abspath(Path(file).parent) for file in files])
        rows = [{**judge_claim(exercise, Path(file)), "answer": relpath(file, common)} for file in files]
        lines, write = list_claims(rows), partial(write_claims, rows=rows)
    for line in lines:
        print(show_controls(line))
    if request.output is not None:
        with fill_folder(request.output, "output") as folder:
            write(folder)
        print_note(f"marks.csv and the pages are in {request.output}")
    document = {"marks": rows, "refused": refused, "sentences": lines}
    return Answer("marks", lambda: document, EXIT_REFUSED if refused else 0)
