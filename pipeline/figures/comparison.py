"""Pictures of comparisons, from plain arrays: scores of the folds, posteriors of pairs, and score against time."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cbook import boxplot_stats
from matplotlib.figure import Figure
from matplotlib.patches import Patch, PathPatch
from matplotlib.path import Path
from matplotlib.ticker import MaxNLocator, ScalarFormatter

from bakeoff.pipeline.figures.panels import (
    CLASS_COLOURS,
    FONT_POINTS,
    MUTED_COLOUR,
    TEXT_COLOUR,
    in_style,
    measure_inches,
    set_log_scale,
    wrap_name,
)
from bakeoff.pipeline.text.numbers import format_percent

WIDTH_INCHES = 9.0
MIN_PANEL_INCHES = 1.55
MAX_PANEL_INCHES = 6.5
PANEL_GAP_INCHES = 0.22
MARGIN_INCHES = 0.15
LINE_INCHES = 0.155
"""The distance between two lines of a name."""
ROW_GAP_INCHES = 0.08
TICKS_INCHES = 0.3
TITLE_LETTERS = 20
TITLE_INCHES = 0.45
TEXT_SLACK = 1.06
"""Text is rendered a little wider than measured, because letters are moved to whole pixels."""

MIN_BOX_FOLDS = 5
"""Fewer scores are drawn as points without a box, whose quartiles would be made up."""
MAX_POINTS = 4000
"""With more scores in all, points are left out, and those beyond the whiskers remain."""
HALF_ROW = 0.22
"""Half of the height of boxes, bars and scattered points; rows are 1 apart."""
GOLDEN_SHARE = 0.6180339887498949
BOX_ALPHA = 0.22

PARTS = {
    "worse": CLASS_COLOURS[3],
    "equivalent in practice": "#c9c9c9",
    "better than the base": CLASS_COLOURS[4],
}
FOOTER_INCHES = 0.3
MAX_LABELLED_PANELS = 12
"""In more panels, which are read at a glance, the bars have no percentages."""
TEXT_SHARE_INCHES = 0.45
"""The narrowest part of a bar that its percentage is written into."""

MIN_HEIGHT_INCHES = 3.8
LEADER_INCHES = 0.4
"""Between the axes and the names, for the lines that join a name with its point."""


@in_style()
def draw_fold_scores(
    datasets: Sequence[str],
    configurations: Sequence[str],
    scores: Sequence[Sequence[np.ndarray]],
    best: Sequence[Collection[int]],
) -> Figure:
    """Draw the scores of all folds, a panel for each dataset with a scale of its own; the best mean of each is blue.

    A box reaches from the first quartile to the third; its line is the median, the diamond the mean, and whiskers reach
    to the last score within 1.5 interquartile ranges.

    Parameters
    ----------
    datasets, configurations : sequence of str
    scores : sequence of sequences of ndarray
        ``scores[dataset][configuration]`` has a score per fold, and is empty if there are none.
    best : sequence of collections of int
        For each dataset, the positions of the configurations with the best mean.
    """
    figure, panels = _make_rows(datasets, configurations)
    with_points = sum(len(cell) for row in scores for cell in row) <= MAX_POINTS
    for axes, row, marked in zip(panels, scores, best, strict=True):
        cells = {position: cell[np.isfinite(cell)] for position, cell in enumerate(row)}
        for position in [position for position, cell in cells.items() if not len(cell)]:
            _write_absent(axes, position, "no scores")
            del cells[position]
        for is_best, colour in ((True, CLASS_COLOURS[0]), (False, MUTED_COLOUR)):
            drawn = {position: cell for position, cell in cells.items() if (position in marked) == is_best}
            if drawn:
                _draw_boxes(axes, drawn, colour, with_points)
        axes.xaxis.set_major_locator(MaxNLocator(nbins=4, steps=[1, 2, 5, 10]))
        axes.xaxis.set_major_formatter(ScalarFormatter(useOffset=False))
        if not cells:
            axes.set_xticks([])
    return figure


def _draw_boxes(axes: Axes, cells: dict[int, np.ndarray], colour: str, with_points: bool) -> None:
    """Draw the scores of some rows of a panel; one path for all rows makes a page many times smaller than many."""
    summaries: Any = {row: boxplot_stats(cell)[0] for row, cell in cells.items()}
    boxes = {row: box for row, box in summaries.items() if len(cells[row]) >= MIN_BOX_FOLDS}
    rows = np.array([*boxes])
    if boxes:
        low, left, middle, right, high = (
            np.array([box[key] for box in boxes.values()]) for key in ("whislo", "q1", "med", "q3", "whishi")
        )
        _add_rectangles(axes, left, right, rows, facecolor=colour, alpha=BOX_ALPHA, linewidth=0)
        gaps = np.full(len(rows), np.nan)
        whiskers = np.column_stack([low, left, gaps, right, high, gaps]).ravel()
        axes.plot(whiskers, np.repeat(rows, 6), color=colour, linewidth=0.9)
        axes.plot(middle, rows, "|", color=TEXT_COLOUR, markersize=11, markeredgewidth=1.6, zorder=4)
    points = {row: cell if with_points or row not in boxes else summaries[row]["fliers"] for row, cell in cells.items()}
    # Multiples of the golden ratio are spread evenly: equal scores can be told apart, at the same heights each time.
    heights = [row + HALF_ROW * (2 * ((0.5 + GOLDEN_SHARE * np.arange(len(cell))) % 1) - 1)
               for row, cell in points.items()]  # fmt: skip
    dots: Any = {"color": colour, "alpha": 0.55, "markersize": 2.5, "markeredgewidth": 0, "zorder": 3}
    axes.plot(np.concatenate([*points.values()]), np.concatenate(heights), "o", **dots)
    means = [summary["mean"] for summary in summaries.values()]
    axes.plot(means, [*summaries], "D", color=colour, markersize=4.2, markeredgecolor="white", zorder=5)


@in_style()
def draw_posteriors(datasets: Sequence[str], configurations: Sequence[str], posteriors: np.ndarray) -> Figure:
    """Draw a bar of three parts for each configuration, a panel per dataset.

    Parameters
    ----------
    datasets, configurations : sequence of str
        Without the base.
    posteriors : ndarray of shape (datasets, configurations, 3)
        The probabilities that the configuration is worse than the base, equivalent to it, and better; NaN if unknown.
    """
    figure, panels = _make_rows(datasets, configurations, FOOTER_INCHES)
    for axes, bars in zip(panels, posteriors, strict=True):
        axes.set_xlim(0, 1)
        axes.set_xticks([0, 0.5, 1], ["", "50 %", ""])
        is_known = np.isfinite(bars).all(axis=1)  # (configurations,)
        for row in np.flatnonzero(~is_known).tolist():
            _write_absent(axes, row, "no posterior")
        rows = np.flatnonzero(is_known)
        ends = np.cumsum(bars[rows], axis=1)  # (rows, 3)
        starts = ends - bars[rows]
        for part, colour in enumerate(PARTS.values()):
            style = {"facecolor": colour, "edgecolor": "white", "linewidth": 0.8}
            _add_rectangles(axes, starts[:, part], ends[:, part], rows, **style)
        if len(datasets) <= MAX_LABELLED_PANELS:
            panel_inches = axes.get_position().width * WIDTH_INCHES
            for row, part in np.argwhere(bars * panel_inches > TEXT_SHARE_INCHES):
                middle = bars[row, :part].sum() + bars[row, part] / 2
                text = format_percent(bars[row, part])
                axes.text(middle, row, text, fontsize=FONT_POINTS - 1.5, color="black", ha="center", va="center")
    handles = [Patch(color=colour, label=meaning) for meaning, colour in PARTS.items()]
    figure.legend(handles=handles, loc="lower right", ncols=len(handles), borderaxespad=0.2, handlelength=1.2)
    return figure


@in_style()
def draw_pareto(
    names: Sequence[str],
    scores: np.ndarray,
    seconds: np.ndarray,
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
    scores, seconds : ndarray of shape (k,)
        Configurations with NaN are left out.
    is_efficient : array of shape (k,)
        Whether a configuration is on the Pareto front: no other one is at least as good and as fast, and better in
        one of them.
    score_label, seconds_label : str
        Of the axes.
    greater_is_better : bool
    """
    known = np.isfinite(scores) & np.isfinite(seconds) & (seconds > 0)  # (k,)
    # Names stand in a column beside the axes, in the order of the points, so that the lines to them do not cross.
    order = np.argsort(np.where(greater_is_better, -1, 1) * scores, kind="stable")
    order = order[known[order]]
    texts = [wrap_name(names[position], lines=2) for position in order]
    figure = Figure((WIDTH_INCHES, max(MIN_HEIGHT_INCHES, 0.75 + (2 * LINE_INCHES + ROW_GAP_INCHES) * len(texts))))
    names_inches = TEXT_SLACK * max((measure_inches(text, FONT_POINTS) for text in texts), default=0.0) + MARGIN_INCHES
    right = 1 - (names_inches + LEADER_INCHES) / WIDTH_INCHES
    bottom = 0.6 / figure.get_figheight()
    axes = figure.subplots(gridspec_kw={"left": 0.085, "right": right, "bottom": bottom, "top": 0.96})
    front = np.asarray(is_efficient, dtype=bool)[order]
    time, score = seconds[order], scores[order]
    axes.plot(time[~front], score[~front], "o", color=MUTED_COLOUR, markersize=5.5, alpha=0.8, zorder=3)
    # Steps join the points in their order, which has to be that of the axis.
    by_time = np.flatnonzero(front)[np.argsort(time[front], kind="stable")]
    steps: Any = {"drawstyle": "steps-post", "markersize": 6.5, "linewidth": 1.4, "zorder": 4}
    axes.plot(time[by_time], score[by_time], "D-", color=CLASS_COLOURS[0], **steps)
    axes.margins(0.08)
    axes.set(xlabel=seconds_label, ylabel=score_label)
    axes.yaxis.set_inverted(not greater_is_better)
    axes.grid()
    if len(order):
        set_log_scale(axes, float(time.max() / time.min()), _format_seconds)
    name_x = 1 + LEADER_INCHES / (axes.get_position().width * WIDTH_INCHES)
    for number, (text, is_on_front) in enumerate(zip(texts, front, strict=True)):
        axes.annotate(
            text,
            (time[number], score[number]),
            xytext=(name_x, 1 - (number + 0.5) / len(texts)),
            textcoords="axes fraction",
            va="center",
            color=TEXT_COLOUR if is_on_front else MUTED_COLOUR,
            fontweight="bold" if is_on_front else "normal",
            linespacing=1.05,
            arrowprops={
                "arrowstyle": "-",
                "color": CLASS_COLOURS[0] if is_on_front else MUTED_COLOUR,
                "linewidth": 0.5,
                "alpha": 0.6,
                "relpos": (0, 0.5),
            },
        )
    return figure


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


