"""Figures of a regression: its errors on the test rows, and its predictions over a single column."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, final

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import AutoLocator
from sklearn.metrics import PredictionErrorDisplay

from bakeoff.pipeline.experiment import Experiment
from bakeoff.pipeline.figures.panels import CLASS_COLOURS, MUTED_COLOUR, add_title, make_panels
from bakeoff.pipeline.figures.run_figure import FinishedRun, Parameters, RunFigure, check_variants
from bakeoff.pipeline.stages.scoring.outputs import predict_values
from bakeoff.pipeline.stages.splitting import Splits
from bakeoff.pipeline.text.wording import format_score

MAX_DRAWN_ROWS = 2000
"""If there are more rows, this number of rows is sampled at random."""
CURVE_POINTS = 1500
DOTS: Any = {"s": 20, "color": CLASS_COLOURS[0], "alpha": 0.5, "edgecolors": "none"}
LINE: Any = {"color": MUTED_COLOUR, "linestyle": ":", "alpha": 1.0}
MARGIN_SHARE = 0.04
"""The margin of a curve around the rows on each side, as a fraction of the column's range."""


@final
@dataclass(frozen=True, kw_only=True)
class Residuals(RunFigure):
    """Predicted against true targets, and residuals against predictions, on the test rows of all folds."""

    file: str = "residuals.png"

    task: ClassVar[str | None] = "regression"

    def draw(self, run: FinishedRun) -> Figure:
        """Draw both panels; perfect predictions lie on the lines."""
        figure, panels = make_panels(2, width=4.5, height=4.2)
        residuals = run.truth - run.predicted  # (m,)
        spread = f"mean {format_score(residuals.mean())}, standard deviation {format_score(residuals.std(ddof=1))}"
        titles = (run.title, run.describe_test_rows()), ("Residuals", spread)
        kinds: Any = ("actual_vs_predicted", "residual_vs_predicted")
        for axes, kind, (title, note) in zip(panels, kinds, titles, strict=True):
            # Both panels show the same rows, and drawing the figure again shows them again.
            rows: Any = {"subsample": min(MAX_DRAWN_ROWS, len(run.truth)), "random_state": 0}
            PredictionErrorDisplay.from_predictions(
                run.truth, run.predicted, kind=kind, ax=axes, scatter_kwargs=DOTS, line_kwargs=LINE, **rows
            )
            # The display places its ticks at fractions of the range.
            axes.xaxis.set_major_locator(AutoLocator())
            axes.yaxis.set_major_locator(AutoLocator())
            axes.grid()
            add_title(axes, title, note)
        return figure


@final
@dataclass(frozen=True, kw_only=True)
class RegressionCurves(RunFigure):
    """Predictions against the only column of a dataset, with a panel for each variant.

    Parameters
    ----------
    variants : mapping of str to parameters
        Title -> changed parameters of the run's pipeline; if empty, those of the run are used.
    """

    variants: Mapping[str, Parameters] = field(default_factory=dict)
    file: str = "regression_curves.png"

    task: ClassVar[str | None] = "regression"

    def check(self, experiment: Experiment, splits: Splits) -> None:
        """Check before a run that it is a regression on one numeric column; raise UserError otherwise."""
        super().check(experiment, splits)
        dataset = experiment.dataset
        d = dataset.X.shape[1]
        if d != 1 or dataset.nominal:
            columns = f"{dataset.name} has {d} columns, {len(dataset.nominal)} of them nominal"
            raise self.refuse(f"are drawn over one numeric column, but {columns}")
        check_variants(experiment, splits, self.variants.values())

    def draw(self, run: FinishedRun) -> Figure:
        """Draw the training rows and the curve of each variant."""
        X, y = run.select_rows(run.split.train)
        (name,) = X.columns
        margin = MARGIN_SHARE * float(np.ptp(X[name]))
        grid = pd.DataFrame({name: np.linspace(X[name].min() - margin, X[name].max() + margin, CURVE_POINTS)})
        variants = run.name_variants(self.variants)
        n_panels = len(variants)
        figure, panels = make_panels(n_panels, n_panels, width=9.0 / n_panels, height=3.6, sharex=True, sharey=True)
        for axes, (title, parameters) in zip(panels, variants.items(), strict=True):
            axes.scatter(X[name], y, **DOTS, label="rows")
            curve = predict_values(run.get_variant(parameters), grid, classes=None)  # (m,)
            axes.plot(grid[name], curve, color=CLASS_COLOURS[1], linewidth=1.8, label="prediction")
            axes.set_xlabel(self.get_label(name))
            axes.grid(axis="y")
            add_title(axes, title, self.describe_scores(run, parameters))
        panels[0].set_ylabel(self.get_label(run.experiment.dataset.target))
        panels[0].legend(loc="upper left")
        return figure
