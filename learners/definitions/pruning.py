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

from collections.abc import Callable

import numpy as np

from bakeoff.learners.definitions.decision_tree import Node, predict_row
from bakeoff.learners.definitions.majority_vote import average

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


def prune_bottom_up(tree: Node, X: np.ndarray, y: np.ndarray, score: Score = accuracy) -> None:
    """Prune the tree in place by method A, on validation rows X (m, d) and their targets y (m,)."""
    improved = True
    while improved:
        improved = False
        for node in internal_nodes(tree):
            connected_to_leaves_only = not any(child.branches for child in node.branches.values())
            if not connected_to_leaves_only:
                continue
            before = score(tree, X, y)
            if is_greater(score_without(node, tree, X, y, score), before):
                node.branches = {}
                improved = True


def prune_best_first(tree: Node, X: np.ndarray, y: np.ndarray, score: Score = accuracy) -> None:
    """Prune the tree in place by method B, on validation rows X (m, d) and their targets y (m,)."""
    while nodes := internal_nodes(tree):
        scores = [score_without(node, tree, X, y, score) for node in nodes]
        best = max(scores)
        if is_greater(score(tree, X, y), best):
            return
        chosen = next(node for node, reached in zip(nodes, scores, strict=True) if not is_greater(best, reached))
        chosen.branches = {}


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
