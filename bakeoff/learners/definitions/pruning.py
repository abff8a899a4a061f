"""Reduced-error pruning: a tree is pruned as long as its score on validation rows does not decrease.

Pruning a node replaces the subtree below it with a leaf, which predicts the majority vote, or the average,
of the node's training rows. The lectures describe two methods, which score a tree on the same validation rows:

A, bottom-up.    1. Identify the internal nodes that are connected to leaves only.
                 2. Turn each of them into a leaf.
                 3. Keep the pruned tree if its validation accuracy is greater; repeat until no pruning improves it.
B, best-first.   1. For each node, evaluate the performance on the validation rows when its subtree is removed.
                 2. If all removals worsen the performance, stop.
                 3. Choose the node whose removal gives the best performance (ties: the nearest to the root).
                 4. Replace its subtree with a leaf with the majority label, and return to step 1.

A considers only nodes directly above leaves and requires an improvement; B considers every subtree and also accepts
an equal score, so it produces smaller trees. For regression, the score is minus the mean squared error.

Cost: O(m depth) for each score on m validation rows; A takes O(k) scores and B O(k²), for k nodes.

Reference: J. R. Quinlan, "Simplifying decision trees", International Journal of Man-Machine Studies 27, 1987.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from bakeoff.learners.definitions.decision_tree import Node, draw_tree, predict_row, walk
from bakeoff.learners.definitions.majority_vote import average
from bakeoff.learners.definitions.steps import Problem, Step

ROUNDING = 1e-10
"""Scores that differ by less, relative to the larger one, are equal: sums of squares are rounded."""

Score = Callable[[Node, np.ndarray, np.ndarray], float]


def accuracy(tree: Node, X: np.ndarray, y: np.ndarray) -> float:
    """Return the fraction of rows X (m, d) whose class y (m,) is predicted correctly."""
    return float(np.mean([predict_row(tree, x) == label for x, label in zip(X, y, strict=True)]))


def minus_squared_error(tree: Node, X: np.ndarray, y: np.ndarray) -> float:
    """Return minus the mean squared error of the predicted targets for rows X (m, d) and targets y (m,)."""
    return -float(np.mean([(predict_row(tree, x, average) - target) ** 2 for x, target in zip(X, y, strict=True)]))


def is_greater(score: float, other: float) -> bool:
    """Return whether a score exceeds another one by more than the rounding error."""
    return score > other + ROUNDING * max(abs(score), abs(other))


def choose_bottom_up(scores: Mapping[Node, float], before: float) -> list[Node]:
    """Return the nodes that method A prunes, given the score before and the one without each subtree."""
    return [node for node, reached in scores.items() if is_greater(reached, before)]


def choose_best_first(scores: Mapping[Node, float], before: float) -> list[Node]:
    """Return the node that method B prunes, if any, given the score before and the one without each subtree."""
    best = max(before, *scores.values())
    return [node for node, reached in scores.items() if not is_greater(best, reached)][:1]


METHODS = {"bottom_up": choose_bottom_up, "best_first": choose_best_first}


def prune(
    tree: Node, X: np.ndarray, y: np.ndarray, method: str, score: Score = accuracy
) -> Iterator[tuple[float, dict[Node, float], list[Node]]]:
    """Prune the tree in place, on validation rows X (m, d) and their targets y (m,).

    Yield, of each pass, the score before, the score without the subtree of each node, and the nodes that are pruned.
    """
    pruned = [tree]
    while pruned and tree.branches:
        nodes = [node for node in internal_nodes(tree) if method == "best_first" or is_above_leaves(node)]
        before = score(tree, X, y)
        scores = {node: score_without(node, tree, X, y, score) for node in nodes}
        pruned = METHODS[method](scores, before)
        for node in pruned:
            node.branches = {}
        yield before, scores, pruned


def is_above_leaves(node: Node) -> bool:
    """Return whether all children of an internal node are leaves."""
    return not any(child.branches for child in node.branches.values())


def internal_nodes(tree: Node) -> list[Node]:
    """Return the internal nodes, level by level from the root."""
    nodes = [tree]
    for node in nodes:  # grows during the iteration
        nodes.extend(node.branches.values())
    return [node for node in nodes if node.branches]


def score_without(node: Node, tree: Node, X: np.ndarray, y: np.ndarray, score: Score) -> float:
    """Return the score of the tree without the subtree below a node; the tree itself is not modified."""
    branches = node.branches
    node.branches = {}
    reached = score(tree, X, y)
    node.branches = branches
    return reached


SENTENCES = {
    "bottom_up": "Replace each node above leaves only by a leaf if the score on the validation rows is then greater.",
    "best_first": "Replace the node by a leaf without whose subtree the score on the validation rows is the greatest, "
    "unless this is lower than before (ties: the node nearest to the root).",
}
"""A method of pruning -> what is done in each of its passes."""


def work_pruning(problem: Problem, tree: Node) -> Iterator[Step]:
    """Yield the passes in which a tree is pruned, in place, by the method of the problem."""
    X = problem.validation_X
    y = problem.validation_y
    assert X is not None
    assert y is not None
    score = minus_squared_error if problem.classes is None else accuracy
    names = {node: ", ".join(path) or "root" for node, path in walk(problem, tree)}
    for before, scores, pruned in prune(tree, X, y, problem.pruning, score):
        table = [(names[node], write_score(problem, without, len(y))) for node, without in scores.items()]
        yield Step(
            SENTENCES[problem.pruning],
            f"score = {write_score(problem, before, len(y))}",
            "; ".join(names[node] for node in pruned) or "no node",
            (("node", "score without its subtree"), *table),
            values={"score": before},
            drawing=draw_tree(problem, tree, tree),
        )


def write_score(problem: Problem, score: float, n: int) -> str:
    """Return an accuracy as a fraction of n rows, or minus a squared error."""
    return f"{score}" if problem.classes is None else f"{round(score * n)}/{n}"


def work_accuracy(actual: Sequence[Any], predicted: Sequence[Any]) -> Step:
    """Return the accuracy and the error of predictions."""
    n = len(actual)
    correct = sum(a == b for a, b in zip(actual, predicted, strict=True))
    formula = f"accuracy : error = {correct}/{n} : {n - correct}/{n}"
    return Step("Count the predictions that are correct, and the others.", formula, values={"accuracy": correct / n})
