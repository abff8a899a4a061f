"""The test rows of any classification: the confusion matrix."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, final

import numpy as np

from bakeoff.pipeline.figures.drawing.class_panels import shorten_label
from bakeoff.pipeline.figures.drawing.panels import FONT_POINTS, TEXT_COLOUR, add_title, make_panels, measure_inches
from bakeoff.pipeline.figures.finished_run import FinishedRun
from bakeoff.pipeline.figures.run_figure import RunFigure
from bakeoff.pipeline.text.numbers import format_score
from bakeoff.pipeline.text.words import count_nouns

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ZERO_COLOUR = "#b0b0b0"
DARK_CELL_SHARE = 0.55
"""The share from which a cell is so dark that its number is written in white."""
MATRIX_INCHES = 2.6
CELL_INCHES = 0.45
SHORT_LABEL_INCHES = 0.8
VERTICAL_LABELS_LETTERS = 40
"""Labels are written vertically if the longest, times their number, has at least this many characters."""


def describe_test_rows(run: FinishedRun, n_predictions: int) -> str:
    """Return the number of test rows as a note; where folds are repeated, a row is predicted in every repeat."""
    rows = np.concatenate([fold.split.test for fold in run.folds])
    n_rows = len(np.unique(rows))
    if n_predictions > n_rows:
        return f"{count_nouns(n_rows, 'test row')}, {n_predictions / n_rows:.3g} times each"
    return f"{count_nouns(n_rows, 'test row')}"


def collect_truth(run: FinishedRun) -> np.ndarray:
    """Return the true class of the test rows of all folds, one fold after another."""
    return np.concatenate([fold.predictions.truth for fold in run.folds])


@final
@dataclass(frozen=True, kw_only=True)
class ConfusionMatrix(RunFigure):
    """Test rows of all folds by true and predicted class."""

    file: str = "confusion_matrix.png"
    labels: Mapping[str, str] = field(default_factory=dict)

    task: ClassVar[str | None] = "classification"

    def draw(self, run: FinishedRun) -> Figure:
        """Draw the counts, shaded by the fraction of their true class."""
        from sklearn.metrics import ConfusionMatrixDisplay, confusion_matrix

        classes = run.experiment.dataset.classes
        truth = collect_truth(run)
        predicted = np.concatenate([fold.predictions.predicted for fold in run.folds])
        names = [shorten_label(label) for label in classes]
        side = MATRIX_INCHES + CELL_INCHES * len(classes)
        # Long names make the figure larger, and not its cells smaller.
        longest = max(measure_inches(name, FONT_POINTS) for name in names)
        rotation = _choose_rotation(names)
        height = side + (longest if rotation == "vertical" else 0)
        figure, panels = make_panels(1, width=side + max(longest, SHORT_LABEL_INCHES), height=height)
        axes = panels[0, 0]
        display = ConfusionMatrixDisplay.from_predictions(
            truth,
            predicted,
            labels=classes,
            display_labels=names,
            ax=axes,
            cmap="Blues",
            colorbar=False,
            xticks_rotation=rotation,
            normalize="true",
            im_kw={"vmin": 0.0, "vmax": 1.0},
        )
        # Shades are fractions of the true class; the numbers in the cells are counts.
        _write_counts(display, confusion_matrix(truth, predicted, labels=classes))
        axes.set(xlabel="predicted", ylabel="true")
        axes.spines[:].set_visible(False)
        axes.tick_params(length=0)
        learner = type(run.experiment.learner).__name__
        accuracy = np.mean(truth == predicted)
        note = f"{learner}\n{describe_test_rows(run, len(truth))}, accuracy {format_score(accuracy)}"
        add_title(axes, shorten_label(run.experiment.dataset.name), note)
        return figure


def _choose_rotation(names: Sequence[str]) -> str:
    longest = max(map(len, names))
    if longest * len(names) < VERTICAL_LABELS_LETTERS:
        return "horizontal"
    return "vertical"


def _write_counts(display: Any, counts: np.ndarray) -> None:
    """Replace the fractions in the cells of a display by counts of shape (c, c)."""
    shares = display.confusion_matrix  # (c, c)
    for text, count, share in zip(display.text_.ravel(), counts.ravel(), shares.ravel(), strict=True):
        if share > DARK_CELL_SHARE:
            colour = "white"
        elif count:
            colour = TEXT_COLOUR
        else:
            colour = ZERO_COLOUR
        text.set(text=f"{count}", color=colour)
