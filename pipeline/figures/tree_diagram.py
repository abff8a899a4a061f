"""One tree on paper: what stands at its nodes and on its branches, and how much room that needs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from textwrap import wrap
from typing import TYPE_CHECKING, Any, final

import numpy as np

from bakeoff.pipeline.figures.panels import COLOURS, GREY, INK, inches

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SIZE = 7.5
"""Points, of the words."""
LINE = 16
"""Letters, after which a question is broken."""
BETWEEN = np.array([0.36, 0.64])
"""Where an answer stands on the way from question to child."""
PAD, GAP = 0.09, 0.05
"""Inches around the words in a box, and between two boxes."""


@final
@dataclass(frozen=True)
class Sketch:
    """A tree of k nodes in words.

    Attributes
    ----------
    x, y : ndarray of shape (k,)
        Leaves stand at 0, 1, 2, …; a parent over the middle of its children; y is minus the depth.
    nodes : list of k str
        Questions, and at leaves the rows: "2 of 3" if only two of the three are of the leaf's class.
    answers : list of (parent, child, str)
    leaf : ndarray of shape (k,), bool
    code : ndarray of shape (k,), int
        The class that a node would predict.
    share : ndarray of shape (k,)
        Of the rows.
    """

    x: np.ndarray
    y: np.ndarray
    nodes: list[str]
    answers: list[tuple[int, int, str]]
    leaf: np.ndarray
    code: np.ndarray
    share: np.ndarray

    @classmethod
    def of(cls, learner: Any, drawing: Any, label: Callable[[str], str]) -> Sketch:
        """Put a fitted tree and the drawing it gives of itself into words; columns are called by their labels."""
        columns = [str(name) for name in getattr(learner, "feature_names_in_", _numbered(learner.n_features_in_))]
        tree, names = learner.tree_, [label(column) for column in columns]
        nodes, answers = [], []
        for node in range(tree.node_count):
            if tree.is_leaf[node]:
                rows, right = int(tree.n_node_samples[node]), tree.value[node].max()
                nodes.append(f"{rows}" if right == 1 else f"{round(right * rows)} of {rows}")
            else:
                nodes.append(_question(names[tree.feature[node]], tree.threshold[node]))
        for parent, child, answer in drawing.edges:
            if np.isnan(tree.threshold[parent]):
                answers.append((parent, child, _value(answer, columns[tree.feature[parent]])))
            else:  # a missing value asked for is the second branch, and x < s the first
                first = child == tree.first_child[parent]
                answers.append((parent, child, "yes" if first == np.isfinite(tree.threshold[parent]) else "no"))
        share = tree.weighted_n_node_samples / tree.weighted_n_node_samples[0]
        return cls(drawing.x, drawing.y, nodes, answers, tree.is_leaf, drawing.value.argmax(axis=1), share)

    def margins(self) -> tuple[float, float]:
        """Return the inches that boxes take to the left of the first leaf and to the right of the last."""
        half = np.array([0.5 * inches(words, SIZE) + PAD for words in self.nodes])
        unit, left, right = self.unit(), self.x - self.x.min(), self.x.max() - self.x
        return float((half - unit * left).max()), float((half - unit * right).max())

    def unit(self) -> float:
        """Return how many inches there must be between two leaves for no words to touch."""
        half = np.array([0.5 * inches(words, SIZE) + PAD for words in self.nodes])
        places = [(self.y[node], self.x[node], half[node]) for node in range(len(self.nodes))]
        for parent, child, answer in self.answers:
            x, y = self.x[[parent, child]] @ BETWEEN, self.y[parent] - 0.5
            places.append((y, x, 0.5 * inches(answer, SIZE)))
        places.sort()
        return max(
            ((one[2] + two[2] + GAP) / (two[1] - one[1]) for one, two in pairwise(places)
             if one[0] == two[0]),
            default=0.0,
        )  # fmt: skip

    def width(self) -> float:
        """Return how many inches the words need."""
        return sum(self.margins()) + self.unit() * float(np.ptp(self.x))

    def height(self) -> float:
        """Return how many inches high the words want to be."""
        lines = max(words.count("\n") + 1 for words in self.nodes)
        return (0.45 + 0.13 * lines) * (float(np.ptp(self.y)) + 1)

    def write(self, axes: Axes, width: float) -> None:
        """Draw it with its words on axes of a width in inches."""
        self._branches(axes)
        for parent, child, answer in self.answers:
            x, y = self.x[[parent, child]] @ BETWEEN, self.y[[parent, child]] @ BETWEEN
            _box(axes, x, y, answer, GREY, "white", "none")
        for node, (x, y, words) in enumerate(zip(self.x, self.y, self.nodes, strict=True)):
            colour = COLOURS[self.code[node]]
            ink, paper, edge = ("white", colour, colour) if self.leaf[node] else (INK, "white", INK)
            _box(axes, x, y, words, ink, paper, edge)
        margins = np.array(self.margins())
        left, right = margins / max((width - margins.sum()) / max(float(np.ptp(self.x)), 1.0), 0.1)
        axes.set(xlim=(self.x.min() - left, self.x.max() + right), ylim=(self.y.min() - 0.45, 0.45))

    def dot(self, axes: Axes) -> None:
        """Draw it without words: leaves as dots of their class, as large as their share of the rows."""
        self._branches(axes)
        size = np.where(self.leaf, 16 + 260 * self.share, 9)
        colours = [COLOURS[code] if leaf else GREY for code, leaf in zip(self.code, self.leaf, strict=True)]
        axes.scatter(self.x, self.y, s=size, c=colours, zorder=3)
        axes.set(xlim=(self.x.min() - 0.5, self.x.max() + 0.5), ylim=(self.y.min() - 0.4, 0.35))

    def _branches(self, axes: Axes) -> None:
        for parent, child, _ in self.answers:
            axes.plot(self.x[[parent, child]], self.y[[parent, child]], color="#b0b0b0", linewidth=0.9, zorder=1)


def _numbered(d: int) -> list[str]:
    return [f"x{j + 1}" for j in range(d)]


def _box(axes: Axes, x: float, y: float, words: str, ink: str, paper: str, edge: str) -> None:
    box = {"facecolor": paper, "edgecolor": edge, "boxstyle": "round,pad=0.3", "linewidth": 0.9}
    axes.text(
        x, y, words, ha="center", va="center", fontsize=SIZE, color=ink, bbox=box, zorder=2 if edge == "none" else 3
    )


def _question(name: str, threshold: float) -> str:
    r"""Ask for a column, in lines of some `LINE` letters.

    Examples
    --------
    >>> _question("family", float("nan")), _question("width of the widest petal", 2.4501), _question("x1", float("inf"))
    ('family?', 'width of the\nwidest petal\n< 2.45?', 'x1 missing?')
    """
    rest = "" if np.isnan(threshold) else " missing" if np.isinf(threshold) else f" < {threshold:.4g}"
    whole = f"{name}{rest}?"
    if len(whole) <= LINE:
        return whole
    return "\n".join([*wrap(name, LINE, break_long_words=False), f"{rest}?".strip()] if rest else wrap(whole, LINE))


def _value(answer: str, name: str) -> str:
    """Say the values of a nominal answer without the column's name, which stands in the question above it.

    Examples
    --------
    >>> _value("family in {couple, single}", "family"), _value("job = true", "job")
    ('couple, single', 'true')
    """
    return answer.removeprefix(name).strip().removeprefix("= ").removeprefix("in ").strip("{}")
