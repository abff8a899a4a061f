"""The nodes of a fitted tree, of bakeoff or of scikit-learn, with the question that leads to each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Answer:
    """The condition under which a row goes from a node to one of its children.

    Attributes
    ----------
    feature : int
        Of the learner.
    low, high : float
        The number lies between them.
    low_is_in, high_is_in : bool
        Whether the ends belong to the interval.
    values : tuple of str or None
        The values of a nominal feature that go this way; None for numbers.
    with_missing : bool
        Whether a missing cell goes this way.
    """

    feature: int
    low: float = -np.inf
    high: float = np.inf
    low_is_in: bool = False
    high_is_in: bool = False
    values: tuple[str, ...] | None = None
    with_missing: bool = False


@dataclass(frozen=True)
class TreeNodes:
    """A tree of k nodes; the root is node 0.

    Attributes
    ----------
    parent : ndarray of shape (k,), int
        -1 for the root.
    answers : tuple of k Answer or None
        None for the root.
    is_leaf : ndarray of shape (k,), bool
    n_rows : ndarray of shape (k,), int
        The training rows that the learner counted.
    value : ndarray of shape (k, c) or (k, 1)
        Class fractions, or the mean.
    depth_first : tuple of int
        All nodes from left to right, each before its children.
    number_type : type
        Of the numbers that are compared with thresholds: scikit-learn rounds them to 32 bits.
    """

    parent: np.ndarray
    answers: tuple[Answer | None, ...]
    is_leaf: np.ndarray
    n_rows: np.ndarray
    value: np.ndarray
    depth_first: tuple[int, ...]
    number_type: Any = np.float64

    def list_answers(self, node: int) -> list[Answer]:
        """Return the answers on the path from the root to a node."""
        path: list[Answer] = []
        while (answer := self.answers[node]) is not None:
            path.append(answer)
            node = int(self.parent[node])
        return path[::-1]

    @property
    def leaves(self) -> list[int]:
        """The leaves from left to right."""
        return [node for node in self.depth_first if self.is_leaf[node]]


def is_tree(learner: Any) -> bool:
    """Whether a fitted learner is one tree whose nodes can be read."""
    if hasattr(learner, "fitted_tree_"):
        return True
    tree = getattr(learner, "tree_", None)
    return hasattr(tree, "feature") and hasattr(tree, "children_left")


def read_nodes(learner: Any) -> TreeNodes:
    """Return the nodes of a fitted tree.

    Parameters
    ----------
    learner : estimator
        For which `is_tree` holds.
    """
    if hasattr(learner, "fitted_tree_"):
        return _read_own_tree(learner)
    return _read_sklearn_tree(learner.tree_)


def _read_own_tree(learner: Any) -> TreeNodes:
    tree = learner.fitted_tree_
    answers: list[Answer | None] = [None] * tree.node_count
    children = [list(tree.children(node)) if tree.feature[node] >= 0 else [] for node in range(tree.node_count)]
    for node, own in enumerate(children):
        for branch, child in enumerate(own):
            answers[child] = _answer_of_own_tree(learner, node, branch)
    return TreeNodes(
        parent=np.asarray(tree.parent),
        answers=tuple(answers),
        is_leaf=np.asarray(tree.is_leaf),
        n_rows=np.asarray(tree.n_node_samples),
        value=np.asarray(tree.value),
        depth_first=_walk(children),
    )


def _answer_of_own_tree(learner: Any, node: int, branch: int) -> Answer:
    tree = learner.fitted_tree_
    feature = int(tree.feature[node])
    if tree.route_start[node] >= 0:
        return _answer_of_values(tree, node, branch, learner.categories_[feature])
    threshold = float(tree.threshold[node])
    takes_missing = int(tree.missing_branch[node]) == branch
    if branch == 0:
        return Answer(feature, high=threshold, with_missing=takes_missing)
    return Answer(feature, low=threshold, low_is_in=True, with_missing=takes_missing)


def _answer_of_values(tree: Any, node: int, branch: int, categories: Any) -> Answer:
    feature = int(tree.feature[node])
    start = tree.route_start[node]
    n_values = int(tree.n_values[feature])
    route = tree.route[start : start + n_values + 1]  # (values + 1,), the missing cell last
    names = [str(value) for value in categories] if categories is not None else [str(i) for i in range(n_values)]
    taken = [names[code] for code in np.flatnonzero(route[:n_values] == branch)]
    return Answer(feature, values=tuple(taken), with_missing=bool(route[n_values] == branch))


def _read_sklearn_tree(tree: Any) -> TreeNodes:
    k = tree.node_count
    left = tree.children_left
    right = tree.children_right
    missing_goes_left = getattr(tree, "missing_go_to_left", np.zeros(k))
    parent = np.full(k, -1)
    answers: list[Answer | None] = [None] * k
    children: list[list[int]] = [[] for _ in range(k)]
    for node in np.flatnonzero(left >= 0).tolist():
        feature = int(tree.feature[node])
        threshold = float(tree.threshold[node])
        goes_left = bool(missing_goes_left[node])
        children[node] = [int(left[node]), int(right[node])]
        parent[children[node]] = node
        answers[left[node]] = Answer(feature, high=threshold, high_is_in=True, with_missing=goes_left)
        answers[right[node]] = Answer(feature, low=threshold, with_missing=not goes_left)
    return TreeNodes(
        parent=parent,
        answers=tuple(answers),
        is_leaf=left < 0,
        n_rows=tree.n_node_samples,
        value=tree.value[:, 0, :],
        depth_first=_walk(children),
        number_type=np.float32,
    )


def _walk(children: list[list[int]]) -> tuple[int, ...]:
    """Return the nodes from left to right, each before its children."""
    order = []
    stack = [0]
    while stack:
        node = stack.pop()
        order.append(node)
        stack.extend(reversed(children[node]))
    return tuple(order)
