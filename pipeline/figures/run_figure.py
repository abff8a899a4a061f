"""The base class of all figures, and the checks that several of them share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import pandas as pd

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.experiment import Experiment, FittedModel, FoldResult
from bakeoff.pipeline.figures.drawing.panels import CLASS_COLOURS, DOTS_PER_INCH, RC_PARAMS
from bakeoff.pipeline.figures.finished_run import FinishedRun, Parameters
from bakeoff.pipeline.stages.splitting import Splits
from bakeoff.pipeline.tables.csv import write_csv

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, kw_only=True)
class RunFigure(ABC):
    """Abstract: one figure of a finished run.

    Parameters
    ----------
    file : str
        The artifact's name, ending in ``.png``.
    labels : mapping of str to str
        The text to write for a column, the target or a score: its meaning and unit.
    if_applicable : bool
        Whether to leave the figure out of a run that it cannot show, instead of refusing the run.
    """

    file: str
    labels: Mapping[str, str] = field(default_factory=dict)
    if_applicable: bool = False

    task: ClassVar[str | None] = None
    """The only task for which the figure can be drawn; None if it can be drawn for every task."""

    def check(self, experiment: Experiment, splits: Splits) -> None:
        """Check before a run that the figure can be drawn.

        Raises
        ------
        UserError
            The experiment is not of a kind that the figure can show.
        """
        if self.task not in (None, experiment.dataset.task):
            raise UserError(
                f"figures: {type(self).__name__} is for {self.task}, but dataset={experiment.dataset.name} is "
                f"{experiment.dataset.task}; choose another dataset, or remove the figure."
            )

    @abstractmethod
    def draw(self, run: FinishedRun) -> Figure:
        """Draw the figure."""

    def save(self, folder: Path, experiment: Experiment, folds: Sequence[FoldResult], model: FittedModel) -> None:
        """Draw the figure into a PNG file of the folder."""
        from matplotlib import rc_context

        run = FinishedRun(experiment, folds, model)
        with rc_context(RC_PARAMS):
            save_picture(self.draw(run), folder / self.file)

    def get_label(self, name: str) -> str:
        """Return the text to write for a column, the target or a score."""
        return self.labels.get(name, name.replace("_", " "))

    def describe_scores(self, run: FinishedRun, parameters: Parameters) -> str:
        """Return the headline score of a variant on training and test rows, as a note."""
        train, test = run.score_variant(parameters)
        return f"{self.get_label(run.experiment.headline)}: training {train:#.3g}, test {test:#.3g}"


@dataclass(frozen=True, kw_only=True)
class TabulatedFigure(RunFigure):
    """Abstract: a figure of a table, which is stored beside the picture under the same name, as CSV."""

    @property
    def table_file(self) -> str:
        """The name of the table's artifact."""
        return str(Path(self.file).with_suffix(".csv"))

    @abstractmethod
    def measure(self, run: FinishedRun) -> pd.DataFrame:
        """Return the numbers to draw."""

    @abstractmethod
    def draw_table(self, run: FinishedRun, table: pd.DataFrame) -> Figure:
        """Draw the numbers that `measure` has returned."""

    def draw(self, run: FinishedRun) -> Figure:
        """Measure and draw."""
        return self.draw_table(run, self.measure(run))

    def save(self, folder: Path, experiment: Experiment, folds: Sequence[FoldResult], model: FittedModel) -> None:
        """Write the table, and the picture of it."""
        from matplotlib import rc_context

        run = FinishedRun(experiment, folds, model)
        table = self.measure(run)
        write_csv(table, folder / self.table_file)
        with rc_context(RC_PARAMS):
            save_picture(self.draw_table(run, table), folder / self.file)


def save_picture(figure: Figure, file: Path) -> None:
    """Write a figure as PNG; without Matplotlib's version in the file, equal runs produce equal bytes."""
    figure.savefig(file, dpi=DOTS_PER_INCH, metadata={"Software": None})


def check_class_count(name: str, experiment: Experiment) -> None:
    """Raise UserError if there are more classes than colours; `name` is the figure's."""
    n_classes = len(experiment.dataset.classes)
    if n_classes > len(CLASS_COLOURS):
        raise UserError(
            f"figures: {name} has colours for {len(CLASS_COLOURS)} classes, and {experiment.dataset.name} has "
            f"{n_classes}; choose another dataset, or remove the figure."
        )


def check_tree(name: str, experiment: Experiment) -> None:
    """Raise UserError if the learner is not one of bakeoff's decision trees; `name` is the figure's."""
    # Trees of scikit-learn have no such method, and other attributes than the figure needs.
    if not hasattr(experiment.learner, "prune"):
        raise UserError(f"figures: {name} draws decision trees; add learner=decision_tree, or remove the figure.")
    if experiment.target.is_on:
        raise UserError(
            f"figures: {name} would show the values of a transformed target; set target=none, or remove the figure."
        )
