"""What pictures of models share: regions of predicted classes, rows as markers, and the edges of trees."""

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from sklearn.inspection import DecisionBoundaryDisplay

from bakeoff.pipeline.commands.drawing.panels import (
    CLASS_COLOURS,
    CLASS_MARKERS,
    MUTED_COLOUR,
    OTHER_COLOUR,
    wrap_name,
)

GRID_POINTS = 300
"""Number of points along each axis at which a class is predicted."""
MARGIN_SHARE = 0.06
"""The margin of the plane around the rows on each side, as a fraction of a column's range."""
MARKER_AREA = 26
QUERY_MARKER_AREA = 190
RING_AREA = 120


def draw_regions(axes: Axes, model: Any, X: pd.DataFrame, classes: np.ndarray) -> None:
    """Colour the plane by predicted class."""
    surface: Any = {"plot_method": "pcolormesh", "alpha": 0.22, "zorder": -1, "rasterized": True}
    display: Any = draw_response(axes, model, X, response_method="predict", **surface)
    # Only the classes that the model has seen are numbered, so their colours are selected from those of all classes.
    colours = [colour for colour, label in zip(CLASS_COLOURS, classes, strict=False) if label in model.classes_]
    display.surface_.set(cmap=ListedColormap(colours), clim=(-0.5, len(colours) - 0.5))


def draw_response(axes: Axes, model: Any, X: pd.DataFrame, **style: Any) -> DecisionBoundaryDisplay:
    """Draw the response of a model in the plane around the rows."""
    margin = MARGIN_SHARE * (X.max() - X.min())
    corners = pd.DataFrame([X.min() - margin, X.max() + margin])
    return DecisionBoundaryDisplay.from_estimator(model, corners, eps=0, grid_resolution=GRID_POINTS, ax=axes, **style)


def scatter_classes(axes: Axes, X: pd.DataFrame, y: np.ndarray, classes: np.ndarray) -> dict[str, Any]:
    """Draw rows as markers; return the marker of each class, which has a colour and a shape."""
    marks = {}
    for label, colour, marker in zip(classes, CLASS_COLOURS, CLASS_MARKERS, strict=False):
        rows = X[y == label].to_numpy()
        style: Any = {"c": colour, "marker": marker, "edgecolors": "white", "linewidths": 0.6, "zorder": 3}
        marks[str(label)] = axes.scatter(rows[:, 0], rows[:, 1], s=MARKER_AREA, **style)
    return marks


LEVEL_INCHES = 0.95
"""The height of a level of a tree."""
QUESTION_LETTERS = 16
ANSWER_LETTERS = 12
"""Number of characters in a line of an answer."""
TEXT: Any = {"ha": "center", "va": "center", "fontsize": 7.5}
BOX: Any = {"facecolor": "white", "boxstyle": "round,pad=0.3", "linewidth": 0.9}
ANSWER_WEIGHTS = np.array([0.4, 0.6])
"""The weights of parent and child in the position of the answer between them."""


def draw_edge(axes: Axes, ends: np.ndarray, answer: str = "", **style: Any) -> None:
    """Draw the line from a node to a child, whose positions are ends (2, 2), with the answer that leads there."""
    axes.plot(*ends.T, color=OTHER_COLOUR, linewidth=0.9, zorder=1)
    # The box hides the line behind the text.
    text: Any = {**TEXT, **style, "color": MUTED_COLOUR, "bbox": {**BOX, "edgecolor": "none"}}
    if answer:
        x, y = ANSWER_WEIGHTS @ ends
        axes.text(x, y, wrap_name(answer, ANSWER_LETTERS), **text)
