"""How each result follows from the results before it, and the slips that students make: the rows of formulas.yaml.

A later result is right if it follows from the student's own earlier ones. The formulas do not know the learner: steps
of different learners have the same columns.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from bakeoff.pipeline.commands.grade.answers import Value, agree
from bakeoff.pipeline.commands.grade.expressions import FAULTS, evaluate
from bakeoff.pipeline.commands.grade.paper import Place
from bakeoff.pipeline.commands.grade.quantities import FUNCTIONS, PLAIN_FUNCTIONS, QUANTITIES, AnyOf

FILE = Path(__file__).with_name("formulas.yaml")
RESULT = "result"
"""In a slip: what the formula of the box gives."""
ROUND_OFF = 1e-7
MAX_DIGITS = 12


@dataclass(frozen=True)
class Formula:
    """A way to compute a box.

    Attributes
    ----------
    column : str
        A pattern of the columns of the boxes, in which * stands for any text.
    formula : str
    beside : str
        A column that the step of the box has as well.
    name, sentence : str
        Of a slip: what it is called, and what is right instead.
    """

    column: str
    formula: str
    beside: str = ""
    name: str = ""
    sentence: str = ""

    def applies(self, at: Place) -> bool:
        """Whether this is a formula for a place."""
        return fnmatchcase(at.cell.column, self.column) and (not self.beside or self.beside in at.columns)

    def compute(self, at: Place) -> tuple[Value, ...]:
        """Return the results that are right; none if the results before have no meaning here, such as a word."""
        try:
            with np.errstate(all="ignore"):
                found = Names(at).evaluate(self.formula)
        except FAULTS:
            return ()
        if isinstance(found, np.ndarray):
            found = float(found.item()) if found.size == 1 else tuple(found.tolist())
        return (*found,) if isinstance(found, AnyOf) else (found,)


class Names:
    """Final: the quantities of a place by their names."""

    def __init__(self, at: Place) -> None:
        self._at = at
        self._functions: dict[str, Callable[..., Any]] = dict(PLAIN_FUNCTIONS)
        self._functions |= {name: partial(function, at) for name, function in FUNCTIONS.items()}

    def evaluate(self, formula: str) -> Any:
        """Return the value of a formula."""
        return evaluate(formula, self, self._functions)

    def __getitem__(self, name: str) -> Any:
        if name == RESULT:
            formula = find_formula(self._at)
            return formula.compute(self._at)[0] if formula else self._at.cell.key
        written = read_formulas().quantities
        return self.evaluate(written[name]) if name in written else QUANTITIES[name](self._at)


@dataclass(frozen=True)
class Formulas:
    """The rows of formulas.yaml."""

    quantities: Mapping[str, str]
    formulas: tuple[Formula, ...]
    slips: tuple[Formula, ...]


@cache
def read_formulas() -> Formulas:
    """Return the quantities, the formulas and the slips."""
    given = yaml.safe_load(FILE.read_text(encoding="utf-8"))
    rows = {kind: tuple(Formula(**row) for row in given[kind]) for kind in ("formulas", "slips")}
    return Formulas(quantities=given["quantities"], **rows)


def find_formula(at: Place) -> Formula | None:
    """Return the formula that gives the result of a box in the key; None if there is none, as for an iteration."""
    key = replace(at.paper, own={}).at(at.cell)
    for formula in read_formulas().formulas:
        if formula.applies(key) and any(
            agree(each, at.cell.key, ROUND_OFF, MAX_DIGITS) for each in formula.compute(key)
        ):
            return formula
    return None
