"""The measurements of one learner on one task: a row of the CSV file, and a line printed while the benchmark runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import pandas as pd

from benchmarks.measuring import Side, Task

NOTHING = Side(float("nan"), float("nan"), float("nan"), float("nan"), float("nan"))

LEAST_MEGABYTES = 1.0
"""A smaller peak counts as none, because a process reuses the memory that it has already allocated."""


@dataclass(frozen=True)
class Cell:
    """The measurements of one learner on one task.

    Times are CPU seconds, ratios are ours / scikit-learn's, and memory is the peak in MB in addition to the data. In
    regression, c is 0.
    A note gives the reason if there are no numbers.
    """

    learner: str
    task: str
    family: str
    n: int
    d: int
    c: int
    fit: float
    sklearn_fit: float
    fit_ratio: float
    predict: float
    sklearn_predict: float
    predict_ratio: float
    quality: float
    sklearn_quality: float
    objective: float
    sklearn_objective: float
    megabytes: float
    sklearn_megabytes: float
    note: str = ""

    @classmethod
    def of(cls, learner: str, task: Task, measured: tuple[Side, Side] | str) -> Cell:
        """Make a cell from the two sides, or from a string that gives the reason why there are none."""
        ours, theirs = (NOTHING, NOTHING) if isinstance(measured, str) else measured
        n, d = task.X.shape
        return cls(
            learner, task.name, task.family, n, d, task.c,
            ours.fit, theirs.fit, ours.fit / theirs.fit,
            ours.predict, theirs.predict, ours.predict / theirs.predict,
            ours.quality, theirs.quality, ours.objective, theirs.objective, ours.megabytes, theirs.megabytes,
            measured if isinstance(measured, str) else "",
        )  # fmt: skip

    @property
    def memory_ratio(self) -> float:
        """Our peak memory divided by scikit-learn's."""
        return max(self.megabytes, LEAST_MEGABYTES) / max(self.sklearn_megabytes, LEAST_MEGABYTES)


HEADING = ("learner", "task", "fit ms", "ratio", "predict ms", "ratio", "quality", "sklearn", "objective", "sklearn",
           "MB", "sklearn")  # fmt: skip
WIDTHS = (24, 22, 10, 6, 10, 6, 8, 8, 10, 10, 7, 7)


def as_text(cell: Cell | None = None) -> str:
    """Return a cell as an aligned line, or the heading if there is no cell."""
    row = HEADING if cell is None else _texts(cell)
    return " ".join(
        text.ljust(w) if i < 2 else text.rjust(w) for i, (text, w) in enumerate(zip(row, WIDTHS, strict=False))
    )


def _texts(cell: Cell) -> tuple[str, ...]:
    if cell.note:
        return (cell.learner, cell.task, cell.note)
    objectives = ["" if value != value else f"{value:.5g}" for value in (cell.objective, cell.sklearn_objective)]
    return (
        cell.learner, cell.task,
        f"{cell.fit * 1e3:.2f}", f"{cell.fit_ratio:.2f}", f"{cell.predict * 1e3:.2f}", f"{cell.predict_ratio:.2f}",
        f"{cell.quality:.4f}", f"{cell.sklearn_quality:.4f}", *objectives,
        f"{cell.megabytes:.1f}", f"{cell.sklearn_megabytes:.1f}",
    )  # fmt: skip


def write_csv(cells: Sequence[Cell], file: Path) -> None:
    """Write all numbers with five digits."""
    columns = [field.name for field in fields(Cell)]
    pd.DataFrame([asdict(cell) for cell in cells], columns=columns).to_csv(file, index=False, float_format="%.5g")


def read_csv(file: Path) -> list[Cell]:
    """Read the cells that `write_csv` wrote; an empty list if there is no file."""
    if not file.is_file():
        return []
    table = pd.read_csv(file, dtype={"note": str}).fillna({"note": ""})
    rows: list[dict[Any, Any]] = table.to_dict("records")
    return [Cell(**row) for row in rows]


def merged(earlier: Sequence[Cell], fresh: Sequence[Cell], order: Sequence[str]) -> list[Cell]:
    """Replace earlier cells by fresh ones of the same learner and task, and sort the learners in the given order."""
    latest = {(cell.learner, cell.task): cell for cell in (*earlier, *fresh)}
    return sorted(latest.values(), key=lambda cell: order.index(cell.learner))
