"""Sheets whose boxes have names, and the answers of students who write as students do."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from bakeoff.pipeline.commands.grade.paper import list_cells
from bakeoff.pipeline.commands.work.calculation import HandCalculation, round_number
from bakeoff.pipeline.commands.work.command import make_class_sheet
from bakeoff.pipeline.commands.work.request import WorkRequest

SHEETS: Mapping[str, Mapping[str, str]] = {
    "decision_tree": {"learner": "decision_tree", "learner.criterion": "entropy"},
    "gain_ratio": {"learner": "decision_tree", "learner.criterion": "gain_ratio"},
    "knn": {"learner": "knn", "learner.n_neighbors": "3", "learner.weights": "distance"},
    "naive_bayes": {"learner": "naive_bayes"},
    "perceptron": {"learner": "perceptron", "learner.shuffle": "false"},
    "logistic_regression": {"learner": "logistic_regression"},
    "svm": {"learner": "svm", "learner.kernel": "linear"},
}
"""The words of the sheets of some learners."""


def make_key(name: str, number: int = 2, blank: float = 1.0) -> HandCalculation:
    """Return the key of a sheet on a random table of six rows."""
    request = WorkRequest(
        words=SHEETS[name], table="random", rows="6", blank=blank, students=9, output=Path("none"), to="terminal"
    )
    return make_class_sheet(request, number)[1]


def solve(key: HandCalculation) -> dict[str, str]:
    """Return the right answer of each box as it is written on paper, read from the text of the key."""
    return {cell.box: write(cell.key) for cell in list_cells(key) if cell.box}


def write(value: object) -> str:
    """Return a result with four decimals."""
    if isinstance(value, float):
        return round_number(value, 4)
    if isinstance(value, tuple | frozenset):
        return ", ".join(map(write, value if isinstance(value, tuple) else sorted(value)))
    return str(value)


def find_box(key: HandCalculation, column: str, row: str = "", step: int | None = None) -> str:
    """Return the name of the first box with a column and a row."""
    return next(
        cell.box
        for cell in list_cells(key)
        if cell.box and (cell.column, cell.row) == (column, row) and step in (None, cell.step)
    )


def write_answers(file: Path, code: str, answers: Mapping[str, str], name: str = "") -> Path:
    """Write a file of answers."""
    lines = ["box,answer", f"sheet,{code}", *([f"name,{name}"] if name else [])]
    lines += [f"{box},{answer}" for box, answer in answers.items()]
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return file


def read_codes(folder: Path) -> list[str]:
    """Return the codes that stand on the sheets of a folder."""
    texts = (file.read_text(encoding="utf-8") for file in sorted(folder.glob("sheet-*")))
    return [found[1] for text in texts if (found := re.search(r"Sheet (s\d+-[0-9a-f]+)", text))]
