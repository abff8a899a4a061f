"""What every figure is drawn with: colours, panels, titles, legends, and marks of classes, scores and columns.

The colours are those of Okabe and Ito, which colour-blind readers can tell apart; classes also differ by the shape of
their markers.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from textwrap import wrap
from typing import Any

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.textpath import TextPath
from matplotlib.ticker import LogLocator

from bakeoff.pipeline.text.words import cut_text

CLASS_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#E69F00", "#56B4E9", "#CC79A7", "#F0E442", "#999999")
CLASS_MARKERS = ("o", "s", "^", "D", "v", "P", "<", ">")
TEXT_COLOUR = "#222222"
MUTED_COLOUR = "#6b6b6b"
GRID_COLOUR = "#e5e5e5"
OTHER_COLOUR = "#b8b8b8"
"""Of bars and lines beside the one that the figure is about."""

FONT_POINTS = 9.5
NOTE_POINTS = 8.5
HEADING_POINTS = 11.5
NOTE_LINE_POINTS = 12
POINTS_PER_INCH = 72
LEGEND_HANDLE_INCHES = 0.7
BAND_ALPHA = 0.15
BAR_INCHES = 0.24
NAME_LETTERS = 28
"""Longer names of classes, columns and values are cut, or broken into lines."""
SHORT_AXIS_RATIO = 100.0
AUTOMATIC_LABEL = re.compile(r"_child\d+|_container\d+|_nolegend_")
"""What Matplotlib writes for marks without a label."""

STYLE: Any = {
    "font.family": "sans-serif",
    # Panels are laid out for the first font. The second is as wide, and others are narrower: nothing is cut.
    "font.sans-serif": ["DejaVu Sans", "Verdana"],
    "font.size": FONT_POINTS,
    "text.color": TEXT_COLOUR,
    "axes.titlesize": 11,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": MUTED_COLOUR,
    "axes.labelcolor": TEXT_COLOUR,
    "axes.axisbelow": True,
    "xtick.color": MUTED_COLOUR,
    "ytick.color": MUTED_COLOUR,
    "grid.color": GRID_COLOUR,
    "legend.frameon": False,
    # User-defined names may contain a dollar sign, which would otherwise begin a formula.
    "text.parse_math": False,
    # Text stays text in SVG: it can be searched, and the file is several times smaller.
    "svg.fonttype": "none",
}
"""Matplotlib's settings while a figure is drawn."""


@contextmanager
def in_style() -> Iterator[None]:
    """Draw in the style of all figures, without warnings about letters that the font lacks: browsers have others."""
    with rc_context(STYLE), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from font")
        yield


