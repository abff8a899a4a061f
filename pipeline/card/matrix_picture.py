"""The confusion matrix as a picture of a few kilobytes, drawn in under a millisecond.

It is an SVG file that is written as text: matplotlib would take 30 to 40 ms, a third of the time of a small run.
"""

from __future__ import annotations

from collections.abc import Sequence
from xml.sax.saxutils import escape

import numpy as np

MAX_PICTURE_CLASSES = 20
"""With more classes the numbers in the cells could not be read."""
MAX_LABEL_LETTERS = 16
MIN_CELL_PIXELS = 46
MAX_CELL_PIXELS = 90
FONT_PIXELS = 13
LETTER_PIXELS = 7.2
"""The mean width of a letter."""
MARGIN_PIXELS = 12
GAP_PIXELS = 6
TITLE_PIXELS = 24
DARK_SHARE = 0.55
"""From this share of the true class on, a cell is so dark that its number is white."""
LIGHTEST = np.array([255, 255, 255])
DARKEST = np.array([8, 69, 148])
"""From white to the darkest blue of ColorBrewer's scale ``Blues``, which colour-blind readers can tell apart."""


def draw_confusion_matrix(counts: np.ndarray, labels: Sequence[str]) -> str:
    """Return the picture as SVG.

    The colour of a cell shows its share of the rows of the true class, so that rare classes are shown as clearly as
    frequent ones.

    Parameters
    ----------
    counts : ndarray of shape (c, c)
        Rows of the dataset, by true class (rows) and predicted class (columns).
    labels : sequence of str
        The c names of the classes.

    Returns
    -------
    str
    """
    names = [_shorten(label) for label in labels]
    label_pixels = LETTER_PIXELS * max(len(name) for name in names)
    cell = min(max(MIN_CELL_PIXELS, label_pixels + 2 * GAP_PIXELS), MAX_CELL_PIXELS)
    # Longer names of columns would overlap, and stand upright.
    is_upright = label_pixels > cell
    left = MARGIN_PIXELS + TITLE_PIXELS + label_pixels
    top = MARGIN_PIXELS + TITLE_PIXELS + GAP_PIXELS + (label_pixels if is_upright else FONT_PIXELS)
    x = left + cell * np.arange(len(names) + 1)  # (c + 1,)
    y = top + MIN_CELL_PIXELS * np.arange(len(names) + 1)  # (c + 1,)
    width = round(x[-1] + MARGIN_PIXELS)
    height = round(y[-1] + MARGIN_PIXELS)
    font = f'font-family="Helvetica, Arial, sans-serif" font-size="{FONT_PIXELS}"'
    size = f'width="{width}" height="{height}"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} viewBox="0 0 {width} {height}" {font}>',
        f'<rect {size} fill="white"/>',
        *_draw_titles(x.mean(), y.mean()),
        *_draw_labels(names, x, y, is_upright),
        *_draw_cells(counts, x, y),
        _draw_box(x[0], y[0], x[-1] - x[0], y[-1] - y[0], 'fill="none" stroke="#444"'),
        "</svg>\n",
    ]
    return "\n".join(parts)


def _draw_titles(center_x: float, center_y: float) -> list[str]:
    edge = MARGIN_PIXELS + FONT_PIXELS / 2
    return [
        _draw_text("predicted class", center_x, edge, "middle", weight="bold"),
        _draw_text("true class", edge, center_y, "middle", upright=True, weight="bold"),
    ]


def _draw_labels(names: Sequence[str], x: np.ndarray, y: np.ndarray, is_upright: bool) -> list[str]:
    """Return the names of the rows and columns between edges x (c + 1,) and y (c + 1,)."""
    parts = []
    center_x = (x[:-1] + x[1:]) / 2  # (c,)
    center_y = (y[:-1] + y[1:]) / 2  # (c,)
    for code, name in enumerate(names):
        parts.append(_draw_text(name, x[0] - GAP_PIXELS, center_y[code], "end"))
        if is_upright:
            parts.append(_draw_text(name, center_x[code], y[0] - GAP_PIXELS, "start", upright=True))
        else:
            parts.append(_draw_text(name, center_x[code], y[0] - GAP_PIXELS - FONT_PIXELS / 2, "middle"))
    return parts


def _draw_cells(counts: np.ndarray, x: np.ndarray, y: np.ndarray) -> list[str]:
    """Return the cells between edges x (c + 1,) and y (c + 1,), and the numbers in them."""
    totals = np.maximum(counts.sum(axis=1, keepdims=True), 1)  # (c, 1)
    shares = counts / totals  # (c, c)
    colours = np.rint(LIGHTEST + shares[..., None] * (DARKEST - LIGHTEST)).astype(int)  # (c, c, 3)
    width = x[1] - x[0]
    height = y[1] - y[0]
    parts = []
    for true_code, row in enumerate(counts.tolist()):
        for code, count in enumerate(row):
            red, green, blue = colours[true_code, code].tolist()
            style = f'fill="rgb({red},{green},{blue})" stroke="#ddd"'
            parts.append(_draw_box(x[code], y[true_code], width, height, style))
            if count:
                ink = "white" if shares[true_code, code] >= DARK_SHARE else "#222"
                parts.append(_draw_text(str(count), x[code] + width / 2, y[true_code] + height / 2, "middle", ink))
    return parts


def _draw_box(x: float, y: float, width: float, height: float, style: str) -> str:
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" {style}/>'


def _draw_text(
    text: str, x: float, y: float, anchor: str, ink: str = "#222", upright: bool = False, weight: str = "normal"
) -> str:
    turn = f' transform="rotate(-90 {x:.1f} {y:.1f})"' if upright else ""
    style = f'fill="{ink}" font-weight="{weight}" text-anchor="{anchor}" dominant-baseline="central"'
    return f'<text x="{x:.1f}" y="{y:.1f}" {style}{turn}>{escape(text)}</text>'


def _shorten(label: str) -> str:
    if len(label) <= MAX_LABEL_LETTERS:
        return label
    return f"{label[: MAX_LABEL_LETTERS - 1]}…"
