"""Predictions of a regression against a single column."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, final

import numpy as np
import pandas as pd

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.experiment import Experiment
from bakeoff.pipeline.figures.drawing.panels import CLASS_COLOURS, GRID_COLOUR, add_title, make_panels
from bakeoff.pipeline.figures.finished_run import FinishedRun, Parameters, check_variants
from bakeoff.pipeline.figures.run_figure import RunFigure
from bakeoff.pipeline.stages.scoring import predict_values
from bakeoff.pipeline.stages.splitting import Splits

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CURVE_POINTS = 1500
MARGIN_SHARE = 0.04
"""The margin of a curve around the rows on each side, as a fraction of the column's range."""


@final
@dataclass(frozen=True, kw_only=True)
class RegressionCurves(RunFigure):
    """Predictions against the one column of a dataset, a panel for each variant.

    Parameters
    ----------
    variants : mapping of str to parameters
        Title -> other parameters of the run's pipeline; those of the run itself if there are none.
    """

    variants: Mapping[str, Parameters] = field(default_factory=dict)
    file: str = "regression_curves.png"
    labels: Mapping[str, str] = field(default_factory=dict)

    task: ClassVar[str | None] = "regression"

    def check(self, experiment: Experiment, splits: Splits) -> None:
        """Check before a run that it is a regression on one numeric column; UserError if it is not."""
        super().check(experiment, splits)
        d = experiment.dataset.X.shape[1]
        if d != 1 or experiment.dataset.nominal:
            raise UserError(
                f"figures: RegressionCurves are drawn over one numeric column; {experiment.dataset.name} has {d} "
                f"columns, {len(experiment.dataset.nominal)} of them nominal."
            )
        check_variants(experiment, splits, self.variants.values())

    def draw(self, run: FinishedRun) -> Figure:
        """Draw the training rows and the curve of each variant."""
        X, y = run.select_rows(run.split.train)
        name = str(X.columns[0])
        grid = _make_grid(X[name])
        variants = run.name_variants(self.variants)
        figure, panels = make_panels(len(variants), sharex=True, sharey=True)
        for axes, (title, parameters) in zip(panels[0], variants.items(), strict=True):
            axes.scatter(X[name], y, s=22, c=CLASS_COLOURS[0], alpha=0.55, edgecolors="none", label="rows")
            pipeline = run.fit_predictor(parameters, run.split.train)
            curve = predict_values(pipeline, grid, classes=None)  # (m,)
            axes.plot(grid[name], curve, color=CLASS_COLOURS[1], linewidth=1.8, label="prediction")
            axes.set(xlabel=self.get_label(name))
            axes.grid(axis="y", color=GRID_COLOUR)
            add_title(axes, title, self.describe_scores(run, parameters))
        left = panels[0, 0]
        left.set_ylabel(self.get_label(run.experiment.dataset.target))
        left.legend(loc="upper left")
        return figure


def _make_grid(column: pd.Series) -> pd.DataFrame:
    """Return a table of the same column, with values from a little below its least to a little above its greatest."""
    margin = MARGIN_SHARE * float(np.ptp(column))
    values = np.linspace(column.min() - margin, column.max() + margin, CURVE_POINTS)
    return pd.DataFrame({column.name: values})
