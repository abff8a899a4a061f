"""The critical-difference diagram: mean ranks of configurations over datasets, and groups that are not told apart.

It is drawn here and not by scikit-posthocs, whose diagram cuts long names, prints ranks to two digits and writes the
critical difference over the ticks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bakeoff.pipeline.figures.comparison.rendering import in_style, wrap_name
from bakeoff.pipeline.figures.drawing.panels import (
    CLASS_COLOURS,
    FONT_POINTS,
    MUTED_COLOUR,
    NOTE_POINTS,
    TEXT_COLOUR,
    measure_inches,
)
from bakeoff.pipeline.text.numbers import format_statistic

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MIN_WIDTH_INCHES = 9.0
MIN_AXIS_INCHES = 4.6
MARGIN_INCHES = 0.12
ELBOW_INCHES = 0.25
"""The shortest horizontal line between a name and the axis."""
TEXT_GAP_INCHES = 0.09
TEXT_SLACK = 1.05
"""Text is rendered a little wider than measured, because letters are moved to whole pixels."""
LINE_INCHES = 0.165
ROW_GAP_INCHES = 0.07
LEVEL_INCHES = 0.11
"""The distance between two levels of bars."""
AXIS_TOP_INCHES = 0.42
BAR_TOP_INCHES = 0.5
"""The height of the bar of the critical difference with its text, above the axis."""
SAME_LEVEL_GAP_INCHES = 0.12


@in_style
def draw_critical_difference(
    names: Sequence[str],
    mean_ranks: Sequence[float] | np.ndarray,
    groups: Sequence[Sequence[int]],
    *,
    critical_difference: float,
    note: str = "",
) -> Figure:
    """Draw mean ranks on an axis, the best on the left, and bars over the groups that are not told apart.

    Parameters
    ----------
    names : sequence of k str
    mean_ranks : array of shape (k,)
        1 is best.
    groups : sequence of sequences of int
        Positions of configurations that are not told apart.
    critical_difference : float
        Drawn as a bar above the axis.
    note : str
        The test, written after the critical difference.

    References
    ----------
    J. Demšar (2006). Statistical comparisons of classifiers over multiple data sets. JMLR 7, figure 1.
    """
    ranks = np.asarray(mean_ranks, dtype=float)  # (k,)
    texts = [wrap_name(name) for name in names]
    left, right = _divide_names(ranks)
    scale, width = _scale_ranks(ranks, texts, left, right)
    axis_y = MARGIN_INCHES + AXIS_TOP_INCHES + BAR_TOP_INCHES
    levels = _stack_bars([_find_ends(ranks, group, scale) for group in groups])
    # The height of the figure follows from the names, and these hang below the bars: so bars are placed first.
    names_y = axis_y + LEVEL_INCHES * (max(levels, default=-1) + 2) + LINE_INCHES
    left_y, left_end = _place_rows(texts, left, names_y)
    right_y, right_end = _place_rows(texts, right, names_y)
    figure, axes = _make_canvas(width, max(left_end, right_end) + MARGIN_INCHES)
    _draw_axis(axes, ranks, scale, axis_y)
    _draw_critical_bar(axes, scale, ranks.min(), critical_difference, note)
    heights = dict(zip([*left, *right], [*left_y, *right_y], strict=True))
    for position, y in heights.items():
        side = "left" if position in left else "right"
        _draw_name(axes, side, texts[position], float(ranks[position]), scale, axis_y, y)
    for group, level in zip(groups, levels, strict=True):
        _draw_group(axes, ranks, group, scale, axis_y + LEVEL_INCHES * (level + 1))
    return figure


def _divide_names(ranks: np.ndarray) -> tuple[list[int], list[int]]:
    """Return the positions of the better half, which is named on the left, and of the others, from the top down."""
    order = np.argsort(ranks, kind="stable").tolist()
    n_left = (len(order) + 1) // 2
    # The worst is on top on the right, so that the lines of both sides do not cross.
    return order[:n_left], order[n_left:][::-1]


def _find_ends(ranks: np.ndarray, group: Sequence[int], scale: _Scale) -> tuple[float, float]:
    """Return where the bar of a group begins and ends, in inches."""
    own = ranks[list(group)]
    return scale(own.min()), scale(own.max())


class _Scale:
    """The position in inches of a mean rank.

    Parameters
    ----------
    low, high : float
        Ranks at the ends of the axis.
    left, right : float
        Positions of the ends, in inches.
    """

    def __init__(self, low: float, high: float, left: float, right: float) -> None:
        self.low = low
        self.high = high
        self.left = left
        self.right = right

    def __call__(self, rank: float) -> float:
        """Return the position of a rank."""
        return self.left + (rank - self.low) / (self.high - self.low) * (self.right - self.left)


def _scale_ranks(
    ranks: np.ndarray, texts: Sequence[str], left: Sequence[int], right: Sequence[int]
) -> tuple[_Scale, float]:
    """Return a scale from one whole rank to another between the names on both sides, and the width of all in inches."""
    beside = MARGIN_INCHES + _measure_text("00.00") + 2 * TEXT_GAP_INCHES + ELBOW_INCHES
    left_inches = beside + max(_measure_text(texts[row]) for row in left)
    right_inches = beside + max((_measure_text(texts[row]) for row in right), default=0.0)
    width = max(MIN_WIDTH_INCHES, left_inches + MIN_AXIS_INCHES + right_inches)
    low = float(np.floor(ranks.min()))
    high = max(float(np.ceil(ranks.max())), low + 1)
    return _Scale(low, high, left_inches, width - right_inches), width


def _measure_text(text: str) -> float:
    return TEXT_SLACK * measure_inches(text, FONT_POINTS)


def _stack_bars(bars: Sequence[tuple[float, float]]) -> list[int]:
    """Return the level of each bar, so that bars on one level do not touch.

    Examples
    --------
    >>> _stack_bars([(0, 2), (1, 3), (2.5, 4)])
    [0, 1, 0]
    """
    ends: list[float] = []
    levels = []
    for start, end in bars:
        free = [level for level, taken in enumerate(ends) if taken + SAME_LEVEL_GAP_INCHES < start]
        if free:
            level = free[0]
            ends[level] = end
        else:
            level = len(ends)
            ends.append(end)
        levels.append(level)
    return levels


def _place_rows(texts: Sequence[str], positions: Sequence[int], top: float) -> tuple[list[float], float]:
    """Return the middle of each text of some positions, from the top down, and where the last one ends."""
    middles = []
    for position in positions:
        n_lines = texts[position].count("\n") + 1
        height = LINE_INCHES * n_lines + ROW_GAP_INCHES
        middles.append(top + height / 2)
        top += height
    return middles, top


def _make_canvas(width: float, height: float) -> tuple[Figure, Axes]:
    """Return a figure with axes over all of it, whose coordinates are inches from the upper left corner."""
    from matplotlib.figure import Figure as MatplotlibFigure

    figure = MatplotlibFigure(figsize=(width, height))
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, width), ylim=(height, 0))
    axes.axis("off")
    return figure, axes


def _draw_axis(axes: Axes, ranks: np.ndarray, scale: _Scale, y: float) -> None:
    from matplotlib.ticker import MaxNLocator

    axes.plot([scale.left, scale.right], [y, y], color=TEXT_COLOUR, linewidth=1, solid_capstyle="butt")
    steps = MaxNLocator(nbins=10, integer=True).tick_values(scale.low, scale.high)
    # A tick that stands too near to an end of the axis would write over its number.
    room = 0.6 * (steps[1] - steps[0])
    inner = [step for step in steps if scale.low + room <= step <= scale.high - room]
    for tick in (scale.low, *inner, scale.high):
        axes.plot([scale(tick)] * 2, [y - 0.06, y], color=TEXT_COLOUR, linewidth=1)
        axes.text(scale(tick), y - 0.09, f"{tick:g}", ha="center", va="bottom", color=TEXT_COLOUR)
    axes.plot([scale(float(rank)) for rank in ranks], [y] * len(ranks), "o", color=CLASS_COLOURS[0], markersize=5)
    side: Any = {"va": "bottom", "color": MUTED_COLOUR, "fontsize": NOTE_POINTS}
    axes.text(scale.left - 0.15, y - 0.09, "best", ha="right", **side)
    axes.text(scale.right + 0.15, y - 0.09, "mean rank", ha="left", **side)


def _draw_group(axes: Axes, ranks: np.ndarray, group: Sequence[int], scale: _Scale, y: float) -> None:
    """Draw a bar over a group; dots show its members if others, which are told apart, stand between them."""
    x = [scale(float(ranks[position])) for position in group]
    start, end = _find_ends(ranks, group, scale)
    axes.plot([start, end], [y, y], color=CLASS_COLOURS[0], linewidth=3.2, solid_capstyle="round", zorder=4)
    between = (ranks > ranks[list(group)].min()) & (ranks < ranks[list(group)].max())  # (k,)
    if not set(np.flatnonzero(between).tolist()) <= set(group):
        axes.plot(x, [y] * len(x), "o", color=CLASS_COLOURS[0], markersize=6, zorder=5)


def _draw_critical_bar(axes: Axes, scale: _Scale, best: float, critical_difference: float, note: str) -> None:
    """Draw the critical difference from the best rank on, as long as the axis measures it."""
    y = MARGIN_INCHES + BAR_TOP_INCHES - 0.14
    start = scale(best)
    # A critical difference that is longer than the axis ends in an arrow.
    length = scale(best + critical_difference) - start
    end = min(start + length, scale.right + 3 * ELBOW_INCHES)
    axes.plot([start, end], [y, y], color=TEXT_COLOUR, linewidth=1.6, solid_capstyle="butt")
    axes.plot([start, start], [y - 0.05, y + 0.05], color=TEXT_COLOUR, linewidth=1.6)
    if end < start + length:
        axes.plot(end, y, ">", color=TEXT_COLOUR, markersize=5)
    else:
        axes.plot([end, end], [y - 0.05, y + 0.05], color=TEXT_COLOUR, linewidth=1.6)
    text = f"CD = {format_statistic(critical_difference)}" + (f" ({note})" if note else "")
    axes.text(start, y - 0.09, text, ha="left", va="bottom", color=TEXT_COLOUR)


def _draw_name(axes: Axes, side: str, text: str, rank: float, scale: _Scale, axis_y: float, y: float) -> None:
    """Draw a name with its mean rank, and the line from it to its place on the axis."""
    outward = -1 if side == "left" else 1
    end = (scale.left if side == "left" else scale.right) + outward * ELBOW_INCHES
    x = scale(rank)
    axes.plot([end, x, x], [y, y, axis_y], color=MUTED_COLOUR, linewidth=0.8, zorder=1)
    alignment: Any = {"ha": "right" if side == "left" else "left", "va": "center"}
    number_x = end + outward * TEXT_GAP_INCHES
    axes.text(number_x, y, format_statistic(rank), color=MUTED_COLOUR, **alignment)
    name_x = number_x + outward * (_measure_text(format_statistic(rank)) + TEXT_GAP_INCHES)
    axes.text(name_x, y, text, color=TEXT_COLOUR, linespacing=1.1, **alignment)
