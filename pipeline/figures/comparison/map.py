"""A heat map of mean scores, for more datasets and configurations than a table can show at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bakeoff.pipeline.figures.comparison.grid import LINE_INCHES, MARGIN_INCHES, TEXT_SLACK
from bakeoff.pipeline.figures.comparison.rendering import in_style, wrap_name
from bakeoff.pipeline.figures.drawing.panels import FONT_POINTS, MUTED_COLOUR, TEXT_COLOUR, measure_inches

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MIN_WIDTH_INCHES = 9.0
CELL_INCHES = 0.62
CELL_HEIGHT_INCHES = 0.32
MEAN_POINTS = 8.0
STD_POINTS = 6.5
DARKEST_SHARE = 1.5
"""The shade at which the colour map ends; the best of a row, 1, is light enough for black numbers."""
HEADING_LINES = 2
FOOTER_INCHES = 0.25


@in_style
def draw_score_map(
    datasets: Sequence[str],
    configurations: Sequence[str],
    means: np.ndarray,
    stds: np.ndarray,
    *,
    greater_is_better: bool = True,
) -> Figure:
    """Draw a cell for each dataset and configuration; the better among those of its dataset, the darker.

    Parameters
    ----------
    datasets, configurations : sequence of str
    means, stds : ndarray of shape (datasets, configurations)
        NaN for a cell without scores.
    greater_is_better : bool
    """
    rows = [wrap_name(name, lines=1) for name in datasets]
    columns = [wrap_name(name, lines=HEADING_LINES) for name in configurations]
    left = TEXT_SLACK * max(measure_inches(name, FONT_POINTS) for name in rows) + 2 * MARGIN_INCHES
    top = TEXT_SLACK * max(measure_inches(name, FONT_POINTS) for name in columns) + 2 * MARGIN_INCHES
    width = max(MIN_WIDTH_INCHES, left + CELL_INCHES * len(columns) + MARGIN_INCHES)
    cell_width = min((width - left - MARGIN_INCHES) / len(columns), 2 * CELL_INCHES)
    height = top + CELL_HEIGHT_INCHES * len(rows) + FOOTER_INCHES
    figure, axes = _make_canvas(width, height, left, top, cell_width, means.shape)
    shades = _shade_rows(means, greater_is_better)
    axes.imshow(np.ma.masked_invalid(shades), cmap="Blues", vmin=0, vmax=DARKEST_SHARE, aspect="auto")
    _write_cells(axes, means, stds, shades)
    _write_headings(axes, rows, columns)
    note = "darker: better among the configurations of the dataset; ± standard deviation over folds"
    figure.text(MARGIN_INCHES / width, 0.06 / height, note, color=MUTED_COLOUR, fontsize=MEAN_POINTS)
    return figure


def _make_canvas(
    width: float, height: float, left: float, top: float, cell_width: float, shape: tuple[int, ...]
) -> tuple[Figure, Axes]:
    """Return a figure, and axes below the headings and beside the names of the rows; all lengths are in inches."""
    from matplotlib.figure import Figure as MatplotlibFigure

    n_rows, n_columns = shape
    figure = MatplotlibFigure(figsize=(width, height))
    box = (left / width, FOOTER_INCHES / height, cell_width * n_columns / width, CELL_HEIGHT_INCHES * n_rows / height)
    axes = figure.add_axes(box)
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0)
    return figure, axes


def _shade_rows(means: np.ndarray, greater_is_better: bool) -> np.ndarray:
    """Return shares between 0, the worst of a row, and 1, the best; NaN stays.

    Examples
    --------
    >>> _shade_rows(np.array([[0.5, 1.0, 0.75], [0.3, 0.3, 0.3]]), True).tolist()
    [[0.0, 1.0, 0.5], [1.0, 1.0, 1.0]]
    """
    good = means if greater_is_better else -means
    shades = np.full(means.shape, np.nan)
    # Each dataset has a scale of its own, because scores of different datasets cannot be compared.
    for row, values in enumerate(good):
        known = np.isfinite(values)
        if known.any():
            gap = values[known].max() - values
            span = gap[known].max()
            # Equal scores have no span; all of them are the best, and their gaps are 0.
            share = gap / span if span > 0 else gap
            shades[row] = 1 - share
    return shades


def _write_cells(axes: Axes, means: np.ndarray, stds: np.ndarray, shades: np.ndarray) -> None:
    for (row, column), mean in np.ndenumerate(means):
        if not np.isfinite(mean):
            axes.text(column, row, "–", ha="center", va="center", color=MUTED_COLOUR)
            continue
        best = shades[row, column] == 1
        weight = "bold" if best else "normal"
        style: Any = {"ha": "center", "color": "black"}
        axes.text(column, row - 0.02, f"{mean:.3f}", va="bottom", fontsize=MEAN_POINTS, fontweight=weight, **style)
        if np.isfinite(stds[row, column]):
            axes.text(column, row + 0.08, f"±{stds[row, column]:.3f}", va="top", fontsize=STD_POINTS, **style)


def _write_headings(axes: Axes, rows: Sequence[str], columns: Sequence[str]) -> None:
    axes.set_yticks(range(len(rows)), rows, color=TEXT_COLOUR)
    axes.set_xticks(range(len(columns)), columns, rotation=90, color=TEXT_COLOUR, linespacing=LINE_INCHES * 7)
    axes.tick_params(labelbottom=False, labeltop=True)
    axes.set_xlim(-0.5, len(columns) - 0.5)
