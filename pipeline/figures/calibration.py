"""Calibration: the observed frequency of each class against its predicted probability, on all test rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, final

import numpy as np

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.experiment import Experiment
from bakeoff.pipeline.figures.classification import collect_truth, describe_test_rows
from bakeoff.pipeline.figures.drawing.class_panels import (
    check_classes,
    label_axes,
    list_shown_classes,
    make_class_panels,
    shorten_label,
    title_class_panel,
)
from bakeoff.pipeline.figures.drawing.panels import CLASS_COLOURS, GRID_COLOUR, MUTED_COLOUR, add_legend
from bakeoff.pipeline.figures.finished_run import FinishedRun
from bakeoff.pipeline.figures.run_figure import RunFigure
from bakeoff.pipeline.stages.splitting import Splits
from bakeoff.pipeline.text.numbers import format_score

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BAR_COLOUR = "#d9d9d9"


@final
@dataclass(frozen=True, kw_only=True)
class Reliability(RunFigure):
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
    labels: Mapping[str, str] = field(default_factory=dict)

    task: ClassVar[str | None] = "classification"

    def check(self, experiment: Experiment, splits: Splits) -> None:
        """Check before a run that there are probabilities; UserError if not."""
        super().check(experiment, splits)
        if not hasattr(experiment.scored_learner, "predict_proba"):
            raise UserError(
                f"figures: Reliability shows probabilities, and {type(experiment.learner).__name__} has none; "
                "add calibration=platt, choose another learner, or remove the figure."
            )
        check_classes("Reliability", experiment)

    def draw(self, run: FinishedRun) -> Figure:
        """Draw a panel for each class: the curve, the diagonal, and the share of the rows in each bin."""
        from sklearn.metrics import brier_score_loss

        shown = list_shown_classes(run.experiment.dataset)
        figure, panels = make_class_panels(run, shown)
        truth = collect_truth(run)
        for axes, label in zip(panels, shown, strict=True):
            probabilities = collect_probabilities(run, label)
            self._draw_curve(axes, truth == label, probabilities)
            brier = brier_score_loss(truth == label, probabilities)
            title_class_panel(axes, run, label, f"Brier score {format_score(brier)}", len(shown))
        name = shorten_label(shown[0]) if len(shown) == 1 else "class"
        label_axes(panels, f"probability of {name}", "observed frequency")
        add_legend(figure, describe_test_rows(run, len(truth)), _make_marks())
        return figure

    def _draw_curve(self, axes: Axes, is_class: np.ndarray, probabilities: np.ndarray) -> None:
        from sklearn.calibration import CalibrationDisplay

        counts, edges = np.histogram(probabilities, self.bins, (0, 1))
        axes.bar(edges[:-1], counts / counts.sum(), np.diff(edges), align="edge", color=BAR_COLOUR, zorder=0)
        CalibrationDisplay.from_predictions(
            is_class,
            probabilities,
            n_bins=self.bins,
            ax=axes,
            color=CLASS_COLOURS[0],
            markersize=4.5,
            ref_line=False,
        )
        legend = axes.get_legend()
        if legend is not None:
            legend.remove()
        axes.plot([0, 1], [0, 1], color=MUTED_COLOUR, linestyle=":", linewidth=1)
        axes.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.04), xlabel="", ylabel="", aspect="equal")
        axes.set_xticks([0, 0.5, 1], ["0", "0.5", "1"])
        axes.set_yticks([0, 0.5, 1], ["0", "0.5", "1"])
        axes.grid(color=GRID_COLOUR)


def collect_probabilities(run: FinishedRun, label: object) -> np.ndarray:
    """Return the probability of a class for the test rows of all folds, in the order of `collect_truth`."""
    code = int(np.flatnonzero(run.experiment.dataset.classes == label)[0])
    tables = [fold.predictions.probabilities for fold in run.folds if fold.predictions.probabilities is not None]
    probabilities = np.concatenate(tables)[:, code]  # (m,)
    # Rounding can carry a probability past 1 by one float, which scikit-learn's display rejects.
    return np.clip(probabilities, 0, 1)


def _make_marks() -> dict[str, Any]:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    return {
        "learner": Line2D([], [], color=CLASS_COLOURS[0], marker="s", markersize=4.5),
        "perfectly calibrated": Line2D([], [], color=MUTED_COLOUR, linestyle=":"),
        "share of the rows": Patch(color=BAR_COLOUR),
    }
