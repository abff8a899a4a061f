"""The bars of a histogram as coordinates of a small picture, which the template draws."""

from __future__ import annotations

from dataclasses import dataclass

from bakeoff.pipeline.inspection.profile import Histogram

WIDTH = 180.0
HEIGHT = 44.0
"""Of the picture, in CSS pixels."""
GAP = 1.0
MIN_BAR_HEIGHT = 1.0
"""Of a bar that is not empty, so that few rows beside many can be seen."""


@dataclass(frozen=True)
class Bar:
    """A bar: its rectangle, and the text that appears when the pointer rests on it.

    Attributes
    ----------
    x, y, width, height : float
        In CSS pixels, from the upper left corner.
    title : str
    """

    x: float
    y: float
    width: float
    height: float
    title: str


@dataclass(frozen=True)
class Bars:
    """A histogram, drawn.

    Attributes
    ----------
    bars : tuple of Bar
    width, height : float
        Of the picture, in CSS pixels.
    description : str
        The same in words.
    first, last : str
        The labels of the first and the last bar.
    other : str
        The rows without a bar; empty if there are none.
    """

    bars: tuple[Bar, ...]
    width: float
    height: float
    description: str
    first: str
    last: str
    other: str


def draw_bars(histogram: Histogram) -> Bars:
    """Return the bars of a histogram, scaled to the highest one.

    Examples
    --------
    >>> drawn = draw_bars(Histogram(("a", "b"), (30, 15)))
    >>> [(bar.x, bar.height) for bar in drawn.bars]
    [(0.0, 44.0), (90.0, 22.0)]
    """
    counts = histogram.counts
    step = WIDTH / max(len(counts), 1)
    highest = max(counts, default=0) or 1
    bars = []
    for position, (label, count) in enumerate(zip(histogram.labels, counts, strict=True)):
        height = max(HEIGHT * count / highest, MIN_BAR_HEIGHT) if count else 0.0
        x = round(position * step, 2)
        bars.append(Bar(x, round(HEIGHT - height, 2), round(step - GAP, 2), round(height, 2), f"{label}: {count} rows"))
    description = "; ".join(bar.title for bar in bars)
    other = f"{histogram.n_other} rows with other values" if histogram.n_other else ""
    first = histogram.labels[0] if counts else ""
    last = histogram.labels[-1] if len(counts) > 1 else ""
    return Bars(tuple(bars), WIDTH, HEIGHT, description, first, last, other)
