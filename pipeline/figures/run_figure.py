"""The base classes of all figures."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

import pandas as pd
from matplotlib.figure import Figure

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.experiment import Experiment, FittedModel, FoldResult
from bakeoff.pipeline.figures.finished_run import FinishedRun, Parameters
from bakeoff.pipeline.figures.panels import in_style
from bakeoff.pipeline.stages.splitting import Splits
from bakeoff.pipeline.tables.table_formats import write_csv

DOTS_PER_INCH = 110


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
            dataset = experiment.dataset
            raise self.refuse(f"is for {self.task}, but dataset={dataset.name} is {dataset.task}")

    def refuse(self, reason: str, cure: str = "choose another dataset, or remove the figure") -> UserError:
        """Return the error for an experiment that the figure cannot show."""
        return UserError(f"figures: {type(self).__name__} {reason}; {cure}.")

    @abstractmethod
    def draw(self, run: FinishedRun) -> Figure:
        """Draw the figure."""

    def save(self, folder: Path, experiment: Experiment, folds: Sequence[FoldResult], model: FittedModel) -> None:
        """Draw the figure into a PNG file of the folder."""
        with in_style():
            self._write(self.draw(FinishedRun(experiment, folds, model)), folder)

    def _write(self, figure: Figure, folder: Path) -> None:
        """Write a figure as PNG; without Matplotlib's version in the file, equal runs produce equal bytes."""
        figure.savefig(folder / self.file, dpi=DOTS_PER_INCH, metadata={"Software": None})

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
        run = FinishedRun(experiment, folds, model)
        table = self.measure(run)
        write_csv(table, (folder / self.file).with_suffix(".csv"))
        with in_style():
            self._write(self.draw_table(run, table), folder)
