"""The marks of a class: its sheets made again, and the files of answers that belong to them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from bakeoff.pipeline.commands.grade.answers import HandIn, read_hand_in, read_text
from bakeoff.pipeline.commands.grade.marking import Mark, mark_sheet
from bakeoff.pipeline.commands.grade.request import HIDE, GradeRequest
from bakeoff.pipeline.commands.grade.scheme import read_scheme
from bakeoff.pipeline.commands.work.calculation import HandCalculation
from bakeoff.pipeline.commands.work.command import CLASS_FILE, make_class_sheet
from bakeoff.pipeline.commands.work.request import WorkRequest
from bakeoff.pipeline.config.requests import read_request
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.text.wording import count_nouns, name_first

PLACES = 9
"""The decimals of points, by which 20 boxes of 0.05 points are 1 point."""


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
        What was not marked.
    """

    label: str
    name: str
    marks: Sequence[Mark]
    notes: Sequence[str] = ()

    @property
    def score(self) -> str:
        """The points, and those that could be reached."""
        return f"{self.points:.4g} of {self.most:.4g}"

    @property
    def points(self) -> float:
        """The points that were reached."""
        return round(sum(mark.points for mark in self.marks), PLACES)

    @property
    def most(self) -> float:
        """The points that could be reached."""
        return round(sum(mark.most for mark in self.marks), PLACES)


@dataclass(frozen=True)
class ClassMarks:
    """The marks of a class.

    Attributes
    ----------
    students : sequence of Marked
        In the order of their sheets and names.
    n_sheets : int
    refused : mapping of str to str
        A file that was not marked -> the reason.
    """

    students: Sequence[Marked]
    n_sheets: int
    refused: Mapping[str, str]


@dataclass(frozen=True)
class SheetFolder:
    """The sheets that `bakeoff work` has written into a folder.

    Attributes
    ----------
    request : WorkRequest
        Makes the sheets.
    codes : tuple of str
    """

    request: WorkRequest
    codes: tuple[str, ...]

    def make_key(self, code: str) -> HandCalculation:
        """Return the key of a sheet.

        Raises
        ------
        UserError
            There is no such sheet, or it cannot be made again.
        """
        numbers = {known.partition("-")[0]: known for known in self.codes}
        known = numbers.get(code.partition("-")[0])
        if known is None:
            raise UserError(f"there is no sheet {code} in this folder, which has {name_first(self.codes, 3)}")
        if known != code:
            raise UserError(f"sheet {code} is not {known} of this folder: sheets were made anew after it was printed")
        _, key = make_class_sheet(self.request, self.codes.index(code) + 1)
        if key.code != code:
            raise UserError(f"sheet {code} cannot be made again, because its table or bakeoff was changed")
        return key


def read_folder(folder: Path) -> SheetFolder:
    """Return the sheets of a folder.

    Raises
    ------
    UserError
        The folder has no sheets, or asks for trust.
    """
    file = folder / CLASS_FILE
    try:
        document = json.loads(read_text(file))
        words, codes = ([*map(str, document[key])] for key in ("words", "codes"))
        if any(word.startswith("trust") for word in words):
            raise ValueError("it asks for trust, which only the command line gives")
        return SheetFolder(read_request("work", WorkRequest, [*words, f"output={folder}"]), tuple(codes))
    except (ValueError, LookupError, TypeError, UserError) as error:
        raise UserError(
            f"{file} does not describe sheets ({error}); write them with bakeoff work students=30."
        ) from None


def grade_class(request: GradeRequest) -> ClassMarks:
    """Mark the answers of a class.

    Raises
    ------
    UserError
        The folder has no sheets, or the scheme does not fit them.
    """
    sheets = read_folder(request.task)
    make_key = cache(sheets.make_key)
    marked: dict[HandIn, list[Mark]] = {}
    refused: dict[str, str] = {}
    for file in dict.fromkeys(request.files):
        try:
            hand_in = read_hand_in(Path(file))
            marked[hand_in] = mark_sheet(make_key(hand_in.sheet), hand_in, sheets.request.digits)
        except UserError as error:
            refused[file] = str(error)
    scheme = read_scheme(request.scheme, sorted({mark.step for marks in marked.values() for mark in marks}))
    times = Counter(hand_in.student for hand_in in marked)
    labels: Counter[str] = Counter()
    students = []
    # The order of the files has no effect.
    for hand_in in sorted(marked, key=lambda each: (each.student, sorted(each.answers.items()))):
        if times[hand_in.student] > 1:
            refused[hand_in.file] = f"sheet {hand_in.sheet} was handed in more than once under this name; keep one file"
            continue
        number = hand_in.sheet.partition("-")[0]
        labels[number] += 1
        label = number if labels[number] == 1 else f"{number}-{labels[number]}"
        name = "" if request.names == HIDE else hand_in.name
        unknown = sorted(set(hand_in.answers) - {mark.cell.box for mark in marked[hand_in]})
        remarks = (
            [f"{label}: {count_nouns(len(unknown), 'answer')} to unknown boxes, such as {unknown[0]}"]
            if unknown
            else []
        )
        students.append(Marked(label, name, scheme.award(marked[hand_in]), remarks))
    return ClassMarks(students, len(sheets.codes), refused)
