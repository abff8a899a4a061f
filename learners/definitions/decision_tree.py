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
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from bakeoff.learners.definitions.majority_vote import average, majority_vote
from bakeoff.learners.definitions.splits import (
    IMPURITIES,
    Impurity,
    Question,
    answers,
    gini,
    midpoints,
    name_question,
    pick_question,
    tabulate_questions,
    work_impurity,
    write_counts,
)
from bakeoff.learners.definitions.steps import Branch, Problem, Step, bracket, number_rows, write_sum


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


# The steps of these calculations.

Paths = Mapping[int, tuple[str, ...]]
"""The identity of a node -> the answers that lead to it, such as "x < 2.5" or "wind = weak"."""


def name_paths(problem: Problem, tree: Node) -> Paths:
    """Return the path of each node of a tree."""
    paths: dict[int, tuple[str, ...]] = {id(tree): ()}
    nodes = [tree]
    for node in nodes:  # grows during the iteration
        for answer, child in node.branches.items():
            nodes.append(child)
            paths[id(child)] = (*paths[id(node)], name_branch(problem, node.question, answer))
    return paths


def name_branch(problem: Problem, question: Question | None, answer: Any) -> str:
    """Return an answer to a question."""
    assert question is not None
    feature, threshold = question
    answered = f"= {answer}" if threshold is None else f"{'<' if answer == 'left' else '≥'} {threshold}"
    return f"{problem.features[feature]} {answered}"


def work_growth(
    problem: Problem, tree: Node, criterion: str, features_of: Callable[[Node], Iterable[int]]
) -> Iterator[Step]:
    """Yield the steps by which a tree was grown from the rows of a problem, each branch down to its leaves."""
    paths = name_paths(problem, tree)
    waiting = [tree]
    while waiting:
        node = waiting.pop(0)
        waiting = [*node.branches.values(), *waiting]
        *steps, last = work_node(problem, node, criterion, features_of(node))
        drawing = draw_tree(problem, tree, paths, node, [id(each) for each in waiting])
        for step in (*steps, replace(last, drawing=drawing)):
            yield replace(step, rows=number_rows(node.rows), place=", ".join(paths[id(node)]))


def work_node(problem: Problem, node: Node, criterion: str, features: Iterable[int]) -> Iterator[Step]:
    """Yield the impurity of a node, the cuts of each numeric feature, and the comparison of the features."""
    rows = node.rows
    y = node.targets
    impurity = IMPURITIES[criterion]
    yield work_impurity(impurity, y)
    asked = [pick_question(problem.X[rows], y, [feature], impurity, nominal=problem.nominal) for feature in features]
    questions = [question for question in asked if question is not None]
    if node.question is None:
        is_pure = len(np.unique(y)) == 1
        reason = "all targets are equal" if is_pure else "a limit is reached" if questions else "no feature splits it"
        leaf = predict_at(problem, node)
        yield replace(leaf, sentence=f"The node is a leaf, because {reason}.", answer=None, response=())
        return
    for question in questions:
        feature, threshold = question
        if threshold is not None:
            cuts = [(feature, cut) for cut in midpoints(problem.X[rows, feature])]
            yield Step(
                f"Cut {problem.features[feature]} where the gain is largest (ties: the lowest threshold).",
                chosen=name_question(problem, question),
                table=tuple(tabulate_questions(problem, rows, cuts, criterion)),
            )
    headings, *splits = tabulate_questions(problem, rows, questions, criterion)
    yield Step(
        f"Split by the feature with the largest {headings[-1]} (ties: the first one).",
        chosen=name_question(problem, node.question),
        table=(headings, *splits),
        values={f"{headings[-1]} of {split[0]}": split[-1] for split in splits},
    )


def predict_at(problem: Problem, node: Node) -> Step:
    """Return the prediction for a query in the region of a node."""
    y = node.targets
    n = len(y)
    if problem.classes is None:
        answer = average(y)
        response = (answer,)
        formula = f"ȳ = ({write_sum(map(bracket, y))})/{n} = {answer}"
    else:
        answer = majority_vote(y)
        response = tuple(np.mean(y == label) for label in problem.classes)
        names = " : ".join(f"p({label})" for label in problem.classes)
        formula = f"{names} = {' : '.join(f'{np.count_nonzero(y == label)}/{n}' for label in problem.classes)}"
    chosen = f"{problem.target} = {answer}"
    return Step("Predict by the rows of this region.", formula, chosen, answer=answer, response=response)


def draw_tree(problem: Problem, node: Node, paths: Paths, current: Node, waiting: Collection[int] = ()) -> Branch:
    """Return the drawing of a tree from a node down, in which the nodes that wait for their split are leaves."""
    shown = () if id(node) in waiting else node.branches.values()
    branches = tuple(draw_tree(problem, child, paths, current, waiting) for child in shown)
    text = write_counts(node.targets, problem.classes)
    if problem.classes is not None:
        text = f"{majority_vote(node.targets)} {text}"
    if branches and node.question is not None:
        text = problem.features[node.question[0]]
    return Branch(text, "".join(paths[id(node)][-1:]), branches, node is current)


def work_queries(problem: Problem, tree: Node) -> Iterator[Step]:
    """Yield the descent of each query, and the prediction of its region."""
    paths = name_paths(problem, tree)
    for number, query in enumerate(problem.queries, start=1):
        region = region_of(tree, query)
        place = f"query {number}"
        for branch in paths[id(region)]:
            yield Step("Which branch does the query take?", chosen=branch, place=place)
            place = f"{place}, {branch}"
        drawing = draw_tree(problem, tree, paths, region)
        yield replace(predict_at(problem, region), rows=number_rows(region.rows), place=place, drawing=drawing)
