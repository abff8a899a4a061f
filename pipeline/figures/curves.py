"""Curves: a score against a parameter, and predictions against a single column."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal, final

import numpy as np
import pandas as pd

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.experiment import Experiment
from bakeoff.pipeline.figures.finished_run import FinishedRun, Parameters, check_changes
from bakeoff.pipeline.figures.panels import COLOURS, GREY, Picture, head, sheet
from bakeoff.pipeline.stages.splitting import Splits

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@final
@dataclass(frozen=True, kw_only=True)
class ValidationCurve(Picture):
    """The headline score on training and test rows of every fold against one parameter of the learner.

    It shows over- and underfitting; to choose a value by its test scores would be to spoil them.

    Parameters
    ----------
    parameter : str
        Of the learner.
    values : sequence of numbers
    scale : {"linear", "log"}
        Of the values.
    left, right : str
        What happens at the ends, such as overfitting.
    """

    parameter: str
    values: Sequence[float]
    scale: Literal["linear", "log"] = "linear"
    left: str = ""
    right: str = ""
    file: str = "validation_curve.png"
    labels: Mapping[str, str] = field(default_factory=dict)

    def check(self, experiment: Experiment, splits: Splits) -> None:
        """Refuse a parameter that the learner has not, and values that it does not take."""
        super().check(experiment, splits)
        check_changes(experiment, splits, [{f"learner__{self.parameter}": value} for value in self.values])

    def draw(self, run: FinishedRun) -> Figure:
        """Draw means over the folds, and their standard deviation as a band."""
        from sklearn.model_selection import ValidationCurveDisplay

        figure, panels = sheet(1, width=7.2, height=3.8)
        axes, experiment = panels[0, 0], run.experiment
        training, test = run.scores_along(self.parameter, self.values)
        ValidationCurveDisplay(
            param_name=self.parameter, param_range=np.asarray(self.values), train_scores=training, test_scores=test,
            score_name=experiment.headline.replace("_", " "),
        ).plot(ax=axes)  # fmt: skip
        self._dress(axes)
        learner = self.label(type(experiment.learner).__name__)
        n_folds = f"mean ± standard deviation over {len(run.folds)} folds" if len(run.folds) > 1 else "one split"
        head(axes, f"{learner} on {experiment.dataset.name}", n_folds)
        return figure

    def _dress(self, axes: Any) -> None:
        """Give the two lines their colours and name the ends."""
        for line, band, colour, mark in zip(axes.lines, axes.collections, COLOURS[1::-1], "so", strict=True):
            line.set(
                color=colour,
                marker=mark,
                markersize=4.5,
                label=line.get_label().replace("Train", "training rows").replace("Test", "test rows"),
            )
            band.set(facecolor=colour, alpha=0.15)
        axes.set(xscale=self.scale, xlabel=self.label(self.parameter))
        axes.set_xticks(list(self.values), [f"{value:g}" for value in self.values])
        axes.minorticks_off()
        axes.grid(axis="y", color="#e5e5e5")
        axes.legend(loc="best")
        for text, place, side in ((self.left, 0.02, "left"), (self.right, 0.98, "right")):
            axes.text(place, 0.03, text, transform=axes.transAxes, ha=side, color=GREY, style="italic")


@final
@dataclass(frozen=True, kw_only=True)
class RegressionCurves(Picture):
    """Predictions against the one column of a dataset, a panel for each variant.

    Parameters
    ----------
    variants : mapping of str to parameters
        Title -> what of the run's pipeline is changed.
    """

    variants: Mapping[str, Parameters]
    file: str = "regression_curves.png"
    labels: Mapping[str, str] = field(default_factory=dict)

    task: ClassVar[str | None] = "regression"

    def check(self, experiment: Experiment, splits: Splits) -> None:
        """Refuse what is not regression on one numeric column."""
        super().check(experiment, splits)
        d = experiment.dataset.X.shape[1]
        if d != 1 or experiment.dataset.nominal:
            raise UserError(
                f"figures: RegressionCurves are drawn over one numeric column; {experiment.dataset.name} has {d} "
                f"columns, {len(experiment.dataset.nominal)} of them nominal."
            )
        check_changes(experiment, splits, self.variants.values())

    def draw(self, run: FinishedRun) -> Figure:
        """Draw the rows that the model saw, and the curve, for each variant."""
        X, y = run.rows(run.split.train)
        name = str(X.columns[0])
        beyond = 0.04 * float(np.ptp(X[name]))
        grid = pd.DataFrame({name: np.linspace(X[name].min() - beyond, X[name].max() + beyond, 1500)})
        figure, panels = sheet(len(self.variants), sharex=True, sharey=True)
        for axes, (title, parameters) in zip(panels[0], self.variants.items(), strict=True):
            axes.scatter(X[name], y, s=22, c=COLOURS[0], alpha=0.55, edgecolors="none", label="rows")
            curve = run.fit(parameters, run.split.train).predict(grid)
            axes.plot(grid[name], curve, color=COLOURS[1], linewidth=1.8, label="prediction")
            axes.set(xlabel=self.label(name))
            axes.grid(axis="y", color="#e5e5e5")
            head(axes, title, self.scored(run, parameters))
        panels[0, 0].set_ylabel(self.label(run.experiment.dataset.target))
        panels[0, 0].legend(loc="upper left")
        return figure
