"""The influence of columns on predictions: importances as bars, and the partial dependence on each column.

Importances are a figure of a run; an explanation of a model contains both.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, final

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.experiment import Experiment, score_headline
from bakeoff.pipeline.experiment.experiment import derive_seed
from bakeoff.pipeline.figures.panels import (
    CLASS_COLOURS,
    GRID_COLOUR,
    MUTED_COLOUR,
    NAME_LETTERS,
    add_legend,
    add_title,
    in_style,
    make_panels,
)
from bakeoff.pipeline.figures.run_figure import FinishedRun, TabulatedFigure
from bakeoff.pipeline.model.permutation import list_scored_parts, permute_columns
from bakeoff.pipeline.stages.splitting import Splits
from bakeoff.pipeline.text.wording import cut_text

BAR_INCHES = 0.24
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
        names = [self.get_label(name) for name in drawn["column"]]
        change = "fall" if run.experiment.headline_metric.greater_is_better else "rise"
        label = f"{change} in {self.get_label(run.experiment.headline)} on test rows if the column is permuted"
        deviations = drawn["std"].to_numpy() if len(run.folds) > 1 else None
        figure = draw_importances(names, drawn["mean"].to_numpy(), deviations, label)
        note = run.describe_folds()
        if len(drawn) < len(table):
            note += f"\nthe first {len(drawn)} of {len(table)} columns"
        add_title(figure.axes[0], run.title, note)
        return figure


COUNT_SHARE = 0.22
"""The part of a panel's height used for bars that show the number of rows at each value, below the curve."""
MAX_LEVEL_LABELS = 5
"""If there are more labels of values than this, they are rotated."""
VALUE_LETTERS = 14
MISSING_DISTANCE = 0.3
"""The distance of the point for missing cells from the greatest number, as a fraction of the axis."""


class Curve(NamedTuple):
    """The partial dependence on one column, at v values.

    Attributes
    ----------
    column : str
    labels : sequence of v str
    positions : sequence of v (float or None)
        The numeric positions; None for a value that is not a number, and for missing cells among numbers.
    counts : sequence of v int
        The number of rows at each value.
    means : ndarray of shape (v, k)
        The mean of each of the k outputs.
    """

    column: str
    labels: Sequence[str]
    positions: Sequence[float | None]
    counts: Sequence[int]
    means: np.ndarray


@in_style()
def draw_importances(
    names: Sequence[str], means: np.ndarray, deviations: np.ndarray | None, score_change: str
) -> Figure:
    """Draw a bar for each column, with whiskers of one standard deviation.

    Parameters
    ----------
    names : sequence of n str
    means : ndarray of shape (n,)
    deviations : ndarray of shape (n,) or None
    score_change : str
        The label of the axis, such as "fall in accuracy".
    """
    figure, (axes,) = make_panels(width=7.0, height=1.2 + BAR_INCHES * len(names))
    # Positions are used instead of names, because two names may be equal after truncation.
    positions = np.arange(len(names))
    axes.barh(positions, means, xerr=deviations, color=CLASS_COLOURS[0], ecolor=MUTED_COLOUR)
    axes.set_yticks(positions, [cut_text(name, NAME_LETTERS) for name in names])
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.axvline(0, color=MUTED_COLOUR, linewidth=0.8)
    axes.locator_params(axis="x", nbins=5)
    axes.grid(axis="x")
    axes.set_xlabel(score_change)
    return figure


@in_style()
def draw_dependences(curves: Sequence[Curve], outputs: Sequence[str]) -> Figure:
    """Draw a panel for each column, all with the same vertical axis so that columns can be compared.

    Parameters
    ----------
    curves : sequence of Curve
    outputs : sequence of k str
        The names of the outputs.
    """
    figure, panels = make_panels(len(curves), 3, width=3.0, height=2.6, sharey=True)
    lines: list[Line2D] = []
    for axes, curve in zip(panels, curves, strict=True):
        lines = _draw_curve(axes, curve)
        add_title(axes, curve.column)
    if len(outputs) > 1:
        add_legend(figure, "output", dict(zip(outputs, lines, strict=True)))
    low, high = panels[0].get_ylim()
    room = COUNT_SHARE * (high - low)
    for axes, curve in zip(panels, curves, strict=True):
        places = _place_values(curve)
        width = 0.8 * np.diff(np.sort(places)).min()
        heights = 0.9 * room * np.array(curve.counts) / max(*curve.counts, 1)
        axes.bar(places, heights, width, bottom=low - room, color=GRID_COLOUR, zorder=0)
    panels[0].set_ylim(low - room, high)
    return figure


def _draw_curve(axes: Axes, curve: Curve) -> list[Line2D]:
    """Draw and return a line for each output: numbers are joined, and other values and missing cells are dots."""
    places = _place_values(curve)
    is_number = np.array([position is not None for position in curve.positions])  # (v,)
    lines = axes.plot(places[is_number], curve.means[is_number])
    axes.set_prop_cycle(None)
    axes.plot(places[~is_number], curve.means[~is_number], "o", markersize=5)
    # Only the first and the last number are labelled.
    is_inner = is_number & (places > places[0]) & (places < places[is_number].max(initial=-np.inf))  # (v,)
    shown = np.flatnonzero(~is_inner).tolist()
    labels = [cut_text(curve.labels[position], VALUE_LETTERS) for position in shown]
    is_turned = len(labels) > MAX_LEVEL_LABELS
    axes.set_xticks(places[shown], labels, rotation="vertical" if is_turned else "horizontal")
    axes.grid(axis="y")
    return lines


def _place_values(curve: Curve) -> np.ndarray:
    """Return the positions of values: numbers to scale, others side by side, and missing cells last."""
    numbers = np.array([np.nan if position is None else position for position in curve.positions])  # (v,)
    if np.isnan(numbers).all():
        return np.arange(len(numbers), dtype=float)
    gap = MISSING_DISTANCE * (np.nanmax(numbers) - np.nanmin(numbers) or 1.0)
    return np.where(np.isnan(numbers), np.nanmax(numbers) + gap, numbers)
