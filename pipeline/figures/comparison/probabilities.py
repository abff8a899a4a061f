"""Probabilities of several configurations on a dataset of two classes: ROC curves and calibration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bakeoff.pipeline.figures.comparison.rendering import in_style, wrap_name
from bakeoff.pipeline.figures.drawing.panels import (
    CLASS_COLOURS,
    FONT_POINTS,
    GRID_COLOUR,
    MUTED_COLOUR,
    TEXT_COLOUR,
)
from bakeoff.pipeline.text.numbers import format_score

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MAX_CURVES = 6
"""More curves in one panel cannot be told apart."""
CURVE_COLOURS = (*CLASS_COLOURS[:4], CLASS_COLOURS[5], "#222222")
LINE_STYLES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (8, 2)))
MARKERS = ("o", "s", "^", "D", "v", "P")
N_BINS = 10
WIDTH_INCHES = 9.0
PANEL_INCHES = 3.4
LEFT_INCHES = 0.7
MIDDLE_INCHES = 0.85
BOTTOM_INCHES = 0.6
TOP_INCHES = 0.35
LEGEND_LINE_INCHES = 0.2
LEGEND_LETTERS = 52


@dataclass(frozen=True)
class Probabilities:
    """What a configuration gave the test rows of all folds.

    Attributes
    ----------
    is_positive : ndarray of bool, shape (m,)
        Whether a row is of the positive class.
    positive : ndarray of shape (m,)
        The probability that was given to it.
    """

    is_positive: np.ndarray
    positive: np.ndarray


@in_style
def draw_probability_curves(label: str, configurations: Mapping[str, Probabilities]) -> Figure:
    """Draw ROC curves on the left and calibration curves on the right, pooled over folds.

    Parameters
    ----------
    label : str
        The positive class.
    configurations : mapping of str to Probabilities
        At most `MAX_CURVES`.
    """
    from sklearn.calibration import CalibrationDisplay
    from sklearn.metrics import RocCurveDisplay, brier_score_loss

    figure, roc, calibration = _make_panels(len(configurations))
    texts = []
    for number, (name, rows) in enumerate(configurations.items()):
        colour = CURVE_COLOURS[number]
        style: Any = {"color": colour, "linestyle": LINE_STYLES[number], "linewidth": 1.5}
        # Rounding can carry a probability past 1 by one float, which scikit-learn rejects.
        positive = np.clip(rows.positive, 0, 1)  # (m,)
        curve = RocCurveDisplay.from_predictions(rows.is_positive, positive, ax=roc, curve_kwargs=style)
        marks = {"marker": MARKERS[number], "markersize": 4.5, **style}
        CalibrationDisplay.from_predictions(
            rows.is_positive, positive, n_bins=N_BINS, ax=calibration, ref_line=False, name=name, **marks
        )
        brier = brier_score_loss(rows.is_positive, positive)
        # Numbers stand first, so that long names push nothing out of the picture.
        texts.append(
            f"AUC {format_score(float(curve.roc_auc))} · Brier {format_score(float(brier))} · {_name_line(name)}"
        )
    _style_panel(roc, "ROC", "false positive rate", "true positive rate")
    _style_panel(calibration, "Calibration", f"probability given to {wrap_name(label, 24, 1)}", "observed frequency")
    _add_legend(figure, calibration, texts)
    return figure


def _name_line(name: str) -> str:
    return wrap_name(name, LEGEND_LETTERS, 1)


def _make_panels(n_curves: int) -> tuple[Figure, Axes, Axes]:
    """Return a figure with two square panels above the room for a legend with a line per curve."""
    from matplotlib.figure import Figure as MatplotlibFigure

    legend_inches = LEGEND_LINE_INCHES * (n_curves + 1) + 0.1
    height = TOP_INCHES + PANEL_INCHES + BOTTOM_INCHES + legend_inches
    figure = MatplotlibFigure(figsize=(WIDTH_INCHES, height))
    panels = []
    for left in (LEFT_INCHES, LEFT_INCHES + PANEL_INCHES + MIDDLE_INCHES):
        bottom = BOTTOM_INCHES + legend_inches
        box = (left / WIDTH_INCHES, bottom / height, PANEL_INCHES / WIDTH_INCHES, PANEL_INCHES / height)
        panels.append(figure.add_axes(box))
    return figure, panels[0], panels[1]


def _style_panel(axes: Axes, title: str, xlabel: str, ylabel: str) -> None:
    axes.plot([0, 1], [0, 1], color=MUTED_COLOUR, linestyle=":", linewidth=1, zorder=1)
    axes.set(xlabel=xlabel, ylabel=ylabel, xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
    axes.set_title(title, loc="left", fontweight="bold", color=TEXT_COLOUR, fontsize=FONT_POINTS + 1)
    axes.grid(color=GRID_COLOUR)
    axes.set_axisbelow(True)
    legend = axes.get_legend()
    if legend is not None:
        legend.remove()


def _add_legend(figure: Figure, axes: Axes, texts: Sequence[str]) -> None:
    """Add a line for each curve of the axes, and one for the diagonal."""
    *curves, diagonal = axes.lines
    labels = [*texts, "diagonal: guessing on the left, perfect calibration on the right"]
    left = LEFT_INCHES / WIDTH_INCHES
    figure.legend(
        [*curves, diagonal], labels, loc="lower left", bbox_to_anchor=(left, 0), borderaxespad=0.1, handlelength=3.2
    )
