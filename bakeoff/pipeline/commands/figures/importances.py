"""The influence of columns on predictions: importances as bars."""

from dataclasses import dataclass
from functools import partial
from typing import Any, final

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from bakeoff.pipeline.commands.drawing.panels import (
    CLASS_COLOURS,
    MUTED_COLOUR,
    TEXT_COLOUR,
    add_title,
    count_letters,
    is_narrowed,
    make_panels,
    wrap_name,
)
from bakeoff.pipeline.commands.figures.run_figure import FinishedRun, TabulatedFigure
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.experiment import Experiment, score_headline
from bakeoff.pipeline.experiment.experiment import derive_seed
from bakeoff.pipeline.model.permutation import list_scored_parts, permute_columns
from bakeoff.pipeline.stages.splitting import Splits
from bakeoff.pipeline.text.wording import cut_text

WIDTH_INCHES = 7.0
FRAME_INCHES = 1.2
LINES_INCHES = 0.9
BAR_INCHES = 0.24
BAR_OPACITY = 0.55
"""Whiskers can be seen on the bars."""
LABEL_LETTERS_PER_INCH = 9.0
MAX_BARS = 20
"""Maximum number of columns to draw, which are those with the greatest values; the table contains all columns."""


@final
@dataclass(frozen=True, kw_only=True)
class Importances(TabulatedFigure):
    """The decrease of the headline score on test rows when a column is permuted.

    Importances are means over the folds, with their standard deviation. A permuted column loses its relation to the
    target and to the other columns; if two columns are redundant, neither is important.

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
        """Check before a run that test rows can be permuted; raise UserError otherwise."""
        super().check(experiment, splits)
        if self.repeats < 1:
            raise UserError(f"figures: Importances.repeats={self.repeats!r} must be an integer of at least 1.")
        self.require_several_rows(splits)

    def measure(self, run: FinishedRun) -> pd.DataFrame:
        """Return a row for each column, with the mean and the standard deviation over folds."""
        experiment = run.experiment
        score = partial(score_headline, experiment)
        is_better = experiment.headline_metric.greater_is_better
        seed = derive_seed(experiment.seed, "importances")
        parts, _ = list_scored_parts(experiment, run.folds)
        losses = [
            permute_columns(part, score, is_better, self.repeats, seed + number).mean(axis=1)
            for number, part in enumerate(parts)
        ]
        folds = pd.DataFrame(losses, columns=experiment.dataset.X.columns.astype(str))
        return folds.agg(["mean", "std"]).T.rename_axis("column").reset_index()

    def draw_table(self, run: FinishedRun, table: pd.DataFrame) -> Figure:
        """Draw a bar for each column, with the most important one on top."""
        drawn = table.nlargest(MAX_BARS, "mean")
        change = "fall" if run.experiment.headline_metric.greater_is_better else "rise"
        label = f"{change} in {self.get_label(run.experiment.headline)} on test rows if the column is permuted"
        # In a narrow figure, titles and labels have more lines.
        frame = FRAME_INCHES + LINES_INCHES * is_narrowed()
        figure, (axes,) = make_panels(width=WIDTH_INCHES, height=frame + BAR_INCHES * len(drawn))
        # Positions are used instead of names, because two names may be equal after truncation.
        positions = np.arange(len(drawn))
        deviations = drawn["std"] if len(run.folds) > 1 else None
        style: Any = {"color": CLASS_COLOURS[0], "alpha": BAR_OPACITY, "ecolor": TEXT_COLOUR}
        axes.barh(positions, drawn["mean"], xerr=deviations, **style)
        axes.set_yticks(positions, [cut_text(self.get_label(name), count_letters()) for name in drawn["column"]])
        axes.set_ylim(len(drawn) - 0.4, -0.6)
        axes.axvline(0, color=MUTED_COLOUR, linewidth=0.8)
        axes.grid(axis="x")
        # The label has room below the names.
        axes.set_xlabel(wrap_name(label, int(LABEL_LETTERS_PER_INCH * figure.get_figwidth())), loc="right")
        note = run.describe_folds()
        if len(drawn) < len(table):
            note += f"\nthe first {len(drawn)} of {len(table)} columns"
        add_title(axes, run.title, note)
        return figure
