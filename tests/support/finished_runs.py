"""Finished runs to draw figures of, and the texts that a figure shows."""

from __future__ import annotations

from matplotlib.figure import Figure
from matplotlib.text import Text

from bakeoff.pipeline.commands.figures.run_figure import FinishedRun
from bakeoff.pipeline.experiment import Experiment, evaluate_splits, fit_final_model


def finish(experiment: Experiment) -> FinishedRun:
    """Evaluate the folds of an experiment, and fit its model."""
    splits = experiment.make_splits()
    folds = list(evaluate_splits(experiment, splits.folds))
    return FinishedRun(experiment, folds, fit_final_model(experiment, splits, folds[-1]))


def read_texts(figure: Figure) -> str:
    """Return all texts of a figure, one a line."""
    return "\n".join(text.get_text() for text in figure.findobj(Text))
