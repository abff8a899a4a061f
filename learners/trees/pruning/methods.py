"""Pruning a grown tree: against validation rows (A, B), by cost and complexity (CART), by pessimism (C4.5).

A, ``"bottom_up"``: a node whose children are all leaves becomes a leaf if the validation score is strictly greater;
repeat until no such node is left.
B, ``"best_first"``: of all inner nodes remove the subtree whose removal gives the best validation score; an equal
score still prunes; stop when every removal worsens.
``"pessimistic"``: no validation rows; the errors of a leaf are taken at the upper limit of their confidence interval,
and a subtree goes if, so counted, the leaf in its place makes no more than 0.1 errors more.
Cost-complexity: the smallest subtree minimising R(T) + α |leaves|.

One pass of the rows gives what every node would lose as a leaf, and sums from the bottom up what the subtree at every
node loses; each removal changes only the sums above it.  Cost: O(m depth + k log k) for m rows and k nodes.

References: J. R. Quinlan, "Simplifying decision trees", 1987; "C4.5", 1993, chapter 4; Breiman et al. 1984, chapter 3.
"""

from __future__ import annotations

from statistics import NormalDist

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


def collapse_weakest_links(tree: Tree, alpha: float) -> list[PruningStep]:
    """Return the steps of cost-complexity pruning with cost (R(node) - R(subtree)) / (leaves - 1) up to alpha."""
    as_leaf = tree.impurity * tree.weighted_n_node_samples / tree.weighted_n_node_samples[0]
    below = tree.sum_over_subtrees(np.where(tree.is_leaf, as_leaf, 0.0))
    state = CollapsibleTree(tree, as_leaf, below)
    steps = [PruningStep(-1, 0.0, state.leaves[0], state.depth, state.below[0])]
    steps.extend(collapse_cheapest_first(state, lambda growth, leaves: growth / (leaves - 1), limit=alpha))
    return steps


def prune_pessimistically(tree: Tree, confidence: float) -> list[PruningStep]:
    """Collapse bottom-up by C4.5's estimate of errors; ``confidence`` is its CF, smaller prunes more."""
    weight = tree.weighted_n_node_samples
    as_leaf = weight * (1 - tree.value.max(axis=1))
    as_leaf += estimate_extra_errors(weight, as_leaf, confidence)
    below = tree.sum_over_subtrees(np.where(tree.is_leaf, as_leaf, 0.0))
    state = CollapsibleTree(tree, as_leaf, below)
    steps = [PruningStep(-1, 0.0, state.leaves[0], state.depth, state.below[0])]
    for node in range(tree.node_count - 1, -1, -1):
        if state.inner[node] and state.as_leaf[node] <= state.below[node] + 0.1:
            steps.append(state.collapse(node, state.as_leaf[node] - state.below[node]))
    return steps


def estimate_extra_errors(n: np.ndarray, errors: np.ndarray, confidence: float) -> np.ndarray:
    """Return how many errors to add to ``errors`` among weights n (k,): the upper confidence limit, as in C4.5.

    Exact for no error (the limit p solves (1-p)^n = CF), linear from there to one error, and the normal approximation
    with continuity correction beyond.
    """
    none = n * (1 - np.exp(np.log(confidence) / n))
    z2 = NormalDist().inv_cdf(1 - confidence) ** 2 if confidence < 0.5 else 0.0

    def normal(e: np.ndarray) -> np.ndarray:
        half = e + 0.5
        root = np.sqrt(np.maximum(z2 * (half * (1 - half / n) + z2 / 4), 0.0))
        limit = n * (half + z2 / 2 + root) / (n + z2) - e
        return np.where(half >= n, 0.67 * np.maximum(n - e, 0.0), limit)

    one = normal(np.minimum(1.0, n))
    return np.where(errors < 1, none + np.minimum(errors, 1.0) * (one - none), normal(errors))
