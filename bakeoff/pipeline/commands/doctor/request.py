"""The request to examine a run or a sweep."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from bakeoff.pipeline.audit.check import SEVERITIES
from bakeoff.pipeline.commands.compare.request import LEVELS
from bakeoff.pipeline.config.requests import Bounds, RefitRequest, Word
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.tables.output_file import PAGE, TERMINAL, OutputKind

NEVER = "never"
FORMATS = {".txt": TERMINAL, ".json": "json", ".html": "html"}
DIAGNOSIS = OutputKind(FORMATS, rf'(?:{PAGE})?What is to be said about |\{{\s*"format": "bakeoff.diagnosis"')


@dataclass(frozen=True, kw_only=True)
class DoctorRequest(RefitRequest):
    """A run, or a sweep, to examine.

    Attributes
    ----------
    run : str
        The id of a run or its first 8 characters, latest, best, or the name of a registered model.
    sweep : str
        Instead of a run: a sweep, or latest, which is examined as a reviewer would.
    checks : tuple of str
        Further checks: dotted names of user-defined classes in trusted packages.
    doctor__ignore : str
        Findings to accept, with reasons: {BK14: space fixed by the course}. They are stored with the run.
    quick : bool
        Whether to fit nothing; checks that need a fit do not apply.
    seconds : float or None
        The CPU time of all fits; by default the time that the run took, and at least 30 s.
    alpha : float
        The probability that any test finds something where there is nothing.
    fail_on : str
        The least severity of a finding, unless it is accepted, for which the exit code is 1.
    to : str
        The format; by default that of the extension of output=.
    output : Path or None
        The file to which the report is written instead of standard output.
    keep : bool
        Whether to store the codes with the run.
    """

    run: Annotated[str, Word(place="RUN")] = ""
    sweep: str = ""
    checks: tuple[str, ...] = ()
    doctor__ignore: str = "{}"
    quick: bool = False
    seconds: Annotated[float | None, Word(allowed=Bounds(0))] = None
    alpha: Annotated[float, Word(allowed=LEVELS)] = 0.05
    fail_on: Annotated[str, Word(allowed=(NEVER, *SEVERITIES))] = NEVER
    to: Annotated[str | None, Word(allowed=(TERMINAL, "html"))] = None
    output: Path | None = None
    keep: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if bool(self.run) == bool(self.sweep):
            raise UserError("name one subject: RUN, such as latest, or sweep=NAME.")

    @property
    def form(self) -> str:
        """The format of what is written."""
        return DIAGNOSIS.find_format(self.output, self.to)

    def write_command(self) -> str:
        """Return the command that repeats the diagnosis."""
        return shlex.join(["bakeoff", "doctor", self.run or f"sweep={self.sweep}", *self.list_store_words()])
