"""Figures of classification test rows: the confusion matrix, and ROC, precision-recall and calibration curves."""

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from sklearn.calibration import CalibrationDisplay
from sklearn.metrics import (
    ConfusionMatrixDisplay,
    PrecisionRecallDisplay,
    RocCurveDisplay,
    brier_score_loss,
    confusion_matrix,
)

from bakeoff.pipeline.commands.drawing.panels import (
    CLASS_COLOURS,
    MUTED_COLOUR,
    ROOM,
    TITLE_LETTERS_PER_INCH,
    add_heading,
    add_legend,
    add_title,
    choose_ink,
    collect_marks,
    label_axes,
    make_panels,
    wrap_name,
)
from bakeoff.pipeline.commands.figures.run_figure import FinishedRun, RunFigure
from bakeoff.pipeline.experiment import Experiment, FoldResult
from bakeoff.pipeline.stages.splitting import Splits
from bakeoff.pipeline.text.wording import cut_text, format_mean, format_score

MATRIX_INCHES = 3.2
CELL_INCHES = 0.45
NAMES_INCHES = 0.8
COUNT_INCHES = 0.24
"""The width of a count; narrower cells have none, and the names of some classes are left out."""
LETTERS_PER_INCH = 10.0
"""Column names are written vertically if there is no room for all of them side by side."""
MARGIN_INCHES = 1.4
MAX_CLASSES = 24
"""More panels than this are too small to read on one page."""
SINGLE_PANEL_INCHES = 4.8
PANEL_INCHES = 2.6
FRAME_INCHES = 1.0
TITLE_INCHES = 0.3
LINE_INCHES = 0.17
CLASS_LETTERS = 20
CLASS_LETTERS_PER_INCH = 3.5
"""Longer class names are truncated."""

Ranking = tuple[np.ndarray, np.ndarray]
"""Whether each of m test rows belongs to a class, and its score, which increases with confidence."""


@final
@dataclass(frozen=True, kw_only=True)
class ConfusionMatrix(RunFigure):
    """Test rows of all folds by true and predicted class."""

    file: str = "confusion_matrix.png"

    task: ClassVar[str | None] = "classification"

    def draw(self, run: FinishedRun) -> Figure:
        """Draw the counts, shaded by the fraction of their true class."""
        classes = run.experiment.dataset.classes
        letters = int(min(CLASS_LETTERS, CLASS_LETTERS_PER_INCH * ROOM.get()))
        names = [cut_text(str(label), letters) for label in classes]
        side = MATRIX_INCHES + CELL_INCHES * len(classes)
        width = min(side + NAMES_INCHES, ROOM.get())
        is_vertical = max(map(len, names)) * len(names) > LETTERS_PER_INCH * (width - MARGIN_INCHES)
        figure, (axes,) = make_panels(width=width, height=min(side, width) + is_vertical)
        display: Any = ConfusionMatrixDisplay.from_predictions(
            run.truth,
            run.predicted,
            labels=classes,
            display_labels=names,
            ax=axes,
            cmap="Blues",
            colorbar=False,
            xticks_rotation="vertical" if is_vertical else "horizontal",
            normalize="true",
            im_kw={"vmin": 0.0, "vmax": 1.0},
        )
        # Shades show fractions of the true class; the numbers in the cells are counts.
        counts = confusion_matrix(run.truth, run.predicted, labels=classes)
        for text, count, share in zip(display.text_.flat, counts.flat, display.confusion_matrix.flat, strict=True):
            text.set(text=str(count), color=choose_ink(display.im_.to_rgba(share)))
        step = math.ceil(COUNT_INCHES * len(classes) / (width - NAMES_INCHES))
        left_out = ""
        if step > 1:
            left_out = f", 1 class in {step} is named"
            places = range(0, len(classes), step)
            axes.set_xticks(places, names[::step])
            axes.set_yticks(places, names[::step])
            for text in display.text_.flat:
                text.remove()
        axes.set(xlabel="predicted", ylabel="true")
        axes.spines[:].set_visible(False)
        accuracy = f"accuracy {format_score(float(np.mean(run.truth == run.predicted)))}"
        add_title(axes, run.title, f"{run.describe_test_rows()}, {accuracy}{left_out}")
        return figure


