"""The points of boxes: a scheme of a teacher."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from bakeoff.pipeline.commands.grade.marking import FOLLOWS, RIGHT, SLIP, Mark
from bakeoff.pipeline.config.options import load_yaml
from bakeoff.pipeline.errors import UserError, did_you_mean

EXAMPLE = "{total: 20, slip: 0.5, follows: 1, steps: {3: 4}}"
MAX_POINTS = 1000


@dataclass(frozen=True)
class Scheme:
    """Points.

    Attributes
    ----------
    total : float or None
        The points of a sheet; by default those of its steps.
    slip, follows : float
        The share of its points that a box keeps for a known slip, and if it is right with the student's own numbers.
    steps : mapping of int to float
        The number of a step -> its points; by default as many as it has boxes.
    """

    total: float | None = None
    slip: float = 0.5
    follows: float = 1.0
    steps: Mapping[int, float] = field(default_factory=dict)

    def award(self, marks: Sequence[Mark]) -> list[Mark]:
        """Return marks with their points; the boxes of a step share its points."""
        sizes = Counter(mark.step for mark in marks)
        worth = {step: self.steps.get(step, size) for step, size in sizes.items()}
        unit = 1.0 if self.total is None else self.total / (sum(worth.values()) or 1)
        shares = {RIGHT: 1.0, FOLLOWS: self.follows, SLIP: self.slip}
        return [
            replace(mark, most=most, points=most * shares.get(mark.verdict, 0.0))
            for mark in marks
            for most in [unit * worth[mark.step] / sizes[mark.step]]
        ]


def read_scheme(path: Path | None, steps: Collection[int]) -> Scheme:
    """Read the scheme of a sheet with these numbers of steps.

    Raises
    ------
    UserError
        The file cannot be read, or has an unknown key or step, or a number that is no share or no points.
    """
    if path is None:
        return Scheme()
    try:
        given = load_yaml(path.read_text(encoding="utf-8"), f"scheme={path}")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"scheme={path} cannot be read: {error}") from None
    if not isinstance(given, dict):
        raise UserError(f"scheme={path} must contain keys, such as {EXAMPLE}.")
    known = Scheme.__dataclass_fields__
    for key in given:
        if key not in known:
            raise UserError(f"scheme={path}: {key} is not a key. {did_you_mean(str(key), known)}")
    points = given.get("steps") or {}
    unknown = [step for step in points if step not in steps] if isinstance(points, dict) else [points]
    if unknown:
        raise UserError(f"scheme={path}: steps has {unknown[0]!r}; boxes are in steps {', '.join(map(str, steps))}.")
    bounds = {"slip": 1, "follows": 1, **dict.fromkeys(("total", *points), MAX_POINTS)}
    for key, value in {**given, **points}.items():
        if key != "steps" and not (isinstance(value, int | float) and 0 <= value <= bounds[key]):
            raise UserError(f"scheme={path}: {key}: {value} must be a number from 0 to {bounds[key]}.")
    return Scheme(**given)