def _make_rows(titles: Sequence[str], rows: Sequence[str], footer_inches: float = 0.0) -> tuple[Figure, list[Axes]]:
    """Return a figure with a panel per title, and the same rows at 0, 1, 2, … in each, named on the left."""
    texts = [wrap_name(row) for row in rows]
    names_inches = TEXT_SLACK * max(measure_inches(text, FONT_POINTS) for text in texts) + 2 * MARGIN_INCHES
    room = WIDTH_INCHES - names_inches - MARGIN_INCHES
    columns = max(1, min(len(titles), int(room / (MIN_PANEL_INCHES + PANEL_GAP_INCHES))))
    panel_inches = min(room / columns - PANEL_GAP_INCHES, MAX_PANEL_INCHES)
    row_inches = LINE_INCHES * (1 + max(text.count("\n") for text in texts)) + ROW_GAP_INCHES
    rows_inches = row_inches * len(rows)
    lines = -(-len(titles) // columns)
    gap_inches = TITLE_INCHES + TICKS_INCHES
    height = lines * (rows_inches + gap_inches) + footer_inches
    figure = Figure((WIDTH_INCHES, height))
    places = {
        "left": names_inches / WIDTH_INCHES,
        "right": (names_inches + columns * (panel_inches + PANEL_GAP_INCHES) - PANEL_GAP_INCHES) / WIDTH_INCHES,
        "top": 1 - TITLE_INCHES / height,
        "bottom": (TICKS_INCHES + footer_inches) / height,
        "hspace": gap_inches / rows_inches,
        "wspace": PANEL_GAP_INCHES / panel_inches,
    }
    panels = figure.subplots(lines, columns, squeeze=False, gridspec_kw=places).ravel().tolist()
    for unused in panels[len(titles) :]:
        unused.remove()
    for number, (axes, title) in enumerate(zip(panels, titles, strict=False)):
        heading = wrap_name(title, TITLE_LETTERS, 2)
        axes.set_title(heading, loc="left", fontsize=FONT_POINTS, fontweight="bold", color=TEXT_COLOUR, pad=4)
        axes.set(ylim=(len(rows) - 0.5, -0.5))
        axes.spines["left"].set_visible(False)
        axes.set_yticks(range(len(rows)), texts if number % columns == 0 else [""] * len(rows), linespacing=1.05)
        axes.tick_params(axis="y", length=0, labelcolor=TEXT_COLOUR)
        axes.grid(axis="x")
    return figure, panels[: len(titles)]


def _write_absent(axes: Axes, row: int, text: str) -> None:
    """Write into a row that there is nothing to draw."""
    style: Any = {"color": MUTED_COLOUR, "fontstyle": "italic", "fontsize": FONT_POINTS - 1.5}
    axes.text(0.02, row, text, transform=axes.get_yaxis_transform(), va="center", **style)


def _add_rectangles(axes: Axes, left: np.ndarray, right: np.ndarray, rows: np.ndarray, **style: Any) -> None:
    """Draw a rectangle in each row, all of them as one path, which takes a fraction of the space of many."""
    x = np.column_stack([left, right, right, left, left])  # (rows, 5)
    y = np.column_stack([rows - HALF_ROW, rows - HALF_ROW, rows + HALF_ROW, rows + HALF_ROW, rows - HALF_ROW])
    codes = np.tile([Path.MOVETO, Path.LINETO, Path.LINETO, Path.LINETO, Path.CLOSEPOLY], len(x))
    axes.add_patch(PathPatch(Path(np.stack([x, y], axis=2).reshape(-1, 2), codes), **style))
    axes.autoscale_view()
