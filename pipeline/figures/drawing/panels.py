"""The tools that every figure is drawn with: panels, titles, legends and the markers of classes.

Matplotlib is imported only when a figure is drawn. The colours are those of Okabe and Ito, which colour-blind readers
can tell apart; classes differ by the shape of their markers as well.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

CLASS_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#E69F00", "#56B4E9", "#CC79A7", "#F0E442", "#999999")
CLASS_MARKERS = ("o", "s", "^", "D", "v", "P", "<", ">")
TEXT_COLOUR = "#222222"
MUTED_COLOUR = "#6b6b6b"
GRID_COLOUR = "#e5e5e5"

FONT_POINTS = 9.5
NOTE_POINTS = 8.5
HEADING_POINTS = 11.5
HEADING_LETTER_INCHES = 0.105
"""About the width of a bold letter of a heading."""
NOTE_LINE_POINTS = 12
POINTS_PER_INCH = 72
DOTS_PER_INCH = 110
LEGEND_HANDLE_INCHES = 0.48
LEGEND_MARGIN_INCHES = 0.3
AUTOMATIC_LABEL = re.compile(r"_child\d+|_nolegend_")
"""What Matplotlib writes for marks without a label."""

RC_PARAMS: Any = {
    "font.size": FONT_POINTS,
    "axes.titlesize": 11,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": MUTED_COLOUR,
    "axes.labelcolor": TEXT_COLOUR,
    "xtick.color": MUTED_COLOUR,
    "ytick.color": MUTED_COLOUR,
    "legend.frameon": False,
    # Names of users may hold a dollar sign, which would otherwise begin a formula.
    "text.parse_math": False,
}
"""Matplotlib's settings while a figure is drawn."""


def make_panels(
    columns: int, rows: int = 1, *, width: float = 9.0, height: float = 3.6, **shared: Any
) -> tuple[Figure, Any]:
    """Make a figure of panels.

    Parameters
    ----------
    columns, rows : int
    width, height : float
        Inches of the whole figure.
    **shared
        ``sharex`` and ``sharey``, as in Matplotlib's ``subplots``.

    Returns
    -------
    figure : Figure
    panels : ndarray of Axes of shape (rows, columns)
    """
    from matplotlib.figure import Figure as MatplotlibFigure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    layout = ConstrainedLayoutEngine(w_pad=0.1, h_pad=0.08)
    # A figure made without pyplot is in no global list, and needs no closing.
    figure = MatplotlibFigure(figsize=(width, height), layout=layout)
    return figure, figure.subplots(rows, columns, squeeze=False, **shared)


def fill_panels(n: int, max_in_a_row: int) -> tuple[int, int]:
    """Return the columns and rows of panels that n panels fill.

    Examples
    --------
    >>> fill_panels(2, 3), fill_panels(7, 3)
    ((2, 1), (3, 3))
    """
    columns = min(max_in_a_row, n)
    rows = -(-n // columns)
    return columns, rows


def hide_unused(panels: np.ndarray, n_used: int) -> None:
    """Hide the panels after the used ones, in the last row."""
    for axes in panels.flat[n_used:]:
        axes.set_axis_off()


def add_heading(figure: Figure, text: str) -> None:
    """Write a heading above all panels, in as many lines as it needs."""
    letters = int(figure.get_figwidth() / HEADING_LETTER_INCHES)
    heading = "\n".join(wrap(text, letters))
    figure.suptitle(heading, x=0.02, ha="left", fontweight="bold", color=TEXT_COLOUR, fontsize=HEADING_POINTS)


def add_title(axes: Axes, title: str, note: str = "") -> None:
    """Write a title above the axes, and a note of one or more smaller lines between the title and the axes."""
    note_lines = note.count("\n") + 1 if note else 0
    axes.set_title(title, loc="left", fontweight="bold", color=TEXT_COLOUR, pad=8 + NOTE_LINE_POINTS * note_lines)
    annotation = axes.annotate(
        note,
        (0, 1),
        xytext=(0, 5),
        xycoords="axes fraction",
        textcoords="offset points",
        color=MUTED_COLOUR,
        fontsize=NOTE_POINTS,
    )
    # A long note may reach over the next panel's margin; it must not make its own panel wider.
    annotation.set_in_layout(False)


@cache
def measure_inches(text: str, points: float) -> float:
    """Return the width in inches of the widest line of a text, set in letters of a size in points."""
    from matplotlib.textpath import TextPath

    widths = [TextPath((0, 0), line, size=points).get_extents().width for line in text.split("\n")]
    return max(float(width) for width in widths) / POINTS_PER_INCH


def add_legend(figure: Figure, title: str, marks: Mapping[str, Any]) -> None:
    """Add a legend below the panels, in as many lines as it needs.

    Parameters
    ----------
    figure : Figure
    title : str
        Written before the first mark.
    marks : mapping of str to Matplotlib artist
    """
    from matplotlib.lines import Line2D

    blank = Line2D([], [], linestyle="")
    entries: list[tuple[str, Any]] = [(f"{title}:", blank), *marks.items()]
    widths = [measure_inches(text, FONT_POINTS) + LEGEND_HANDLE_INCHES for text, _ in entries]
    columns = _count_columns(widths, figure.get_figwidth() - LEGEND_MARGIN_INCHES)
    n_empty = -len(entries) % columns
    entries += [("", blank)] * n_empty
    # Matplotlib fills a legend column by column, but the entries are meant to be read line by line.
    order = np.arange(len(entries)).reshape(-1, columns).T.ravel()
    texts = [entries[position][0] for position in order]
    handles = [entries[position][1] for position in order]
    figure.legend(handles, texts, loc="outside lower left", ncols=columns, columnspacing=1.4, handletextpad=0.3)


def _count_columns(widths: Sequence[float], available: float) -> int:
    """Return the largest number of columns in which entries of these widths fit, line by line, into a width.

    Examples
    --------
    >>> _count_columns([1.0, 2.0, 1.0, 2.0], 7.0), _count_columns([1.0, 2.0, 1.0, 2.0], 4.0)
    (4, 2)
    """
    for columns in range(len(widths), 1, -1):
        column_widths = [max(widths[first::columns]) for first in range(columns)]
        if sum(column_widths) < available:
            return columns
    return 1


def collect_marks(panels: Sequence[Axes]) -> dict[str, Any]:
    """Return the labelled marks of all panels, by label, for one legend."""
    marks: dict[str, Any] = {}
    for axes in panels:
        for mark in (*axes.lines, *axes.collections):
            label = str(mark.get_label())
            # Matplotlib's own search leaves out all labels with an underscore at the front, which names may have.
            if AUTOMATIC_LABEL.fullmatch(label) is None:
                marks[label] = mark
    return marks


def scatter_classes(
    axes: Axes, x: np.ndarray, y: np.ndarray, labels: np.ndarray, classes: np.ndarray, size: float
) -> None:
    """Draw rows as markers; each class has a colour and a shape.

    Parameters
    ----------
    axes : Axes
    x, y : ndarray of shape (n,)
    labels : ndarray of shape (n,)
        The class of each row.
    classes : ndarray of shape (c,)
        All classes; the position of a class decides its colour and shape.
    size : float
        Area of a marker, in square points.
    """
    for code, label in enumerate(classes):
        of_class = labels == label  # (n,)
        axes.scatter(
            x[of_class],
            y[of_class],
            s=size,
            c=CLASS_COLOURS[code],
            marker=CLASS_MARKERS[code],
            edgecolors="white",
            linewidths=0.6,
            label=str(label),
            zorder=3,
        )
