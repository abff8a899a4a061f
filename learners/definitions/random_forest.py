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
from itertools import chain
from typing import Any

import numpy as np

from bakeoff.learners.definitions.decision_tree import (
    Node,
    predict_at,
    predict_row,
    region_of,
    split,
    work_growth,
    work_queries,
)
from bakeoff.learners.definitions.majority_vote import majority_vote
from bakeoff.learners.definitions.splits import IMPURITIES, Impurity, Question, gini, pick_question
from bakeoff.learners.definitions.steps import Problem, Step, number_rows, write_point, write_sum


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


def work_forest(
    problem: Problem, draws: Sequence[Draw], max_features: int, criterion: str, max_depth: float, voting: str
) -> Iterator[Step]:
    """Yield the rows that the trees draw, the growth of the first tree, and the predictions of all trees."""
    classes = problem.classes
    forest = grow_forest(problem.X, problem.y, draws, max_features, IMPURITIES[criterion], problem.nominal, max_depth)
    drawn_rows = [number_rows(drawn.rows) for drawn in draws]
    for number, rows in enumerate(drawn_rows, start=1):
        yield Step(
            f"Tree {number} draws the rows {write_point(rows)}.", rows=tuple(sorted(set(rows))), place=f"tree {number}"
        )

    def features_of(node: Node) -> list[int]:
        order: list[int] = draws[0].order(node.rows).tolist()
        if node.question is None:
            return order
        n_draws = order.index(node.question[0]) // max_features + 1
        return sorted(order[: n_draws * max_features])

    own = replace(problem, X=problem.X[draws[0].rows], y=problem.y[draws[0].rows])
    for step in chain(work_growth(own, forest[0], criterion, features_of), work_queries(own, forest[0])):
        rows = tuple(sorted({drawn_rows[0][row - 1] for row in step.rows}))
        place = ", ".join(filter(None, ("tree 1", step.place)))
        yield replace(step, rows=rows, place=place, answer=None, response=())
    for number, query in enumerate(problem.queries, start=1):
        predictions = [predict_at(problem, region_of(tree, query)) for tree in forest]
        shares = np.array([each.response for each in predictions])  # (T, c), or (T, 1) means
        if voting == "majority":
            shares = np.array([each.answer == classes for each in predictions], dtype=float)
        response = shares.mean(axis=0)
        answer = response[0] if classes is None else majority_vote(classes, response)
        sums = " : ".join(f"({write_sum(map(str, column))})/{len(forest)}" for column in shares.T)
        yield Step(
            "Each tree votes for its class." if voting == "majority" else "Average the predictions of the trees.",
            f"{predictions[0].formula.partition(' = ')[0]} = {sums} = {' : '.join(map(str, response))}",
            f"{problem.target} = {answer}",
            (("tree", "prediction", "by"), *((i, each.chosen, each.formula) for i, each in enumerate(predictions, 1))),
            place=f"query {number}",
            answer=answer,
            response=tuple(response),
        )
