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
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bakeoff.learners.definitions.decision_tree import (
    Node,
    predict_row,
    split,
    work_growth,
    work_query,
)
from bakeoff.learners.definitions.majority_vote import majority_vote, work_prediction, work_vote
from bakeoff.learners.definitions.splits import IMPURITIES, Impurity, Question, gini, pick_question
from bakeoff.learners.definitions.steps import Problem, Step, write_point


@dataclass
class Draw:
    """The random choices of a tree: its rows, and the order in which each node considers the features.

    ``rows`` (n,) are positions in the training data, some of them repeated. ``order`` maps the rows of a node, as
    positions in the training data, to all d features in random order.
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
        def pick(rows: np.ndarray) -> Question | None:
            features = draw_features(drawn, X, rows, max_features)
            return pick_question(X[rows], y[rows], features, impurity, nominal=nominal)

        return split(drawn.rows, X, y, pick, max_depth)

    return [grow(drawn) for drawn in draws]


def draw_features(drawn: Draw, X: np.ndarray, rows: np.ndarray, max_features: int) -> list[int]:
    """Return the features that a node with these rows of X (n, d) compares: the first ones drawn that can split it."""
    order = drawn.order(rows)
    for first in range(0, len(order), max_features):
        features = sorted(order[first : first + max_features].tolist())
        if any(len(np.unique(X[rows, j])) > 1 for j in features):
            return features
    return []


def predict_row_by_vote(
    forest: Sequence[Node], x: np.ndarray, combine: Callable[[np.ndarray], Any] = majority_vote
) -> Any:
    """Return the majority vote, or the average, of the predictions of the trees for a row x (d,)."""
    return combine(np.array([predict_row(tree, x, combine) for tree in forest]))


def work_forest(learner: Any, problem: Problem) -> Iterator[Step]:
    """Yield the rows that the trees of a learner draw, the growth of the first tree, and the predictions of all."""
    X = problem.X
    draws = [Draw(*drawn) for drawn in learner.list_draws(X, problem.y)]
    max_features = learner.estimators_[0].max_features_
    impurity = IMPURITIES[learner.criterion]
    max_depth = learner.max_depth or math.inf
    forest = grow_forest(X, problem.y, draws, max_features, impurity, problem.nominal, max_depth)
    for number, drawn in enumerate(draws, start=1):
        drawn_rows = write_point(problem.number_rows(drawn.rows))
        rows = problem.number_rows(np.unique(drawn.rows))
        yield Step(f"Tree {number} draws the rows {drawn_rows}.", rows=rows, place=f"tree {number}")

    def features_of(node: Node) -> list[int]:
        return draw_features(draws[0], X, node.rows, max_features)

    yield from work_growth(problem, forest[0], learner.criterion, features_of, ("tree 1",))
    for number, query in enumerate(problem.queries, start=1):
        place = f"query {number}"
        predictions = []
        for i, tree in enumerate(forest, start=1):
            *_, prediction = work_query(problem, tree, query, f"{place}, tree {i}")
            predictions.append(prediction)
            yield replace(prediction, answer=None, response=())
        yield replace(work_votes(problem, predictions, getattr(learner, "voting", "")), place=place)


def work_votes(problem: Problem, predictions: Sequence[Step], voting: str) -> Step:
    """Return the vote, or the average, of the predictions of the trees."""
    if problem.classes is None or voting == "majority":
        return work_prediction(problem, np.array([tree.answer for tree in predictions]))
    # Each tree divides its vote among the classes.
    shares = np.concatenate([tree.response for tree in predictions])
    labels = np.tile(problem.classes, len(predictions))
    return work_vote(labels, shares, problem.classes, target=problem.target)
