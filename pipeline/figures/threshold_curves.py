"""Curves over all thresholds of a score: ROC, and precision against recall; each class against the rest.

The curves of scikit-learn are computed for the test rows of each fold, and averaged over the folds at equal positions
of the horizontal axis (Fawcett 2006, vertical averaging).
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, final

import numpy as np
from sklearn.metrics import average_precision_score, precision_recall_curve, roc_auc_score, roc_curve

from bakeoff.pipeline.experiment import Experiment
from bakeoff.pipeline.figures.drawing.class_panels import (
    Ranking,
    check_classes,
    check_ranking,
    label_axes,
    list_shown_classes,
    make_class_panels,
    rank_rows,
    title_class_panel,
)
from bakeoff.pipeline.figures.drawing.panels import CLASS_COLOURS, GRID_COLOUR, MUTED_COLOUR, add_legend
from bakeoff.pipeline.figures.finished_run import FinishedRun
from bakeoff.pipeline.figures.run_figure import RunFigure
from bakeoff.pipeline.stages.splitting import Splits
from bakeoff.pipeline.text.numbers import format_mean

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

POSITIONS = np.linspace(0.0, 1.0, 201)  # (201,)
"""Positions of the horizontal axis at which curves are averaged."""
MAX_SINGLE_FOLDS = 10
"""Up to this number of folds, the curve of each is drawn too."""
LINE_COLOUR = CLASS_COLOURS[0]
FOLD_COLOUR = "#9aa7b1"


class FoldCurves(NamedTuple):
    """The curves of a class.

    Attributes
    ----------
    heights : ndarray of shape (curves, positions)
    areas : ndarray of shape (curves,)
        Computed from each whole curve by scikit-learn.
    is_pooled : bool
        Whether there is one curve of the test rows of all folds, because no fold tests rows of the class and others.
    prevalence : float
        The share of the class in all test rows.
    """

    heights: np.ndarray
    areas: np.ndarray
    is_pooled: bool
    prevalence: float


@dataclass(frozen=True, kw_only=True)
class ThresholdCurves(RunFigure):
    """Abstract: curves over all thresholds, for the positive one of two classes or for each of more."""

    task: ClassVar[str | None] = "classification"
    area_name: ClassVar[str]
    xlabel: ClassVar[str]
    ylabel: ClassVar[str]

    @abstractmethod
    def compute_heights(self, ranking: Ranking) -> np.ndarray:
        """Return the height of a curve at `POSITIONS`."""

    @abstractmethod
    def compute_area(self, ranking: Ranking) -> float:
        """Return the area under a curve."""

    @abstractmethod
    def draw_chance(self, axes: Axes, prevalence: float) -> None:
        """Draw the curve of a score that knows nothing."""

    def check(self, experiment: Experiment, splits: Splits) -> None:
        """Check before a run that the learner scores each class; UserError if not."""
        super().check(experiment, splits)
        check_ranking(type(self).__name__, experiment)
        check_classes(type(self).__name__, experiment)

    def compute_curves(self, run: FinishedRun, label: object) -> FoldCurves:
        """Return the curves of a class: one for each fold that tests rows of the class and rows of others."""
        rankings = [ranking for fold in run.folds if (ranking := rank_rows(fold, label)) is not None]
        prevalence = float(np.mean(np.concatenate([fold.predictions.truth == label for fold in run.folds])))
        defined = [ranking for ranking in rankings if ranking.has_both]
        # With leave-one-out no fold tests several rows, and only all folds together rank rows.
        is_pooled = not defined
        if is_pooled and rankings:
            is_class = np.concatenate([ranking.is_class for ranking in rankings])
            score = np.concatenate([ranking.score for ranking in rankings])
            pooled = Ranking(is_class, score)
            defined = [pooled] if pooled.has_both else []
        heights = np.array([self.compute_heights(ranking) for ranking in defined]).reshape(-1, len(POSITIONS))
        areas = np.array([self.compute_area(ranking) for ranking in defined])
        return FoldCurves(heights, areas, is_pooled, prevalence)

    def draw(self, run: FinishedRun) -> Figure:
        """Draw a panel for each class: the mean over the folds, its band, and the folds if they are few."""
        shown = list_shown_classes(run.experiment.dataset)
        figure, panels = make_class_panels(run, shown)
        is_pooled = False
        for axes, label in zip(panels, shown, strict=True):
            curves = self.compute_curves(run, label)
            is_pooled = is_pooled or curves.is_pooled
            self._draw_curves(axes, curves)
            title_class_panel(axes, run, label, self._describe_area(curves, len(run.folds)), len(shown))
        label_axes(panels, self.xlabel, self.ylabel)
        add_legend(figure, _describe_rows(run, is_pooled), _make_marks(run, is_pooled))
        return figure

    def _draw_curves(self, axes: Axes, curves: FoldCurves) -> None:
        self.draw_chance(axes, curves.prevalence)
        axes.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.04), aspect="equal")
        axes.set_xticks([0, 0.5, 1], ["0", "0.5", "1"])
        axes.set_yticks([0, 0.5, 1], ["0", "0.5", "1"])
        axes.grid(color=GRID_COLOUR)
        # Test rows of one class only have no curve; the empty panel says so in its title.
        if not len(curves.heights):
            return
        if 1 < len(curves.heights) <= MAX_SINGLE_FOLDS:
            for heights in curves.heights:
                axes.plot(POSITIONS, heights, color=FOLD_COLOUR, linewidth=0.6, alpha=0.8)
        mean = curves.heights.mean(axis=0)  # (positions,)
        if len(curves.heights) > 1:
            deviation = curves.heights.std(axis=0, ddof=1)  # (positions,)
            # Rates are between 0 and 1, and so is the band around their mean.
            low = np.clip(mean - deviation, 0, 1)
            high = np.clip(mean + deviation, 0, 1)
            axes.fill_between(POSITIONS, low, high, color=LINE_COLOUR, alpha=0.18, linewidth=0)
        axes.plot(POSITIONS, mean, color=LINE_COLOUR, linewidth=1.8)

    def _describe_area(self, curves: FoldCurves, n_folds: int) -> str:
        if not len(curves.areas):
            return "not defined"
        deviation = curves.areas.std(ddof=1) if len(curves.areas) > 1 else math.nan
        text = f"{self.area_name} {format_mean(curves.areas.mean(), deviation)}"
        if not curves.is_pooled and len(curves.areas) < n_folds:
            text += f", {len(curves.areas)} of {n_folds} folds"
        return text


@final
@dataclass(frozen=True, kw_only=True)
class RocCurves(ThresholdCurves):
    """The true positive rate against the false positive rate on test rows, a panel for each class against the rest.

    References
    ----------
    T. Fawcett, "An introduction to ROC analysis", Pattern Recognition Letters 27, 2006.
    """

    file: str = "roc.png"
    labels: Mapping[str, str] = field(default_factory=dict)

    area_name: ClassVar[str] = "AUC"
    xlabel: ClassVar[str] = "false positive rate"
    ylabel: ClassVar[str] = "true positive rate"

    def compute_heights(self, ranking: Ranking) -> np.ndarray:
        """Return the true positive rate at `POSITIONS` of the false positive rate."""
        false_positive_rate, true_positive_rate, _ = roc_curve(ranking.is_class, ranking.score)
        heights = np.interp(POSITIONS, false_positive_rate, true_positive_rate)  # (positions,)
        heights[0] = 0.0  # each curve begins in the corner, also where it rises straight up
        return heights

    def compute_area(self, ranking: Ranking) -> float:
        """Return the area under the ROC curve."""
        return float(roc_auc_score(ranking.is_class, ranking.score))

    def draw_chance(self, axes: Axes, prevalence: float) -> None:
        """Draw the diagonal."""
        axes.plot([0, 1], [0, 1], color=MUTED_COLOUR, linestyle=":", linewidth=1)


@final
@dataclass(frozen=True, kw_only=True)
class PrecisionRecallCurves(ThresholdCurves):
    """Precision against recall on test rows, a panel for each class against the rest.

    Curves are steps, whose area is the average precision: a straight line between two points would be too optimistic
    (Davis and Goadrich 2006).

    References
    ----------
    J. Davis and M. Goadrich, "The relationship between precision-recall and ROC curves", ICML 2006.
    """

    file: str = "precision_recall.png"
    labels: Mapping[str, str] = field(default_factory=dict)

    area_name: ClassVar[str] = "AP"
    xlabel: ClassVar[str] = "recall"
    ylabel: ClassVar[str] = "precision"

    def compute_heights(self, ranking: Ranking) -> np.ndarray:
        """Return the precision at the highest threshold that reaches each recall of `POSITIONS`."""
        precision, recall, _ = precision_recall_curve(ranking.is_class, ranking.score)
        # scikit-learn's recall descends to 0, a point without predictions, whose precision of 1 is a convention.
        ascending_recall = recall[-2::-1]
        ascending_precision = precision[-2::-1]
        reached = np.searchsorted(ascending_recall, POSITIONS, side="left")  # (positions,)
        reached[0] = reached[1]  # a recall of 0 needs no prediction, and so has no precision
        return ascending_precision[np.minimum(reached, len(ascending_precision) - 1)]

    def compute_area(self, ranking: Ranking) -> float:
        """Return the average precision."""
        return float(average_precision_score(ranking.is_class, ranking.score))

    def draw_chance(self, axes: Axes, prevalence: float) -> None:
        """Draw the share of the class, which is the precision of a random ranking."""
        axes.axhline(prevalence, color=MUTED_COLOUR, linestyle=":", linewidth=1)


def _describe_rows(run: FinishedRun, is_pooled: bool) -> str:
    if is_pooled:
        return f"test rows of {len(run.folds)} folds"
    return f"{len(run.folds)} folds" if len(run.folds) > 1 else "test rows"


def _make_marks(run: FinishedRun, is_pooled: bool) -> dict[str, Any]:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    marks: dict[str, Any] = {}
    line = Line2D([], [], color=LINE_COLOUR, linewidth=1.8)
    if is_pooled:
        marks["all folds pooled: no fold tests the class and others"] = line
    elif len(run.folds) == 1:
        marks["learner"] = line
    else:
        marks["mean"] = line
        marks["± standard deviation"] = Patch(color=LINE_COLOUR, alpha=0.18)
    if not is_pooled and 1 < len(run.folds) <= MAX_SINGLE_FOLDS:
        marks["single folds"] = Line2D([], [], color=FOLD_COLOUR, linewidth=0.8)
    marks["chance"] = Line2D([], [], color=MUTED_COLOUR, linestyle=":", linewidth=1)
    return marks
