"""Test rows of any classification: the confusion matrix, and how far the probabilities can be trusted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, final

import numpy as np

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.experiment import Experiment
from bakeoff.pipeline.figures.finished_run import FinishedRun
from bakeoff.pipeline.figures.panels import COLOURS, GREY, INK, Picture, head, sheet
from bakeoff.pipeline.stages.splitting import Splits

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FAINT = "#b0b0b0"
"""Of a count of 0."""


def counted(run: FinishedRun, truth: np.ndarray) -> str:
    """Say how many test rows there are; where folds are repeated, each counts in every repeat."""
    rows = len(np.unique(np.concatenate([fold.split.test for fold in run.folds])))
    return f"{rows} test rows" + (f", {len(truth) / rows:.3g} times each" if len(truth) > rows else "")


@final
@dataclass(frozen=True, kw_only=True)
class ConfusionMatrix(Picture):
    """Test rows of all folds by true and predicted class."""

    file: str = "confusion_matrix.png"
    labels: Mapping[str, str] = field(default_factory=dict)

    task: ClassVar[str | None] = "classification"

    def draw(self, run: FinishedRun) -> Figure:
        """Draw the counts, shaded by the fraction of their true class."""
        from sklearn.metrics import ConfusionMatrixDisplay, confusion_matrix

        truth = np.concatenate([fold.predictions.truth for fold in run.folds])
        predicted = np.concatenate([fold.predictions.predicted for fold in run.folds])
        classes = run.experiment.dataset.classes
        side = 2.6 + 0.45 * len(classes)
        figure, panels = sheet(1, width=side + 0.8, height=side)
        axes = panels[0, 0]
        turned = "horizontal" if max(len(str(label)) for label in classes) * len(classes) < 40 else "vertical"
        shown = ConfusionMatrixDisplay.from_predictions(
            truth, predicted, labels=classes, ax=axes, cmap="Blues", colorbar=False, xticks_rotation=turned,
            normalize="true", im_kw={"vmin": 0.0, "vmax": 1.0},
        )  # fmt: skip
        counts = confusion_matrix(truth, predicted, labels=classes)
        for text, count, share in zip(shown.text_.ravel(), counts.ravel(), shown.confusion_matrix.ravel(), strict=True):
            text.set(text=f"{count}", color="white" if share > 0.55 else INK if count else FAINT)
        axes.set(xlabel="predicted", ylabel="true")
        axes.spines[:].set_visible(False)
        axes.tick_params(length=0)
        right = f"{counted(run, truth)}, accuracy {np.mean(truth == predicted):.3f}"
        head(axes, run.experiment.dataset.name, f"{type(run.experiment.learner).__name__}\n{right}")
        return figure


@final
@dataclass(frozen=True, kw_only=True)
class Reliability(Picture):
    """How often the positive class came true against the probability that was given for it, on all test rows.

    Parameters
    ----------
    bins : int
        Of equal width.
    """

    bins: int = 10
    file: str = "reliability.png"
    labels: Mapping[str, str] = field(default_factory=dict)

    task: ClassVar[str | None] = "classification"

    def check(self, experiment: Experiment, splits: Splits) -> None:
        """Refuse more than two classes, and a learner without probabilities."""
        super().check(experiment, splits)
        if experiment.dataset.positive is None or not hasattr(experiment.learner, "predict_proba"):
            raise UserError(
                "figures: Reliability is about the probability of one of two classes; "
                f"{experiment.dataset.name} has {len(experiment.dataset.classes)}, and the learner is "
                f"{type(experiment.learner).__name__}."
            )

    def draw(self, run: FinishedRun) -> Figure:
        """Draw the curve and the diagonal."""
        from sklearn.calibration import CalibrationDisplay

        dataset = run.experiment.dataset
        column = int(np.flatnonzero(dataset.classes == dataset.positive)[0])
        truth = np.concatenate([fold.predictions.truth for fold in run.folds])
        tables = [fold.predictions.probabilities for fold in run.folds if fold.predictions.probabilities is not None]
        figure, panels = sheet(1, width=4.6, height=4.2)
        axes = panels[0, 0]
        CalibrationDisplay.from_predictions(
            truth == dataset.positive, np.clip(np.concatenate(tables)[:, column], 0, 1), n_bins=self.bins, ax=axes,
            color=COLOURS[0], name="model", ref_line=False,
        )  # fmt: skip
        axes.plot([0, 1], [0, 1], color=GREY, linestyle=":", label="perfectly reliable")
        axes.set(xlabel=f"probability given to {dataset.positive}", ylabel="how often it was")
        axes.legend(loc="upper left")
        head(axes, dataset.name, f"{type(run.experiment.learner).__name__}, {counted(run, truth)}")
        return figure
