"""Decision tree: recursive splitting of the input space by the function Split(R, T) of the lectures.

    function Split(R, T):
        if the stopping criterion is fulfilled:
            return R
        go through all possible splits x_j < s for all input variables j
        pick the pair (j, s) that minimises the loss
        split the region R into R_1, R_2 and the data T into T_1, T_2
        return Split(R_1, T_1), Split(R_2, T_2)

The possible splits, the losses, and the choice of the best split are in `splits`. A region is not split further if all
its targets are equal, if it has too few rows, if it is too deep, or if no split is possible.

A prediction is the majority vote, or the average, of the training targets in the region that a row belongs to. A row
with a nominal value that has no branch stops at the node that tests this feature.

Cost: O(n² d log n) for each level of the tree.

References: L. Breiman and others, "Classification and Regression Trees", 1984; A. Lindholm, N. Wahlström, F. Lindsten,
T. B. Schön, "Machine Learning: A First Course for Engineers and Scientists", 2022, chapter 2.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bakeoff.learners.definitions.majority_vote import majority_vote
from bakeoff.learners.definitions.splits import Impurity, Question, answers, gini, pick_question


@dataclass
class Node:
    """A region: its training rows and their targets, and after splitting its question and a branch for each answer."""

    rows: np.ndarray
    targets: np.ndarray
    question: Question | None = None
    branches: dict[Any, Node] = field(default_factory=dict)


def grow_tree(
    X: np.ndarray,
    y: np.ndarray,
    impurity: Impurity = gini,
    by_ratio: bool = False,
    nominal: Collection[int] = (),
    max_depth: float = math.inf,
    min_rows: int = 2,
) -> Node:
    """Learn a tree from rows X (n, d) and targets y (n,).

    >>> X, y = np.array([[1.0, 2.0], [6.0, 2.0], [3.0, 4.0], [6.0, 5.0]]), np.array(["Blue", "Blue", "Blue", "Red"])
    >>> tree = grow_tree(X, y)
    >>> tree.question
    (1, 4.5)
    >>> str(predict_row(tree, np.array([4.4, 9.0])))
    'Red'
    """

    def pick(rows: np.ndarray) -> Question | None:
        return pick_question(X[rows], y[rows], range(X.shape[1]), impurity, by_ratio, nominal)

    return split(np.arange(len(y)), X, y, pick, max_depth, min_rows)


def split(
    rows: np.ndarray,
    X: np.ndarray,
    y: np.ndarray,
    pick: Callable[[np.ndarray], Question | None],
    max_depth: float = math.inf,
    min_rows: int = 2,
) -> Node:
    """Split the region that contains these rows, and its parts, until the stopping criterion is fulfilled."""
    node = Node(rows, y[rows])
    if len(np.unique(node.targets)) == 1 or len(rows) < min_rows or max_depth == 0:
        return node
    node.question = pick(rows)
    if node.question is None:
        return node
    feature, threshold = node.question
    for answer, part in answers(X[rows, feature], threshold).items():
        node.branches[answer] = split(rows[part], X, y, pick, max_depth - 1, min_rows)
    return node


def region_of(tree: Node, x: np.ndarray) -> Node:
    """Return the region that a row x (d,) belongs to."""
    node = tree
    while node.branches and node.question is not None:
        feature, threshold = node.question
        answer = next(answer for answer, given in answers(x[[feature]], threshold).items() if given[0])
        if answer not in node.branches:
            break
        node = node.branches[answer]
    return node


def predict_row(tree: Node, x: np.ndarray, combine: Callable[[np.ndarray], Any] = majority_vote) -> Any:
    """Return the majority vote, or the average, of the region that a row x (d,) belongs to."""
    return combine(region_of(tree, x).targets)
