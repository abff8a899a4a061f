"""Measurements as text, CSV, Markdown and a plot."""

from __future__ import annotations

import csv
import os
import platform
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path

import numpy as np

from benchmarks.measuring import Side, Task

DOCS = Path(__file__).resolve().parents[1] / "docs" / "benchmarks.md"

CHECKS = 0.2e-3
"""Seconds below which the checks of input are most of the time."""

NOTHING = Side(float("nan"), float("nan"), float("nan"), None, float("nan"))


@dataclass(frozen=True)
class Cell:
    """One learner on one task: a row of the CSV file.

    Times are CPU seconds, ratios ours / scikit-learn's, memory the peak in MB beyond the data.
    """

    learner: str
    task: str
    n: int
    d: int
    fit: float
    sklearn_fit: float
    fit_ratio: float
    predict: float
    sklearn_predict: float
    predict_ratio: float
    quality: float
    sklearn_quality: float
    objective: float | None
    sklearn_objective: float | None
    megabytes: float
    sklearn_megabytes: float
    note: str

    @classmethod
    def of(cls, learner: str, task: Task, measured: tuple[Side, Side] | str) -> Cell:
        """Put two sides together; a string says why there are none."""
        ours, theirs = (NOTHING, NOTHING) if isinstance(measured, str) else measured
        n, d = task.X.shape
        return cls(
            learner, task.name, n, d,
            ours.fit, theirs.fit, ours.fit / theirs.fit,
            ours.predict, theirs.predict, ours.predict / theirs.predict,
            ours.quality, theirs.quality, ours.objective, theirs.objective, ours.megabytes, theirs.megabytes,
            measured if isinstance(measured, str) else "",
        )  # fmt: skip


HEADING = ("learner", "task", "fit ms", "ratio", "predict ms", "ratio", "quality", "sklearn", "objective", "sklearn",
           "MB", "sklearn")  # fmt: skip
WIDTHS = (24, 22, 10, 6, 10, 6, 8, 8, 10, 10, 7, 7)


def as_text(cells: Sequence[Cell], heading: bool = False) -> str:
    """Return aligned lines."""
    rows = [HEADING] * heading + [_texts(cell) for cell in cells]
    return "\n".join(
        " ".join(text.ljust(w) if i < 2 else text.rjust(w) for i, (text, w) in enumerate(zip(row, WIDTHS, strict=True)))
        for row in rows
    )


def _texts(cell: Cell) -> tuple[str, ...]:
    if cell.note:
        return (cell.learner, cell.task, cell.note, *[""] * 9)
    objectives = ["" if value is None else f"{value:.5g}" for value in (cell.objective, cell.sklearn_objective)]
    return (
        cell.learner, cell.task,
        f"{cell.fit * 1e3:.2f}", f"{cell.fit_ratio:.2f}", f"{cell.predict * 1e3:.2f}", f"{cell.predict_ratio:.2f}",
        f"{cell.quality:.4f}", f"{cell.sklearn_quality:.4f}", *objectives,
        f"{cell.megabytes:.1f}", f"{cell.sklearn_megabytes:.1f}",
    )  # fmt: skip


def summary(cells: Sequence[Cell]) -> str:
    """Say the geometric mean of the ratios, and which are above 1 though the time is more than that of the checks."""
    timed = [
        (ratio, seconds, f"{what} of {cell.learner} on {cell.task}")
        for cell in cells
        if not cell.note
        for what, ratio, seconds in (("fit", cell.fit_ratio, cell.fit), ("predict", cell.predict_ratio, cell.predict))
    ]
    if not timed:
        return "Nothing was measured."
    mean = np.exp(np.mean([np.log(ratio) for ratio, *_ in timed]))
    slow = sorted((row for row in timed if row[0] > 1 and row[1] > CHECKS), reverse=True)
    lines = [
        f"Geometric mean of {len(timed)} ratios ours / scikit-learn: {mean:.2f}; above 1, where ours takes more than "
        f"{CHECKS * 1e3:g} ms: {len(slow)}."
    ]
    lines += [f"- {ratio:.2f} {where} ({seconds * 1e3:.2f} ms)" for ratio, seconds, where in slow]
    skipped = [cell for cell in cells if cell.note]
    lines += [f"- skipped: {cell.learner} on {cell.task} ({cell.note})" for cell in skipped]
    return "\n".join(lines)


def write_csv(cells: Sequence[Cell], file: Path) -> None:
    """Write every number."""
    with file.open("w", newline="") as handle:
        writer = csv.DictWriter(handle, [field.name for field in fields(Cell)])
        writer.writeheader()
        writer.writerows(asdict(cell) for cell in cells)


def plot(cells: Sequence[Cell], file: Path) -> None:
    """Draw time against n for each learner on made data: how cost grows."""
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    curves: dict[str, list[Cell]] = {}
    for cell in cells:
        if cell.task.startswith("made") and not cell.note:
            curves.setdefault(cell.learner, []).append(cell)
    if not curves:
        return
    height = -(-len(curves) // 4)
    figure, panels = plt.subplots(height, 4, figsize=(13, 3 * height), sharex=True, squeeze=False, layout="constrained")
    for axes, (name, found) in zip(panels.flat, curves.items(), strict=False):
        sizes = sorted({cell.n for cell in found})
        for key, label, style in (
            ("fit", "fit", "C0-o"), ("sklearn_fit", "fit, scikit-learn", "C0:s"),
            ("predict", "predict", "C1-o"), ("sklearn_predict", "predict, scikit-learn", "C1:s"),
        ):  # fmt: skip
            # One shape of data, so that n alone changes along a line.
            times = [np.median([getattr(cell, key) for cell in found if cell.n == n]) for n in sizes]
            axes.loglog(sizes, times, style, label=label, markersize=4)
        axes.set_title(name, fontsize=10)
    panels[0, 0].legend(fontsize=7)
    for axes in list(panels.flat)[len(curves) :]:
        axes.set_axis_off()
    figure.supxlabel("n, rows")
    figure.supylabel("CPU seconds, median over the shapes of made data")
    figure.savefig(file, dpi=110)


def write_docs(cells: Sequence[Cell], part: str, command: str) -> None:
    """Replace the generated part of docs/benchmarks.md: machine, command, summary, table; the plot beside it."""
    lines = ["| " + " | ".join(HEADING) + " |", "| --- | --- |" + " ---: |" * (len(HEADING) - 2)]
    lines += ["| " + " | ".join(_texts(cell)) + " |" for cell in cells]
    plot(cells, DOCS.with_suffix(".png"))
    replace_part(
        part, "\n".join([machine(command), "", summary(cells), "", "![time against n](benchmarks.png)", "", *lines])
    )


def replace_part(part: str, text: str) -> None:
    """Put text between the markers of a part of docs/benchmarks.md."""
    begin, end = f"<!-- {part}: generated -->", f"<!-- {part}: end -->"
    page = DOCS.read_text()
    before, after = page.split(begin)[0], page.split(end)[1]
    DOCS.write_text(f"{before}{begin}\n{text}\n{end}{after}")


def machine(command: str) -> str:
    """Say what ran where."""
    import sklearn

    cpu = platform.processor() or platform.machine()
    for line in Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").is_file() else []:
        if line.startswith("model name"):
            cpu = line.split(":", 1)[1].strip()
            break
    return (
        f"`{command.strip()}`\n\n{cpu}, {os.cpu_count()} cores, one BLAS thread; Python {platform.python_version()}, "
        f"NumPy {np.__version__}, scikit-learn {sklearn.__version__}."
    )
