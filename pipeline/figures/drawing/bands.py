"""Scores over folds as lines with bands, and the axis of the values that they are drawn against."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from bakeoff.pipeline.figures.drawing.panels import CLASS_COLOURS, GRID_COLOUR

if TYPE_CHECKING:
    from matplotlib.axes import Axes

TRAINING_STYLE = ("training rows", CLASS_COLOURS[1], "s")
TEST_STYLE = ("test rows", CLASS_COLOURS[0], "o")
BAND_ALPHA = 0.15
MIN_LOG_RATIO = 20.0
"""Positive numbers whose greatest is at least this many times the least are drawn on a logarithmic axis."""
LETTER_INCHES = 0.08
AXES_SHARE = 0.85
"""About the share of a figure's width that its axes take."""
MAX_VALUE_LETTERS = 14
"""Longer values, such as lists, are cut."""

Scale = Literal["auto", "linear", "log"]


@dataclass(frozen=True)
class ValueAxis:
    """The positions of v values on an axis.

    Attributes
    ----------
    positions : ndarray of shape (v,)
        The values themselves if they are numbers, else 0, 1, 2, ….
    texts : list of v str
    scale : {"linear", "log"}
    """

    positions: np.ndarray
    texts: list[str]
    scale: str

    @classmethod
    def from_values(cls, values: Sequence[Any], scale: Scale = "auto") -> ValueAxis:
        """Place numbers at their values, and values of which some are not numbers side by side.

        Examples
        --------
        >>> ValueAxis.from_values([0.01, 1, 100]).scale, ValueAxis.from_values([2, 4, None]).texts
        ('log', ['2', '4', 'none'])
        """
        texts = [format_value(value) for value in values]
        if not all(is_number(value) for value in values):
            return cls(np.arange(len(values), dtype=float), texts, "linear")
        positions = np.array(values, dtype=float)
        if scale != "auto":
            return cls(positions, texts, scale)
        asks_for_log = positions.min() > 0 and positions.max() >= MIN_LOG_RATIO * positions.min()
        return cls(positions, texts, "log" if asks_for_log else "linear")

    def style(self, axes: Axes) -> None:
        """Set the scale and the ticks of a horizontal axis: each value has one, unless its text would touch another."""
        axes.set(xscale=self.scale)
        order = np.argsort(self.positions, kind="stable")
        kept = _thin_out(self._measure_distances(order), [self.texts[i] for i in order], axes)
        shown = [int(order[i]) for i in kept]
        axes.set_xticks(self.positions[shown], [self.texts[i] for i in shown])
        axes.minorticks_off()

    def _measure_distances(self, order: np.ndarray) -> np.ndarray:
        """Return where the values lie on the axis, from 0 to 1, in ascending order."""
        sorted_positions = self.positions[order]
        if self.scale == "log":
            sorted_positions = np.log(sorted_positions)
        span = np.ptp(sorted_positions) or 1.0
        places: np.ndarray = (sorted_positions - sorted_positions[0]) / span
        return places


def is_number(value: Any) -> bool:
    """Whether a value has a place on a numeric axis."""
    return isinstance(value, int | float) and not isinstance(value, bool) and bool(np.isfinite(value))


def format_value(value: Any) -> str:
    """Return a value of a parameter as a short text.

    Examples
    --------
    >>> format_value(0.0001), format_value(None), format_value([50, 50]), format_value(True)
    ('0.0001', 'none', '50, 50', 'true')
    """
    if value is None:
        return "none"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return f"{value:g}"
    text = ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
    return text if len(text) <= MAX_VALUE_LETTERS else f"{text[: MAX_VALUE_LETTERS - 1]}…"


def draw_band(axes: Axes, x: np.ndarray, scores: np.ndarray, style: tuple[str, str, str]) -> None:
    """Draw the mean over folds as a line, and its standard deviation (ddof=1, as it is stored with a run) as a band.

    Parameters
    ----------
    axes : Axes
    x : ndarray of shape (v,)
    scores : ndarray of shape (v, folds)
        NaN where a fold has no score.
    style : tuple of str
        The label, the colour and the marker of the line.
    """
    label, colour, marker = style
    order = np.argsort(x, kind="stable")
    masked = np.ma.masked_invalid(scores[order])
    mean = masked.mean(axis=1).filled(np.nan)  # (v,)
    axes.plot(x[order], mean, color=colour, marker=marker, markersize=4.5, label=label)
    if scores.shape[1] > 1:
        deviation = masked.std(axis=1, ddof=1).filled(np.nan)  # (v,)
        axes.fill_between(x[order], mean - deviation, mean + deviation, color=colour, alpha=BAND_ALPHA, linewidth=0)


def style_scores(axes: Axes, headline: str) -> None:
    """Name the vertical axis, and draw its grid and the legend."""
    axes.set_ylabel(headline)
    axes.grid(axis="y", color=GRID_COLOUR)
    axes.legend(loc="best")


def _thin_out(places: np.ndarray, texts: Sequence[str], axes: Axes) -> list[int]:
    """Return the positions of the ticks whose texts do not touch, the first among them."""
    figure_width = axes.get_figure().get_figwidth()  # type: ignore[union-attr]
    letter_share = LETTER_INCHES / (AXES_SHARE * figure_width)
    kept: list[int] = []
    end = -np.inf
    for i, (place, text) in enumerate(zip(places, texts, strict=True)):
        half_width = 0.5 * letter_share * (len(text) + 0.5)
        if place - half_width >= end:
            kept.append(i)
            end = place + half_width
    return kept
