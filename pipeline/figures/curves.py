"""Curves: a score against a parameter, and predictions against a single column."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal, final

import numpy as np
import pandas as pd

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.experiment import Experiment
from bakeoff.pipeline.figures.finished_run import FinishedRun, Parameters, check_variants
from bakeoff.pipeline.figures.panels import CLASS_COLOURS, GRID_COLOUR, MUTED_COLOUR, add_title, make_panels
from bakeoff.pipeline.figures.run_figure import RunFigure
from bakeoff.pipeline.stages.splitting import Splits

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

CURVE_POINTS = 1500
MARGIN_SHARE = 0.04
"""The margin of a curve around the rows on each side, as a fraction of the column's range."""


@final
@dataclass(frozen=True, kw_only=True)
class ValidationCurve(RunFigure):
    """The headline score on training and test rows of every fold against one parameter of the learner.

    The figure shows over- and underfitting. Do not use it to choose a value: a score that was used for a choice is no
    longer an estimate of the score on new rows.

    Parameters
    ----------
    parameter : str
        A parameter of the learner.
    values : sequence of numbers
    scale : {"linear", "log"}
        The scale of the axis of values.
    left, right : str
        Text at the ends of the axis, such as "overfits".
    """

    parameter: str
    values: Sequence[float]
    scale: Literal["linear", "log"] = "linear"
    left: str = ""
    right: str = ""
    file: str = "validation_curve.png"
    labels: Mapping[str, str] = field(default_factory=dict)

    def check(self, experiment: Experiment, splits: Splits) -> None:
        """Check before a run that the learner has the parameter and accepts the values; UserError if not."""
        super().check(experiment, splits)
        check_variants(experiment, splits, [{f"learner__{self.parameter}": value} for value in self.values])

    def draw(self, run: FinishedRun) -> Figure:
        """Draw means over the folds, and their standard deviation as a band."""
        from sklearn.model_selection import ValidationCurveDisplay

        experiment = run.experiment
        figure, panels = make_panels(1, width=7.2, height=3.8)
        axes = panels[0, 0]
        training, test = run.compute_validation_curve(self.parameter, self.values)
        display = ValidationCurveDisplay(
            param_name=self.parameter,
            param_range=np.asarray(self.values),
            train_scores=training,
            test_scores=test,
            score_name=experiment.headline.replace("_", " "),
        )
        display.plot(ax=axes)
        _style_lines(axes)
        self._style_axes(axes)
        learner = self.get_label(type(experiment.learner).__name__)
        n_folds = len(run.folds)
        note = f"mean ± standard deviation over {n_folds} folds" if n_folds > 1 else "one split"
        add_title(axes, f"{learner} on {experiment.dataset.name}", note)
        return figure

    def _style_axes(self, axes: Axes) -> None:
        axes.set(xscale=self.scale, xlabel=self.get_label(self.parameter))
        axes.set_xticks(list(self.values), [f"{value:g}" for value in self.values])
        axes.minorticks_off()
        axes.grid(axis="y", color=GRID_COLOUR)
        axes.legend(loc="best")
        inside: Any = {"transform": axes.transAxes, "color": MUTED_COLOUR, "style": "italic"}
        axes.text(0.02, 0.03, self.left, ha="left", **inside)
        axes.text(0.98, 0.03, self.right, ha="right", **inside)


def _style_lines(axes: Any) -> None:
    """Style the lines of scikit-learn's display and their bands: training rows first, then test rows."""
    training_line, test_line = axes.lines
    training_band, test_band = axes.collections
    training_colour = CLASS_COLOURS[1]
    test_colour = CLASS_COLOURS[0]
    training_line.set(color=training_colour, marker="s", markersize=4.5, label="training rows")
    training_band.set(facecolor=training_colour, alpha=0.15)
    test_line.set(color=test_colour, marker="o", markersize=4.5, label="test rows")
    test_band.set(facecolor=test_colour, alpha=0.15)


@final
@dataclass(frozen=True, kw_only=True)
class RegressionCurves(RunFigure):
    """Predictions against the one column of a dataset, a panel for each variant.

    Parameters
    ----------
    variants : mapping of str to parameters
        Title -> other parameters of the run's pipeline.
    """

    variants: Mapping[str, Parameters]
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
        figure, panels = make_panels(len(self.variants), sharex=True, sharey=True)
        for axes, (title, parameters) in zip(panels[0], self.variants.items(), strict=True):
            axes.scatter(X[name], y, s=22, c=CLASS_COLOURS[0], alpha=0.55, edgecolors="none", label="rows")
            pipeline = run.fit_variant(parameters, run.split.train)
            axes.plot(grid[name], pipeline.predict(grid), color=CLASS_COLOURS[1], linewidth=1.8, label="prediction")
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
