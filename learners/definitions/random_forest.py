"""Random forest: many decision trees, each grown on a random part of the data, vote on the prediction.

    for t = 1, …, T:
        draw n rows with replacement
        grow a tree from them, in which each node considers only a random subset of the features
    prediction = MajorityVote, or Average, of the predictions of the T trees

A single deep tree depends strongly on its training rows: it has a high variance. The errors of trees that are grown
on different rows and features partly cancel in the vote. If none of the drawn features can split a node, the next
ones in the random order are tried.

`Draw` contains all random choices, so that two implementations can use the same draws.

Cost: T times the cost of one tree.

Reference: L. Breiman, "Random forests", Machine Learning 45, 2001.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bakeoff.learners.definitions.decision_tree import Node, predict_row, split
from bakeoff.learners.definitions.majority_vote import majority_vote
from bakeoff.learners.definitions.splits import Impurity, Question, gini, pick_question


@dataclass
class Draw:
    """The random choices of a tree: its rows, and the order in which each node considers the features.

    ``rows`` (n,) are positions in the training data, some of them repeated. ``order`` maps the rows of a node, as
    positions in ``rows``, to all d features in random order.
    """

    rows: np.ndarray
    order: Callable[[np.ndarray], np.ndarray]


def make_draw(n: int, d: int, generator: np.random.Generator) -> Draw:
    """Draw n rows with replacement, and an order of the d features for each node."""
    return Draw(generator.integers(n, size=n), lambda rows: generator.permutation(d))


def grow_forest(
    X: np.ndarray,
    y: np.ndarray,
    draws: Sequence[Draw],
    max_features: int,
    impurity: Impurity = gini,
    nominal: Collection[int] = (),
    max_depth: float = math.inf,
) -> list[Node]:
    """Grow a tree for each draw from rows X (n, d) and targets y (n,).

    >>> X, y = np.array([[0], [1], [2], [9], [10], [11]]), np.array(["low"] * 3 + ["high"] * 3)
    >>> generator = np.random.default_rng(0)
    >>> forest = grow_forest(X, y, [make_draw(6, 1, generator) for _ in range(10)], max_features=1)
    >>> str(predict_row_by_vote(forest, np.array([10])))
    'high'
    """

    def grow(drawn: Draw) -> Node:
        drawn_X = X[drawn.rows]  # (n, d)
        drawn_y = y[drawn.rows]  # (n,)

        def pick(rows: np.ndarray) -> Question | None:
            order = drawn.order(rows)
            for first in range(0, len(order), max_features):
                features = sorted(order[first : first + max_features].tolist())
                question = pick_question(drawn_X[rows], drawn_y[rows], features, impurity, nominal=nominal)
                if question is not None:
                    return question
            return None

        return split(np.arange(len(drawn_y)), drawn_X, drawn_y, pick, max_depth)

    return [grow(drawn) for drawn in draws]


def predict_row_by_vote(
    forest: Sequence[Node], x: np.ndarray, combine: Callable[[np.ndarray], Any] = majority_vote
) -> Any:
    """Return the majority vote, or the average, of the predictions of the trees for a row x (d,)."""
    return combine(np.array([predict_row(tree, x, combine) for tree in forest]))
