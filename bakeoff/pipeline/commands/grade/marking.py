"""Marks for the boxes of a sheet: right, right with the student's own numbers, a known slip, or wrong."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bakeoff.pipeline.commands.grade.answers import HandIn, Value, agree, is_formula, read_like
from bakeoff.pipeline.commands.grade.formulas import Formula, find_formula, read_formulas
from bakeoff.pipeline.commands.grade.paper import Cell, Paper, list_cells
from bakeoff.pipeline.commands.work.calculation import HandCalculation

RIGHT = "right"
FOLLOWS = "follows"
SLIP = "slip"
WRONG = "wrong"
EMPTY = "empty"
UNREAD = "cannot be read"
NOT_CALCULATED = "a formula of a spreadsheet; write its result"


@dataclass(frozen=True)
class Mark:
    """The mark of a box.

    Attributes
    ----------
    cell : Cell
    answer : str
        What the student wrote.
    verdict : {"right", "follows", "slip", "wrong", "empty", "cannot be read"}
    slip : Formula or None
    points, most : float
    """

    cell: Cell
    answer: str
    verdict: str
    slip: Formula | None = None
    points: float = 0.0
    most: float = 1.0

    @property
    def step(self) -> int:
        """The number of the step on the sheet."""
        return self.cell.step + 1

    @property
    def remark(self) -> str:
        """What is to be said about the answer."""
        if self.slip is not None:
            return f"{self.slip.name}: {self.slip.sentence}"
        return NOT_CALCULATED if is_formula(self.answer) else ""


def mark_sheet(key: HandCalculation, hand_in: HandIn, digits: int) -> list[Mark]:
    """Return the mark of each box of a sheet, without points.

    Parameters
    ----------
    key : HandCalculation
        The calculation with all results, whose boxes have names.
    hand_in : HandIn
    digits : int
        Decimals that the sheet asks for.
    """
    blank = Paper(key, list_cells(key), tolerance=10.0**-digits)
    boxes = [cell for cell in blank.cells if cell.box]
    names = (*key.table.columns, *key.table.to_numpy(object).ravel())
    known = {str(name).casefold(): str(name) for name in names}
    read = {cell.box: read_like(cell.key, hand_in.answers.get(cell.box, ""), known) for cell in boxes}
    judge = Judge(replace(blank, own={box: value for box, value in read.items() if value is not None}), digits)
    return [judge.mark(cell, hand_in.answers.get(cell.box, "")) for cell in boxes]


@dataclass(frozen=True)
class Judge:
    """Final: marks the boxes of one student.

    Attributes
    ----------
    paper : Paper
    digits : int
        Decimals that the sheet asks for.
    """

    paper: Paper
    digits: int

    def mark(self, cell: Cell, answer: str) -> Mark:
        """Return the mark of a box."""
        found = self.paper.own.get(cell.box)
        if found is None:
            return Mark(cell, answer, UNREAD if answer else EMPTY)
        at = replace(self.paper, own={}).at(cell)
        formula = find_formula(at)
        results = (cell.key, *(formula.compute(at) if formula else ()))
        if any(agree(result, found, self._measure_unit(result, found), self.digits) for result in results):
            return Mark(cell, answer, RIGHT)
        if formula and self._follows(found, formula, cell):
            return Mark(cell, answer, FOLLOWS)
        slips = (slip for slip in read_formulas().slips if slip.applies(at) and self._follows(found, slip, cell))
        slip = next(slips, None)
        return Mark(cell, answer, SLIP if slip else WRONG, slip)

    def _measure_unit(self, value: Value, found: Value) -> float:
        """Return a unit of the last digit; small numbers have as many digits, or are written as 0."""
        unit = 10.0**-self.digits
        is_small = isinstance(value, float) and 0 < abs(value) < unit and found != 0
        return unit * abs(value) * 10 if isinstance(value, float) and is_small else unit

    def _follows(self, found: Any, formula: Formula, cell: Cell) -> bool:
        """Whether an answer is what a formula makes of the student's results, as exact as these are rounded."""
        results: tuple[Any, ...] = formula.compute(self.paper.at(cell))
        for result in results:
            unit = self._measure_unit(result, found)
            if agree(result, found, unit, self.digits):
                return True
            if isinstance(result, float | tuple) and np.shape(result) == np.shape(found) and not isinstance(found, str):
                spread = unit + sum(self._list_changes(result, formula, cell))
                if (np.abs(np.subtract(found, result)) <= spread).all():
                    return True
        return False

    def _list_changes(self, result: Any, formula: Formula, cell: Cell) -> Iterator[np.ndarray]:
        """Yield by how much the rounding of each of the student's numbers can change a result."""
        own = self.paper.own
        for box, value in own.items():
            if isinstance(value, float) and not value.is_integer():
                moved = replace(self.paper, own={**own, box: value + 0.5 * 10.0**-self.digits})
                others: tuple[Any, ...] = formula.compute(moved.at(cell))
                yield from (np.abs(np.subtract(other, result)) for other in others)
