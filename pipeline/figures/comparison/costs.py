"""Score against time: each configuration, and the front of those that none beats in both."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bakeoff.pipeline.figures.comparison.rendering import in_style, wrap_name
from bakeoff.pipeline.figures.drawing.panels import CLASS_COLOURS, FONT_POINTS, GRID_COLOUR, MUTED_COLOUR, TEXT_COLOUR
from bakeoff.pipeline.figures.drawing.panels import measure_inches as measure_text_inches

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH_INCHES = 9.0
MIN_HEIGHT_INCHES = 3.8
LEFT_INCHES = 0.75
BOTTOM_INCHES = 0.6
TOP_INCHES = 0.15
LEADER_INCHES = 0.4
"""Between the axes and the names, for the lines that join a name with its point."""
LINE_INCHES = 0.155
ROW_GAP_INCHES = 0.06
TEXT_SLACK = 1.06
NAME_LETTERS = 34
SHORT_AXIS_RATIO = 100.0
"""Of the longest to the shortest time."""


@in_style
def draw_pareto(
    names: Sequence[str],
    scores: Sequence[float] | np.ndarray,
    seconds: Sequence[float] | np.ndarray,
    is_efficient: Sequence[bool] | np.ndarray,
    *,
    score_label: str,
    seconds_label: str,
    greater_is_better: bool = True,
) -> Figure:
    """Draw scores against seconds on a logarithmic axis; better is up, and faster is left.

    Parameters
    ----------
    names : sequence of k str
    scores, seconds : array of shape (k,)
        Configurations with NaN are left out.
    is_efficient : array of shape (k,)
        Whether a configuration is on the Pareto front: no other one is at least as good and as fast, and better in
        one of them.
    score_label, seconds_label : str
        Of the axes.
    greater_is_better : bool
    """
    score = np.asarray(scores, dtype=float)  # (k,)
    time = np.asarray(seconds, dtype=float)
    front = np.asarray(is_efficient, dtype=bool)
    known = np.flatnonzero(np.isfinite(score) & np.isfinite(time) & (time > 0))
    good = score if greater_is_better else -score
    # Names stand in a column beside the axes, in the order of the points.
    order = known[np.argsort(-good[known], kind="stable")].tolist()
    texts = {position: wrap_name(names[position], NAME_LETTERS, 2) for position in order}
    figure, axes, height = _make_axes(list(texts.values()))
    axes.set_xscale("log")
    _draw_points(axes, score, time, front, order)
    _set_limits(axes, score[known], time[known], greater_is_better)
    axes.set(xlabel=seconds_label, ylabel=score_label)
    axes.grid(color=GRID_COLOUR)
    axes.set_axisbelow(True)
    _set_time_ticks(axes)
    _write_names(axes, texts, score, time, front, height)
    return figure


def _set_time_ticks(axes: Axes) -> None:
    """Label powers of ten, and between them 2 and 5 if the axis is short."""
    from matplotlib.ticker import LogLocator

    low, high = axes.get_xlim()
    is_short = high / low < SHORT_AXIS_RATIO
    axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if is_short else (1.0,)))
    axes.xaxis.set_major_formatter(_format_seconds)
    axes.tick_params(axis="x", which="minor", length=2, labelbottom=False)


def _format_seconds(seconds: float, _position: float) -> str:
    """Return a time with its unit.

    Examples
    --------
    >>> [_format_seconds(seconds, 0) for seconds in (1e-5, 0.001, 0.1, 10.0, 1000.0)]
    ['10 µs', '1 ms', '100 ms', '10 s', '1000 s']
    """
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size * 0.9999:
            return f"{seconds / size:.4g} {unit}"
    return f"{seconds / 1e-6:.4g} µs"


def _make_axes(texts: Sequence[str]) -> tuple[Figure, Axes, float]:
    """Return a figure, axes that leave room for the names on their right, and the height of the axes in inches."""
    from matplotlib.figure import Figure as MatplotlibFigure

    column_inches = TEXT_SLACK * max((measure_text_inches(text, FONT_POINTS) for text in texts), default=1.0) + 0.15
    needed = sum(LINE_INCHES * (text.count("\n") + 1) + ROW_GAP_INCHES for text in texts)
    total = max(MIN_HEIGHT_INCHES, needed + BOTTOM_INCHES + TOP_INCHES)
    height = total - BOTTOM_INCHES - TOP_INCHES
    width = WIDTH_INCHES - LEFT_INCHES - LEADER_INCHES - column_inches
    figure = MatplotlibFigure(figsize=(WIDTH_INCHES, total))
    box = (LEFT_INCHES / WIDTH_INCHES, BOTTOM_INCHES / total, width / WIDTH_INCHES, height / total)
    return figure, figure.add_axes(box), height


def _draw_points(axes: Axes, score: np.ndarray, time: np.ndarray, front: np.ndarray, order: Sequence[int]) -> None:
    others = [position for position in order if not front[position]]
    axes.plot(time[others], score[others], "o", color=MUTED_COLOUR, markersize=5.5, alpha=0.8, zorder=3)
    efficient = np.array([position for position in order if front[position]], dtype=int)
    # Steps join the points in their order, which has to be that of the axis.
    efficient = efficient[np.argsort(time[efficient], kind="stable")]
    style: Any = {"color": CLASS_COLOURS[0], "zorder": 4}
    axes.step(time[efficient], score[efficient], where="post", linewidth=1.4, **style)
    axes.plot(time[efficient], score[efficient], "D", markersize=6.5, **style)


def _set_limits(axes: Axes, score: np.ndarray, time: np.ndarray, greater_is_better: bool) -> None:
    """Leave room around the points, at least half a decade of time; better scores are up."""
    if not len(score):
        return
    logarithm = np.log10(time)
    margin = 0.25 + 0.05 * float(np.ptp(logarithm))
    axes.set_xlim(10 ** (logarithm.min() - margin), 10 ** (logarithm.max() + margin))
    # Equal scores span nothing, and an axis without a length cannot be drawn.
    span = float(np.ptp(score)) or max(abs(float(score[0])), 1.0)
    limits = (float(score.min()) - 0.07 * span, float(score.max()) + 0.07 * span)
    axes.set_ylim(limits if greater_is_better else limits[::-1])


def _write_names(
    axes: Axes, texts: dict[int, str], score: np.ndarray, time: np.ndarray, front: np.ndarray, height: float
) -> None:
    """Write the names in a column on the right, near to the height of their points, and join both by a line."""
    heights = np.array([LINE_INCHES * (text.count("\n") + 1) + ROW_GAP_INCHES for text in texts.values()])
    low, high = axes.get_ylim()
    wanted = np.array([(score[position] - low) / (high - low) * height for position in texts])
    right = axes.get_position().x1 * WIDTH_INCHES
    left = axes.get_position().x0 * WIDTH_INCHES
    name_x = (right + LEADER_INCHES - left) / (right - left)
    for (position, text), y in zip(texts.items(), _spread(wanted, heights, height), strict=True):
        efficient = bool(front[position])
        axes.annotate(
            text,
            (time[position], score[position]),
            xytext=(name_x, y / height),
            textcoords="axes fraction",
            va="center",
            ha="left",
            color=TEXT_COLOUR if efficient else MUTED_COLOUR,
            fontweight="bold" if efficient else "normal",
            linespacing=1.05,
            annotation_clip=False,
            arrowprops={
                "arrowstyle": "-",
                "color": CLASS_COLOURS[0] if efficient else MUTED_COLOUR,
                "linewidth": 0.5,
                "alpha": 0.6,
                "shrinkA": 1,
                "shrinkB": 3,
                "relpos": (0, 0.5),
            },
        )


def _spread(wanted: np.ndarray, heights: np.ndarray, total: float) -> np.ndarray:
    """Return positions near the wanted ones, in descending order, at which texts of these heights do not overlap."""
    if not len(wanted):
        return wanted
    placed = wanted.copy()
    # Down from the top, then up from the bottom: the texts fit, since all heights together are at most the total.
    ceiling = total
    for number, height in enumerate(heights):
        placed[number] = min(placed[number], ceiling - height / 2)
        ceiling = placed[number] - height / 2
    floor = 0.0
    for number in range(len(heights) - 1, -1, -1):
        placed[number] = max(placed[number], floor + heights[number] / 2)
        floor = placed[number] + heights[number] / 2
    return placed
