"""The diagram of one tree: the texts at its nodes and branches, and the room that they need."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from textwrap import wrap
from typing import Any, final

import numpy as np
from matplotlib.axes import Axes

from bakeoff.pipeline.figures.panels import CLASS_COLOURS, MUTED_COLOUR, OTHER_COLOUR, TEXT_COLOUR, measure_inches

TEXT_POINTS = 7.5
QUESTION_LETTERS = 16
"""Characters in a line of a question; longer questions are wrapped."""
ANSWER_WEIGHTS = np.array([0.4, 0.6])
"""The weights of parent and child in the position of the answer between them."""
BOX_PADDING_INCHES = 0.18
BOX_GAP_INCHES = 0.05
LEVEL_INCHES = 0.45
TEXT_LINE_INCHES = 0.13


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
            Positions, questions and edges, as ``bakeoff.learners.decision_tree.export.draw`` returns them.
        get_label : callable
            Takes the name of a column; returns the text to write for it.
        """
        tree = learner.fitted_tree_
        names = getattr(learner, "feature_names_in_", [f"x{j + 1}" for j in range(learner.n_features_in_)])
        describe_leaf = _describe_leaf_of_classes if hasattr(learner, "classes_") else _describe_leaf_of_numbers
        texts = []
        for node, question in enumerate(drawing.labels):
            name = str(names[tree.feature[node]])
            asked = _wrap_question(get_label(name), question.removeprefix(name))
            texts.append(describe_leaf(tree, node) if tree.is_leaf[node] else asked)
        answers = [
            (parent, child, _shorten_answer(answer.removeprefix(str(names[tree.feature[parent]]))))
            for parent, child, answer in drawing.edges
        ]
        code = drawing.value.argmax(axis=1)  # (k,)
        share = tree.weighted_n_node_samples / tree.weighted_n_node_samples[0]  # (k,)
        return cls(drawing.x, drawing.y, texts, answers, tree.is_leaf, code, share)

    def measure_width(self) -> float:
        """Return the width in inches that the texts need."""
        distance, margin = self._measure_room()
        return distance * float(np.ptp(self.x)) + 2 * margin

    def _measure_room(self) -> tuple[float, float]:
        """Return the least inches between leaves at which no two texts touch, and those beside the outermost."""
        widths = np.array([measure_inches(text, TEXT_POINTS) for text in self.texts])  # (k,)
        half_widths = (widths + BOX_PADDING_INCHES) / 2
        boxes = list(zip(self.y, self.x, half_widths, strict=True))
        for parent, child, answer in self.answers:
            # All answers of a level count as one line between the levels of nodes.
            place = ANSWER_WEIGHTS @ self.x[[parent, child]]
            boxes.append((self.y[parent] - 0.5, place, 0.5 * measure_inches(answer, TEXT_POINTS)))
        # Sorted, boxes of one line follow each other from left to right, and only neighbours can touch.
        needed = [
            (half_width + next_half_width + BOX_GAP_INCHES) / (next_x - x)
            for (y, x, half_width), (next_y, next_x, next_half_width) in pairwise(sorted(boxes))
            if y == next_y
        ]
        distance = max(needed, default=1.0)
        to_end = np.minimum(self.x - self.x.min(), self.x.max() - self.x)  # (k,)
        return distance, float((half_widths - distance * to_end).max())

    def measure_height(self) -> float:
        """Return the height in inches at which the texts are easy to read."""
        lines = max(text.count("\n") + 1 for text in self.texts)
        return (LEVEL_INCHES + TEXT_LINE_INCHES * lines) * (float(np.ptp(self.y)) + 1)

    def draw_texts(self, axes: Axes) -> None:
        """Draw the tree with its texts."""
        self._draw_branches(axes)
        for parent, child, answer in self.answers:
            x, y = ANSWER_WEIGHTS @ np.column_stack([self.x, self.y])[[parent, child]]
            # The box hides the branch behind the text; nodes lie above it.
            _draw_box(axes, x, y, answer, MUTED_COLOUR, fill="white", edge="none", zorder=2)
        for node, text in enumerate(self.texts):
            colour = CLASS_COLOURS[self.code[node]]
            letters, fill, edge = (
                ("white", colour, colour) if self.is_leaf[node] else (TEXT_COLOUR, "white", TEXT_COLOUR)
            )
            _draw_box(axes, self.x[node], self.y[node], text, letters, fill=fill, edge=edge, zorder=3)
        distance, margin = self._measure_room()
        beside = margin / distance
        axes.set(xlim=(self.x.min() - beside, self.x.max() + beside), ylim=(self.y.min() - 0.45, 0.45))

    def draw_dots(self, axes: Axes) -> None:
        """Draw the tree without texts: leaves are dots of their class, as large as their share of the rows."""
        self._draw_branches(axes)
        areas = np.where(self.is_leaf, 16 + 260 * self.share, 9)  # (k,)
        colours = np.where(self.is_leaf, np.array(CLASS_COLOURS)[self.code], MUTED_COLOUR)  # (k,)
        axes.scatter(self.x, self.y, s=areas, c=colours, zorder=3)
        axes.set(xlim=(self.x.min() - 0.5, self.x.max() + 0.5), ylim=(self.y.min() - 0.4, 0.35))

    def _draw_branches(self, axes: Axes) -> None:
        for parent, child, _ in self.answers:
            ends = [parent, child]
            axes.plot(self.x[ends], self.y[ends], color=OTHER_COLOUR, linewidth=0.9, zorder=1)