@dataclass(frozen=True, kw_only=True)
class ClassFigure(RunFigure):
    """Abstract: one panel for the positive class of two, or one panel per class against the rest."""

    task: ClassVar[str | None] = "classification"
    xlabel: ClassVar[str]
    ylabel: ClassVar[str]

    @abstractmethod
    def draw_class(self, axes: Axes, run: FinishedRun, label: object) -> str:
        """Draw the panel of a class on axes from 0 to 1; return the text for its title."""

    def check(self, experiment: Experiment, splits: Splits) -> None:
        """Check before a run that there are no more classes than panels; raise UserError otherwise."""
        super().check(experiment, splits)
        n_classes = len(experiment.dataset.classes)
        if n_classes > MAX_CLASSES:
            raise self.refuse(f"supports at most {MAX_CLASSES} classes, but {experiment.dataset.name} has {n_classes}")

    def draw(self, run: FinishedRun) -> Figure:
        """Draw a panel for each class."""
        dataset = run.experiment.dataset
        shown = [dataset.positive] if len(dataset.classes) == 2 else list(dataset.classes)
        is_single = len(shown) == 1
        # A phone has room for two panels side by side.
        side = min(SINGLE_PANEL_INCHES, ROOM.get()) if is_single else min(PANEL_INCHES, ROOM.get() / 2)
        shared: Any = {"sharex": True, "sharey": True}
        n_lines = max(wrap_name(str(label), int(TITLE_LETTERS_PER_INCH * side)).count("\n") for label in shown)
        # Notes and labels take further lines in narrow panels.
        height = side + TITLE_INCHES + LINE_INCHES * (n_lines + 4 * (side < PANEL_INCHES))
        figure, panels = make_panels(len(shown), width=side, height=height, frame=FRAME_INCHES, **shared)
        for axes, label in zip(panels, shown, strict=True):
            note = self.draw_class(axes, run, label)
            # scikit-learn's displays add a legend to each panel.
            if (legend := axes.get_legend()) is not None:
                legend.remove()
            ticks: Any = {"xticks": [0, 0.5, 1], "yticks": [0, 0.5, 1]}
            axes.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.04), xlabel="", ylabel="", aspect="equal", **ticks)
            axes.grid()
            add_title(axes, str(label), note)
        add_heading(figure, run.title)
        label_axes(panels, self.xlabel, self.ylabel)
        add_legend(figure, run.describe_test_rows(), collect_marks(panels))
        return figure


@final
@dataclass(frozen=True, kw_only=True)
class Reliability(ClassFigure):
    """The observed frequency of a class against its predicted probability, on all test rows.

    There is one panel for the positive class of two; with more classes, each has a panel against the rest. Bars show
    the fraction of the rows in each bin. The rows of all folds are combined, because a single fold leaves bins empty.

    Parameters
    ----------
    bins : int
        Number of bins of equal width.
    """

    bins: int = 10
    file: str = "calibration.png"

    xlabel: ClassVar[str] = "predicted probability"
    ylabel: ClassVar[str] = "observed frequency"

    def check(self, experiment: Experiment, splits: Splits) -> None:
        """Check before a run that there are probabilities; raise UserError otherwise."""
        super().check(experiment, splits)
        if not hasattr(experiment.scored_learner, "predict_proba"):
            raise self.refuse(
                f"shows probabilities, but {type(experiment.learner).__name__} has none",
                "add calibration=platt, choose another learner, or remove the figure",
            )

    def draw_class(self, axes: Axes, run: FinishedRun, label: object) -> str:
        """Draw the curve, the diagonal, and the fraction of the rows in each bin; return the Brier score."""
        code = list(run.experiment.dataset.classes).index(label)
        tables = [fold.predictions.probabilities for fold in run.folds if fold.predictions.probabilities is not None]
        is_class = run.truth == label  # (m,)
        # Rounding can make a probability exceed 1 by one float, which scikit-learn's display rejects.
        probabilities = np.clip(np.concatenate(tables)[:, code], 0, 1)  # (m,)
        counts, edges = np.histogram(probabilities, self.bins, (0, 1))
        bars: Any = {"align": "edge", "color": "#d9d9d9", "zorder": 0, "label": "share of the rows"}
        axes.bar(edges[:-1], counts / counts.sum(), np.diff(edges), **bars)
        marks: Any = {"color": CLASS_COLOURS[0], "ref_line": False, "name": "learner"}
        CalibrationDisplay.from_predictions(is_class, probabilities, n_bins=self.bins, ax=axes, **marks)
        axes.plot([0, 1], [0, 1], ":", color=MUTED_COLOUR, linewidth=1, label="perfectly calibrated")
        return f"Brier score {format_score(float(brier_score_loss(is_class, probabilities)))}"


