"""Curves over all thresholds of a score: ROC, and precision against recall; each class against the rest.

The curves of scikit-learn are computed for the test rows of each fold, and averaged over the folds at equal positions
of the horizontal axis (Fawcett 2006, vertical averaging).
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, final

import numpy as np
from matplotlib.axes import Axes
from sklearn.metrics import average_precision_score, precision_recall_curve, roc_auc_score, roc_curve

from bakeoff.pipeline.experiment import Experiment, FoldResult
from bakeoff.pipeline.figures.classification import ClassFigure
from bakeoff.pipeline.figures.finished_run import FinishedRun
from bakeoff.pipeline.figures.panels import CLASS_COLOURS, MUTED_COLOUR, OTHER_COLOUR, draw_band
from bakeoff.pipeline.stages.splitting import Splits
from bakeoff.pipeline.text.numbers import format_mean

POSITIONS = np.linspace(0.0, 1.0, 201)  # (201,)
"""Positions of the horizontal axis at which curves are averaged."""
MAX_SINGLE_FOLDS = 10
"""Up to this number of folds, the curve of each is drawn too."""


class Ranking(NamedTuple):
    """Whether each of m test rows is of a class, and its score: the greater it is, the more the class is preferred."""

    is_class: np.ndarray
    score: np.ndarray

    @property
    def has_both(self) -> bool:
        """Whether there are rows of the class and rows of others, without which a curve is not defined."""
        return 0 < int(self.is_class.sum()) < len(self.is_class)


class FoldCurves(NamedTuple):
    """The curves of a class.

    Attributes
    ----------
    heights : ndarray of shape (curves, positions)
    areas : ndarray of shape (curves,)
        Computed from each whole curve by scikit-learn.
    is_pooled : bool
        Whether there is one curve of the test rows of all folds, because no fold tests rows of the class and others.
    """

    heights: np.ndarray
    areas: np.ndarray
    is_pooled: bool


@dataclass(frozen=True, kw_only=True)
class ThresholdCurves(ClassFigure):
    """Abstract: curves over all thresholds, for the positive one of two classes or for each of more."""

    area_name: ClassVar[str]

    @abstractmethod
    def compute_heights(self, ranking: Ranking) -> np.ndarray:
        """Return the height of a curve at `POSITIONS`."""

    @abstractmethod
    def compute_area(self, ranking: Ranking) -> float:
        """Return the area under a curve."""

    @abstractmethod
    def compute_chance(self, prevalence: float) -> tuple[float, float]:
        """Return the heights at 0 and 1 of the line of a score that knows nothing."""

    def check(self, experiment: Experiment, splits: Splits) -> None:
        """Check before a run that the learner scores each class; UserError if not."""
        super().check(experiment, splits)
        learner = experiment.learner
        if hasattr(experiment.scored_learner, "predict_proba"):
            return
        if not hasattr(learner, "decision_function"):
            raise self.refuse(
                f"ranks rows by probabilities or decision values, and {type(learner).__name__} has neither",
                "choose another learner, or remove the figure",
            )
        is_of_pairs = learner.get_params().get("decision_function_shape") == "ovo"
        if is_of_pairs and len(experiment.dataset.classes) > 2:
            raise self.refuse(
                "needs a score for each class, and learner.decision_function_shape=ovo gives one for each pair",
                "set learner.decision_function_shape=ovr",
            )

    def compute_curves(self, run: FinishedRun, label: object) -> FoldCurves:
        """Return the curves of a class: one for each fold that tests rows of the class and rows of others."""
        rankings = [ranking for fold in run.folds if (ranking := _rank_rows(fold, label)) is not None]
        defined = [ranking for ranking in rankings if ranking.has_both]
        # With leave-one-out no fold tests several rows, and only all folds together rank rows.
        is_pooled = not defined
        if is_pooled and rankings:
            pooled = Ranking(*map(np.concatenate, zip(*rankings, strict=True)))
            defined = [pooled] if pooled.has_both else []
        heights = np.array([self.compute_heights(ranking) for ranking in defined]).reshape(-1, len(POSITIONS))
        return FoldCurves(heights, np.array([self.compute_area(ranking) for ranking in defined]), is_pooled)

    def draw_class(self, axes: Axes, run: FinishedRun, label: object) -> str:
        """Draw the mean over the folds, its band, and the folds if they are few; return the area."""
        curves = self.compute_curves(run, label)
        chance = self.compute_chance(float(np.mean(run.truth == label)))
        axes.plot([0, 1], chance, ":", color=MUTED_COLOUR, linewidth=1, label="chance")
        n_curves = len(curves.heights)
        # Test rows of one class only have no curve.
        if not n_curves:
            return "not defined"
        if 1 < n_curves <= MAX_SINGLE_FOLDS:
            axes.plot(POSITIONS, curves.heights.T, color=OTHER_COLOUR, linewidth=0.6, label="single folds")
        name = "all folds pooled: no fold tests the class and others" if curves.is_pooled else "learner"
        draw_band(axes, POSITIONS, curves.heights.T, name, CLASS_COLOURS[0], top=1.0)
        deviation = curves.areas.std(ddof=1) if n_curves > 1 else math.nan
        area = f"{self.area_name} {format_mean(float(curves.areas.mean()), deviation)}"
        is_partial = not curves.is_pooled and n_curves < len(run.folds)
        return f"{area}, {n_curves} of {len(run.folds)} folds" if is_partial else area


@final
@dataclass(frozen=True, kw_only=True)
class RocCurves(ThresholdCurves):
    """The true positive rate against the false positive rate on test rows, a panel for each class against the rest.

    References
    ----------
    T. Fawcett, "An introduction to ROC analysis", Pattern Recognition Letters 27, 2006.
    """

    file: str = "roc.png"

    area_name: ClassVar[str] = "AUC"
    ylabel: ClassVar[str] = "true positive rate"

    def get_xlabel(self, class_name: str) -> str:
        """Return the name of the horizontal axis."""
        return "false positive rate"

    def compute_heights(self, ranking: Ranking) -> np.ndarray:
        """Return the true positive rate at `POSITIONS` of the false positive rate."""
        false_positive_rate, true_positive_rate, _ = roc_curve(ranking.is_class, ranking.score)
        heights = np.interp(POSITIONS, false_positive_rate, true_positive_rate)  # (positions,)
        heights[0] = 0.0  # each curve begins in the corner, also where it rises straight up
        return heights

    def compute_area(self, ranking: Ranking) -> float:
        """Return the area under the ROC curve."""
        return float(roc_auc_score(ranking.is_class, ranking.score))

    def compute_chance(self, prevalence: float) -> tuple[float, float]:
        """Return the ends of the diagonal."""
        return 0.0, 1.0


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

    area_name: ClassVar[str] = "AP"
    ylabel: ClassVar[str] = "precision"

    def get_xlabel(self, class_name: str) -> str:
        """Return the name of the horizontal axis."""
        return "recall"

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

    def compute_chance(self, prevalence: float) -> tuple[float, float]:
        """Return the share of the class, which is the precision of a random ranking."""
        return prevalence, prevalence


def _rank_rows(fold: FoldResult, label: object) -> Ranking | None:
    """Return the ranking of a fold's test rows for a class; None if its learner has seen too few classes for one."""
    predictions = fold.predictions
    is_class = predictions.truth == label  # (m,)
    if predictions.probabilities is not None and predictions.classes is not None:
        return Ranking(is_class, predictions.probabilities[:, list(predictions.classes).index(label)])
    assert predictions.decision is not None
    # Decision values have a column for each class of the training rows, or one value for the second of two.
    seen = list(fold.model.pipeline.classes_)
    if label not in seen:
        return None
    if predictions.decision.ndim == 1:
        return Ranking(is_class, predictions.decision if label == seen[-1] else -predictions.decision)
    return Ranking(is_class, predictions.decision[:, seen.index(label)])
