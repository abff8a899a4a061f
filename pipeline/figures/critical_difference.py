"""The critical-difference diagram: mean ranks of configurations over datasets, and groups that are not told apart.

It is drawn here and not by scikit-posthocs, whose diagram cuts long names, prints ranks to two digits and writes the
critical difference over the ticks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from bakeoff.pipeline.figures.panels import (
    CLASS_COLOURS,
    FONT_POINTS,
    MUTED_COLOUR,
    NOTE_POINTS,
    TEXT_COLOUR,
    in_style,
    measure_inches,
    wrap_name,
)
from bakeoff.pipeline.text.numbers import format_statistic

MIN_WIDTH_INCHES = 9.0
MIN_AXIS_INCHES = 4.6
TOP_INCHES = 1.0
"""Above the axis: its ticks, and the bar of the critical difference with its text."""
CRITICAL_BAR_INCHES = 0.55
ELBOW_INCHES = 0.55
"""The shortest horizontal line between the axis and a name, above which the mean rank is written."""
MARGIN_INCHES = 0.2
LINE_INCHES = 0.165
ROW_GAP_INCHES = 0.12
LEVEL_INCHES = 0.11
"""The distance between two levels of bars."""
SAME_LEVEL_GAP = 0.02
"""Between two bars on one level, as a share of the axis."""
TEXT_SLACK = 1.05
"""Text is rendered a little wider than measured, because letters are moved to whole pixels."""


@in_style()
def draw_critical_difference(
    names: Sequence[str],
    mean_ranks: Sequence[float] | np.ndarray,
    groups: Sequence[Sequence[int]],
    *,
    critical_difference: float,
    note: str = "",
) -> Figure:
    """Draw mean ranks on an axis, the best on the left, and bars over the indistinguishable groups.

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
    order = np.argsort(ranks, kind="stable").tolist()
    n_left = (len(order) + 1) // 2
    low = float(np.floor(ranks.min()))
    high = max(float(np.ceil(ranks.max())), low + 1)
    bars = [(float(ranks[[*group]].min()), float(ranks[[*group]].max())) for group in groups]
    levels = _stack_bars(bars, SAME_LEVEL_GAP * (high - low))
    row_inches = LINE_INCHES * (1 + max(text.count("\n") for text in texts)) + ROW_GAP_INCHES
    first_row = LEVEL_INCHES * (max(levels, default=-1) + 2) + LINE_INCHES + row_inches / 2
    height = first_row + row_inches * (n_left - 0.5) + MARGIN_INCHES
    axes = _make_axes(texts, low, high, height)
    axes.plot(ranks, np.zeros_like(ranks), "o", color=CLASS_COLOURS[0], markersize=5, clip_on=False)
    # The worst is on top on the right, so that the lines of both sides do not cross.
    for side, positions in ((0, order[:n_left]), (1, order[n_left:][::-1])):
        for row, position in enumerate(positions):
            _draw_name(axes, texts[position], ranks[position], side, first_row + row_inches * row)
    for group, (start, end), level in zip(groups, bars, levels, strict=True):
        y = LEVEL_INCHES * (level + 1)
        axes.plot([start, end], [y, y], color=CLASS_COLOURS[0], linewidth=3.2, solid_capstyle="round", zorder=4)
        between = np.flatnonzero((ranks > start) & (ranks < end))
        # Dots show the members of a group if others, which are told apart, stand between them.
        if not set(between.tolist()) <= set(group):
            axes.plot(ranks[[*group]], [y] * len(group), "o", color=CLASS_COLOURS[0], markersize=6, zorder=5)
    _draw_critical_bar(axes, float(ranks.min()), critical_difference, note)
    return axes.figure  # type: ignore[return-value]


def _make_axes(texts: Sequence[str], low: float, high: float, height: float) -> Axes:
    """Return axes whose horizontal axis has the ranks, on top, and whose vertical axis is in inches below it."""
    side_inches = TEXT_SLACK * max(measure_inches(text, FONT_POINTS) for text in texts) + ELBOW_INCHES + MARGIN_INCHES
    width = max(MIN_WIDTH_INCHES, 2 * side_inches + MIN_AXIS_INCHES)
    figure = Figure((width, TOP_INCHES + height))
    side = side_inches / width
    axes = figure.add_axes((side, 0, 1 - 2 * side, height / (TOP_INCHES + height)))
    axes.set(xlim=(low, high), ylim=(height, 0), yticks=[])
    axes.spines[["left", "bottom"]].set_visible(False)
    axes.spines["top"].set_visible(True)
    axes.xaxis.tick_top()
    axes.xaxis.set_major_locator(MaxNLocator(nbins=10, integer=True))
    beside: Any = {"xycoords": "axes fraction", "textcoords": "offset points", "va": "bottom", "color": MUTED_COLOUR}
    axes.annotate("best", (0, 1), xytext=(-8, 4), ha="right", fontsize=NOTE_POINTS, **beside)
    axes.annotate("mean rank", (1, 1), xytext=(8, 4), ha="left", fontsize=NOTE_POINTS, **beside)
    return axes


def _stack_bars(bars: Sequence[tuple[float, float]], gap: float) -> list[int]:
    """Return the level of each bar, so that bars on one level do not touch.

    Examples
    --------
    >>> _stack_bars([(0, 2), (1, 3), (2.5, 4)], 0.1)
    [0, 1, 0]
    """
    ends: list[float] = []
    levels = []
    for start, end in bars:
        level = next((level for level, taken in enumerate(ends) if taken + gap < start), len(ends))
        ends[level : level + 1] = [end]
        levels.append(level)
    return levels


def _draw_name(axes: Axes, text: str, rank: float, side: int, y: float) -> None:
    """Draw a name with its mean rank, on the left (0) or on the right (1), and the line from it to the axis."""
    outward = (-1, 1)[side]
    low, high = axes.get_xlim()
    axis_inches = axes.get_position().width * axes.figure.get_figwidth()  # type: ignore[union-attr]
    end = (low, high)[side] + outward * ELBOW_INCHES * (high - low) / axis_inches
    axes.plot([end, rank, rank], [y, y, 0], color=MUTED_COLOUR, linewidth=0.8, zorder=1, clip_on=False)
    place: Any = {"textcoords": "offset points", "annotation_clip": False}
    alignments = ("right", "left")
    axes.annotate(text, (end, y), (outward * 4, 0), ha=alignments[side], va="center", linespacing=1.1, **place)
    number: Any = {"ha": alignments[1 - side], "va": "bottom", "color": MUTED_COLOUR, "fontsize": NOTE_POINTS}
    axes.annotate(format_statistic(rank), (end, y), (-outward * 2, 1), **number, **place)


def _draw_critical_bar(axes: Axes, best: float, critical_difference: float, note: str) -> None:
    """Draw the critical difference from the best rank on; one that is longer than the axis ends in an arrow."""
    y = -CRITICAL_BAR_INCHES
    end = min(best + critical_difference, axes.get_xlim()[1])
    style: Any = {"color": TEXT_COLOUR, "clip_on": False}
    axes.plot([best, end], [y, y], linewidth=1.6, **style)
    axes.plot([best], [y], "|", markersize=7, markeredgewidth=1.6, **style)
    axes.plot([end], [y], ">" if end < best + critical_difference else "|", markersize=7, markeredgewidth=1.6, **style)
    text = f"CD = {format_statistic(critical_difference)}" + (f" ({note})" if note else "")
    axes.annotate(text, (best, y), (0, 5), textcoords="offset points", annotation_clip=False)
