"""The test rows of a classification: the confusion matrix, and calibration with a panel for each class."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from sklearn.calibration import CalibrationDisplay
from sklearn.metrics import ConfusionMatrixDisplay, brier_score_loss, confusion_matrix

from bakeoff.pipeline.experiment import Experiment
from bakeoff.pipeline.figures.finished_run import FinishedRun
from bakeoff.pipeline.figures.panels import (
    CLASS_COLOURS,
    FONT_POINTS,
    MUTED_COLOUR,
    OTHER_COLOUR,
    TEXT_COLOUR,
    add_heading,
    add_legend,
    add_title,
    collect_marks,
    label_axes,
    make_panels,
    measure_inches,
)
from bakeoff.pipeline.figures.run_figure import RunFigure
from bakeoff.pipeline.stages.splitting import Splits
from bakeoff.pipeline.text.numbers import format_score
from bakeoff.pipeline.text.words import cut_text

DARK_CELL_SHARE = 0.55
"""The share from which a cell is so dark that its number is written in white."""
MATRIX_INCHES = 2.6
CELL_INCHES = 0.45
VERTICAL_LABELS_LETTERS = 40
"""Labels are written vertically if the longest, times their number, has at least this many characters."""
MAX_CLASSES = 24
"""More panels than this are too small to read on one page."""
SINGLE_PANEL_INCHES = 4.8
PANEL_INCHES = 2.6
FRAME_INCHES = 1.0
SHARED = {"sharex": True, "sharey": True}
CLASS_LETTERS = 20
"""Longer names of classes are cut."""


@final
@dataclass(frozen=True, kw_only=True)
class ConfusionMatrix(RunFigure):
    """Test rows of all folds by true and predicted class."""

    file: str = "confusion_matrix.png"

    task: ClassVar[str | None] = "classification"

    def draw(self, run: FinishedRun) -> Figure:
        """Draw the counts, shaded by the fraction of their true class."""
        classes = run.experiment.dataset.classes
        truth, predicted = run.truth, run.predicted
        names = [cut_text(str(label), CLASS_LETTERS) for label in classes]
        # Long names make the figure larger, and not its cells smaller.
        longest = max(measure_inches(name, FONT_POINTS) for name in names)
        is_vertical = max(map(len, names)) * len(names) >= VERTICAL_LABELS_LETTERS
        side = MATRIX_INCHES + CELL_INCHES * len(classes)
        figure, (axes,) = make_panels(width=side + max(longest, 0.8), height=side + longest * is_vertical)
        display: Any = ConfusionMatrixDisplay.from_predictions(
            truth,
            predicted,
            labels=classes,
            display_labels=names,
            ax=axes,
            cmap="Blues",
            colorbar=False,
            xticks_rotation="vertical" if is_vertical else "horizontal",
            normalize="true",
            im_kw={"vmin": 0.0, "vmax": 1.0},
        )
        # Shades are fractions of the true class; the numbers in the cells are counts.
        counts = confusion_matrix(truth, predicted, labels=classes)
        for text, count, share in zip(display.text_.flat, counts.flat, display.confusion_matrix.flat, strict=True):
            colour = OTHER_COLOUR if count == 0 else "white" if share > DARK_CELL_SHARE else TEXT_COLOUR
            text.set(text=f"{count}", color=colour)
        axes.set(xlabel="predicted", ylabel="true")
        axes.spines[:].set_visible(False)
        axes.tick_params(length=0)
        accuracy = f"accuracy {format_score(float(np.mean(truth == predicted)))}"
        dataset = cut_text(run.experiment.dataset.name, CLASS_LETTERS)
        add_title(axes, dataset, f"{run.learner_name}\n{run.describe_test_rows()}, {accuracy}")
        return figure


@dataclass(frozen=True, kw_only=True)
class ClassFigure(RunFigure):
    """Abstract: a panel for the positive one of two classes, or for each of more classes against the rest."""

    task: ClassVar[str | None] = "classification"
    ylabel: ClassVar[str]

    @abstractmethod
    def draw_class(self, axes: Axes, run: FinishedRun, label: object) -> str:
        """Draw the panel of a class on axes from 0 to 1; return the text for its title."""

    @abstractmethod
    def get_xlabel(self, class_name: str) -> str:
        """Return the name of the horizontal axis; the name is "class" if there are several."""

    def describe_rows(self, run: FinishedRun) -> str:
        """Return a description of the panels, as the title of the legend."""
        return run.describe_folds()

    def check(self, experiment: Experiment, splits: Splits) -> None:
        """Check before a run that there are not more classes than panels; UserError if there are."""
        super().check(experiment, splits)
        n_classes = len(experiment.dataset.classes)
        if n_classes > MAX_CLASSES:
            raise self.refuse(f"has panels for {MAX_CLASSES} classes, and {experiment.dataset.name} has {n_classes}")

    def draw(self, run: FinishedRun) -> Figure:
        """Draw a panel for each class."""
        dataset = run.experiment.dataset
        shown = [dataset.positive] if len(dataset.classes) == 2 else list(dataset.classes)
        side = SINGLE_PANEL_INCHES if len(shown) == 1 else PANEL_INCHES
        figure, panels = make_panels(len(shown), width=side, height=side + 0.3, frame=FRAME_INCHES, **SHARED)
        names = [cut_text(str(label), CLASS_LETTERS) for label in shown]
        for axes, label, name in zip(panels, shown, names, strict=True):
            note = self.draw_class(axes, run, label)
            axes.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.04), xlabel="", ylabel="", aspect="equal")
            axes.set_xticks([0, 0.5, 1], ["0", "0.5", "1"])
            axes.set_yticks([0, 0.5, 1], ["0", "0.5", "1"])
            axes.grid()
            if len(shown) == 1:
                add_title(axes, run.title, f"class {name}: {note}")
            else:
                add_title(axes, name, note)
        if len(shown) > 1:
            add_heading(figure, run.title)
        label_axes(panels, self.get_xlabel(names[0] if len(shown) == 1 else "class"), self.ylabel)
        add_legend(figure, self.describe_rows(run), collect_marks(panels))
        return figure


@final
@dataclass(frozen=True, kw_only=True)
class Reliability(ClassFigure):
    """The observed frequency of a class against its predicted probability, on all test rows.

    The positive one of two classes has one panel; of more classes, each has a panel against the rest. Bars show the
    share of the rows in each bin. The rows of all folds count together, because a single fold leaves bins empty.

    Parameters
    ----------
    bins : int
        Number of bins of equal width.
    """

    bins: int = 10
    file: str = "calibration.png"

    ylabel: ClassVar[str] = "observed frequency"

    def get_xlabel(self, class_name: str) -> str:
        """Return the name of the horizontal axis."""
        return f"probability of {class_name}"

    def describe_rows(self, run: FinishedRun) -> str:
        """Return the number of test rows."""
        return run.describe_test_rows()

    def check(self, experiment: Experiment, splits: Splits) -> None:
        """Check before a run that there are probabilities; UserError if not."""
        super().check(experiment, splits)
        if not hasattr(experiment.scored_learner, "predict_proba"):
            raise self.refuse(
                f"shows probabilities, and {type(experiment.learner).__name__} has none",
                "add calibration=platt, choose another learner, or remove the figure",
            )

    def draw_class(self, axes: Axes, run: FinishedRun, label: object) -> str:
        """Draw the curve, the diagonal, and the share of the rows in each bin; return the Brier score."""
        is_class = run.truth == label  # (m,)
        code = list(run.experiment.dataset.classes).index(label)
        tables = [fold.predictions.probabilities for fold in run.folds if fold.predictions.probabilities is not None]
        # Rounding can carry a probability past 1 by one float, which scikit-learn's display rejects.
        probabilities = np.clip(np.concatenate(tables)[:, code], 0, 1)  # (m,)
        counts, edges = np.histogram(probabilities, self.bins, (0, 1))
        bars: Any = {"align": "edge", "color": "#d9d9d9", "zorder": 0, "label": "share of the rows"}
        axes.bar(edges[:-1], counts / counts.sum(), np.diff(edges), **bars)
        marks: Any = {"color": CLASS_COLOURS[0], "markersize": 4.5, "ref_line": False, "name": "learner"}
        CalibrationDisplay.from_predictions(is_class, probabilities, n_bins=self.bins, ax=axes, **marks)
        axes.get_legend().remove()  # type: ignore[union-attr]
        axes.plot([0, 1], [0, 1], ":", color=MUTED_COLOUR, linewidth=1, label="perfectly calibrated")
        return f"Brier score {format_score(float(brier_score_loss(is_class, probabilities)))}"
