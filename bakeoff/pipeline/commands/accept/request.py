"""The request to keep a run as the champion of a line."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated

from bakeoff.pipeline.commands.compare.request import LEVELS, MAX_LOOKS, MAX_REPEATS
from bakeoff.pipeline.config.requests import Bounds, RefitRequest, Word
from bakeoff.pipeline.errors import UserError

FINAL = "final"
"""The word in place of a run that ends a line on its reserved rows."""
MAX_TRIES = 100_000
LINE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,79}")


@dataclass(frozen=True, kw_only=True)
class AcceptRequest(RefitRequest):
    """A run that may replace the champion of a line, or a question about the line.

    Attributes
    ----------
    run : str
        The run to judge, as its id or its first 8 characters, latest, best, or the name of a registered model; or
        final, to score the champion and the first base once on the reserved rows. Without it, the line is listed.
    line : str
        The name of the line.
    base : str
        The run, or the registered model, that is the first champion; it opens the line.
    tries : int or None
        The number of configurations that the line may try; it is fixed when the line is opened.
    alpha : float or None
        The largest probability of any false keep in the whole line; 0.05 if it is not given when the line is opened.
    margin : float or None
        The smallest gain that is worth a keep, in units of the score; 0 if it is not given when the line is opened.
    metric : str
        The score that decides; by default the headline metric of the base.
    register : str
        Registers the model of a run that is kept, and moves the alias to it: NAME@ALIAS.
    until : str
        sure, to repeat the folds of the run and the champion, which both run again, while the answer is open.
    repeats : int
        The largest number of repeats of the folds with until=sure, those of the line included.
    """

    run: Annotated[str, Word(place="RUN")] = ""
    line: str
    base: str = ""
    tries: Annotated[int | None, Word(allowed=Bounds(1, MAX_TRIES))] = None
    alpha: Annotated[float | None, Word(allowed=LEVELS)] = None
    margin: Annotated[float | None, Word(allowed=Bounds(0))] = None
    metric: str = ""
    register: Annotated[str, Word(key="as")] = ""
    until: Annotated[str, Word(allowed=("end", "sure"))] = "end"
    repeats: Annotated[int, Word(allowed=Bounds(2, MAX_LOOKS))] = MAX_REPEATS

    @property
    def is_until_sure(self) -> bool:
        """Whether the folds are repeated while the answer is open."""
        return self.until == "sure"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not LINE_NAME.fullmatch(self.line):
            raise UserError(
                f"line={self.line!r} cannot be the name of a line: write at most 80 letters, digits and the signs "
                "_ . and -, beginning with a letter or a digit, such as line=churn."
            )
        if self.register and self.run in ("", FINAL):
            raise UserError(
                f"as={self.register} registers the model of a run that is kept; give RUN, or leave out as=."
            )
