"""The diagram of one tree: the texts at its nodes and branches, and the room that they need."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from textwrap import wrap
from typing import TYPE_CHECKING, Any, final

import numpy as np

from bakeoff.pipeline.figures.drawing.panels import CLASS_COLOURS, MUTED_COLOUR, TEXT_COLOUR, measure_inches

if TYPE_CHECKING:
    from matplotlib.axes import Axes

TEXT_POINTS = 7.5
QUESTION_LETTERS = 16
"""Characters in a line of a question; longer questions are wrapped."""
ANSWER_WEIGHTS = np.array([0.36, 0.64])
"""The weights of parent and child in the position of the answer between them."""
BOX_PADDING_INCHES = 0.09
BOX_GAP_INCHES = 0.05
LEVEL_INCHES = 0.45
TEXT_LINE_INCHES = 0.13
BRANCH_COLOUR = "#b0b0b0"


@final
@dataclass(frozen=True)
class TreeDiagram:
    """A tree of k nodes as positions and texts.

    Attributes
    ----------
    x, y : ndarray of shape (k,)
        The leaves are at x = 0, 1, 2, …, and a parent is above the middle of its children; y is minus the depth.
    texts : list of k str
        The question of an inner node; the rows of a leaf, as "2 of 3" if only two of the three are of its class, and in
        regression their mean target.
    answers : list of (parent, child, str)
    is_leaf : ndarray of shape (k,), bool
    code : ndarray of shape (k,), int
        The class that each node would predict.
    share : ndarray of shape (k,)
        The part of all rows that reaches each node.
    """

    x: np.ndarray
    y: np.ndarray
    texts: list[str]
    answers: list[tuple[int, int, str]]
    is_leaf: np.ndarray
    code: np.ndarray
    share: np.ndarray

    @classmethod
    def from_tree(cls, learner: Any, drawing: Any, get_label: Callable[[str], str]) -> TreeDiagram:
        """Make the diagram of a fitted tree.

        Parameters
        ----------
        learner : fitted tree
        drawing : Drawing
            Positions and edges, as ``bakeoff.learners.decision_tree.export.draw`` returns them.
        get_label : callable
            Takes the name of a column; returns the text to write for it.
        """
        tree = learner.fitted_tree_
        columns = _list_columns(learner)
        labels = [get_label(column) for column in columns]
        describe_leaf = _describe_leaf_of_classes if hasattr(learner, "classes_") else _describe_leaf_of_numbers
        texts = [_describe_node(tree, node, labels, describe_leaf) for node in range(tree.node_count)]
        answers = []
        for parent, child, answer in drawing.edges:
            text = _describe_answer(tree, parent, child, answer, columns[tree.feature[parent]])
            answers.append((parent, child, text))
        code = drawing.value.argmax(axis=1)  # (k,)
        share = tree.weighted_n_node_samples / tree.weighted_n_node_samples[0]  # (k,)
        return cls(drawing.x, drawing.y, texts, answers, tree.is_leaf, code, share)

    def measure_width(self) -> float:
        """Return the width in inches that the texts need."""
        return sum(self._measure_margins()) + self._measure_leaf_distance() * float(np.ptp(self.x))

    def measure_height(self) -> float:
        """Return the height in inches at which the texts are easy to read."""
        lines = max(text.count("\n") + 1 for text in self.texts)
        level_height = LEVEL_INCHES + TEXT_LINE_INCHES * lines
        return level_height * (float(np.ptp(self.y)) + 1)

    def draw_texts(self, axes: Axes, width: float) -> None:
        """Draw the tree with its texts on axes of a width in inches."""
        self._draw_branches(axes)
        for parent, child, answer in self.answers:
            x = self.x[[parent, child]] @ ANSWER_WEIGHTS
            y = self.y[[parent, child]] @ ANSWER_WEIGHTS
            _draw_answer(axes, x, y, answer)
        for node, text in enumerate(self.texts):
            if self.is_leaf[node]:
                _draw_leaf(axes, self.x[node], self.y[node], text, CLASS_COLOURS[self.code[node]])
            else:
                _draw_question(axes, self.x[node], self.y[node], text)
        # The limits leave room for the outermost boxes, which reach beyond the positions of their nodes.
        margins = np.array(self._measure_margins())
        span = max(float(np.ptp(self.x)), 1.0)
        inches_per_leaf = max((width - margins.sum()) / span, 0.1)
        left, right = margins / inches_per_leaf
        axes.set(xlim=(self.x.min() - left, self.x.max() + right), ylim=(self.y.min() - 0.45, 0.45))

    def draw_dots(self, axes: Axes) -> None:
        """Draw the tree without texts: leaves are dots of their class, as large as their share of the rows."""
        self._draw_branches(axes)
        areas = np.where(self.is_leaf, 16 + 260 * self.share, 9)  # (k,)
        leaf_colours = [CLASS_COLOURS[code] for code in self.code]
        colours = [
            colour if is_leaf else MUTED_COLOUR for colour, is_leaf in zip(leaf_colours, self.is_leaf, strict=True)
        ]
        axes.scatter(self.x, self.y, s=areas, c=colours, zorder=3)
        axes.set(xlim=(self.x.min() - 0.5, self.x.max() + 0.5), ylim=(self.y.min() - 0.4, 0.35))

    def _measure_half_widths(self) -> np.ndarray:
        """Return half the width in inches of the box of each node, of shape (k,)."""
        return np.array([0.5 * measure_inches(text, TEXT_POINTS) + BOX_PADDING_INCHES for text in self.texts])

    def _measure_margins(self) -> tuple[float, float]:
        """Return the inches that boxes take to the left of the first leaf and to the right of the last."""
        half_widths = self._measure_half_widths()
        leaf_distance = self._measure_leaf_distance()
        to_first = self.x - self.x.min()  # (k,)
        to_last = self.x.max() - self.x  # (k,)
        left = (half_widths - leaf_distance * to_first).max()
        right = (half_widths - leaf_distance * to_last).max()
        return float(left), float(right)

    def _measure_leaf_distance(self) -> float:
        """Return the least distance in inches between neighbouring leaves at which no two texts touch."""
        half_widths = self._measure_half_widths()
        boxes = list(zip(self.y, self.x, half_widths, strict=True))
        for parent, child, answer in self.answers:
            x = self.x[[parent, child]] @ ANSWER_WEIGHTS
            # All answers of a level count as one line between the levels of nodes.
            y = self.y[parent] - 0.5
            boxes.append((y, x, 0.5 * measure_inches(answer, TEXT_POINTS)))
        # Sorted, boxes of one line follow each other from left to right, and only neighbours can touch.
        boxes.sort()
        distance = 0.0
        for (y, x, half_width), (next_y, next_x, next_half_width) in pairwise(boxes):
            if y == next_y:
                needed = half_width + next_half_width + BOX_GAP_INCHES
                distance = max(distance, needed / (next_x - x))
        return distance

    def _draw_branches(self, axes: Axes) -> None:
        for parent, child, _ in self.answers:
            ends = [parent, child]
            axes.plot(self.x[ends], self.y[ends], color=BRANCH_COLOUR, linewidth=0.9, zorder=1)


def _list_columns(learner: Any) -> list[str]:
    """Return the names of the columns that a tree was fitted on; x1, x2, … if they had none."""
    if hasattr(learner, "feature_names_in_"):
        return [str(name) for name in learner.feature_names_in_]
    return [f"x{j + 1}" for j in range(learner.n_features_in_)]


def _draw_question(axes: Axes, x: float, y: float, text: str) -> None:
    _draw_box(axes, x, y, text, colour=TEXT_COLOUR, fill="white", edge=TEXT_COLOUR, zorder=3)


def _draw_leaf(axes: Axes, x: float, y: float, text: str, fill: str) -> None:
    _draw_box(axes, x, y, text, colour="white", fill=fill, edge=fill, zorder=3)


def _draw_answer(axes: Axes, x: float, y: float, text: str) -> None:
    # The box hides the branch behind the text; nodes lie above it.
    _draw_box(axes, x, y, text, colour=MUTED_COLOUR, fill="white", edge="none", zorder=2)


def _draw_box(axes: Axes, x: float, y: float, text: str, *, colour: str, fill: str, edge: str, zorder: int) -> None:
    box = {"facecolor": fill, "edgecolor": edge, "boxstyle": "round,pad=0.3", "linewidth": 0.9}
    axes.text(x, y, text, ha="center", va="center", fontsize=TEXT_POINTS, color=colour, bbox=box, zorder=zorder)


def _describe_node(tree: Any, node: int, labels: list[str], describe_leaf: Callable[[Any, int], str]) -> str:
    """Return the question of an inner node, or what a leaf predicts and from how many rows."""
    if not tree.is_leaf[node]:
        return _format_question(labels[tree.feature[node]], tree.threshold[node])
    return describe_leaf(tree, node)


def _describe_leaf_of_numbers(tree: Any, node: int) -> str:
    """Return the mean target of a leaf, and below it the number of rows."""
    return f"{float(tree.value[node].ravel()[0]):.4g}\n{int(tree.n_node_samples[node])}"


def _describe_leaf_of_classes(tree: Any, node: int) -> str:
    """Return the number of rows of a leaf, as "2 of 3" if only two of the three are of its class."""
    n_rows = int(tree.n_node_samples[node])
    largest_share = tree.value[node].max()
    if largest_share == 1:
        return f"{n_rows}"
    return f"{round(largest_share * n_rows)} of {n_rows}"


def _describe_answer(tree: Any, parent: int, child: int, answer: str, column: str) -> str:
    """Return the answer that leads from a node to its child: values of a nominal column, else yes or no."""
    threshold = tree.threshold[parent]
    if np.isnan(threshold):
        return _format_values(answer, column)
    # "x < t?" is true in the first branch, "x missing?" (the threshold is infinite) in the second.
    is_first = child == tree.first_child[parent]
    return "yes" if is_first == np.isfinite(threshold) else "no"


def _format_question(name: str, threshold: float) -> str:
    r"""Return the question about a column, in lines of about `QUESTION_LETTERS` characters.

    Parameters
    ----------
    name : str
    threshold : float
        NaN for a nominal column, infinite for the question whether a value is missing.

    Examples
    --------
    >>> _format_question("family", float("nan")), _format_question("x1", float("inf"))
    ('family?', 'x1 missing?')
    >>> _format_question("width of the widest petal", 2.4501)
    'width of the\nwidest petal\n< 2.45?'
    """
    if np.isnan(threshold):
        condition = ""
    elif np.isinf(threshold):
        condition = "missing"
    else:
        condition = f"< {threshold:.4g}"
    question = f"{name} {condition}?" if condition else f"{name}?"
    if len(question) <= QUESTION_LETTERS:
        return question
    if not condition:
        return "\n".join(wrap(question, QUESTION_LETTERS))
    # The condition has a line of its own, so that a threshold is never broken.
    name_lines = wrap(name, QUESTION_LETTERS, break_long_words=False)
    return "\n".join([*name_lines, f"{condition}?"])


def _format_values(answer: str, name: str) -> str:
    """Return the values of a nominal answer without the column's name, which is part of the question above it.

    Examples
    --------
    >>> _format_values("family in {couple, single}", "family"), _format_values("job = true", "job")
    ('couple, single', 'true')
    """
    values = answer.removeprefix(name).strip()
    return values.removeprefix("= ").removeprefix("in ").strip("{}")
