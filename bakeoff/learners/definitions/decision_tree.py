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
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from bakeoff.learners.definitions.majority_vote import majority_vote, work_prediction
from bakeoff.learners.definitions.splits import (
    IMPURITIES,
    Impurity,
    Question,
    answers,
    gini,
    list_thresholds,
    pick_question,
    work_choice,
    work_impurity,
    write_counts,
)
from bakeoff.learners.definitions.steps import Branch, Problem, Step


@dataclass(eq=False)
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


# The steps of these calculations.


def walk(problem: Problem, node: Node, path: tuple[str, ...] = ()) -> Iterator[tuple[Node, tuple[str, ...]]]:
    """Yield the nodes from this one down, each branch to its leaves, with the answers that lead to them."""
    yield node, path
    for answer, child in node.branches.items():
        yield from walk(problem, child, (*path, f"{name_feature(problem, node)} {answer}"))


def name_feature(problem: Problem, node: Node) -> str:
    """Return the feature that an internal node asks for."""
    assert node.question is not None
    return problem.features[node.question[0]]


def work_growth(
    problem: Problem,
    tree: Node,
    criterion: str,
    features_of: Callable[[Node], Sequence[int]],
    path: tuple[str, ...] = (),
) -> Iterator[Step]:
    """Yield the steps by which a tree was grown from the rows of a problem, each branch down to its leaves."""
    paths = dict(walk(problem, tree, path))
    waiting = list(paths)
    for node, answers_before in paths.items():
        waiting.remove(node)
        yield replace(
            work_node(problem, node, criterion, features_of(node)),
            rows=problem.number_rows(np.unique(node.rows)),
            place=", ".join(answers_before),
            drawing=draw_tree(problem, tree, node, waiting),
        )


def work_node(problem: Problem, node: Node, criterion: str, features: Sequence[int]) -> Step:
    """Return the comparison of the splits of a node by some of the features, or the reason why it is a leaf."""
    columns = problem.X[node.rows].T  # (d, n)
    questions = [(j, s) for j in features for s in list_thresholds(columns[j], j in problem.nominal)]
    if node.question is not None:
        return work_choice(problem, node.rows, questions, node.question, criterion)
    limit = "max_depth or min_samples_split stops it" if questions else "no feature splits it"
    reason = limit if len(np.unique(node.targets)) > 1 else "all targets are equal"
    impurity = work_impurity(IMPURITIES[criterion], node.targets)
    chosen = work_prediction(problem, node.targets).chosen
    return replace(impurity, sentence=f"The next node is a leaf, because {reason}.", chosen=chosen)


def draw_tree(problem: Problem, node: Node, current: Node, waiting: Collection[Node] = (), answer: str = "") -> Branch:
    """Return the drawing of a tree from a node down, in which the nodes that wait for their split are leaves."""
    shown = {} if node in waiting else node.branches
    branches = tuple(draw_tree(problem, child, current, waiting, given) for given, child in shown.items())
    text = name_feature(problem, node) if branches else write_counts(node.targets, problem.classes)
    if not branches and problem.classes is not None:
        text = f"{majority_vote(node.targets)} {text}"
    rows = () if branches else problem.number_rows(np.unique(node.rows))
    return Branch(text, answer, branches, node is current, rows)


def work_queries(problem: Problem, tree: Node) -> Iterator[Step]:
    """Yield the descent of each query, and the prediction of its region."""
    for number, query in enumerate(problem.queries, start=1):
        yield from work_query(problem, tree, query, f"query {number}")


def work_query(problem: Problem, tree: Node, query: np.ndarray, place: str) -> Iterator[Step]:
    """Yield the descent of a query (d,), and the prediction of its region."""
    region = region_of(tree, query)
    for branch in dict(walk(problem, tree))[region]:
        yield Step("Which branch does the query take?", chosen=branch, place=place)
        place = f"{place}, {branch}"
    rows = problem.number_rows(np.unique(region.rows))
    drawing = draw_tree(problem, tree, region)
    yield replace(work_prediction(problem, region.targets), rows=rows, place=place, drawing=drawing)
