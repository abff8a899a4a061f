"""Pictures of partial dependence: a curve over numbers above a rug of rows, and dots beside other values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from bakeoff.pipeline.commands.drawing.panels import (
    PHONE_INCHES,
    TEXT_COLOUR,
    add_legend,
    count_letters,
    in_style,
    make_panels,
    use_whole_ticks,
)
from bakeoff.pipeline.commands.explain.explain_model import Dependence
from bakeoff.pipeline.text.wording import cut_text, format_count

MISSING_DISTANCE = 0.25
"""The distance of the point for missing cells from the greatest number, as a fraction of the axis."""
CURVE_INCHES = 2.2
VALUES_FRAME_INCHES = 0.5
VALUE_INCHES = 0.22
RUG_SHARE = 0.07
"""The length of the lines for rows, as a fraction of the axis."""
RUG: Any = {"color": TEXT_COLOUR, "alpha": 0.4, "linewidth": 0.8}
Limits = tuple[float, float]
"""The ends of the axis of the outputs."""


@in_style()
def draw_dependence(dependence: Dependence, outputs: Sequence[str], limits: Limits) -> Any:
    """Return a figure of the mean outputs for one column: lines over numbers, or dots beside other values.

    Parameters
    ----------
    dependence : Dependence
    outputs : sequence of k str
        The names of the outputs.
    limits : tuple of two floats
    """
    has_numbers = dependence.points[0].position is not None
    height = CURVE_INCHES if has_numbers else VALUES_FRAME_INCHES + VALUE_INCHES * len(dependence.points)
    figure, (axes,) = make_panels(width=PHONE_INCHES, height=height)
    lines = (_draw_curve if has_numbers else _draw_values)(axes, dependence, limits)
    if len(outputs) > 1:
        add_legend(figure, "output", dict(zip(outputs, lines, strict=True)))
    return figure


def _draw_values(axes: Any, dependence: Dependence, limits: Limits) -> list[Any]:
    """Draw and return a dot for each output beside each value, the first on top."""
    rows = np.arange(len(dependence.points))
    names = [f"{cut_text(point.label, count_letters())} ({format_count(point.n_rows)})" for point in dependence.points]
    axes.set_yticks(rows, names)
    axes.set(xlim=limits, ylim=(len(rows) - 0.5, -0.5))
    axes.grid()
    lines: list[Any] = axes.plot(dependence.means, rows, "o", markersize=6)
    return lines


def _draw_curve(axes: Any, dependence: Dependence, limits: Limits) -> list[Any]:
    """Draw and return a line through the numbers for each output, with missing cells as dots on the right."""
    numbers = [point.position for point in dependence.points if point.position is not None]
    n_numbers = len(numbers)
    lines: list[Any] = axes.plot(numbers, dependence.means[:n_numbers])
    use_whole_ticks(axes)
    low, high = limits
    axes.vlines(dependence.rug, low, low + RUG_SHARE * (high - low), **RUG)
    axes.set_ylim(low, high)
    axes.grid(axis="y")
    if n_numbers < len(dependence.points):
        first, last = axes.get_xlim()
        ticks = [float(tick) for tick in axes.get_xticks() if first <= tick <= last]
        names = axes.xaxis.get_major_formatter().format_ticks(ticks)
        place = last + MISSING_DISTANCE * (last - first)
        axes.set_prop_cycle(None)
        axes.plot([place], dependence.means[n_numbers:], "o", markersize=6)
        axes.set_xticks([*ticks, place], [*names, dependence.points[-1].label])
        # The label does not reach into that of the last number.
        axes.get_xticklabels()[-1].set_horizontalalignment("left")
    return lines
