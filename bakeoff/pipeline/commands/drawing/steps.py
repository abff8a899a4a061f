"""The pictures of a calculation by hand: its rows with a line, neighbours or regions, and trees.

Rows can be drawn if there are two numeric features, or one for a regression. A page shows them once and refers to them
in the picture of each step, which contains only what the step adds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bakeoff.learners.definitions.steps import Branch, Drawing, Neighbours, Plane, Problem
from bakeoff.pipeline.commands.drawing.model_marks import (
    BOX,
    LEVEL_INCHES,
    MARGIN_SHARE,
    QUERY_MARKER_AREA,
    QUESTION_LETTERS,
    RING_AREA,
    TEXT,
    draw_edge,
    draw_regions,
    scatter_classes,
)
from bakeoff.pipeline.commands.drawing.panels import (
    CLASS_COLOURS,
    MUTED_COLOUR,
    NOTE_POINTS,
    OTHER_COLOUR,
    TEXT_COLOUR,
    add_legend,
    in_style,
    label_axes,
    make_panels,
    render_svg,
    wrap_name,
)

ROWS_ID = "rows"
"""The id of the picture of the rows in a page."""
WIDTH_INCHES = 4.2
HEIGHT_INCHES = 3.1
FRAME_INCHES = 0.3
MIN_TREE_INCHES = 3.0
LEAF_INCHES = 1.05
MAX_LEAVES = 14
"""If a tree has more leaves, only the path to its current node is drawn."""
FOLDED = "…"
NODE_TEXT = {**TEXT, "fontsize": NOTE_POINTS}
CURVE_POINTS = 300
MAX_LABELLED = 12
"""The maximum number of neighbours whose distances are written beside them."""
MAX_SCALE_RATIO = 4.0
"""Both axes have the same scale unless the range of one feature is this many times that of the other."""
MAX_TICKS = 6
SIDE_OPACITY = 0.18
NUMBER_BOX: Any = {"facecolor": "white", "edgecolor": "none", "alpha": 0.6, "boxstyle": "round,pad=0.05"}
"""The background of a row's number, which keeps it legible where lines cross it."""
SEPARATORS: Any = {"colors": TEXT_COLOUR, "linewidths": 1.3}


