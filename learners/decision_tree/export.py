"""Showing a fitted tree: as indented text, as if-then rules, and as positions and labels for a drawing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from sklearn.utils.validation import check_is_fitted

from bakeoff.learners.decision_tree.base import TreeLearner


@dataclass(frozen=True)
class Drawing:
    """Where to draw each of k nodes, and what to write.

    Attributes
    ----------
    x : ndarray of shape (k,)
        Leaves stand at 0, 1, 2, …; a parent over the middle of its children.
    y : ndarray of shape (k,)
        Minus the depth.
    labels : list of k str
        The question of an inner node, the prediction of a leaf, and how many rows are there.
    edges : list of (parent, child, text)
        The text is the answer that leads to the child.
    value : ndarray of shape (k, c) or (k, 1)
        Class fractions or means, to colour by.
    """

    x: np.ndarray
    y: np.ndarray
    labels: list[str]
    edges: list[tuple[int, int, str]]
    value: np.ndarray


def export_text(estimator: TreeLearner, *, feature_names: Sequence[str] | None = None, decimals: int = 2) -> str:
    """Return the tree as text, one line a branch, indented by depth.

    Parameters
    ----------
    estimator : fitted DecisionTreeClassifier or DecisionTreeRegressor
    feature_names : sequence of d str, optional
        By default the columns' names in training, else x1, x2, ….
    decimals : int
        Of thresholds and means; small ones are written with three digits.
    """
    words = _Words(estimator, feature_names, decimals)
    tree = estimator.tree_
    lines: list[str] = []
    stack = [(0, 0, "")]
    while stack:
        node, depth, answer = stack.pop()
        ending = f" → {words.prediction(node)}" if tree.feature[node] < 0 else ""
        if node > 0 or ending:
            lines.append("|   " * max(depth - 1, 0) + (f"|-- {answer}" if answer else "") + ending)
        children = tree.children(node)
        stack.extend((child, depth + 1, words.answer(node, child)) for child in reversed(children))
    return "\n".join(line.strip(" ") if line.startswith(" ") else line for line in lines) + "\n"


def export_rules(estimator: TreeLearner, *, feature_names: Sequence[str] | None = None, decimals: int = 2) -> list[str]:
    """Return one rule for each leaf, "if … and … then …", from left to right; parameters as of `export_text`."""
    words = _Words(estimator, feature_names, decimals)
    tree = estimator.tree_
    rules: list[str] = []
    stack: list[tuple[int, list[str]]] = [(0, [])]
    while stack:
        node, answers = stack.pop()
        if tree.feature[node] < 0:
            condition = "if " + " and ".join(answers) + " then " if answers else ""
            rules.append(condition + words.prediction(node))
        children = tree.children(node)
        stack.extend((child, [*answers, words.answer(node, child)]) for child in reversed(children))
    return rules


def draw(estimator: TreeLearner, *, feature_names: Sequence[str] | None = None, decimals: int = 2) -> Drawing:
    """Return positions, labels and edges of a drawing of the tree; parameters as of `export_text`."""
    words = _Words(estimator, feature_names, decimals)
    tree = estimator.tree_
    x = np.zeros(tree.node_count)
    stack, place = [0], 0
    while stack:
        node = stack.pop()
        if tree.feature[node] < 0:
            x[node], place = place, place + 1
        stack.extend(reversed(tree.children(node)))
    for node in range(tree.node_count - 1, -1, -1):
        if tree.feature[node] >= 0:
            children = tree.children(node)
            x[node] = (x[children[0]] + x[children[-1]]) / 2
    parent = tree.parent.tolist()
    edges = [(parent[node], node, words.answer(parent[node], node)) for node in range(1, tree.node_count)]
    labels = [words.label(node) for node in range(tree.node_count)]
    return Drawing(x, -tree.depth.astype(np.float64), labels, edges, tree.value)


class _Words:
    """The names of features, values and classes of one fitted tree."""

    def __init__(self, estimator: TreeLearner, feature_names: Sequence[str] | None, decimals: int) -> None:
        check_is_fitted(estimator)
        d = estimator.n_features_in_
        default = getattr(estimator, "feature_names_in_", [f"x{j + 1}" for j in range(d)])
        self.features = [str(name) for name in (default if feature_names is None else feature_names)]
        if len(self.features) != d:
            raise ValueError(f"feature_names has {len(self.features)} names, but the tree was fitted on {d} features.")
        self.tree, self.decimals = estimator.tree_, decimals
        self.categories = estimator.categories_
        self.classes = getattr(estimator, "classes_", None)

    def number(self, value: float) -> str:
        """Write a number with the wanted decimals; of a small one they would leave nothing, so it has three digits."""
        small = 0 < abs(value) < 10.0 ** (1 - self.decimals)
        return f"{value:.3g}" if small else f"{value:.{self.decimals}f}"

    def prediction(self, node: int) -> str:
        value, rows = self.tree.value[node], self.tree.n_node_samples[node]
        what = self.number(value[0]) if self.classes is None else str(self.classes[np.argmax(value)])
        return f"{what} ({rows} {'row' if rows == 1 else 'rows'})"

    def label(self, node: int) -> str:
        feature = self.tree.feature[node]
        if feature < 0:
            return self.prediction(node)
        if self.tree.route_start[node] >= 0:
            return f"{self.features[feature]}?"
        threshold = self.tree.threshold[node]
        question = "missing" if np.isinf(threshold) else f"< {self.number(threshold)}"
        return f"{self.features[feature]} {question}?"

    def answer(self, node: int, child: int) -> str:
        """The condition under which a row goes from the node to the child."""
        feature, branch = self.tree.feature[node], child - self.tree.first_child[node]
        name = self.features[feature]
        values = self.categories[feature]
        if self.tree.route_start[node] < 0 or values is None:
            threshold = self.tree.threshold[node]
            if np.isinf(threshold):
                return f"{name} is {'missing' if branch else 'known'}"
            return f"{name} {'>=' if branch else '<'} {self.number(threshold)}"
        start = self.tree.route_start[node]
        route = self.tree.route[start : start + len(values) + 1]
        names = [str(values[code]) if code < len(values) else "missing" for code in np.flatnonzero(route == branch)]
        return f"{name} = {names[0]}" if len(names) == 1 else f"{name} in {{{', '.join(names)}}}"
