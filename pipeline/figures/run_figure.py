"""The base class of all figures, and the checks that several of them share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.experiment import Experiment, FittedModel, FoldResult
from bakeoff.pipeline.figures.finished_run import FinishedRun, Parameters
from bakeoff.pipeline.figures.panels import CLASS_COLOURS, DOTS_PER_INCH, RC_PARAMS
from bakeoff.pipeline.stages.splitting import Splits

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
    """

    file: str
    labels: Mapping[str, str] = field(default_factory=dict)

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
            figure = self.draw(run)
            # Without Matplotlib's version in the file, equal runs produce equal bytes.
            figure.savefig(folder / self.file, dpi=DOTS_PER_INCH, metadata={"Software": None})

    def get_label(self, name: str) -> str:
        """Return the text to write for a column, the target or a score."""
        return self.labels.get(name, name.replace("_", " "))

    def describe_scores(self, run: FinishedRun, parameters: Parameters) -> str:
        """Return the headline score of a variant on training and test rows, as a note."""
        train, test = run.score_variant(parameters)
        return f"{self.get_label(run.experiment.headline)}: training {train:#.3g}, test {test:#.3g}"


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
