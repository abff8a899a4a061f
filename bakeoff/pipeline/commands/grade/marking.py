"""Marks for the boxes of a sheet: right, right with the student's own numbers, a known slip, or wrong."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from bakeoff.pipeline.commands.grade.answers import HandIn, Value, agree, is_formula, read_like
from bakeoff.pipeline.commands.grade.formulas import Formula, find_formula, read_formulas
from bakeoff.pipeline.commands.grade.paper import Cell, Paper, list_cells
from bakeoff.pipeline.commands.work.calculation import HandCalculation

RIGHT = "right"
FOLLOWS = "follows"
SLIP = "slip"
WRONG = "wrong"
EMPTY = "empty"
SLACK = 1.0
"""A result may differ by this share of a unit in its last digit, so that cut digits are right as well."""


@dataclass(frozen=True)
class Mark:
    """The mark of a box.

    Attributes
    ----------
    cell : Cell
    answer : str
        What the student wrote.
    verdict : {"right", "follows", "slip", "wrong", "empty"}
    points, most : float
    slip : Formula or None
    remark : str
        Why the answer could not be read; empty for others.
    """

    cell: Cell
    answer: str
    verdict: str
    points: float = 0.0
    most: float = 1.0
    slip: Formula | None = None
    remark: str = ""

    @property
    def step(self) -> int:
        """The number of the step on the sheet."""
        return self.cell.step + 1


@dataclass(frozen=True)
class Judge:
    """Final: marks the boxes of one student.

    Attributes
    ----------
    key, own : Paper
        The key, and the paper of the student.
    exact : Paper
        The paper of a student who calculates on with exact numbers: own results only where they are wrong.
    digits : int
        Decimals that the sheet asks for.
    """

    key: Paper
    own: Paper
    exact: Paper
    digits: int

    def judge(self, cell: Cell, answer: str) -> tuple[str, Formula | None]:
        """Return the verdict of an answer, and the slip."""
        found = self.own.own.get(cell.box)
        if found is None:
            return WRONG, None
        formula = find_formula(self.key.at(cell))
        results = formula.compute(self.key.at(cell)) if formula else ()
        if self._matches(found, (cell.key, *results), self._unit(cell.key)):
            return RIGHT, None
        if formula and self._follows(found, formula, cell):
            return FOLLOWS, None
        slips = (slip for slip in read_formulas().slips if slip.applies(self.key.at(cell)))
        slip = next((slip for slip in slips if self._follows(found, slip, cell)), None)
        return (SLIP if slip else WRONG), slip

    def _unit(self, value: Value) -> float:
        """Return the largest difference by rounding; of small numbers as many digits are asked for."""
        unit = 10.0**-self.digits
        is_small = isinstance(value, float) and 0 < abs(value) < unit
        return SLACK * (unit * abs(value) * 10 if is_small else unit)

    def _matches(self, found: Value, results: Sequence[Value], tolerance: float) -> bool:
        return any(agree(result, found, tolerance, self.digits) for result in results)

    def _follows(self, found: Value, formula: Formula, cell: Cell) -> bool:
        """Whether an answer is what a formula makes of the student's results, of exact ones, or of the key's."""
        for paper in (self.own, self.exact, self.key):
            results = formula.compute(paper.at(cell))
            if results and self._matches(found, results, self._unit(results[0])):
                return True
        results = formula.compute(self.own.at(cell))
        return isinstance(found, float) and bool(results) and self._is_within_rounding(found, formula, cell, results[0])

    def _is_within_rounding(self, found: float, formula: Formula, cell: Cell, result: Any) -> bool:
        """Whether the rounding of the student's results explains the difference to what follows from them."""
        spread = self._unit(result)
        if not isinstance(result, float):
            return False
        for box, value in self.own.own.items():
            if isinstance(value, float) and value != int(value):
                moved = replace(self.own, own={**self.own.own, box: value + 0.5 * 10.0**-self.digits})
                others = formula.compute(moved.at(cell))
                spread += abs(others[0] - result) if others else 0.0
        return abs(found - result) <= spread


def mark_sheet(key: HandCalculation, hand_in: HandIn, digits: int) -> list[Mark]:
    """Return the mark of each box of a sheet, with a point for each that is right or follows.

    Parameters
    ----------
    key : HandCalculation
        The calculation with all results, whose boxes have names.
    hand_in : HandIn
    digits : int
        Decimals that the sheet asks for.
    """
    cells = list_cells(key)
    boxes = [cell for cell in cells if cell.box]
    read = {cell.box: read_like(cell.key, hand_in.answers.get(cell.box, "")) for cell in boxes}
    own = {box: value for box, value in read.items() if value is not None}
    solved = Paper(key, cells)
    unit = 10.0**-digits
    wrong = {
        cell.box: own[cell.box]
        for cell in boxes
        if cell.box in own and not agree(cell.key, own[cell.box], unit, digits)
    }
    judge = Judge(solved, replace(solved, own=own, tolerance=unit), replace(solved, own=wrong, tolerance=unit), digits)
    return [_mark_box(judge, cell, hand_in.answers.get(cell.box, "")) for cell in boxes]


def _mark_box(judge: Judge, cell: Cell, answer: str) -> Mark:
    if not answer:
        return Mark(cell, answer, EMPTY)
    verdict, slip = judge.judge(cell, answer)
    remark = "a formula of a spreadsheet; write its result" if is_formula(answer) else ""
    return Mark(cell, answer, verdict, slip=slip, remark=remark)
