"""The request to mark the answers of a class."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from bakeoff.pipeline.config.requests import Request, Word

SHOW, HIDE = "show", "hide"


@dataclass(frozen=True, kw_only=True)
class GradeRequest(Request):
    """The answers of a class.

    Attributes
    ----------
    task : Path
        The folder of sheets that `bakeoff work students=` has written, or the YAML file of an exercise that asks for a
        configuration.
    files : tuple of str
        The files of answers: a CSV of boxes from each student, or a YAML of overrides for an exercise.
    scheme : Path or None
        A YAML file with the points of steps, of slips and in total; by default a box is one point, and a known slip
        loses half of it.
    names : str
        Whether marks and pages have the names of the students beside the codes of their sheets.
    output : Path or None
        A new folder for marks.csv, boxes.csv, a page for each student, and a page for the class.
    """

    task: Annotated[Path, Word(place="SHEETS")]
    files: Annotated[tuple[str, ...], Word(place="ANSWERS")] = ()
    scheme: Path | None = None
    names: Annotated[str, Word(allowed=(SHOW, HIDE))] = SHOW
    output: Path | None = None
