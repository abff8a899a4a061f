"""The request for a calculation by hand."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from bakeoff.pipeline.config.requests import ANY_KEY, Bounds, TrustRequest, Word
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.tables.output_file import CALCULATION

FORMATS = tuple(CALCULATION.formats.values())
RANDOM = "random"
MAX_DIGITS = 15
MAX_WIDTH = 100
"""The number of characters in a line, unless the terminal is narrower."""
MAX_STUDENTS = 999
DEFAULT_ROWS = "8"
MIN_ROWS, MAX_ROWS = 4, 60
UNUSED = {"table": ("step", "query", "columns", "dataset"), "step": ("query", "rows", "columns", "validation")}
"""A key -> the keys that have no effect beside it."""


@dataclass(frozen=True, kw_only=True)
class WorkRequest(TrustRequest):
    """A calculation by hand.

    Attributes
    ----------
    query : str or None
        The row or rows to predict: a file, or cells as {outlook: sunny, wind: weak}; by default the first row.
    rows : str or None
        The rows of the table to use: 14 for the first 14, or [1,4,7]; by default all, of which there may be 60.
    columns : tuple of str or None
        The columns to use; by default all, of which there may be 12.
    validation : str or None
        The rows on which a tree is pruned, as [11,12,14]; the others are training rows.
    step : str or None
        Instead of a learner: a single step, such as entropy, gain or distance, whose numbers follow as keys.
    table : str or None
        random to draw a table with short numbers and without ties for the learner; seed= draws another one.
    seed : int or None
        Draws tables, blanks and the random choices of the learner, which without it are those of seed=0.
    blank : float
        The share of the results that are left out, such as 0.3: the later ones, or those that seed= draws.
    students : int or None
        The number of sheets to write, each with its key, into the folder output=.
    digits : int
        Decimals of the numbers shown.
    to : str or None
        The format; by default that of the extension of output=.
    output : Path or None
        The file to which the calculation is written instead of standard output.
    key : Path or None
        The file for the calculation without blanks.
    words : mapping of str to str
        The keys of an experiment, such as learner=knn, dataset=colours or preprocessing=min_max; with step=, numbers.
    """

    query: str | None = None
    rows: str | None = None
    columns: tuple[str, ...] | None = None
    validation: str | None = None
    step: str | None = None
    table: Annotated[str | None, Word(allowed=(RANDOM,))] = None
    seed: int | None = None
    blank: Annotated[float, Word(allowed=Bounds(0, 1))] = 0.0
    students: Annotated[int | None, Word(allowed=Bounds(1, MAX_STUDENTS))] = None
    digits: Annotated[int, Word(allowed=Bounds(0, MAX_DIGITS))] = 4
    to: Annotated[str | None, Word(allowed=FORMATS)] = None
    output: Path | None = None
    key: Path | None = None
    words: Annotated[Mapping[str, str], Word(kinds={ANY_KEY: str})] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._require_exercise()
        self._require_effect()
        self._require_random_table()
        for path in (self.output, self.key):
            self.find_format(path)

    def _require_exercise(self) -> None:
        """Reject keys of an exercise that lack another one."""
        if self.key is not None and self.blank == 0:
            raise UserError("key= contains the results that blank= leaves out; add blank=0.3.")
        if self.key is not None and self.output is not None and self.key.resolve() == self.output.resolve():
            raise UserError(f"output= and key= are both {self.key}; name another file for the key.")
        if self.students is None:
            return
        if self.output is None:
            raise UserError(f"students={self.students} writes that many sheets into a folder; name it with output=.")
        if self.blank == 0:
            raise UserError(f"students={self.students} writes exercises; add blank=0.3, the share of results left out.")
        if self.key is not None:
            raise UserError("students= writes a key for each sheet into the folder output=; leave key= out.")

    def _require_effect(self) -> None:
        """Reject keys that name rows where they are drawn, or where there are none."""
        for chosen, unused in UNUSED.items():
            given = [key for key in unused if self.words.get(key, getattr(self, key, None)) is not None]
            if given and getattr(self, chosen) is not None:
                raise UserError(f"{given[0]}= has no effect beside {chosen}=; leave {given[0]}= out.")

    def _require_random_table(self) -> None:
        """Reject a number of rows that is not drawn."""
        if self.table is None:
            return
        rows = self.rows or DEFAULT_ROWS
        if not rows.isdecimal() or not MIN_ROWS <= int(rows) <= MAX_ROWS:
            raise UserError(f"table={self.table} draws rows={rows}, which must be from {MIN_ROWS} to {MAX_ROWS}.")

    def find_format(self, path: Path | None) -> str:
        """Return the format of a file, of the sheets of students, or of standard output."""
        if self.students is not None:
            return self.to or "latex"
        return CALCULATION.find_format(path, self.to)