def make_panels(
    n: int = 1, max_columns: int = 4, *, width: float, height: float, frame: float = 0.0, **shared: Any
) -> tuple[Figure, list[Axes]]:
    """Make a figure of panels, in as many rows as they need.

    Parameters
    ----------
    n : int
        The number of panels.
    max_columns : int
        The most panels side by side.
    width, height : float
        Inches of one panel with its title and ticks.
    frame : float
        Inches above and below all panels, for a heading and a legend.
    **shared
        ``sharex`` and ``sharey``, as in Matplotlib's ``subplots``.
    """
    columns = min(n, max_columns)
    rows = -(-n // columns)
    # A figure that is made without pyplot is in no global list, and needs no closing.
    figure = Figure((width * columns, height * rows + frame), layout=ConstrainedLayoutEngine(w_pad=0.1, h_pad=0.08))
    panels = figure.subplots(rows, columns, squeeze=False, **shared).ravel().tolist()
    for unused in panels[n:]:
        unused.remove()
    for axes in panels[:n][-columns:]:
        # A panel that was removed may have been the one below, with the numbers of a shared axis.
        axes.tick_params(labelbottom=True)
    return figure, panels[:n]


def label_axes(panels: Sequence[Axes], xlabel: str, ylabel: str) -> None:
    """Name the horizontal axes below the last panel of each column, and the vertical axes at the left."""
    columns = panels[0].get_gridspec().ncols  # type: ignore[union-attr]
    for axes in panels[-columns:]:
        axes.set_xlabel(xlabel)
    for axes in panels[::columns]:
        axes.set_ylabel(ylabel)


def add_heading(figure: Figure, text: str) -> None:
    """Write a heading above all panels."""
    figure.suptitle(text, x=0.02, ha="left", fontweight="bold", color=TEXT_COLOUR, fontsize=HEADING_POINTS, wrap=True)


def add_title(axes: Axes, title: str, note: str = "") -> None:
    """Write a title above the axes, and a note of one or more smaller lines between the title and the axes."""
    note_lines = note.count("\n") + 1 if note else 0
    axes.set_title(title, loc="left", fontweight="bold", color=TEXT_COLOUR, pad=8 + NOTE_LINE_POINTS * note_lines)
    place: Any = {"xycoords": "axes fraction", "xytext": (0, 5), "textcoords": "offset points"}
    annotation = axes.annotate(note, (0, 1), **place, color=MUTED_COLOUR, fontsize=NOTE_POINTS)
    # A long note may reach over the next panel's margin; it must not make its own panel wider.
    annotation.set_in_layout(False)


def add_legend(figure: Figure, title: str, marks: Mapping[str, Any]) -> None:
    """Add a legend below the panels, in as many lines as its marks need; the title is above them."""
    widest = max((measure_inches(text, FONT_POINTS) for text in marks), default=0.0) + LEGEND_HANDLE_INCHES
    columns = max(1, min(len(marks), int(figure.get_figwidth() / widest)))
    place: Any = {"loc": "outside lower left", "ncols": columns, "alignment": "left"}
    figure.legend([*marks.values()], [*marks], title=title, **place, columnspacing=1.4, handletextpad=0.5)


def collect_marks(panels: Sequence[Axes]) -> dict[str, Any]:
    """Return the labelled marks of all panels, by label, for one legend."""
    marks: dict[str, Any] = {}
    for axes in panels:
        drawn: list[Any] = [*axes.lines, *axes.collections, *axes.containers]
        for mark in drawn:
            label = str(mark.get_label())
            # Matplotlib's search leaves out all labels with an underscore at the front, which names may have.
            if AUTOMATIC_LABEL.fullmatch(label) is None:
                marks[label] = mark
    return marks


@cache
def measure_inches(text: str, points: float) -> float:
    """Return the width in inches of the widest line of a text, set in letters of a size in points."""
    lines = [TextPath((0, 0), line, size=points) for line in text.split("\n") if line]
    return max((float(line.get_extents().width) for line in lines), default=0.0) / POINTS_PER_INCH


def wrap_name(name: str, letters: int = NAME_LETTERS, lines: int = 3) -> str:
    r"""Return a name in lines of at most so many letters, broken at spaces, else after `_`, `=`, `/` or `,`.

    A name that needs more lines ends in an ellipsis.

    Examples
    --------
    >>> wrap_name("knn n_neighbors=15 weights=distance", 16)
    'knn\nn_neighbors=15\nweights=distance'
    >>> wrap_name("sklearn_hist_gradient_boosting", 12, 2)
    'sklearn_\nhist_gradie…'
    """
    # A long word may be broken where its parts end; the sign for it is removed where it is not.
    words = [re.sub("([,_=/])", r"\1\0 ", word) if len(word) > letters else word for word in name.split()]
    wrapped = wrap(" ".join(words), letters)
    kept = [*wrapped[: lines - 1], " ".join(wrapped[lines - 1 :])]
    return "\n".join(cut_text(re.sub("\0 ?", "", line), letters) for line in kept if line)


def set_log_scale(axes: Axes, ratio: float, formatter: str | Callable[[float, float], str] = "{x:g}") -> None:
    """Make the horizontal axis logarithmic.

    Parameters
    ----------
    axes : Axes
    ratio : float
        Of the greatest to the least value: if it is small, 2 and 5 are labelled between the powers of ten.
    formatter : str or callable
        Matplotlib's usual one writes powers of ten as formulas, which are text here.
    """
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if ratio < SHORT_AXIS_RATIO else (1.0,)))
    axes.xaxis.set_major_formatter(formatter)
    axes.tick_params(axis="x", which="minor", length=2, labelbottom=False)


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
    for label, colour, marker in zip(classes, CLASS_COLOURS, CLASS_MARKERS, strict=False):
        of_class = labels == label  # (n,)
        style: Any = {"s": size, "c": colour, "marker": marker, "edgecolors": "white", "linewidths": 0.6, "zorder": 3}
        axes.scatter(x[of_class], y[of_class], label=str(label), **style)


def draw_band(
    axes: Axes, x: np.ndarray, scores: np.ndarray, label: str, colour: str, marker: str = "", top: float = np.inf
) -> None:
    """Draw the mean over folds as a line, and its standard deviation (ddof=1, as it is stored with a run) as a band.

    Parameters
    ----------
    axes : Axes
    x : ndarray of shape (v,)
    scores : ndarray of shape (v, folds)
        NaN where a fold has no score.
    label, colour, marker : str
        Of the line.
    top : float
        The band ends there, and at 0 below, if it is given: rates are between 0 and 1.
    """
    order = np.argsort(x, kind="stable")
    x = x[order]
    masked = np.ma.masked_invalid(scores[order])
    mean = masked.mean(axis=1).filled(np.nan)  # (v,)
    axes.plot(x, mean, color=colour, marker=marker, markersize=4.5, linewidth=1.8, label=label)
    if scores.shape[1] > 1:
        deviation = masked.std(axis=1, ddof=1).filled(np.nan)  # (v,)
        bottom = -np.inf if np.isinf(top) else 0.0
        low, high = np.clip([mean - deviation, mean + deviation], bottom, top)
        axes.fill_between(x, low, high, color=colour, alpha=BAND_ALPHA, linewidth=0)


def draw_bars(
    axes: Axes,
    names: Sequence[str],
    values: Sequence[float] | np.ndarray,
    deviations: np.ndarray | None = None,
    *,
    texts: Sequence[str] = (),
    colours: Any = CLASS_COLOURS[0],
) -> None:
    """Draw a horizontal bar for each name, the first on top.

    Parameters
    ----------
    axes : Axes
    names : sequence of n str
        Long ones are cut.
    values : array of shape (n,)
    deviations : ndarray of shape (n,), optional
        Whiskers to both sides of the ends of the bars.
    texts : sequence of n str, optional
        Written behind the bars.
    colours : str or sequence of n str
    """
    # Positions and not names: two names may be the same after they are cut.
    positions = np.arange(len(names))
    bars = axes.barh(positions, values, xerr=deviations, color=colours, ecolor=MUTED_COLOUR, error_kw={"elinewidth": 1})
    axes.set_yticks(positions, [cut_text(name, NAME_LETTERS) for name in names])
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.axvline(0, color=MUTED_COLOUR, linewidth=0.8)
    axes.locator_params(axis="x", nbins=5)
    if texts:
        axes.bar_label(bars, texts, padding=4, color=TEXT_COLOUR)
        axes.margins(x=0.2)  # room for the texts
    else:
        axes.grid(axis="x")