@dataclass(frozen=True, kw_only=True)
class ThresholdCurves(ClassFigure):
    """Abstract: a curve over all thresholds for each fold, for the positive class of two or for each class."""

    display: ClassVar[Any]
    area: ClassVar[str]
    area_name: ClassVar[str]

    @abstractmethod
    def draw_chance(self, axes: Axes, prevalence: float) -> None:
        """Draw the line of an uninformative score."""

    def check(self, experiment: Experiment, splits: Splits) -> None:
        """Check before a run that the learner scores each class; raise UserError otherwise."""
        super().check(experiment, splits)
        self.require_several_rows(splits)
        learner = experiment.learner
        if hasattr(experiment.scored_learner, "predict_proba"):
            return
        if not hasattr(learner, "decision_function"):
            raise self.refuse(
                f"ranks rows by probabilities or decision values, but {type(learner).__name__} has neither",
                "choose another learner, or remove the figure",
            )
        is_of_pairs = learner.get_params().get("decision_function_shape") == "ovo"
        if is_of_pairs and len(experiment.dataset.classes) > 2:
            raise self.refuse(
                "needs a score for each class, but learner.decision_function_shape=ovo gives one for each pair",
                "set learner.decision_function_shape=ovr",
            )

    def draw_class(self, axes: Axes, run: FinishedRun, label: object) -> str:
        """Draw the curve of each fold whose test rows include the class and others; return the mean area."""
        self.draw_chance(axes, float(np.mean(run.truth == label)))
        areas = self.draw_curves(axes, rank_folds(run, label))
        if not areas:
            return "not defined"
        deviation = float(np.std(areas, ddof=1)) if len(areas) > 1 else math.nan
        note = "" if len(areas) == len(run.folds) else f", {len(areas)} of {len(run.folds)} folds"
        return f"{self.area_name} {format_mean(float(np.mean(areas)), deviation)}{note}"

    def draw_curves(self, axes: Axes, rankings: Sequence[Ranking]) -> list[float]:
        """Draw a curve for each ranking; return the areas under them."""
        style = {"color": CLASS_COLOURS[0], "alpha": 1 if len(rankings) == 1 else 0.6, "label": "a curve for each fold"}
        displays = [self.display.from_predictions(*ranking, ax=axes, curve_kwargs=style) for ranking in rankings]
        return [float(getattr(display, self.area)) for display in displays]


@final
@dataclass(frozen=True, kw_only=True)
class RocCurves(ThresholdCurves):
    """True against false positive rates on test rows, with a panel for each class against the rest.

    References
    ----------
    T. Fawcett, "An introduction to ROC analysis", Pattern Recognition Letters 27, 2006.
    """

    file: str = "roc.png"

    display: ClassVar[Any] = RocCurveDisplay
    area: ClassVar[str] = "roc_auc"
    area_name: ClassVar[str] = "AUC"
    xlabel: ClassVar[str] = "false positive rate"
    ylabel: ClassVar[str] = "true positive rate"

    def draw_chance(self, axes: Axes, prevalence: float) -> None:
        """Draw the diagonal."""
        axes.plot([0, 1], [0, 1], ":", color=MUTED_COLOUR, label="chance")


@final
@dataclass(frozen=True, kw_only=True)
class PrecisionRecallCurves(ThresholdCurves):
    """Precision against recall on test rows, with a panel for each class against the rest.

    The curves are step functions whose area is the average precision, because linear interpolation between two points
    would be too optimistic (Davis and Goadrich 2006).

    References
    ----------
    J. Davis and M. Goadrich, "The relationship between precision-recall and ROC curves", ICML 2006.
    """

    file: str = "precision_recall.png"

    display: ClassVar[Any] = PrecisionRecallDisplay
    area: ClassVar[str] = "average_precision"
    area_name: ClassVar[str] = "AP"
    xlabel: ClassVar[str] = "recall"
    ylabel: ClassVar[str] = "precision"

    def draw_chance(self, axes: Axes, prevalence: float) -> None:
        """Draw the fraction of the class, which is the precision of a random ranking."""
        axes.axhline(prevalence, linestyle=":", color=MUTED_COLOUR, label="chance")


def rank_folds(run: FinishedRun, label: object) -> list[Ranking]:
    """Return the rankings of the folds whose test rows include a class and others, as a curve requires."""
    rankings = [ranking for fold in run.folds if (ranking := _rank_rows(fold, label)) is not None]
    return [(is_class, score) for is_class, score in rankings if is_class.any() and not is_class.all()]


def _rank_rows(fold: FoldResult, label: object) -> Ranking | None:
    """Return the ranking of a fold's test rows for a class, or None if its learner was fitted on too few classes."""
    predictions = fold.predictions
    is_class = predictions.truth == label  # (m,)
    if predictions.probabilities is not None and predictions.classes is not None:
        return (is_class, predictions.probabilities[:, list(predictions.classes).index(label)])
    assert predictions.decision is not None
    # Decision values have a column for each training class, or a single value for the second of two classes.
    seen = list(fold.model.pipeline.classes_)
    if label not in seen:
        return None
    if predictions.decision.ndim == 1:
        return (is_class, predictions.decision if label == seen[-1] else -predictions.decision)
    return (is_class, predictions.decision[:, seen.index(label)])
