"""Small multiples: a panel per dataset, and the same rows, one per configuration, in all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bakeoff.pipeline.figures.comparison.rendering import wrap_name
from bakeoff.pipeline.figures.drawing.panels import FONT_POINTS, GRID_COLOUR, MUTED_COLOUR, TEXT_COLOUR, measure_inches

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH_INCHES = 9.0
MARGIN_INCHES = 0.12
MIN_PANEL_INCHES = 1.55
MAX_SINGLE_PANEL_INCHES = 6.5
PANEL_GAP_INCHES = 0.22
LINE_INCHES = 0.155
"""The distance between two lines of a name."""
ROW_GAP_INCHES = 0.08
TICKS_INCHES = 0.3
TITLE_GAP_INCHES = 0.12
TITLE_LETTERS = 20
TITLE_LINES = 2
TEXT_SLACK = 1.06
"""Text is rendered a little wider than measured, because letters are moved to whole pixels."""


@dataclass(frozen=True)
class Grid:
    """Panels and where their rows stand.

    Attributes
    ----------
    figure : Figure
    panels : list of Axes
        One per title. The vertical axis is in inches from the top of the panel.
    middles : list of float
        The middle of each row, on the vertical axis.
    """

    figure: Figure
    panels: list[Axes]
    middles: list[float]


def make_grid(titles: Sequence[str], rows: Sequence[str], *, footer_inches: float = 0.0) -> Grid:
    """Make a figure with a panel per title, and the names of the rows on the left of each line of panels.

    Parameters
    ----------
    titles, rows : sequence of str
        Long names are broken into lines.
    footer_inches : float
        Room below the panels, for a legend.
    """
    from matplotlib.figure import Figure as MatplotlibFigure

    texts = [wrap_name(row) for row in rows]
    headings = [wrap_name(title, TITLE_LETTERS, TITLE_LINES) for title in titles]
    names_inches = TEXT_SLACK * max(measure_inches(text, FONT_POINTS) for text in texts) + 2 * MARGIN_INCHES
    n_columns, panel_inches = _fit_panels(len(titles), WIDTH_INCHES - names_inches - MARGIN_INCHES)
    middles, rows_inches = _stack_rows(texts)
    title_inches = _measure_titles(headings, n_columns)
    line_inches = rows_inches + TICKS_INCHES
    height = 2 * MARGIN_INCHES + sum(title_inches) + len(title_inches) * line_inches + footer_inches
    figure = MatplotlibFigure(figsize=(WIDTH_INCHES, height))
    panels = []
    for number, heading in enumerate(headings):
        line, column = divmod(number, n_columns)
        left = names_inches + column * (panel_inches + PANEL_GAP_INCHES)
        top = MARGIN_INCHES + sum(title_inches[: line + 1]) + line * line_inches
        # Matplotlib places axes by fractions of the figure, from its lower left corner.
        bottom = height - top - rows_inches
        box = (left / WIDTH_INCHES, bottom / height, panel_inches / WIDTH_INCHES, rows_inches / height)
        axes = figure.add_axes(box)
        _style_panel(axes, heading, rows_inches)
        if column == 0:
            _write_names(axes, texts, middles)
        panels.append(axes)
    return Grid(figure, panels, middles)


def _fit_panels(n_panels: int, room: float) -> tuple[int, float]:
    """Return how many panels fit beside each other into a width, at least one, and the width of each, in inches."""
    n_fitting = int(room / (MIN_PANEL_INCHES + PANEL_GAP_INCHES))
    n_columns = max(min(n_panels, n_fitting), 1)
    panel_inches = room / n_columns - PANEL_GAP_INCHES
    return n_columns, min(panel_inches, MAX_SINGLE_PANEL_INCHES)


def _measure_titles(headings: Sequence[str], n_columns: int) -> list[float]:
    """Return the height of the titles of each line of panels, which is that of the longest of them."""
    heights = []
    for first in range(0, len(headings), n_columns):
        n_breaks = max(heading.count("\n") for heading in headings[first : first + n_columns])
        heights.append(LINE_INCHES * (n_breaks + 1) + TITLE_GAP_INCHES)
    return heights


def _stack_rows(texts: Sequence[str]) -> tuple[list[float], float]:
    """Return the middle of each row below the top, and the height of all rows, in inches."""
    middles = []
    top = 0.0
    for text in texts:
        height = LINE_INCHES * (text.count("\n") + 1) + ROW_GAP_INCHES
        middles.append(top + height / 2)
        top += height
    return middles, top


def _style_panel(axes: Axes, heading: str, rows_inches: float) -> None:
    axes.set_ylim(rows_inches, 0)
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    axes.tick_params(axis="x", length=3)
    axes.grid(axis="x", color=GRID_COLOUR)
    axes.set_axisbelow(True)
    axes.set_title(heading, loc="left", fontsize=FONT_POINTS, fontweight="bold", color=TEXT_COLOUR, pad=4)


def _write_names(axes: Axes, texts: Sequence[str], middles: Sequence[float]) -> None:
    transform = axes.get_yaxis_transform()
    for text, y in zip(texts, middles, strict=True):
        axes.annotate(
            text,
            (0, y),
            xycoords=transform,
            xytext=(-8, 0),
            textcoords="offset points",
            ha="right",
            va="center",
            color=TEXT_COLOUR,
            linespacing=1.05,
        )


def write_absent(axes: Axes, y: float, text: str = "no scores") -> None:
    """Write into a row that there is nothing to draw."""
    axes.annotate(
        text,
        (0.02, y),
        xycoords=axes.get_yaxis_transform(),
        va="center",
        color=MUTED_COLOUR,
        fontstyle="italic",
        fontsize=FONT_POINTS - 1.5,
    )


def add_rectangles(
    axes: Axes, left: np.ndarray, right: np.ndarray, middles: np.ndarray, half: float, **style: Any
) -> None:
    """Draw rectangles as one path, which takes a fraction of the time and space of a patch for each.

    Parameters
    ----------
    axes : Axes
    left, right : ndarray of shape (n,)
        Their ends, on the horizontal axis.
    middles : ndarray of shape (n,)
        On the vertical axis.
    half : float
        Half of their height.
    **style
        Of the patch.
    """
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    low = middles - half
    high = middles + half
    x = np.column_stack([left, right, right, left, left])  # (n, 5)
    y = np.column_stack([low, low, high, high, low])  # (n, 5)
    codes = np.tile([Path.MOVETO, Path.LINETO, Path.LINETO, Path.LINETO, Path.CLOSEPOLY], len(x))
    corners = np.stack([x, y], axis=2).reshape(-1, 2)  # (5 n, 2)
    axes.add_patch(PathPatch(Path(corners, codes), **style))
