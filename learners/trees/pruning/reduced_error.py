"""Reduced-error pruning (Quinlan 1987): a grown tree is cut back as far as validation rows do not get worse.

Bottom-up (method A of the lectures): a node whose children are all leaves becomes a leaf if the validation score is
strictly greater; repeat until no such node is left.
Best-first (method B): of all inner nodes, the one whose collapse gives the best validation score becomes a leaf; an
equal score still prunes; stop when every collapse lowers the score.

One pass of the rows gives the loss of every node as a leaf, and sums from the bottom up give the loss of the subtree at
every node; each collapse changes only the sums above it.  Cost: O(m depth + k log k) for m rows and k nodes.

Reference: J. R. Quinlan, "Simplifying decision trees", International Journal of Man-Machine Studies 27, 1987.
"""

from __future__ import annotations

import numpy as np

from bakeoff.learners.trees.pruning.collapsible_tree import CollapsibleTree, PruningStep, collapse_cheapest_first
from bakeoff.learners.trees.tree import Tree

ROUNDING = 1e-12
"""Losses that differ by less, relative to the whole loss and weight, are equal."""


def count_errors_at_nodes(
    tree: Tree, stop: np.ndarray, codes: np.ndarray, weight: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Count the weight of misclassified rows: with each node as a leaf, and with the subtree at each node.

    Parameters
    ----------
    stop : ndarray of shape (m,)
        Where each row stops, as from `Tree.apply`.
    codes : ndarray of shape (m,)
        Class codes; -1 for a class that the tree does not know.

    Returns
    -------
    as_leaf, below : ndarray of shape (k,)
    """
    k, c = tree.value.shape
    # Column c: rows of an unknown class, always wrong.
    counts = np.bincount(stop * (c + 1) + codes % (c + 1), weights=weight, minlength=k * (c + 1)).reshape(k, c + 1)
    label = np.argmax(tree.value, axis=1)[:, None]

    def wrong(table: np.ndarray) -> np.ndarray:
        return table.sum(axis=1) - np.take_along_axis(table, label, axis=1)[:, 0]

    return wrong(tree.sum_over_subtrees(counts)), tree.sum_over_subtrees(wrong(counts))


def sum_squares_at_nodes(
    tree: Tree, stop: np.ndarray, y: np.ndarray, weight: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Sum weighted squared errors, as `count_errors_at_nodes` does for classes: as_leaf and below, both (k,)."""
    k = tree.node_count
    prediction = tree.value[:, 0]
    here = np.bincount(stop, weights=weight * (y - prediction[stop]) ** 2, minlength=k)
    mass = tree.sum_over_subtrees(np.bincount(stop, weights=weight, minlength=k))
    # Squares about the node's own prediction, moved up to its parent's:
    # Σw(y-a)² = Σw(y-b)² + 2(b-a)Σw(y-b) + (b-a)²Σw
    drift = np.bincount(stop, weights=weight * (y - prediction[stop]), minlength=k)
    as_leaf, parent = here.copy(), tree.parent
    for level in reversed(tree.levels()):
        up = parent[level]
        shift = prediction[level] - prediction[up]
        moved = as_leaf[level] + shift * (2 * drift[level] + mass[level] * shift)
        np.add.at(as_leaf, up, np.maximum(moved, 0.0))
        np.add.at(drift, up, drift[level] + mass[level] * shift)
    return as_leaf, tree.sum_over_subtrees(here)


def prune_bottom_up(tree: Tree, as_leaf: np.ndarray, below: np.ndarray, weight: float) -> list[PruningStep]:
    """Method A: collapse, deepest first, what is strictly better as a leaf; return the steps, the first unpruned."""
    state = CollapsibleTree(tree, as_leaf, below)
    slack = ROUNDING * (below[0] + as_leaf[0] + weight)
    steps = [PruningStep(-1, 0.0, state.leaves[0], state.depth, state.below[0])]
    # Deepest first: when a node's turn comes, its children have had theirs.
    for node in range(tree.node_count - 1, -1, -1):
        only_leaves = state.inner[node] and not any(state.inner[child] for child in tree.children(node))
        if only_leaves and state.as_leaf[node] < state.below[node] - slack:
            steps.append(state.collapse(node, state.as_leaf[node] - state.below[node]))
    return steps


def prune_best_first(tree: Tree, as_leaf: np.ndarray, below: np.ndarray, weight: float) -> list[PruningStep]:
    """Method B: remove the best of all subtrees until every removal worsens; return the steps, the first unpruned."""
    state = CollapsibleTree(tree, as_leaf, below)
    slack = ROUNDING * (below[0] + as_leaf[0] + weight)
    steps = [PruningStep(-1, 0.0, state.leaves[0], state.depth, state.below[0])]
    for step in collapse_cheapest_first(state, lambda growth, _: growth, limit=slack):
        steps.append(step)
    return steps
