"""The paper: size, colours, headings, and the file at the end.  Matplotlib is imported when a figure is drawn.

Colours are Okabe and Ito's, which colour-blind people can tell apart; classes differ by the shape of their marks too.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.experiment import Experiment, FittedModel, FoldResult
from bakeoff.pipeline.figures.finished_run import FinishedRun, Parameters
from bakeoff.pipeline.stages.splitting import Splits

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#E69F00", "#56B4E9", "#CC79A7", "#F0E442", "#999999")
MARKS = ("o", "s", "^", "D", "v", "P", "<", ">")
INK, GREY = "#222222", "#6b6b6b"
DOTS_PER_INCH = 110
STYLE: Any = {
    "font.size": 9.5,
    "axes.titlesize": 11,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": GREY,
    "axes.labelcolor": INK,
    "xtick.color": GREY,
    "ytick.color": GREY,
    "legend.frameon": False,
}


@dataclass(frozen=True, kw_only=True)
class Picture(ABC):
    """Abstract: one figure of a finished run.

    Parameters
    ----------
    file : str
        The artifact's name, ending in ``.png``.
    labels : mapping of str to str
        What to write for a column or the target: its meaning and unit.
    """

    file: str
    labels: Mapping[str, str] = field(default_factory=dict)

    task: ClassVar[str | None] = None
    """The only task of which it can be drawn, if there is one."""

    def check(self, experiment: Experiment, splits: Splits) -> None:
        """Refuse an experiment of which it cannot be drawn."""
        if self.task not in (None, experiment.dataset.task):
            raise UserError(
                f"figures: {type(self).__name__} is about {self.task}, but dataset={experiment.dataset.name} is "
                f"{experiment.dataset.task}; choose another dataset, or take the figure out."
            )

    @abstractmethod
    def draw(self, run: FinishedRun) -> Figure:
        """Draw it."""

    def save(self, folder: Path, experiment: Experiment, folds: Sequence[FoldResult], model: FittedModel) -> None:
        """Draw it into a PNG file of the folder."""
        from matplotlib import rc_context

        with rc_context(STYLE):
            figure = self.draw(FinishedRun(experiment, folds, model))
            figure.savefig(folder / self.file, dpi=DOTS_PER_INCH, metadata={"Software": None})

    def label(self, name: str) -> str:
        """Return what to write for a column."""
        return self.labels.get(name, name.replace("_", " "))

    def scored(self, run: FinishedRun, parameters: Parameters) -> str:
        """Say the headline score of a variant."""
        train, test = run.scores(parameters)
        return f"{self.label(run.experiment.headline)}: training {train:#.3g}, test {test:#.3g}"


def check_colours(name: str, experiment: Experiment) -> None:
    """Refuse more classes than there are colours."""
    classes = len(experiment.dataset.classes)
    if classes > len(COLOURS):
        raise UserError(
            f"figures: {name} has colours for {len(COLOURS)} classes, and {experiment.dataset.name} has {classes}; "
            "choose another dataset, or take the figure out."
        )


def sheet(columns: int, rows: int = 1, *, width: float = 9.0, height: float = 3.6, **shared: Any) -> tuple[Figure, Any]:
    """Return a figure of width × height inches, and its axes in an array of shape (rows, columns)."""
    from matplotlib.figure import Figure as Paper
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    figure = Paper(figsize=(width, height), layout=ConstrainedLayoutEngine(w_pad=0.1, h_pad=0.08))
    return figure, figure.subplots(rows, columns, squeeze=False, **shared)


def head(axes: Axes, title: str, note: str = "") -> None:
    """Write a title above the axes, and smaller lines under it; the lines claim no width of their own."""
    lines = note.count("\n") + 1 if note else 0
    axes.set_title(title, loc="left", fontweight="bold", color=INK, pad=8 + 12 * lines)
    written = axes.annotate(
        note, (0, 1), xytext=(0, 5), xycoords="axes fraction", textcoords="offset points", color=GREY, fontsize=8.5
    )
    written.set_in_layout(False)


def inches(words: str, points: float) -> float:
    """Return how wide the widest line of some words is, in letters of a size in points."""
    from matplotlib.textpath import TextPath

    return max(float(TextPath((0, 0), line, size=points).get_extents().width) for line in words.split("\n")) / 72


def key(figure: Figure, title: str, marks: Mapping[str, Any]) -> None:
    """Explain the marks below the panels, in as many lines as they need."""
    from matplotlib.lines import Line2D

    blank = Line2D([], [], linestyle="")
    entries: list[tuple[str, Any]] = [(f"{title}:", blank), *marks.items()]
    width = [inches(name, STYLE["font.size"]) + 0.48 for name, _ in entries]
    fitting = [columns for columns in range(len(entries), 1, -1)
               if sum(max(width[j::columns]) for j in range(columns)) < figure.get_figwidth() - 0.3]  # fmt: skip
    columns = max(fitting, default=1)
    entries += [("", blank)] * (-len(entries) % columns)
    down = np.arange(len(entries)).reshape(-1, columns).T.ravel()  # a legend is filled column by column
    names, handles = zip(*(entries[place] for place in down), strict=True)
    figure.legend(handles, names, loc="outside lower left", ncols=columns, columnspacing=1.4, handletextpad=0.3)


def scatter(axes: Axes, x: np.ndarray, y: np.ndarray, labels: np.ndarray, classes: np.ndarray, size: float) -> None:
    """Mark rows by class: each class has a colour and a shape."""
    for code, label in enumerate(classes):
        here = labels == label
        axes.scatter(
            x[here], y[here], s=size, c=COLOURS[code], marker=MARKS[code],
            edgecolors="white", linewidths=0.6, label=str(label), zorder=3,
        )  # fmt: skip
