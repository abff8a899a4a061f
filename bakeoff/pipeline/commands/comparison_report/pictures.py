"""Pictures of comparisons: mean ranks and fold scores, for a page and as files for papers and slides."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Annotation
from matplotlib.ticker import MaxNLocator

from bakeoff.pipeline.commands.comparison_report.comparison import NEMENYI, Comparison, MetricResult
from bakeoff.pipeline.commands.drawing.panels import (
    CLASS_COLOURS,
    MUTED_COLOUR,
    PHONE_INCHES,
    ROOM,
    TEXT_COLOUR,
    add_title,
    count_letters,
    fix_colours,
    in_style,
    is_narrowed,
    make_panels,
    narrowed,
    render_for_page,
    render_pdf,
    render_svg,
    wrap_name,
)
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.text.wording import format_statistic

POINTS: Any = {"color": CLASS_COLOURS[0], "alpha": 0.4, "markersize": 3.5, "markeredgewidth": 0}
Picture = tuple[Figure, str]
"""A figure and its caption."""
DIAGRAM = "critical_difference"
PDF = ".pdf"
MAX_DRAWN_CONFIGURATIONS = 20
"""Maximum number of configurations in panels that have one row for each; the tables contain all of them."""
WIDTH_INCHES = 9.0
MAX_COLUMNS = 4
LINE_INCHES = 0.16
"""The distance between two lines of a name."""
ROW_GAP_INCHES = 0.08
FRAME_INCHES = 1.0
TITLE_LETTERS = 14
"""The length of a line in a title when the maximum number of panels are side by side."""
MAX_POINTS = 4000
"""With more scores in total, only the means are drawn, because a page with all points would be large."""
BAR_LEVEL = 0.6
"""The distance between the bars over two groups, as a fraction of a row."""
CRITICAL_ROW = -1.8
TOP_ROW = -2.6
"""Rows above the axis of ranks have negative numbers and contain its labels and the critical difference."""
ELBOW_SHARE = 0.04
"""The length of the line between the axis and a name, as a fraction of the axis."""


@in_style()
def draw_critical_difference(
    mean_ranks: Mapping[str, float],
    groups: Sequence[Sequence[str]],
    *,
    numbers: Mapping[str, int],
    critical_difference: float = 0.0,
) -> Figure:
    """Draw mean ranks on an axis with the best on the left, and bars over the indistinguishable groups.

    A bar has a dot for each member of its group, because it may pass over others.

    Parameters
    ----------
    mean_ranks : mapping of str to float
        Configuration -> rank, the best first, where 1 is the best.
    groups : sequence of sequences of str
        Configurations that cannot be distinguished.
    numbers : mapping of str to int
        Configuration -> the row of it in other pictures and tables, by which a page marks it in all of them.
    critical_difference : float
        The critical difference, drawn as a bar above the axis; 0 if the test has none.

    References
    ----------
    J. Demšar (2006). Statistical comparisons of classifiers over multiple data sets. JMLR 7, figure 1.
    """
    ranks = np.array([*mean_ranks.values()])  # (k,)
    texts = {name: wrap_name(name, count_letters()) for name in mean_ranks}
    names = list(texts)
    # A narrow figure has room for names on one side.
    n_left = len(names) if is_narrowed() else (len(names) + 1) // 2
    first_row = 1 + BAR_LEVEL * len(groups)
    axes = _make_rank_axes(ranks, first_row + n_left, _measure_row([*texts.values()]), critical_difference)
    for level, group in enumerate(groups, 1):
        members = [mean_ranks[name] for name in group]
        axes.plot(members, [BAR_LEVEL * level] * len(group), "o-", color=CLASS_COLOURS[0], linewidth=3)
    # The worst is on top on the right, so that the lines of the two sides do not cross.
    for side, own in (("left", names[:n_left]), ("right", names[n_left:][::-1])):
        for row, name in enumerate(own):
            _draw_name(axes, texts[name], mean_ranks[name], first_row + row, side).set_gid(f"row:{numbers[name]}")
    if critical_difference:
        ends = [ranks.min(), ranks.min() + critical_difference]
        axes.plot(ends, [CRITICAL_ROW, CRITICAL_ROW], "|-", color=TEXT_COLOUR)
        note = f"CD = {format_statistic(critical_difference)}"
        axes.annotate(note, (ends[0], CRITICAL_ROW), (0, 5), textcoords="offset points")
    return axes.figure  # type: ignore[return-value]


def _make_rank_axes(ranks: np.ndarray, n_rows: float, row_inches: float, critical_difference: float) -> Axes:
    """Return axes with the ranks on top and rows below them."""
    _, (axes,) = make_panels(width=WIDTH_INCHES, height=row_inches * (n_rows - TOP_ROW))
    low = np.floor(ranks.min())
    high = np.ceil(max(ranks.max(), ranks.min() + critical_difference, low + 1))
    axes.set(xlim=(low, high), ylim=(n_rows, TOP_ROW), yticks=[])
    axes.spines[["left", "bottom"]].set_visible(False)
    axes.spines["top"].set(visible=True, position=("data", 0))
    axes.xaxis.tick_top()
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.plot(ranks, np.zeros_like(ranks), "o", color=CLASS_COLOURS[0], clip_on=False)
    return axes


def _draw_name(axes: Axes, text: str, rank: float, row: float, side: str) -> Annotation:
    """Draw and return a name with its mean rank on one side, and draw the line from it to the axis."""
    low, high = axes.get_xlim()
    elbow = ELBOW_SHARE * (high - low)
    end, alignment = (low - elbow, "right") if side == "left" else (high + elbow, "left")
    axes.plot([end, rank, rank], [row, row, 0], color=MUTED_COLOUR, linewidth=0.8, zorder=1, clip_on=False)
    shift = -4 if side == "left" else 4
    style: Any = {"ha": alignment, "va": "center", "annotation_clip": False}
    return axes.annotate(
        f"{text} ({format_statistic(rank)})", (end, row), (shift, 0), textcoords="offset points", **style
    )


def _make_rows(titles: Sequence[str], rows: Sequence[str]) -> tuple[Figure, list[Axes]]:
    """Return a figure with a panel per title and the same rows at 0, 1, 2, … in each, with names on the left."""
    texts = [wrap_name(row, count_letters()) for row in rows]
    width = min(WIDTH_INCHES, ROOM.get())
    columns = min(len(titles), int(MAX_COLUMNS * width / WIDTH_INCHES))
    headings = [wrap_name(title, TITLE_LETTERS * MAX_COLUMNS // columns) for title in titles]
    height = FRAME_INCHES + _measure_row(headings) + _measure_row(texts) * len(rows)
    figure, panels = make_panels(len(titles), columns, width=width / columns, height=height, sharey=True)
    for axes, heading in zip(panels, headings, strict=True):
        add_title(axes, heading)
        axes.set_yticks(range(len(rows)), texts)
        axes.tick_params(axis="y", length=0, labelcolor=TEXT_COLOUR)
        for number, label in enumerate(axes.get_yticklabels()):
            label.set_gid(f"row:{number}")
        axes.grid(axis="x")
    panels[0].set_ylim(len(rows) - 0.5, -0.5)
    return figure, panels


def _measure_row(names: Sequence[str]) -> float:
    """Return the height in inches of a row that has room for each of the names."""
    return ROW_GAP_INCHES + LINE_INCHES * (1 + max(name.count("\n") for name in names))


def draw_ranks(comparison: Comparison, result: MetricResult) -> Picture | None:
    """Return the critical-difference diagram, or None if the mean ranks were not tested."""
    overall = result.overall
    if overall is None or math.isnan(overall.critical_difference):
        return None
    figure = draw_critical_difference(
        overall.mean_ranks,
        overall.groups,
        numbers={row.name: number for number, row in enumerate(comparison.configurations)},
        critical_difference=overall.critical_difference if overall.test == NEMENYI else 0.0,
    )
    caption = f"Mean ranks by {comparison.find_metric(result.metric).label} over {len(overall.datasets)} datasets."
    test = f"{overall.test_name}, α = {comparison.settings.alpha:g}"
    return figure, f"{caption} No two with a dot on the same bar differ significantly by {test}."


@in_style()
def draw_scores(comparison: Comparison, result: MetricResult) -> Picture | None:
    """Return the picture of the scores of folds in a panel for each dataset, or of the tiers of systems on items.

    Each panel has its own scale and shows the best in blue. Without any scores, there is no picture.
    """
    shown = [dataset for dataset in result.datasets if dataset.summaries]
    if not shown:
        return None
    items, label = comparison.items, comparison.find_metric(result.metric).label
    rows = [row.name for row in comparison.configurations][:MAX_DRAWN_CONFIGURATIONS]
    if items is None:
        figure, panels = _make_rows([dataset.dataset for dataset in shown], rows)
    else:
        shown, tiers = shown[:1], items.list_tiers()
        figure, panels = _make_rows([label], [f"{tiers[name]}  {name}" for name in rows])
    cells = {(cell.configuration, cell.dataset): cell.scores.get(result.metric, ()) for cell in comparison.cells}
    with_points = sum(map(len, cells.values())) <= MAX_POINTS
    for axes, dataset in zip(panels, shown, strict=True):
        for number, name in enumerate(rows):
            row = dataset.find_summary(name)
            if row is None:
                continue
            is_best = row.is_best if items is None else name in items.tiers[0]
            points = cells[name, dataset.dataset] if with_points else ()
            style: Any = {"color": CLASS_COLOURS[0] if is_best else MUTED_COLOUR, "gid": f"row:{number}"}
            axes.plot(points, [number] * len(points), "o", **POINTS | style)
            axes.plot([row.low, row.mean, row.high], [number] * 3, "D-", markevery=[1], markersize=4.5, **style)
    level = f"{100 * (1 - comparison.settings.alpha):g} %"
    caption = CAPTIONS[items is not None].format(label.capitalize(), level)
    n_hidden = len(comparison.configurations) - len(rows)
    return figure, caption + f" {n_hidden} more are not drawn." * (n_hidden > 0)


CAPTIONS = (
    "{} of each fold, with the mean (diamond) and its {} interval (line); the best mean of each dataset is blue.",
    "{} of each system with its {} interval and its tier; systems of a tier are not told apart from its best, and "
    "tier A is blue.",
)
"""The caption of the scores of folds, and that of the tiers."""


def draw_pictures(comparison: Comparison, result: MetricResult) -> dict[str, Picture]:
    """Return the pictures for a metric by name, the diagram first; those without data are omitted."""
    scores = "fold_scores" if comparison.items is None else "tiers"
    drawn = {DIAGRAM: draw_ranks(comparison, result), scores: draw_scores(comparison, result)}
    return {name: picture for name, picture in drawn.items() if picture is not None}


def render_pictures(comparison: Comparison, result: MetricResult, suffix: str) -> list[tuple[str, str]]:
    """Return the pictures for a metric as elements of a page with their captions; the suffix makes their ids unique."""
    wide = draw_pictures(comparison, result)
    with narrowed():
        narrow = draw_pictures(comparison, result)
    return [
        (render_for_page(figure, narrow[name][0], f"{name}-{suffix}", caption), caption)
        for name, (figure, caption) in wide.items()
    ]


@in_style()
def render_predictions(comparison: Comparison) -> list[str]:
    """Return an element of a page for each configuration of a regression: predicted against true targets."""
    drawn = comparison.predictions
    targets = [target for pairs in drawn.values() for pair in pairs for target in pair]
    elements = []
    for number, row in enumerate(comparison.configurations):
        if row.name not in drawn:
            continue
        with narrowed():
            figure, (axes,) = make_panels(width=PHONE_INCHES, height=PHONE_INCHES)
        ends = [min(targets), max(targets)]
        axes.plot(ends, ends, ":", color=MUTED_COLOUR)
        axes.plot(*np.transpose(drawn[row.name]), "o", gid=f"row:{number}", **POINTS)
        axes.set(xlabel="true target", ylabel="predicted target", aspect="equal")
        axes.grid()
        add_title(axes, row.name)
        elements.append(render_svg(figure, f"predictions-{number}", f"Predictions of {row.name} against true targets"))
    return elements


def write_pictures(comparison: Comparison, suffix: str) -> dict[str, bytes]:
    """Return the pictures for the first metric as files for papers and slides.

    Parameters
    ----------
    comparison : Comparison
    suffix : {".pdf", ".svg"}

    Returns
    -------
    dict of str to bytes
        File name -> content. Equal comparisons produce identical bytes.
    """
    pictures = draw_pictures(comparison, comparison.results[0])
    return {f"{name}{suffix}": _write_picture(name, picture, suffix) for name, picture in pictures.items()}


def write_diagram(comparison: Comparison, suffix: str) -> bytes:
    """Return the critical-difference diagram for the first metric, or the tiers of systems on items, as a file.

    Parameters
    ----------
    comparison : Comparison
    suffix : {".pdf", ".svg"}

    Raises
    ------
    UserError
        The mean ranks were not tested, so there is no critical difference.
    """
    result = comparison.results[0]
    picture = (draw_ranks if comparison.items is None else draw_scores)(comparison, result)
    if picture is None:
        reason = "there is one dataset." if result.overall is None else result.overall.too_few
        raise UserError(
            f"output=*{suffix} is the critical-difference diagram, for which mean ranks were not tested: "
            f"{reason or 'there are two configurations.'} Compare at least three configurations on six datasets, or "
            "write another report, such as output=report.html."
        )
    return _write_picture(DIAGRAM, picture, suffix)


def _write_picture(name: str, picture: Picture, suffix: str) -> bytes:
    figure, caption = picture
    return render_pdf(figure) if suffix == PDF else fix_colours(render_svg(figure, name, caption)).encode()
