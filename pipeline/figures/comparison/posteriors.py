"""Bayesian posteriors of pairs: how probably a configuration is better than the base, equivalent to it, or worse."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bakeoff.pipeline.figures.comparison.grid import add_rectangles, make_grid, write_absent
from bakeoff.pipeline.figures.comparison.rendering import in_style
from bakeoff.pipeline.figures.drawing.panels import CLASS_COLOURS, FONT_POINTS
from bakeoff.pipeline.text.numbers import format_percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WORSE_COLOUR = CLASS_COLOURS[3]
EQUIVALENT_COLOUR = "#c9c9c9"
BETTER_COLOUR = CLASS_COLOURS[4]
BAR_HALF_INCHES = 0.075
FOOTER_INCHES = 0.3
CENTRED: Any = {"ha": "center", "va": "center_baseline"}
MAX_LABELLED_PANELS = 12
"""In more panels, which are read at a glance, the bars have no percentages."""
TEXT_SHARE_INCHES = 0.45
"""The narrowest part of a bar that its percentage is written into."""


@in_style
def draw_posteriors(datasets: Sequence[str], configurations: Sequence[str], posteriors: np.ndarray) -> Figure:
    """Draw a bar of three parts for each configuration, a panel per dataset.

    Parameters
    ----------
    datasets, configurations : sequence of str
        Without the base.
    posteriors : ndarray of shape (datasets, configurations, 3)
        The probabilities that the configuration is worse than the base, equivalent to it, and better; NaN if unknown.
    """
    grid = make_grid(datasets, configurations, footer_inches=FOOTER_INCHES)
    heights = np.array(grid.middles)
    for axes, bars in zip(grid.panels, posteriors, strict=True):
        axes.set_xlim(0, 1)
        axes.set_xticks([0, 0.5, 1], ["", "50 %", ""])
        known = np.isfinite(bars).all(axis=1)
        for y in heights[~known]:
            write_absent(axes, y, "no posterior")
        _draw_bars(axes, bars[known], heights[known])
        if len(datasets) <= MAX_LABELLED_PANELS:
            _write_percentages(axes, bars[known], heights[known])
    _add_legend(grid.figure)
    return grid.figure


def _draw_bars(axes: Axes, bars: np.ndarray, heights: np.ndarray) -> None:
    """Draw bars of shape (rows, 3)."""
    ends = np.cumsum(bars, axis=1)  # (rows, 3)
    starts = ends - bars
    for part, colour in enumerate((WORSE_COLOUR, EQUIVALENT_COLOUR, BETTER_COLOUR)):
        style = {"facecolor": colour, "edgecolor": "white", "linewidth": 0.8}
        add_rectangles(axes, starts[:, part], ends[:, part], heights, BAR_HALF_INCHES, **style)


def _write_percentages(axes: Axes, bars: np.ndarray, heights: np.ndarray) -> None:
    """Write percentages into the parts of bars that are wide enough."""
    panel_inches = axes.get_window_extent().width / axes.figure.dpi
    starts = np.cumsum(bars, axis=1) - bars  # (rows, 3)
    for row, part in np.argwhere(bars * panel_inches > TEXT_SHARE_INCHES):
        share = bars[row, part]
        place = (starts[row, part] + share / 2, heights[row])
        axes.text(*place, format_percent(share), fontsize=FONT_POINTS - 1.5, color="black", **CENTRED)


def _add_legend(figure: Figure) -> None:
    from matplotlib.patches import Patch

    meanings = {
        "worse": WORSE_COLOUR,
        "equivalent in practice": EQUIVALENT_COLOUR,
        "better than the base": BETTER_COLOUR,
    }
    handles = [Patch(color=colour, label=meaning) for meaning, colour in meanings.items()]
    figure.legend(handles=handles, loc="lower right", ncols=len(handles), borderaxespad=0.2, handlelength=1.2)
