"""``bakeoff grade``: marks for the answers of a class."""

from __future__ import annotations

import shlex

from bakeoff.pipeline.commands.grade.request import GradeRequest
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.tables.output_file import fill_folder, require_output_folder
from bakeoff.pipeline.text.wording import print_note, show_controls

EXIT_REFUSED = 1


def grade_answers(request: GradeRequest) -> int:
    """Mark sheets that students have filled in, or run the configurations that they hand in.

    Returns
    -------
    int
        1 if a file was not marked, else 0.

    Raises
    ------
    UserError
        The folder has no sheets, the scheme does not fit them, or the output cannot be written.
    """
    from bakeoff.pipeline.commands.grade.grading import grade_class
    from bakeoff.pipeline.commands.grade.report import list_lines, write_folder

    if not request.files:
        raise UserError(f"no answers were given; name their files, as in bakeoff grade {request.task} answers/*.csv.")
    if request.output is not None:
        require_output_folder(request.output, "output")
    marks = grade_class(request)
    for line in list_lines(marks):
        print(show_controls(line))
    if request.output is not None:
        command = shlex.join(["bakeoff", "grade", str(request.task), f"({len(request.files)} files)"])
        with fill_folder(request.output, "output") as folder:
            write_folder(folder, marks, command)
        print_note(f"marks.csv, boxes.csv and the pages are in {request.output}")
    return EXIT_REFUSED if marks.refused else 0
