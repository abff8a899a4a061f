"""The paper of a student: the places of results on a sheet, with what the student or the key has there."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from bakeoff.learners.definitions.splits import Question, answers
from bakeoff.learners.definitions.steps import Step
from bakeoff.pipeline.commands.grade.answers import read_key
from bakeoff.pipeline.commands.work.calculation import HandCalculation
from bakeoff.pipeline.commands.work.exercise import CHOICE, list_places

RESULT = "result"
PARTS = re.compile(r"^parts .*")
BOX_NAME = re.compile(r" \[(b\d+)\]$")
"""The name of a box, which stands behind its result in the key."""
CONDITION = re.compile(r"(.+) (=|<|≥) (.+)")


@dataclass(frozen=True)
class Cell:
    """A place of a result.

    Attributes
    ----------
    step : int
        The position of its step.
    column, row : str
        The heading or the symbol, and the first cell of the row; the row of a symbol is empty.
    key : float, tuple, frozenset or str
    box : str
        The name of the box; empty for what stands on the sheet.
    """

    step: int
    column: str
    row: str
    key: Any
    box: str = ""


def list_cells(key: HandCalculation) -> list[Cell]:
    """Return the places of results of a key whose boxes have names, in their order."""
    cells = []
    for position, step in enumerate(key.steps):
        for column, row, text in list_places(step):
            box = BOX_NAME.search(text)
            result, label = BOX_NAME.sub("", text), BOX_NAME.sub("", row)
            # The rows of a step may be symbols, as its equations are.
            heading, label = (label, "") if column == RESULT else (PARTS.sub("parts", column), label)
            if result:
                cells.append(Cell(position, heading, label, read_key(result, heading), box[1] if box else ""))
    return cells


@dataclass(frozen=True)
class Paper:
    """A sheet with the answers of a student, from which formulas recompute results.

    Attributes
    ----------
    calculation : HandCalculation
        The key.
    cells : sequence of Cell
    own : mapping of str to object
        The name of a box -> the answer of the student; other places have the value of the key.
    tolerance : float
        The largest difference between two alternatives that tie.
    """

    calculation: HandCalculation
    cells: Sequence[Cell]
    own: Mapping[str, Any] = field(default_factory=dict)
    tolerance: float = 1e-9

    def read(self, cell: Cell) -> Any:
        """Return the student's result in a place, or that of the key."""
        return self.own.get(cell.box, cell.key)

    def at(self, cell: Cell) -> "Place":
        """Return a place of this paper."""
        return Place(self, cell)


@dataclass(frozen=True)
class Place:
    """A place of a paper, from which a formula sees the results of its step and of earlier steps."""

    paper: Paper
    cell: Cell

    @property
    def step(self) -> Step:
        """The step in the key."""
        return self.paper.calculation.steps[self.cell.step]

    @property
    def problem(self) -> Any:
        """The rows as the learner receives them; None for a single step."""
        return self.paper.calculation.problem

    @property
    def learner(self) -> Any:
        """The fitted learner, for its parameters."""
        return self.paper.calculation.learner

    @property
    def columns(self) -> list[str]:
        """The columns and symbols of the step."""
        return list(dict.fromkeys(cell.column for cell in self.paper.cells if cell.step == self.cell.step))

    def find_column(self, name: str, step: int | None = None) -> dict[str, Any]:
        """Return row -> result in a column of this step or of another one."""
        position = self.cell.step if step is None else step
        cells = [cell for cell in self.paper.cells if (cell.step, cell.column) == (position, name)]
        # The symbol of a column stands beside its rows.
        return {cell.row: self.paper.read(cell) for cell in cells if cell.row or len(cells) == 1}

    def find_latest(self, name: str, beside: str = "", skipped: int = 0) -> dict[str, Any]:
        """Return row -> result in a column of the latest step that has it, and the other column beside it."""
        for step in range(self.cell.step - skipped, -1, -1):
            found = self.find_column(name, step)
            if found and (not beside or any((cell.step, cell.column) == (step, beside) for cell in self.paper.cells)):
                return found
        return {}

    def find_earlier(self, name: str, beside: str = "") -> dict[str, Any]:
        """Return row -> result in a column of the latest step before this one."""
        return self.find_latest(name, beside, skipped=1)

    def pick(self, found: Mapping[str, Any]) -> Any:
        """Return the result in the same row, or of a symbol; a list as an array."""
        result = found[self.cell.row] if self.cell.row in found else found[""]
        return np.array(result) if isinstance(result, tuple) else result

    def find_same(self) -> list[Any]:
        """Return the results in earlier places of the same column in which the key has the same value."""
        same = [cell for cell in self.paper.cells if (cell.column, cell.key) == (self.cell.column, self.cell.key)]
        return [self.paper.read(cell) for cell in same if cell.step < self.cell.step]

    @property
    def query(self) -> np.ndarray:
        """The query (d,) whose prediction this step belongs to."""
        steps = self.paper.calculation.steps[: self.cell.step]
        row: np.ndarray = self.problem.queries[sum(step.answer is not None for step in steps)]
        return row

    @property
    def conditions(self) -> list[str]:
        """The branches that lead to the step, such as wind = weak."""
        return [part for part in self.step.place.split(", ") if CONDITION.fullmatch(part)]

    def read_question(self, text: str) -> Question:
        """Return the feature and the threshold of a split such as wind, or x1 < 2.5."""
        name, _, threshold = text.partition(" < ")
        return self.problem.features.index(name), float(threshold) if threshold else None

    def node_rows(self) -> np.ndarray:
        """Return the positions of the rows of the node in this step, which follow from the student's choices above it.

        Under another choice than that of the key, a node is the branch in the same place of the order.
        """
        if not self.conditions:
            return np.arange(len(self.problem.y))
        *above, last = self.conditions
        parent = self.find_node(above)
        solved = replace(parent, paper=replace(self.paper, own={}))
        return [*parent.split_rows().values()][[*solved.split_rows()].index(last)]

    def split_rows(self) -> dict[str, np.ndarray]:
        """Return the branches of the node in this step, by its choice, and the positions of their rows."""
        feature, threshold = self.read_question(str(self.paper.read(self.cell)))
        rows = self.node_rows()
        parts = answers(self.problem.X[rows, feature], threshold)
        return {f"{self.problem.features[feature]} {answer}": rows[part] for answer, part in parts.items()}

    def list_branches(self) -> list[str]:
        """Return the branches that the student has taken with the query before this step."""
        query = self.step.place.split(", ")[0]
        places = [self.paper.at(cell) for cell in self.paper.cells if cell.column == CHOICE]
        taken = [place for place in places if place.step.place.split(", ")[0] == query]
        return [str(self.paper.read(place.cell)) for place in taken if place.cell.step < self.cell.step]

    def find_region(self) -> np.ndarray:
        """Return the positions of the rows in the leaf that the student has reached with the query."""
        *above, last = self.list_branches()
        return self.find_node(above).split_rows()[last]

    def find_node(self, conditions: Sequence[str]) -> "Place":
        """Return the place of the choice of the node that these branches lead to.

        Raises
        ------
        StopIteration
            There is no such node in the key.
        """
        places = [self.paper.at(cell) for cell in self.paper.cells if cell.column == CHOICE]
        nodes = [place for place in places if "next node" in place.step.sentence]
        return next(place for place in nodes if place.conditions == list(conditions))
