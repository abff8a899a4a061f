"""A fitted tree as indented text, or as the positions and labels of a drawing.

A drawing is an object with settings, which a configuration can name.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, final

import numpy as np
from sklearn.utils.validation import check_is_fitted

from bakeoff.learners.decision_tree.base import TreeLearner
from bakeoff.learners.trees import Tree


@dataclass(frozen=True)
class Drawing:
    """The positions and labels of the k nodes of a tree.

    Attributes
    ----------
    x : ndarray of shape (k,)
        Horizontal positions: leaves are at 0, 1, 2, …, and a parent is centred above its children.
    y : ndarray of shape (k,)
        The negative depth.
    labels : list of k str
        The question of an inner node or the prediction of a leaf, with its number of rows.
    edges : list of (parent, child, text)
        The edges, whose text is the answer that leads to the child.
    value : ndarray of shape (k, c) or (k, 1)
        Class fractions or means, by which nodes are coloured.
    """

    x: np.ndarray
    y: np.ndarray
    labels: list[str]
    edges: list[tuple[int, int, str]]
    value: np.ndarray


def export_text(estimator: TreeLearner, *, feature_names: Sequence[str] | None = None, decimals: int = 2) -> str:
    """Return the tree as text, one line for each branch, indented by depth.

    Parameters
    ----------
    estimator : fitted DecisionTreeClassifier or DecisionTreeRegressor
    feature_names : sequence of d str, optional
        The feature names; by default the column names in training, or else x1, x2, ….
    decimals : int
        Number of decimals for thresholds and means; small numbers are written with three digits.

    Returns
    -------
    str
    """
    labels = _NodeLabels(estimator, feature_names, decimals)
    tree = estimator.fitted_tree_
    lines: list[str] = []
    for node in _walk_depth_first(tree):
        line = ""
        if node > 0:
            indent = "|   " * (tree.depth[node] - 1)
            line = f"{indent}|-- {labels.describe_answer(node)}"
        if tree.feature[node] < 0:
            line = f"{line} → {labels.describe_prediction(node)}".removeprefix(" ")
        if line:
            lines.append(line)
    return "\n".join(lines) + "\n"


def draw(estimator: TreeLearner, *, feature_names: Sequence[str] | None = None, decimals: int = 2) -> Drawing:
    """Return the positions, labels and edges of a drawing of the tree; for the parameters see `export_text`."""
    labels = _NodeLabels(estimator, feature_names, decimals)
    tree = estimator.fitted_tree_
    parent = tree.parent.tolist()
    edges = [(parent[node], node, labels.describe_answer(node)) for node in range(1, tree.node_count)]
    return Drawing(
        x=_place_nodes(tree),
        y=-tree.depth.astype(np.float64),
        labels=[labels.describe_node(node) for node in range(tree.node_count)],
        edges=edges,
        value=tree.value,
    )


def _place_nodes(tree: Tree) -> np.ndarray:
    """Return the horizontal position of each node: shape (k,)."""
    x = np.zeros(tree.node_count)
    leaves = [node for node in _walk_depth_first(tree) if tree.feature[node] < 0]
    x[leaves] = np.arange(len(leaves))
    # Children have higher numbers than their parents and are placed before them.
    for node in range(tree.node_count - 1, -1, -1):
        if tree.feature[node] >= 0:
            children = tree.children(node)
            x[node] = (x[children[0]] + x[children[-1]]) / 2
    return x


def _walk_depth_first(tree: Tree) -> Iterator[int]:
    """Yield the nodes from left to right, each before its children."""
    stack = [0]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(reversed(tree.children(node)))


class _NodeLabels:
    """Describes the nodes of a fitted tree with the names of its features, values and classes."""

    def __init__(self, estimator: TreeLearner, feature_names: Sequence[str] | None, decimals: int) -> None:
        check_is_fitted(estimator)
        d = estimator.n_features_in_
        if feature_names is None:
            feature_names = getattr(estimator, "feature_names_in_", [f"x{j + 1}" for j in range(d)])
        self._features = [str(name) for name in feature_names]
        if len(self._features) != d:
            raise ValueError(f"feature_names has {len(self._features)} names, but the tree was fitted on {d} features.")
        self._tree = estimator.fitted_tree_
        self._parent: list[int] = estimator.fitted_tree_.parent.tolist()
        self._categories = estimator.categories_
        self._classes = getattr(estimator, "classes_", None)
        self._choose_classes = getattr(estimator, "_choose_classes", partial(np.argmax, axis=1))
        self._decimals = decimals
        self._asks_values = estimator.thresholds == "values"

    def describe_node(self, node: int) -> str:
        """Return the question of an inner node, or the prediction of a leaf."""
        feature = self._tree.feature[node]
        if feature < 0:
            return self.describe_prediction(node)
        name = self._features[feature]
        if self._tree.route_start[node] >= 0:
            return f"{name}?"
        threshold = self._tree.threshold[node]
        if np.isinf(threshold):
            return f"{name} missing?"
        if self._asks_values:
            return f"{name} <= {self._format_number(np.nextafter(threshold, -np.inf))}?"
        return f"{name} < {self._format_number(threshold)}?"

    def describe_prediction(self, node: int) -> str:
        """Return the predicted class or mean of a node, and its number of rows."""
        prediction = self._format_value(self._tree.value[node])
        n_rows = self._tree.n_node_samples[node]
        unit = "row" if n_rows == 1 else "rows"
        return f"{prediction} ({n_rows} {unit})"

    def describe_answer(self, child: int) -> str:
        """Return the condition under which a row goes from a node's parent to the node."""
        parent = self._parent[child]
        branch = child - self._tree.first_child[parent]
        feature = self._tree.feature[parent]
        name = self._features[feature]
        categories = self._categories[feature]
        if self._tree.route_start[parent] >= 0 and categories is not None:
            values = self._list_routed_values(parent, branch, categories)
            return f"{name} = {values[0]}" if len(values) == 1 else f"{name} in {{{', '.join(values)}}}"
        threshold = self._tree.threshold[parent]
        if np.isinf(threshold):
            return f"{name} is missing" if branch else f"{name} is known"
        if self._asks_values:
            sign = ">" if branch else "<="
            return f"{name} {sign} {self._format_number(np.nextafter(threshold, -np.inf))}"
        sign = ">=" if branch else "<"
        return f"{name} {sign} {self._format_number(threshold)}"

    def _list_routed_values(self, node: int, branch: int, categories: np.ndarray) -> list[str]:
        """Return the values of a nominal feature that take a branch of a node, with the missing cell last."""
        start = self._tree.route_start[node]
        names = [*map(str, categories), "missing"]
        route = self._tree.route[start : start + len(names)]
        return [names[code] for code in np.flatnonzero(route == branch)]

    def _format_value(self, value: np.ndarray) -> str:
        """Return the class with the largest fraction (c,), or the mean (1,)."""
        if self._classes is None:
            return self._format_number(value[0])
        codes: Any = self._choose_classes(value[None, :])
        return str(self._classes[codes[0]])

    def _format_number(self, value: float) -> str:
        """Return a number with the requested decimals, or with three digits if it is too small for them."""
        is_small = 0 < abs(value) < 10.0 ** (1 - self._decimals)
        return f"{value:.3g}" if is_small else f"{value:.{self._decimals}f}"


@final
@dataclass(frozen=True, kw_only=True)
class TreeDrawer:
    """Returns the positions and labels of fitted trees, all with the same settings.

    Parameters
    ----------
    feature_names : sequence of d str, optional
        The feature names; by default the column names in training, or else x1, x2, ….
    decimals : int
        Number of decimals for thresholds and means; small numbers are written with three digits.
    """

    feature_names: Sequence[str] | None = None
    decimals: int = 2

    def __call__(self, estimator: TreeLearner) -> Drawing:
        """Return the drawing of a fitted tree."""
        return draw(estimator, feature_names=self.feature_names, decimals=self.decimals)
