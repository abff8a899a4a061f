"""The pictures of an explanation as coordinates, which the template draws as SVG."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from bakeoff.pipeline.explanation.dependence import Dependence
from bakeoff.pipeline.explanation.importances import Importance
from bakeoff.pipeline.text.numbers import format_score

BAR_WIDTH = 320.0
"""Of the room for the bars, in CSS pixels."""
BAR_HEIGHT = 14.0
CURVE_WIDTH = 300.0
CURVE_HEIGHT = 120.0
COUNT_HEIGHT = 26.0
"""Of the bars below a curve, which show the rows at each value."""
SIDE = 8.0
"""Room at both sides of a curve, so that its ends can be seen."""
RADIUS = 3.5
SMALL_RADIUS = 2.0
"""Of a point on a line."""
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c6d31", "#7f7f7f")
"""Okabe and Ito's colours, which colour-blind readers can tell apart."""
DASHES = ("", "6 3", "2 3", "8 3 2 3")
"""Further classes have the same colours with other dashes."""


@dataclass(frozen=True)
class Bar:
    """A bar of a table: where it starts, how wide it is, and the whisker at its end.

    Attributes
    ----------
    x, width, low, high : float
        In CSS pixels; the whisker reaches from `low` to `high`.
    is_positive : bool
    """

    x: float
    width: float
    low: float
    high: float
    is_positive: bool


@dataclass(frozen=True)
class BarScale:
    """The axis of the bars of a table.

    Attributes
    ----------
    width, height : float
        Of the picture of one row.
    zero : float
        Where zero is.
    """

    width: float
    height: float
    zero: float


def draw_importances(importances: Sequence[Importance]) -> tuple[BarScale, list[Bar]]:
    """Return bars from zero to the mean of each importance, with whiskers of one standard deviation.

    Examples
    --------
    >>> scale, bars = draw_importances([Importance(("a",), 0.2, 0.0), Importance(("b",), -0.2, 0.0)])
    >>> scale.zero, [(bar.x, bar.width) for bar in bars]
    (160.0, [(160.0, 160.0), (0.0, 160.0)])
    """
    lows = [each.mean - each.deviation for each in importances]
    highs = [each.mean + each.deviation for each in importances]
    return _scale_bars([each.mean for each in importances], lows, highs)


def _scale_bars(values: Sequence[float], lows: Sequence[float], highs: Sequence[float]) -> tuple[BarScale, list[Bar]]:
    """Return bars from zero to each value, with whiskers from `lows` to `highs`."""
    least = min(0.0, *values, *lows)
    greatest = max(0.0, *values, *highs)
    span = (greatest - least) or 1.0

    def place(value: float) -> float:
        return round((value - least) / span * BAR_WIDTH, 2)

    zero = place(0.0)
    bars = []
    for value, low, high in zip(values, lows, highs, strict=True):
        x = min(zero, place(value))
        width = round(abs(place(value) - zero), 2)
        bars.append(Bar(x, width, place(low), place(high), value >= 0))
    return BarScale(BAR_WIDTH, BAR_HEIGHT, zero), bars


@dataclass(frozen=True)
class Mark:
    """A point of a curve.

    Attributes
    ----------
    x, y, radius : float
    title : str
    """

    x: float
    y: float
    radius: float
    title: str


@dataclass(frozen=True)
class Line:
    """One output of a model over the values of a column.

    Attributes
    ----------
    name, colour, dash : str
    path : str
        Of SVG, through the points of numbers; empty for values without an order.
    marks : tuple of Mark
    """

    name: str
    colour: str
    dash: str
    path: str
    marks: tuple[Mark, ...]


@dataclass(frozen=True)
class CountBar:
    """The rows at a value.

    Attributes
    ----------
    x, y, width, height : float
    title : str
    """

    x: float
    y: float
    width: float
    height: float
    title: str