class StepPictures:
    """The pictures of the steps of one calculation.

    Parameters
    ----------
    problem : Problem or None
        The rows; without them, only trees are drawn.
    learner : estimator or None
        The learner, fitted on the rows, which predicts regions.

    Attributes
    ----------
    rows : str
        The rows as an SVG element with the id `ROWS_ID`, to which pictures refer; empty if they cannot be drawn.
    """

    def __init__(self, problem: Problem | None, learner: Any = None) -> None:
        self.learner = learner
        self.classes = getattr(learner, "classes_", None)
        self.rows = ""
        n_drawn = 1 if self.classes is None else 2
        if problem is None or problem.nominal or problem.X.shape[1] != n_drawn:
            return
        self.place_of = dict(zip(problem.numbers, range(len(problem.X)), strict=False))
        self.X = pd.DataFrame(problem.X, columns=list(problem.features))
        self.y = problem.y
        self.points = problem.X if self.classes is not None else np.column_stack([problem.X, problem.y])  # (n, 2)
        self.limits = self._find_limits(problem.queries)  # (2, 2): lowest, highest
        with in_style():
            self.figure, self.axes = self._draw_rows([*problem.features, problem.target])
            shared = render_svg(self.figure, ROWS_ID, "The training rows")
            self.figure.set_layout_engine("none")
        self.rows = shared.replace("<svg", f'<svg id="{ROWS_ID}"', 1)
        for artist in (*self.axes.get_children(), *self.figure.get_children()):
            artist.set_visible(artist is self.axes)

    def render(self, drawing: Drawing | None, name: str) -> str:
        """Return a picture as an SVG element; empty if these rows cannot be drawn.

        Parameters
        ----------
        drawing : Drawing or None
            What to draw; None for the rows alone.
        name : str
            The prefix of the ids in the element.
        """
        if isinstance(drawing, Branch):
            with in_style():
                return render_svg(draw_branch(drawing), name, f"The tree so far: {drawing.text}")
        if not self.rows:
            return ""
        shared = self.axes.get_children()
        with in_style():
            if isinstance(drawing, Plane):
                description = self._draw_plane(drawing)
            elif isinstance(drawing, Neighbours):
                description = self._draw_neighbours(drawing)
            elif drawing is not None:
                description = self._draw_predictions()
            else:
                description = "The training rows"
            element = render_svg(self.figure, name, description)
        for artist in set(self.axes.get_children()) - set(shared):
            artist.remove()
        width, height = 72 * self.figure.get_size_inches()
        # Rows are drawn last, so that they are on top of lines and regions.
        reference = f'<use href="#{ROWS_ID}" width="{width:g}" height="{height:g}"/>'
        return element.replace("</svg>", f"{reference}</svg>")

    def _find_limits(self, queries: np.ndarray) -> np.ndarray:
        shown = self.points
        if self.classes is not None:
            shown = np.vstack([shown, queries])
        lowest, highest = shown.min(axis=0), shown.max(axis=0)
        lowest[0] = min(lowest[0], *queries[:, 0], np.inf)
        highest[0] = max(highest[0], *queries[:, 0], -np.inf)
        # A column of equal values has a range as well.
        margin = np.where(highest > lowest, 2 * MARGIN_SHARE * (highest - lowest), 1.0)
        return np.array([lowest - margin, highest + margin])

    def _draw_rows(self, names: list[str]) -> tuple[Figure, Axes]:
        """Draw the rows with their numbers."""
        figure, (axes,) = make_panels(width=WIDTH_INCHES, height=HEIGHT_INCHES, frame=FRAME_INCHES)
        # What a step adds is visible below the rows.
        figure.patch.set_visible(False)
        axes.patch.set_visible(False)
        if self.classes is None:
            axes.scatter(*self.points.T, color=CLASS_COLOURS[0], zorder=3)
        else:
            marks = scatter_classes(axes, self.X, self.y, self.classes)
            (first, mark), *others = marks.items()
            # The name of the target in a line of its own would take room from the rows.
            add_legend(figure, "", {f"{names[-1]}: {first}": mark, **dict(others)})
        self._number_rows(axes)
        axes.set(xlim=self.limits[:, 0], ylim=self.limits[:, 1])
        axes.autoscale(False)
        axes.locator_params(nbins=MAX_TICKS)
        width, height = self.limits[1] - self.limits[0]
        if self.classes is not None and 1 / MAX_SCALE_RATIO < width / height < MAX_SCALE_RATIO:
            axes.set_aspect("equal")
        label_axes([axes], names[0], names[1])
        return figure, axes

    def _number_rows(self, axes: Axes) -> None:
        """Write the numbers of the rows beside each point."""
        points, places = np.unique(self.points, axis=0, return_inverse=True)
        style: Any = {"fontsize": NOTE_POINTS, "color": MUTED_COLOUR, "zorder": 4, "bbox": NUMBER_BOX}
        for position, point in enumerate(points):
            numbers = [number for number, place in self.place_of.items() if places.ravel()[place] == position]
            axes.annotate(", ".join(map(str, numbers)), point, (5, 4), textcoords="offset points", **style)

    def _draw_plane(self, plane: Plane) -> str:
        """Draw the sides of a line, or the line of a regression."""
        if len(plane.w) == 1:
            ends = self.limits[:, 0]
            self.axes.plot(ends, plane.w[0] * ends + plane.b, color=TEXT_COLOUR)
        else:
            x1, x2 = np.meshgrid(*self.limits.T)  # (2, 2)
            # Contours of a linear function are exact on the four corners.
            values = plane.w[0] * x1 + plane.w[1] * x2 + plane.b
            largest = np.abs(values).max() + 1
            sides: Any = {"colors": CLASS_COLOURS[:2], "alpha": SIDE_OPACITY, "zorder": -1}
            if np.any(plane.w):
                self.axes.contourf(x1, x2, values, levels=[-largest, 0, largest], **sides)
            levels = [-1, 0, 1] if plane.has_margin else [0]
            crossed = [level for level in levels if values.min() < level < values.max()]
            for level in crossed:
                self.axes.contour(x1, x2, values, levels=[level], linestyles="--" if level else "-", **SEPARATORS)
        self._mark_rows(plane.marked)
        return f"The training rows and the line with w = {plane.w}, b = {plane.b}"

    def _draw_neighbours(self, neighbours: Neighbours) -> str:
        """Draw the query, and lines to its neighbours with their distances."""
        ends = self.points[[self.place_of[number] for number in neighbours.rows]]  # (k, 2)
        if self.classes is None:
            starts = np.column_stack([np.full(len(ends), neighbours.query[0]), ends[:, 1]])
            self.axes.axvline(neighbours.query[0], color=TEXT_COLOUR, linestyle=":")
        else:
            starts = np.broadcast_to(neighbours.query, ends.shape)
            x, y = neighbours.query
            star: Any = {"c": "white", "marker": "*", "edgecolors": TEXT_COLOUR}
            self.axes.scatter(x, y, s=QUERY_MARKER_AREA, **star)
            self.axes.annotate("query", (x, y), (0, -14), textcoords="offset points", **TEXT, bbox=NUMBER_BOX)
        x, y = np.stack([starts, ends]).transpose(2, 0, 1)  # (2, k) each
        self.axes.plot(x, y, color=MUTED_COLOUR, linewidth=1, zorder=1)
        if len(ends) <= MAX_LABELLED:
            for place, distance in zip((starts + 2 * ends) / 3, neighbours.distances, strict=False):
                self.axes.text(place[0], place[1], f"{distance:.4g}", **TEXT, bbox=NUMBER_BOX)
        if len(ends) < len(self.points):
            self._mark_rows(neighbours.rows)
        return f"The training rows and the query {neighbours.query} with lines to rows {neighbours.rows}"

    def _draw_predictions(self) -> str:
        """Draw the predicted class or value at each point."""
        if self.classes is None:
            line = np.linspace(self.limits[0, 0], self.limits[1, 0], CURVE_POINTS)
            values = self.learner.predict(pd.DataFrame(line, columns=self.X.columns))
            self.axes.plot(line, values, color=TEXT_COLOUR)
        else:
            corners = pd.DataFrame(self.limits, columns=self.X.columns)
            draw_regions(self.axes, self.learner, corners, self.classes)
        return "The training rows and what the learner predicts at each point"

    def _mark_rows(self, numbers: Sequence[int]) -> None:
        ring: Any = {"facecolors": "none", "edgecolors": TEXT_COLOUR, "linewidths": 1.3}
        marked = self.points[[self.place_of[number] for number in numbers]]  # (k, 2)
        self.axes.scatter(marked[:, 0], marked[:, 1], s=RING_AREA, **ring)


