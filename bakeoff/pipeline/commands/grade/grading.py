"""The marks of a class: its sheets made again, and the files of answers that belong to them."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bakeoff.pipeline.commands.grade.answers import HandIn, read_hand_in
from bakeoff.pipeline.commands.grade.marking import Mark, mark_sheet
from bakeoff.pipeline.commands.grade.request import HIDE, GradeRequest
from bakeoff.pipeline.commands.grade.scheme import read_scheme
from bakeoff.pipeline.commands.work.calculation import HandCalculation
from bakeoff.pipeline.commands.work.command import CLASS_FILE, make_class_sheet
from bakeoff.pipeline.commands.work.request import WorkRequest
from bakeoff.pipeline.config.requests import read_request
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.tables.output_file import EXTENSIONS
from bakeoff.pipeline.text.wording import name_first

MAX_CLASS_BYTES = 1_000_000


@dataclass(frozen=True)
class Marked:
    """The marks of a student.

    Attributes
    ----------
    label : str
        The sheet, such as s07, with a number if several students have the same one.
    name : str
        The name of the student; empty if names are hidden.
    marks : sequence of Mark
    notes : sequence of str
        What could not be marked.
    """

    label: str
    name: str
    marks: Sequence[Mark]
    notes: Sequence[str]

    @property
    def points(self) -> float:
        """The points that were reached."""
        return sum(mark.points for mark in self.marks)

    @property
    def most(self) -> float:
        """The points that could be reached."""
        return sum(mark.most for mark in self.marks)


@dataclass(frozen=True)
class ClassMarks:
    """The marks of a class, in the order of its sheets.

    Attributes
    ----------
    students : sequence of Marked
    n_sheets : int
    refused : mapping of str to str
        A file that could not be marked -> the reason.
    notes : sequence of str
    """

    students: Sequence[Marked]
    n_sheets: int
    refused: Mapping[str, str]
    notes: Sequence[str]


def grade_class(request: GradeRequest) -> ClassMarks:
    """Mark the answers of a class.

    Raises
    ------
    UserError
        The folder has no sheets, or they cannot be made again, or the scheme does not fit them.
    """
    words, codes, notes = _read_class(request.task)
    made: dict[str, HandCalculation] = {}
    hand_ins: list[HandIn] = []
    refused: dict[str, str] = {}
    for file in dict.fromkeys(request.files):
        try:
            hand_in = read_hand_in(Path(file))
            if hand_in.sheet not in codes:
                raise UserError(_explain_code(hand_in.sheet, codes))
            if hand_in.sheet not in made:
                made[hand_in.sheet] = _make_key(words, hand_in.sheet, codes)
            hand_ins.append(hand_in)
        except UserError as error:
            refused[file] = str(error)
    counts = Counter((each.sheet, each.name.casefold()) for each in hand_ins)
    for each in [each for each in hand_ins if counts[each.sheet, each.name.casefold()] > 1]:
        others = [other.path for other in hand_ins if (other.sheet, other.name) == (each.sheet, each.name)]
        refused[each.path] = f"sheet {each.sheet} was handed in more than once: {name_first(sorted(others))}; keep one"
        hand_ins.remove(each)
    marked = {each: mark_sheet(made[each.sheet], each, words.digits) for each in hand_ins}
    scheme = read_scheme(request.scheme, sorted({mark.step for marks in marked.values() for mark in marks}))
    # The order of the files has no effect.
    ordered = sorted(hand_ins, key=lambda each: (each.sheet, each.name, sorted(each.answers.items())))
    labels = Counter[str]()
    students = []
    for each in ordered:
        number = each.sheet.partition("-")[0]
        labels[number] += 1
        label = number if labels[number] == 1 else f"{number}-{labels[number]}"
        boxes = {mark.cell.box for mark in marked[each]}
        unknown = sorted(set(each.answers) - boxes)
        remarks = (
            [f"{label}: {', '.join(unknown)} are not boxes of this sheet; their answers are not marked"]
            if unknown
            else []
        )
        name = "" if request.names == HIDE else each.name
        students.append(Marked(label, name, scheme.award(marked[each]), remarks))
    return ClassMarks(students, len(codes), refused, notes)


def _read_class(folder: Path) -> tuple[WorkRequest, list[str], list[str]]:
    """Return the request that made the sheets of a folder, their codes, and notes on files that were changed."""
    file = folder / CLASS_FILE
    try:
        if file.stat().st_size > MAX_CLASS_BYTES:
            raise ValueError("it is too large")
        document = json.loads(file.read_text(encoding="utf-8"))
        words, digests, form = (
            [*map(str, document["words"])],
            dict(document["sheets"]),
            EXTENSIONS[document["format"]],
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UserError(
            f"{folder} is not a folder of sheets: {file.name} in it cannot be read ({error}). Write one with bakeoff "
            "work … blank=0.6 students=30 output=sheets."
        ) from None
    request = read_request("work", WorkRequest, [*words, f"output={folder}"])
    notes = []
    for number, (code, digest) in enumerate(digests.items(), start=1):
        sheet = folder / f"sheet-{number:02}{form}"
        if sheet.is_file() and hashlib.sha256(sheet.read_bytes()).hexdigest() != digest:
            notes.append(f"{sheet.name} was changed after it was made; {code} is marked as it was made")
    return request, [*digests], notes


def _make_key(request: WorkRequest, code: str, codes: Sequence[str]) -> HandCalculation:
    _, key = make_class_sheet(request, codes.index(code) + 1)
    if key.code != code:
        raise UserError(
            f"sheet {code} cannot be made again (it would be {key.code}): its table or this program has changed; "
            "restore the table, or grade with the version that made the sheets"
        )
    return key


def _explain_code(code: str, codes: Sequence[str]) -> str:
    number = code.partition("-")[0]
    same = [each for each in codes if each.partition("-")[0] == number]
    if same:
        return f"sheet {code} is not {same[0]} of this folder: the sheets were made anew after it was printed"
    return f"sheet {code} is not one of this folder, which has {codes[0]} to {codes[-1]}"
