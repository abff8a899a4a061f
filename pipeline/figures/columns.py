"""How much the columns of a dataset count for the predictions of a run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from sklearn.inspection import permutation_importance

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.experiment import Experiment, score_headline
from bakeoff.pipeline.experiment.experiment import derive_seed
from bakeoff.pipeline.figures.finished_run import FinishedRun
from bakeoff.pipeline.figures.panels import BAR_INCHES, add_title, draw_bars, make_panels
from bakeoff.pipeline.figures.run_figure import TabulatedFigure
from bakeoff.pipeline.stages.splitting import Splits

MAX_BARS = 20
"""Maximum number of columns, of which those with the greatest values are drawn; the table contains all."""


@final
@dataclass(frozen=True, kw_only=True)
class Importances(TabulatedFigure):
    """How much the headline score falls on test rows if a column is permuted.

    Importances are means over the folds with their standard deviation. A permuted column loses its relation to the
    target and to the other columns; of two redundant columns, neither is important.

    Parameters
    ----------
    repeats : int
        The number of permutations of each column in each fold.

    References
    ----------
    L. Breiman, "Random forests", Machine Learning 45, 2001.
    """

    repeats: int = 5
    file: str = "importances.png"

    def check(self, experiment: Experiment, splits: Splits) -> None:
        """Check before a run that test rows can be permuted; UserError if not."""
        super().check(experiment, splits)
        if not isinstance(self.repeats, int) or self.repeats < 1:
            raise UserError(f"figures: Importances.repeats={self.repeats!r} must be an integer of at least 1.")
        if min(len(split.test) for split in splits.folds) < 2:
            raise self.refuse(
                "permutes the test rows of a fold, and a fold tests one row only",
                "use evaluation=kfold, or remove the figure",
            )

    def measure(self, run: FinishedRun) -> pd.DataFrame:
        """Return a line for each column: the mean and the standard deviation over folds."""
        columns = run.experiment.dataset.X.columns.astype(str)
        folds = pd.DataFrame([self._permute_columns(run, number) for number in range(len(run.folds))], columns=columns)
        return folds.agg(["mean", "std"]).T.rename_axis("column").reset_index()

    def _permute_columns(self, run: FinishedRun, number: int) -> np.ndarray:
        """Return the mean fall of the headline score in a fold for each column, of shape (d,)."""
        fold = run.folds[number]
        X, y = run.select_rows(fold.split.test)
        weights = run.select_weights(fold.split.test)
        # A fall of an error is a rise of the score: importances are positive where a column helps.
        sign = 1 if run.experiment.headline_metric.greater_is_better else -1
        result: Any = permutation_importance(
            fold.model.predictor,
            X,
            y,
            scoring=lambda model, rows, targets: sign * score_headline(run.experiment, model, rows, targets, weights),
            n_repeats=self.repeats,
            random_state=derive_seed(run.experiment.seed, "importances") + number,
        )
        means: np.ndarray = result.importances_mean
        return means

    def draw_table(self, run: FinishedRun, table: pd.DataFrame) -> Figure:
        """Draw a bar for each column, the most important one on top."""
        drawn = table.nlargest(MAX_BARS, "mean")
        figure, (axes,) = make_panels(width=6.5, height=1.5 + BAR_INCHES * len(drawn))
        names = [self.get_label(name) for name in drawn["column"]]
        draw_bars(axes, names, drawn["mean"].to_numpy(), drawn["std"].to_numpy() if len(run.folds) > 1 else None)
        change = "fall" if run.experiment.headline_metric.greater_is_better else "rise"
        axes.set_xlabel(f"{change} of {self.get_label(run.experiment.headline)} on test rows if the column is permuted")
        note = run.describe_folds()
        if len(drawn) < len(table):
            note += f"\nthe first {len(drawn)} of {len(table)} columns"
        add_title(axes, run.title, note)
        return figure