@dataclass(frozen=True)
class Curve:
    """A picture of the partial dependence on one column.

    Attributes
    ----------
    column, note : str
    width, height, baseline : float
        The bars of rows hang below the baseline.
    lines : tuple of Line
    counts : tuple of CountBar
    least, greatest : str
        The ends of the vertical axis.
    first, last : str
        The ends of the axis of numbers; empty for values.
    labels : tuple of (float, str)
        The values without an order, and where they stand.
    has_missing : bool
        Whether the last point is that of missing cells.
    """

    column: str
    note: str
    width: float
    height: float
    baseline: float
    lines: tuple[Line, ...]
    counts: tuple[CountBar, ...]
    least: str
    greatest: str
    first: str
    last: str
    labels: tuple[tuple[float, str], ...]
    has_missing: bool


def draw_curve(dependence: Dependence, names: Sequence[str], low: float, high: float) -> Curve:
    """Return the picture of a partial dependence.

    Parameters
    ----------
    dependence : Dependence
    names : sequence of k str
        Of the outputs.
    low, high : float
        The ends of the vertical axis, which all columns share, so that they can be compared.
    """
    places = _place_points(dependence)
    lines = [_draw_line(dependence, places, output, name, low, high) for output, name in enumerate(names)]
    numbers = [point for point in dependence.points if point.position is not None]
    return Curve(
        column=dependence.column,
        note=dependence.note,
        width=CURVE_WIDTH,
        height=CURVE_HEIGHT + COUNT_HEIGHT,
        baseline=CURVE_HEIGHT,
        lines=tuple(lines),
        counts=tuple(_draw_counts(dependence, places)),
        least=format_score(low),
        greatest=format_score(high),
        first=numbers[0].label if numbers else "",
        last=numbers[-1].label if numbers else "",
        labels=() if numbers else tuple((x, point.label) for x, point in zip(places, dependence.points, strict=True)),
        has_missing=0 < len(numbers) < len(dependence.points),
    )


def _draw_line(
    dependence: Dependence, places: Sequence[float], output: int, name: str, low: float, high: float
) -> Line:
    """Return one output over the points; numbers are joined, values and missing cells are not."""
    room = CURVE_HEIGHT - 2 * SIDE
    span = (high - low) or 1.0
    marks = []
    joined = []
    for x, point in zip(places, dependence.points, strict=True):
        mean = point.means[output]
        y = round(CURVE_HEIGHT - SIDE - (mean - low) / span * room, 2)
        is_joined = point.position is not None
        title = f"{point.label}: {format_score(mean)} ({point.n_rows} rows)"
        marks.append(Mark(x, y, SMALL_RADIUS if is_joined else RADIUS, title))
        joined += [f"{x} {y}"] if is_joined else []
    dash = DASHES[output // len(COLOURS) % len(DASHES)]
    path = f"M {' L '.join(joined)}" if len(joined) > 1 else ""
    return Line(name, COLOURS[output % len(COLOURS)], dash, path, tuple(marks))


def _place_points(dependence: Dependence) -> list[float]:
    """Return where each point stands: numbers at their distances, values and missing cells side by side."""
    positions = [point.position for point in dependence.points]
    numbers = [position for position in positions if position is not None]
    n_others = len(positions) - len(numbers)
    if not numbers:
        step = CURVE_WIDTH / len(positions)
        return [round((number + 0.5) * step, 2) for number in range(len(positions))]
    # A missing cell has a place of its own, to the right of the axis.
    right = CURVE_WIDTH - SIDE - (3 * SIDE if n_others else 0)
    span = (max(numbers) - min(numbers)) or 1.0
    return [
        round(CURVE_WIDTH - SIDE, 2)
        if position is None
        else round(SIDE + (position - min(numbers)) / span * (right - SIDE), 2)
        for position in positions
    ]


def _draw_counts(dependence: Dependence, places: Sequence[float]) -> list[CountBar]:
    """Return a bar below each point, as high as its share of the rows."""
    most = max(point.n_rows for point in dependence.points) or 1
    gaps = [after - before for before, after in pairwise(places)]
    width = round(max(2.0, min([*gaps, 3 * SIDE]) * 0.8), 2)
    bars = []
    for x, point in zip(places, dependence.points, strict=True):
        height = max(1.0, (COUNT_HEIGHT - 4) * point.n_rows / most) if point.n_rows else 0.0
        left = round(x - width / 2, 2)
        bars.append(CountBar(left, CURVE_HEIGHT + 2, width, round(height, 2), f"{point.label}: {point.n_rows} rows"))
    return bars
