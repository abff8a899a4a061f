"""Pruning paths: the score on validation rows against the number of leaves, at each step of pruning."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, final

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.experiment import Experiment, FittedModel
from bakeoff.pipeline.figures.drawing.panels import CLASS_COLOURS, GRID_COLOUR, MUTED_COLOUR, add_title, make_panels
from bakeoff.pipeline.figures.finished_run import FinishedRun
from bakeoff.pipeline.figures.run_figure import RunFigure
from bakeoff.pipeline.stages.pruning import NoPruning
from bakeoff.pipeline.stages.splitting import Splits

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FOLD_COLOUR = "#9aa7b1"
MIN_LOG_RATIO = 20


@final
@dataclass(frozen=True, kw_only=True)
class PruningPaths(RunFigure):
    """The score that pruning chooses by against the number of leaves, from the unpruned tree to the last step.

    The score is that of the validation rows that the cuts are chosen on (of pessimistic pruning, its estimate from the
    training rows), so it does not estimate the score on new rows. Each fold has a path, and the run's own model one.
    """

    file: str = "pruning_path.png"
    labels: Mapping[str, str] = field(default_factory=dict)

    def check(self, experiment: Experiment, splits: Splits) -> None:
        """Check before a run that it prunes; UserError if it does not."""
        super().check(experiment, splits)
        if isinstance(experiment.pruning, NoPruning):
            raise UserError("figures: PruningPaths shows pruning, and pruning=none; add pruning=best_first.")

    def draw(self, run: FinishedRun) -> Figure:
        """Draw the paths of the folds, and above them that of the run's model with its two ends."""
        figure, panels = make_panels(1, width=6.6, height=3.9)
        axes = panels[0, 0]
        if len(run.folds) > 1:
            for fold in run.folds:
                label = "folds" if fold is run.folds[0] else None
                _draw_path(axes, fold.model, FOLD_COLOUR, 0.8, label)
        _draw_path(axes, run.model, CLASS_COLOURS[0], 1.8, "the run's model" if len(run.folds) > 1 else "tree")
        path = run.model.path
        assert path is not None
        axes.plot(path.leaves[-1], path.score[-1], "*", markersize=12, color=CLASS_COLOURS[1], label="pruned tree")
        # From hundreds of leaves to a few, a linear axis would leave no room for the last steps.
        most_leaves = max(fold.model.path.leaves[0] for fold in run.folds if fold.model.path is not None)
        if most_leaves >= MIN_LOG_RATIO * path.leaves[-1]:
            from matplotlib.ticker import LogFormatter

            axes.set_xscale("log")
            axes.xaxis.set_major_formatter("{x:g}")
            # The usual one writes powers of ten as formulas, which are text here.
            axes.xaxis.set_minor_formatter(LogFormatter())
        # Pruning removes leaves, so that its path is read from left to right.
        axes.invert_xaxis()
        axes.set(xlabel="leaves (pruning goes to the right)", ylabel=_describe_score(run))
        axes.grid(color=GRID_COLOUR)
        axes.legend(loc="best", labelcolor=MUTED_COLOUR)
        note = (
            f"{run.experiment.pruning.method.replace('_', '-')} pruning: {path.leaves[0]} → {path.leaves[-1]} leaves, "
            f"depth {path.depth[0]} → {path.depth[-1]}"
        )
        add_title(axes, f"{run.learner_name} on {run.experiment.dataset.name}", note)
        return figure


def _draw_path(axes: Axes, model: FittedModel, colour: str, width: float, label: str | None) -> None:
    path = model.path
    assert path is not None
    axes.plot(path.leaves, path.score, color=colour, linewidth=width, marker=".", markersize=3 * width, label=label)


def _describe_score(run: FinishedRun) -> str:
    if run.experiment.pruning.method == "pessimistic":
        return "estimated accuracy, training rows"
    if run.experiment.dataset.is_classification:
        return "accuracy on validation rows"
    if run.experiment.target.is_on:
        return "minus squared error, transformed target"
    return "minus mean squared error, validation rows"