def _draw_box(axes: Axes, x: float, y: float, text: str, colour: str, *, fill: str, edge: str, zorder: int) -> None:
    box = {"facecolor": fill, "edgecolor": edge, "boxstyle": "round,pad=0.3", "linewidth": 0.9}
    axes.text(x, y, text, ha="center", va="center", fontsize=TEXT_POINTS, color=colour, bbox=box, zorder=zorder)


def _describe_leaf_of_numbers(tree: Any, node: int) -> str:
    """Return the mean target of a leaf, and below it the number of rows."""
    return f"{float(tree.value[node].ravel()[0]):.4g}\n{int(tree.n_node_samples[node])}"


def _describe_leaf_of_classes(tree: Any, node: int) -> str:
    """Return the number of rows of a leaf, as "2 of 3" if only two of the three are of its class."""
    n_rows = int(tree.n_node_samples[node])
    largest_share = tree.value[node].max()
    return f"{n_rows}" if largest_share == 1 else f"{round(largest_share * n_rows)} of {n_rows}"


def _wrap_question(name: str, condition: str) -> str:
    r"""Return the question about a column, in lines of about `QUESTION_LETTERS` characters.

    Examples
    --------
    >>> _wrap_question("family", "?"), _wrap_question("x1", " missing?")
    ('family?', 'x1 missing?')
    >>> _wrap_question("width of the widest petal", " < 2.45?")
    'width of the\nwidest petal\n< 2.45?'
    """
    if len(name + condition) <= QUESTION_LETTERS:
        return name + condition
    lines = wrap(name, QUESTION_LETTERS, break_long_words=False)
    # The condition has a separate line, so that a threshold is never broken.
    return "\n".join([*lines, condition.strip()]) if condition != "?" else "\n".join(lines) + "?"


def _shorten_answer(answer: str) -> str:
    """Return the values of a nominal answer; of a question about a number, which stands above, yes or no.

    Examples
    --------
    >>> _shorten_answer(" in {couple, single}"), _shorten_answer(" = true"), _shorten_answer(" >= 2.45")
    ('couple, single', 'true', 'no')
    """
    sign, _, rest = answer.strip().partition(" ")
    if sign in ("<", "<=", ">", ">="):
        return "yes" if sign.startswith("<") else "no"
    return rest.strip("{}")
