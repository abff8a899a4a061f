"""The points of boxes: a scheme of a teacher."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated

from bakeoff.pipeline.commands.grade.answers import read_text
from bakeoff.pipeline.commands.grade.marking import FOLLOWS, RIGHT, SLIP, Mark
from bakeoff.pipeline.config.options import load_yaml
from bakeoff.pipeline.config.requests import ANY_KEY, Bounds, Request, Word, read_request
from bakeoff.pipeline.errors import UserError

EXAMPLE = "{total: 20, slip: 0.5, steps: {3: 4}}"
POINTS = Bounds(0, 1000)
SHARE = Bounds(0, 1)


@dataclass(frozen=True, kw_only=True)
class Scheme(Request):
    """The points of a sheet.

    Attributes
    ----------
    total : float or None
        The points of a sheet; by default those of its steps.
    slip : float
        The share of its points that a box keeps for a known slip.
    follows : float
        The share of its points that a box keeps if it is right with the student's own numbers.
    steps : mapping of str to float
        The number of a step -> its points; by default as many as it has boxes.
    """

    total: Annotated[float | None, Word(allowed=POINTS)] = None
    slip: Annotated[float, Word(allowed=SHARE)] = 0.5
    follows: Annotated[float, Word(allowed=SHARE)] = 1.0
    steps: Annotated[Mapping[str, float], Word(kinds={ANY_KEY: float})] = field(default_factory=dict)

    def award(self, marks: Sequence[Mark]) -> list[Mark]:
        """Return marks with their points; the boxes of a step share its points."""
        sizes = Counter(mark.step for mark in marks)
        worth = {step: self.steps.get(str(step), size) for step, size in sizes.items()}
        unit = 1.0 if self.total is None else self.total / (sum(worth.values()) or 1)
        shares = {RIGHT: 1.0, FOLLOWS: self.follows, SLIP: self.slip}
        each = {step: unit * points / sizes[step] for step, points in worth.items()}
        return [
            replace(mark, most=each[mark.step], points=each[mark.step] * shares.get(mark.verdict, 0.0))
            for mark in marks
        ]


def read_scheme(path: Path | None, steps: Collection[int]) -> Scheme:
    """Read the scheme of sheets with boxes in these steps; no steps are known if no file could be marked.

    Raises
    ------
    UserError
        The file cannot be read, or has an unknown key or step, or points out of bounds.
    """
    if path is None:
        return Scheme()
    given = load_yaml(read_text(path), f"scheme={path}")
    points = given.get("steps") or {} if isinstance(given, dict) else None
    if not isinstance(points, dict):
        raise UserError(f"scheme={path} must contain keys, such as {EXAMPLE}.")
    words = {**given, **points}
    words.pop("steps", None)
    try:
        scheme = read_request("scheme", Scheme, [f"{key}={value}" for key, value in words.items()])
    except UserError as error:
        raise UserError(f"scheme={path}: {error}") from None
    for step, value in scheme.steps.items():
        if (steps and step not in map(str, steps)) or value not in POINTS:
            shown = ", ".join(map(str, steps))
            raise UserError(f"scheme={path}: step {step}: {value:g}; boxes are in steps {shown}, and points {POINTS}.")
    return scheme
