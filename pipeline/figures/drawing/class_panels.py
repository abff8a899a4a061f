"""A panel for each class against the rest, and the scores by which a learner ranks the test rows for a class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import shorten
from typing import TYPE_CHECKING

import numpy as np

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.experiment import Experiment, FoldResult
from bakeoff.pipeline.figures.drawing.panels import add_heading, add_title, fill_panels, hide_unused, make_panels
from bakeoff.pipeline.figures.finished_run import FinishedRun
from bakeoff.pipeline.stages.dataset import Dataset

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MAX_CLASSES = 24
"""More panels than this are too small to read on one page."""
MAX_COLUMNS = 4
SINGLE_PANEL_INCHES = 4.4
PANEL_INCHES = 2.3
FRAME_INCHES = 1.3
"""Height of the heading, the shared axis labels and the legend."""
CLASS_LETTERS = 20
"""Longer names of classes are cut."""


@dataclass(frozen=True)
class Ranking:
    """The m test rows of a fold as a learner ranks them for a class.

    Attributes
    ----------
    is_class : ndarray of shape (m,), bool
    score : ndarray of shape (m,)
        The greater it is, the more the learner prefers the class.
    """

    is_class: np.ndarray
    score: np.ndarray

    @property
    def has_both(self) -> bool:
        """Whether there are rows of the class and rows of others, without which a curve is not defined."""
        return 0 < int(self.is_class.sum()) < len(self.is_class)


def check_classes(name: str, experiment: Experiment) -> None:
    """Raise UserError if there are more classes than panels; `name` is the figure's."""
    n_classes = len(experiment.dataset.classes)
    if n_classes > MAX_CLASSES:
        raise UserError(
            f"figures: {name} has panels for {MAX_CLASSES} classes, and {experiment.dataset.name} has {n_classes}; "
            "choose another dataset, or remove the figure."
        )


def list_shown_classes(dataset: Dataset) -> list[object]:
    """Return the positive one of two classes, or all classes of more: one panel each."""
    if len(dataset.classes) == 2:
        return [dataset.positive]
    return list(dataset.classes)


def make_class_panels(run: FinishedRun, shown: Sequence[object]) -> tuple[Figure, list[Axes]]:
    """Return a figure with a heading and a panel for each class; panels that are not needed are hidden."""
    if len(shown) == 1:
        figure, panels = make_panels(1, width=SINGLE_PANEL_INCHES + 0.4, height=SINGLE_PANEL_INCHES + 0.4)
        return figure, [panels[0, 0]]
    columns, rows = fill_panels(len(shown), MAX_COLUMNS)
    width = PANEL_INCHES * columns + 0.6
    height = (PANEL_INCHES + 0.35) * rows + FRAME_INCHES
    figure, panels = make_panels(columns, rows, width=width, height=height, sharex=True, sharey=True)
    hide_unused(panels, len(shown))
    heading = f"{run.learner_name} on {run.experiment.dataset.name}"
    add_heading(figure, heading)
    return figure, list(panels.flat[: len(shown)])


def title_class_panel(axes: Axes, run: FinishedRun, label: object, note: str, n_shown: int) -> None:
    """Write the class above its panel; above a single panel, the learner and the dataset."""
    if n_shown == 1:
        heading = f"{run.learner_name} on {run.experiment.dataset.name}"
        add_title(axes, heading, f"class {shorten_label(label)}: {note}")
    else:
        add_title(axes, shorten_label(label), note)


def label_axes(axes: Sequence[Axes], xlabel: str, ylabel: str) -> None:
    """Name the vertical axes at the left, and the horizontal axes below the last panel of each column."""
    columns = min(MAX_COLUMNS, len(axes))
    for position, panel in enumerate(axes):
        if position % columns == 0:
            panel.set_ylabel(ylabel)
        if position + columns >= len(axes):
            panel.set_xlabel(xlabel)
            # Below it there may be a hidden panel, which has taken the numbers of the shared axis.
            panel.tick_params(labelbottom=True)


def shorten_label(label: object) -> str:
    """Return the name of a class, cut to `CLASS_LETTERS` characters.

    Examples
    --------
    >>> shorten_label("a very long name of some class")
    'a very long name of…'
    """
    text = str(label)
    if len(text) <= CLASS_LETTERS:
        return text
    return shorten(text, CLASS_LETTERS, placeholder="…") if " " in text else f"{text[: CLASS_LETTERS - 1]}…"


def rank_rows(fold: FoldResult, label: object) -> Ranking | None:
    """Return the ranking of a fold's test rows for a class; None if its learner has seen too few classes for one."""
    predictions = fold.predictions
    assert predictions.classes is not None
    is_class = predictions.truth == label  # (m,)
    if predictions.probabilities is not None:
        code = int(np.flatnonzero(predictions.classes == label)[0])
        return Ranking(is_class, predictions.probabilities[:, code])
    assert predictions.decision is not None
    # Decision values have a column for each class of the training rows, or one value for the second of two.
    seen = list(fold.model.pipeline.classes_)
    if label not in seen:
        return None
    if predictions.decision.ndim == 1:
        sign = 1 if label == seen[-1] else -1
        return Ranking(is_class, sign * predictions.decision)
    return Ranking(is_class, predictions.decision[:, seen.index(label)])


def check_ranking(name: str, experiment: Experiment) -> None:
    """Raise UserError if the learner has no score for each class; `name` is the figure's."""
    learner = experiment.learner
    learner_name = type(learner).__name__
    if hasattr(experiment.scored_learner, "predict_proba"):
        return
    if not hasattr(learner, "decision_function"):
        raise UserError(
            f"figures: {name} ranks rows by probabilities or decision values, and {learner_name} has neither; "
            "choose another learner, or remove the figure."
        )
    is_of_pairs = learner.get_params().get("decision_function_shape") == "ovo"
    if is_of_pairs and len(experiment.dataset.classes) > 2:
        raise UserError(
            f"figures: {name} needs a score for each class, and learner.decision_function_shape=ovo gives one for "
            "each pair; set learner.decision_function_shape=ovr."
        )
