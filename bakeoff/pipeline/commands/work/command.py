"""``bakeoff work``: a calculation by hand on a terminal, in a file with a key, or in a folder of sheets and keys."""

from __future__ import annotations

import hashlib
import json
import shutil
import sys
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING

from bakeoff.pipeline.commands.work.request import MAX_WIDTH, WorkRequest
from bakeoff.pipeline.config.options import load_yaml
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.tables.document import Answer
from bakeoff.pipeline.tables.output_file import (
    CALCULATION,
    EXTENSIONS,
    TERMINAL,
    fill_folder,
    require_output,
    write_whole,
)
from bakeoff.pipeline.text.wording import print_note

if TYPE_CHECKING:
    from bakeoff.pipeline.commands.work.calculation import HandCalculation

DATASET = "dataset."
DRAWN = ("problem", "learner")
"""What a calculation has for drawings alone, which programs do not receive."""
CLASS_FILE = "sheets.json"
"""Beside the sheets of a class: the words that made them, and their codes."""
CODE_DIGITS = 6


def work_by_hand(request: WorkRequest) -> int | Answer:
    """Show the calculation of a learner on a small table, step by step as on paper, and the learner's own answer.

    Raises
    ------
    UserError
        The learner has no calculation, the table is too large, a query does not fit it, or an output cannot be written,
        which is found before any work is done.
    """
    if request.students is not None and request.output is not None:
        _write_folder(request, request.output, request.students)
        return 0
    for key in ("output", "key"):
        _require_output(request, key)
    sheet, calculation = make_sheet(request)
    _write(sheet, request.output, request)
    if request.key is not None:
        _write(calculation, request.key, request)
    return Answer("calculation", lambda: {key: value for key, value in vars(sheet).items() if key not in DRAWN})


def make_sheet(request: WorkRequest) -> tuple[HandCalculation, HandCalculation]:
    """Return a calculation without the results that the request leaves out, and with all of them."""
    from bakeoff.pipeline.commands.work.calculate import calculate
    from bakeoff.pipeline.commands.work.exercise import blank_results

    calculation = calculate(request)
    if not request.blank:
        return calculation, calculation
    return blank_results(calculation, request.blank, request.seed, request.digits), calculation


def render(calculation: HandCalculation, form: str, digits: int, width: int = MAX_WIDTH) -> str:
    """Return a calculation in one of the formats of a request, as text in lines of at most a number of characters."""
    # Each format is imported only if it is needed.
    if form == "html":
        from bakeoff.pipeline.commands.work.page import render_page

        return render_page(calculation, digits)
    if form == "latex":
        from bakeoff.pipeline.commands.work.latex import render_latex

        return render_latex(calculation, digits)
    from bakeoff.pipeline.commands.work.text import render_markdown_steps, render_text

    if form == TERMINAL:
        return render_text(calculation, digits, width)
    return render_markdown_steps(calculation, digits)


def _write(calculation: HandCalculation, path: Path | None, request: WorkRequest) -> None:
    """Write a calculation to a file, or to standard output with lines as long as those of the terminal."""
    form = request.find_format(path)
    if path is not None:
        write_whole(path, render(calculation, form, request.digits))
        print_note(f"the calculation is in {path}")
        return
    columns = shutil.get_terminal_size((MAX_WIDTH, 0)).columns
    sys.stdout.write(render(calculation, form, request.digits, min(columns, MAX_WIDTH)))


def make_class_sheet(request: WorkRequest, number: int) -> tuple[HandCalculation, HandCalculation]:
    """Return the sheet of a student, from 1, whose boxes have names, and the calculation with all results.

    The code of the sheet, such as s07-3f9a1c, contains a digest of its text.
    """
    from bakeoff.pipeline.commands.work.exercise import name_boxes

    first = 1 if request.seed is None else request.seed
    sheet, calculation = make_sheet(replace(request, seed=first + number - 1))
    digest = hashlib.sha256(render(sheet, TERMINAL, request.digits).encode()).hexdigest()
    return name_boxes(sheet, calculation, f"s{number:02}-{digest[:CODE_DIGITS]}")


def _write_folder(request: WorkRequest, folder: Path, students: int) -> None:
    """Write a sheet and its key for each student, with consecutive seeds, and what `bakeoff grade` reads."""
    form = request.find_format(folder)
    codes = []
    with fill_folder(folder, "output") as temporary:
        for number in range(1, students + 1):
            pair = make_class_sheet(request, number)
            for name, calculation in zip(("sheet", "key"), pair, strict=True):
                file = temporary / f"{name}-{number:02}{EXTENSIONS[form]}"
                file.write_text(render(calculation, form, request.digits), encoding="utf-8")
            codes.append(pair[0].code)
        document = {"words": [*_list_words(request)], "codes": codes}
        (temporary / CLASS_FILE).write_text(json.dumps(document, indent=1), encoding="utf-8")
    print_note(f"{students} sheets and their keys are in {folder}")


def _list_words(request: WorkRequest) -> Iterator[str]:
    """Yield the words of a request, without those of its output."""
    for key, value in {**asdict(request), **request.words}.items():
        if value is not None and key not in ("words", "trust", "output", "to"):
            yield f"{key}={','.join(value) if isinstance(value, tuple) else value}"


def _require_output(request: WorkRequest, key: str) -> None:
    from bakeoff.pipeline.stages.dataset import files
    from bakeoff.pipeline.tracking.store import list_store_paths

    path: Path | None = getattr(request, key)
    if path is None:
        return
    node = {
        name.removeprefix(DATASET): load_yaml(text, name) for name, text in request.words.items() if DATASET in name
    }
    rows = [Path(text) for text in [request.query] if text]
    try:
        require_output(path, CALCULATION, [*files.list_dataset_files(node), *rows], list_store_paths(None))
    except UserError as error:
        raise UserError(str(error).replace("output=", f"{key}=", 1)) from None
