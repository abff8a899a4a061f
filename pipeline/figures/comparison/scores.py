"""Scores of configurations on each fold: box plots with points, a panel per dataset."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bakeoff.pipeline.figures.comparison.grid import add_rectangles, make_grid, write_absent
from bakeoff.pipeline.figures.comparison.rendering import in_style
from bakeoff.pipeline.figures.drawing.panels import CLASS_COLOURS, MUTED_COLOUR, TEXT_COLOUR

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MIN_BOX_FOLDS = 5
"""Fewer scores are drawn as points without a box, whose quartiles would be made up."""
MAX_POINTS = 4000
"""With more scores in all, points are left out, and those beyond the whiskers remain."""
BOX_HALF_INCHES = 0.06
JITTER_HALF_INCHES = 0.05
GOLDEN_SHARE = 0.6180339887498949
MANY_POINTS = 30
LARGE_POINT = 3.0
SMALL_POINT = 2.0
"""Diameters in points, the small one for rows of many points."""
BEST_COLOUR = CLASS_COLOURS[0]
OTHER_COLOUR = MUTED_COLOUR
BOX_ALPHA = 0.22
MARGIN_SHARE = 0.06
GAP = (np.nan, np.nan)
"""A point that interrupts a line, so that many lines can be drawn as one."""

Point = tuple[float, float]


@in_style
def draw_fold_scores(
    datasets: Sequence[str],
    configurations: Sequence[str],
    scores: Sequence[Sequence[np.ndarray]],
    best: Sequence[Collection[int]],
) -> Figure:
    """Draw the scores of all folds; the best mean of each dataset is blue.

    Parameters
    ----------
    datasets, configurations : sequence of str
    scores : sequence of sequences of ndarray
        ``scores[dataset][configuration]`` has a score per fold, and is empty if there are none.
    best : sequence of collections of int
        For each dataset, the positions of the configurations with the best mean.

    Notes
    -----
    A box reaches from the first quartile to the third, its line is the median, the diamond the mean, and whiskers reach
    to the last score within 1.5 interquartile ranges. Every panel has a scale of its own.
    """
    grid = make_grid(datasets, configurations)
    with_points = sum(len(cell) for row in scores for cell in row) <= MAX_POINTS
    for axes, row, marked in zip(grid.panels, scores, best, strict=True):
        cells = [_keep_finite(cell) for cell in row]
        rows = list(zip(cells, grid.middles, strict=True))
        best_rows = [drawn for position, drawn in enumerate(rows) if position in marked]
        other_rows = [drawn for position, drawn in enumerate(rows) if position not in marked]
        _draw_rows(axes, best_rows, BEST_COLOUR, with_points)
        _draw_rows(axes, other_rows, OTHER_COLOUR, with_points)
        _scale_panel(axes, np.concatenate(cells))
    return grid.figure


def _keep_finite(scores: np.ndarray) -> np.ndarray:
    values = np.asarray(scores, dtype=float)
    return values[np.isfinite(values)]


def _draw_rows(axes: Axes, rows: Sequence[tuple[np.ndarray, float]], colour: str, with_points: bool) -> None:
    """Draw the scores of configurations on one dataset; each row is its scores and its height."""
    from matplotlib.cbook import boxplot_stats

    # One path for all rows makes the file many times smaller than one for each.
    boxes: list[tuple[dict[str, Any], float]] = []
    points: list[np.ndarray] = []
    heights: list[np.ndarray] = []
    means: list[tuple[float, float]] = []
    for scores, y in rows:
        if not len(scores):
            write_absent(axes, y)
            continue
        (box,) = boxplot_stats(scores)
        has_box = len(scores) >= MIN_BOX_FOLDS
        if has_box:
            boxes.append((box, y))
        kept = scores if with_points or not has_box else box["fliers"]
        points.append(kept)
        heights.append(_jitter(y, len(kept)))
        means.append((box["mean"], y))
    if not means:
        return
    _draw_boxes(axes, boxes, colour)
    # Many points of full size would hide each other and the box below them.
    size = SMALL_POINT if max(len(kept) for kept in points) > MANY_POINTS else LARGE_POINT
    style: Any = {"color": colour, "alpha": 0.55, "markersize": size, "markeredgewidth": 0, "zorder": 3}
    axes.plot(np.concatenate(points), np.concatenate(heights), "o", **style)
    axes.plot(*zip(*means, strict=True), "D", color=colour, markersize=4.2, markeredgecolor="white", zorder=5)


def _jitter(y: float, n: int) -> np.ndarray:
    """Return n heights around a row, so that equal scores can be told apart; the same ones each time."""
    # Multiples of the golden ratio are spread evenly.
    offsets = (0.5 + GOLDEN_SHARE * np.arange(n)) % 1 - 0.5
    return y + 2 * JITTER_HALF_INCHES * offsets


def _draw_boxes(axes: Axes, boxes: Sequence[tuple[dict[str, Any], float]], colour: str) -> None:
    """Draw boxes, whiskers and medians."""
    if not boxes:
        return
    lines: list[Point] = []
    medians: list[Point] = []
    for box, y in boxes:
        lines += _outline_box(box, y)
        medians += [(box["med"], y - BOX_HALF_INCHES), (box["med"], y + BOX_HALF_INCHES), GAP]
    left, right, middles = np.array([(box["q1"], box["q3"], y) for box, y in boxes]).T
    fill: Any = {"facecolor": colour, "alpha": BOX_ALPHA, "linewidth": 0, "zorder": 2}
    add_rectangles(axes, left, right, middles, BOX_HALF_INCHES, **fill)
    axes.plot(*zip(*lines, strict=True), color=colour, linewidth=0.9, zorder=4)
    axes.plot(*zip(*medians, strict=True), color=TEXT_COLOUR, linewidth=1.6, zorder=4, solid_capstyle="butt")


def _outline_box(box: Mapping[str, Any], y: float) -> list[Point]:
    """Return the lines of a box without its median: both whiskers, then the rectangle."""
    low = y - BOX_HALF_INCHES
    high = y + BOX_HALF_INCHES
    lower_whisker = [(box["whislo"], y), (box["q1"], y)]
    upper_whisker = [(box["q3"], y), (box["whishi"], y)]
    corners = [(box["q1"], low), (box["q3"], low), (box["q3"], high), (box["q1"], high)]
    return [*lower_whisker, GAP, *upper_whisker, GAP, *corners, corners[0], GAP]


def _scale_panel(axes: Axes, scores: np.ndarray) -> None:
    """Set the horizontal axis of a panel so that all scores have room, also if they are all equal."""
    from matplotlib.ticker import MaxNLocator, ScalarFormatter

    axes.xaxis.set_major_locator(MaxNLocator(nbins=4, steps=[1, 2, 5, 10]))
    axes.xaxis.set_major_formatter(ScalarFormatter(useOffset=False))
    if not len(scores):
        axes.set_xticks([])
        return
    span = float(np.ptp(scores))
    # Equal scores would make an axis without a length.
    if span == 0:
        span = max(abs(float(scores[0])), 1.0)
    axes.set_xlim(scores.min() - MARGIN_SHARE * span, scores.max() + MARGIN_SHARE * span)
