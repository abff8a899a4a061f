"""Errors of a regression on its test rows: predicted against true targets, and the residuals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, final

import numpy as np

from bakeoff.pipeline.figures.classification import describe_test_rows
from bakeoff.pipeline.figures.drawing.panels import CLASS_COLOURS, GRID_COLOUR, MUTED_COLOUR, add_title, make_panels
from bakeoff.pipeline.figures.finished_run import FinishedRun
from bakeoff.pipeline.figures.run_figure import RunFigure
from bakeoff.pipeline.text.numbers import format_score

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MAX_DRAWN_ROWS = 2000
"""Of more rows, this number is drawn at random."""


@final
@dataclass(frozen=True, kw_only=True)
class Residuals(RunFigure):
    """Predicted against true targets, and residuals against predictions, on the test rows of all folds."""

    file: str = "residuals.png"
    labels: Mapping[str, str] = field(default_factory=dict)

    task: ClassVar[str | None] = "regression"

    def draw(self, run: FinishedRun) -> Figure:
        """Draw both panels; perfect predictions lie on the lines."""
        from matplotlib.ticker import AutoLocator
        from sklearn.metrics import PredictionErrorDisplay

        truth = np.concatenate([fold.predictions.truth for fold in run.folds])  # (m,)
        predicted = np.concatenate([fold.predictions.predicted for fold in run.folds])  # (m,)
        target = self.get_label(run.experiment.dataset.target)
        figure, panels = make_panels(2, width=9.0, height=4.2)
        for axes, kind in zip(panels[0], ("actual_vs_predicted", "residual_vs_predicted"), strict=True):
            PredictionErrorDisplay.from_predictions(
                truth,
                predicted,
                kind=kind,
                subsample=min(MAX_DRAWN_ROWS, len(truth)),
                # Both panels show the same rows, and a figure drawn again shows them again.
                random_state=0,
                ax=axes,
                scatter_kwargs={"color": CLASS_COLOURS[0], "alpha": 0.45, "s": 16, "edgecolors": "none"},
                line_kwargs={"color": MUTED_COLOUR, "linestyle": ":", "alpha": 1.0},
            )
            # The display puts its ticks at fractions of the range.
            axes.xaxis.set_major_locator(AutoLocator())
            axes.yaxis.set_major_locator(AutoLocator())
            axes.grid(color=GRID_COLOUR)
        left, right = panels[0]
        left.set(xlabel=f"predicted {target}", ylabel=f"true {target}")
        right.set(xlabel=f"predicted {target}", ylabel="residual (true − predicted)")
        self._add_titles(left, right, run, truth, predicted)
        return figure

    def _add_titles(self, left: Axes, right: Axes, run: FinishedRun, truth: np.ndarray, predicted: np.ndarray) -> None:
        experiment = run.experiment
        rows = describe_test_rows(run, len(truth))
        if len(truth) > MAX_DRAWN_ROWS:
            rows += f", of which {MAX_DRAWN_ROWS} are drawn"
        add_title(left, f"{run.learner_name} on {experiment.dataset.name}", rows)
        residuals = truth - predicted  # (m,)
        note = f"mean {format_score(residuals.mean())}, standard deviation {format_score(residuals.std(ddof=1))}"
        add_title(right, "Residuals", note)