@dataclass(frozen=True)
class PlacedBranch:
    """A node of a tree with its position, in leaves from the left and levels from the top."""

    branch: Branch
    x: float
    y: float
    children: tuple[PlacedBranch, ...]

    def walk(self) -> Iterator[PlacedBranch]:
        """Yield the node and all below it."""
        yield self
        for child in self.children:
            yield from child.walk()


def place_branch(branch: Branch, leaves: Iterator[int], level: int = 0) -> PlacedBranch:
    """Place the leaves of a tree side by side, and each other node above the middle of its children."""
    children = tuple(place_branch(child, leaves, level + 1) for child in branch.branches)
    x = (children[0].x + children[-1].x) / 2 if children else next(leaves)
    return PlacedBranch(branch, x, -level, children)


def has_current(branch: Branch) -> bool:
    """Whether the current node is in this part of a tree."""
    return branch.is_current or any(map(has_current, branch.branches))


def fold_branch(branch: Branch) -> Branch:
    """Return a tree with the path to its current node, and with dots for the other parts."""
    if not has_current(branch):
        return Branch(FOLDED, branch.answer) if branch.branches else branch
    return replace(branch, branches=tuple(map(fold_branch, branch.branches)))


def draw_branch(branch: Branch) -> Figure:
    """Draw a tree; the current node has a thick border and bold text. Only part of a wide tree is drawn."""
    nodes = list(place_branch(branch, count()).walk())
    if sum(not node.children for node in nodes) > MAX_LEAVES and any(node.branch.is_current for node in nodes):
        nodes = list(place_branch(fold_branch(branch), count()).walk())
    n_leaves = 1 + max(node.x for node in nodes)
    n_levels = 1 - min(node.y for node in nodes)
    width = max(MIN_TREE_INCHES, n_leaves * LEAF_INCHES)
    # Without labels around it, a tree needs no layout, which takes most of the time of a picture.
    figure = Figure((width, n_levels * LEVEL_INCHES))
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_axis_off()
    axes.set(xlim=(-0.6, n_leaves - 0.4), ylim=(0.5 - n_levels, 0.5))
    for node in nodes:
        _draw_node(axes, node)
        for child in node.children:
            # The node above names the feature.
            answer = child.branch.answer.removeprefix(node.branch.text).strip().removeprefix("= ")
            ends = np.array([[node.x, node.y], [child.x, child.y]])
            draw_edge(axes, ends, answer, fontsize=NOTE_POINTS)
    return figure


def _draw_node(axes: Axes, node: PlacedBranch) -> None:
    is_current = node.branch.is_current
    border = {"edgecolor": TEXT_COLOUR if is_current else OTHER_COLOUR, "linewidth": 2.2 if is_current else 0.9}
    weight = "bold" if is_current else "normal"
    text = wrap_name(node.branch.text, QUESTION_LETTERS)
    shown = axes.text(node.x, node.y, text, bbox={**BOX, **border}, fontweight=weight, zorder=4, **NODE_TEXT)
    if node.branch.rows:
        shown.set_gid(f"row:{' '.join(map(str, node.branch.rows))}")
