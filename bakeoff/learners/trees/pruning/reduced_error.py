"""Pruning by the errors of a tree: on validation rows (reduced-error), or as estimated from the training rows (C4.5).

*Reduced-error pruning*: a grown tree is pruned as long as its validation score does not decrease. Bottom-up (method A
of the lectures): a node whose children are all leaves becomes a leaf if this gives a strictly greater validation score;
this is repeated until no such node is left. Best-first (method B): of all inner nodes, the one whose collapse gives the
best validation score becomes a leaf, even if the score only stays equal; pruning stops when every collapse lowers the
score.

`bakeoff.learners.definitions.pruning` defines both methods. This implementation chooses the same nodes faster, without
predicting the rows again for each of them: one pass over the rows yields the loss of every node as a leaf, sums from
the bottom up yield the loss of every subtree, and a collapse changes only the sums above it. Cost: O(m depth + k log k)
for m rows and k nodes.

*Pessimistic pruning* uses the upper confidence limit of the training errors instead of validation rows: a subtree is
collapsed if a leaf in its place is estimated to make at most 0.1 more errors.

References: J. R. Quinlan, "Simplifying decision trees", International Journal of Man-Machine Studies 27, 1987, and
"C4.5: Programs for Machine Learning", 1993, chapter 4.
"""

from __future__ import annotations

from statistics import NormalDist

import numpy as np

from bakeoff.learners.trees.pruning.cost_complexity import CollapsibleTree, NodeLosses, PruningStep
from bakeoff.learners.trees.tree import Tree

RELATIVE_ROUNDING = 1e-12
"""Losses are equal if they differ by less than this fraction of the tree's loss and the sums behind it."""


def count_errors_at_nodes(
    tree: Tree, stop: np.ndarray, codes: np.ndarray, weight: np.ndarray, predicted: np.ndarray
) -> NodeLosses:
    """Sum the weights of misclassified rows, with each node as a leaf and with the subtree at each node.

    Parameters
    ----------
    tree : Tree
        A tree of k nodes for c classes.
    stop : ndarray of shape (m,), int
        The node where each row stops, as returned by `Tree.apply`.
    codes : ndarray of shape (m,), int
        Class codes; -1 for a class that did not occur in training.
    weight : ndarray of shape (m,)
    predicted : ndarray of shape (k,), int
        The class that each node predicts.

    Returns
    -------
    NodeLosses
    """
    k, c = tree.value.shape
    # The last column counts rows of unknown classes, which are always errors: -1 modulo c + 1 is c.
    column = codes % (c + 1)
    cell = stop * (c + 1) + column  # (m,)
    counts = np.bincount(cell, weights=weight, minlength=k * (c + 1))
    counts = counts.reshape(k, c + 1)
    majority = predicted[:, None]  # (k, 1)

    def count_wrong(table: np.ndarray) -> np.ndarray:
        right = np.take_along_axis(table, majority, axis=1)[:, 0]
        return table.sum(axis=1) - right

    as_leaf = count_wrong(tree.sum_over_subtrees(counts))
    return NodeLosses(as_leaf, tree.sum_over_subtrees(count_wrong(counts)), float(weight.sum()))


def sum_squares_at_nodes(tree: Tree, stop: np.ndarray, y: np.ndarray, weight: np.ndarray) -> NodeLosses:
    """Sum weighted squared errors for targets y (m,), as `count_errors_at_nodes` counts errors for classes.

    They are in squared units of the target, so a squared error is small only relative to other squared errors.
    """
    k = tree.node_count
    prediction = tree.value[:, 0]
    residual = y - prediction[stop]  # (m,)
    squares = np.bincount(stop, weights=weight * residual**2, minlength=k)
    drift = np.bincount(stop, weights=weight * residual, minlength=k)
    mass = np.bincount(stop, weights=weight, minlength=k)
    mass = tree.sum_over_subtrees(mass)
    # From the bottom up, squared errors about a node's prediction b become squared errors about its parent's a:
    # Σw(y-a)² = Σw(y-b)² + 2(b-a)Σw(y-b) + (b-a)²Σw
    as_leaf = squares.copy()
    parent = tree.parent
    for level in reversed(tree.levels()):
        up = parent[level]
        shift = prediction[level] - prediction[up]
        moved = as_leaf[level] + shift * (2 * drift[level] + mass[level] * shift)
        np.add.at(as_leaf, up, np.maximum(moved, 0.0))
        np.add.at(drift, up, drift[level] + mass[level] * shift)
    return NodeLosses(as_leaf, tree.sum_over_subtrees(squares))


def prune_bottom_up(tree: Tree, losses: NodeLosses) -> list[PruningStep]:
    """Collapse, deepest first, each node directly above leaves whose loss is strictly smaller as a leaf (method A).

    Parameters
    ----------
    tree : Tree
        It is not modified.
    losses : NodeLosses
        The losses on the validation rows.

    Returns
    -------
    list of PruningStep
        The steps, starting with the unpruned tree.
    """
    pruned = CollapsibleTree(tree, losses)
    slack = _round_off(losses)
    # Children have higher numbers than their parents, so they are visited first.
    for node in range(tree.node_count - 1, -1, -1):
        if not pruned.is_inner[node]:
            continue
        is_above_leaves = not any(pruned.is_inner[child] for child in tree.children(node))
        if is_above_leaves and pruned.as_leaf[node] < pruned.of_subtree[node] - slack:
            pruned.collapse(node, pruned.loss_increase(node))
    return pruned.steps


def prune_best_first(tree: Tree, losses: NodeLosses) -> list[PruningStep]:
    """Repeatedly collapse the node that reduces the loss most, until every collapse increases it (method B).

    The parameters and the result are those of `prune_bottom_up`.
    """
    pruned = CollapsibleTree(tree, losses)
    pruned.collapse_cheapest_first(lambda increase, _: increase, limit=_round_off(losses))
    return pruned.steps


def _round_off(losses: NodeLosses) -> float:
    """Return the largest difference at which losses are treated as equal."""
    return RELATIVE_ROUNDING * float(losses.of_subtree[0] + losses.as_leaf[0] + losses.magnitude)


TOLERATED_ERRORS = 0.1
"""A leaf replaces a subtree even if it is expected to make this number of additional errors (a constant of C4.5)."""


SLACK_ERRORS = 1e-3
"""Errors that differ by less are equal (a constant of C4.5)."""


def prune_pessimistically(tree: Tree, confidence: float) -> list[PruningStep]:
    """Collapse nodes from the bottom up according to C4.5's estimate of their errors.

    Parameters
    ----------
    tree : Tree
        It is not modified.
    confidence : float
        C4.5's CF, above 0 and at most 0.5; a smaller value prunes more.

    Returns
    -------
    list of PruningStep
        The steps, starting with the unpruned tree.
    """
    weight = tree.weighted_n_node_samples
    errors = weight * (1 - tree.value.max(axis=1))  # (k,)
    as_leaf = errors + estimate_extra_errors(weight, errors, confidence)
    of_subtree = tree.sum_over_subtrees(np.where(tree.is_leaf, as_leaf, 0.0))
    pruned = CollapsibleTree(tree, NodeLosses(as_leaf, of_subtree))
    # Children have higher numbers than their parents, so they are visited first.
    for node in range(tree.node_count - 1, -1, -1):
        if pruned.is_inner[node] and pruned.as_leaf[node] <= pruned.of_subtree[node] + TOLERATED_ERRORS:
            pruned.collapse(node, pruned.loss_increase(node))
    return pruned.steps


def collapse_useless_splits(tree: Tree) -> Tree:
    """Collapse, in place, each node whose subtree makes no fewer training errors than the node as a leaf; return it."""
    weight = tree.weighted_n_node_samples
    errors = weight * (1 - tree.value.max(axis=1))  # (k,)
    of_subtree = tree.sum_over_subtrees(np.where(tree.is_leaf, errors, 0.0))
    is_useless = ~tree.is_leaf & (of_subtree >= errors - SLACK_ERRORS)
    if is_useless.any():
        tree.collapse(np.flatnonzero(is_useless))
    return tree


def limit_errors(counts: np.ndarray, confidence: float) -> np.ndarray:
    """Return the upper confidence limit of the errors of leaves, given their class weights (k, c): shape (k,)."""
    weight = counts.sum(axis=1)
    errors = weight - counts.max(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        limit = errors + estimate_extra_errors(weight, errors, confidence)
    return np.where(weight > 0, limit, 0.0)


def estimate_extra_errors(n: np.ndarray, errors: np.ndarray, confidence: float) -> np.ndarray:
    """Return the number to add to ``errors`` (k,) among weights n (k,) for the upper confidence limit, as in C4.5.

    The limit is exact for no error (p solves (1-p)^n = CF), linear between no error and one error, and beyond that a
    normal approximation with continuity correction.
    """
    for_no_error = n * (1 - np.exp(np.log(confidence) / n))  # (k,)
    z = NormalDist().inv_cdf(1 - confidence)
    z2 = z**2 if confidence < 0.5 else 0.0

    def approximate(errors: np.ndarray) -> np.ndarray:
        corrected = errors + 0.5
        variance = corrected * (1 - corrected / n)  # of the binomial distribution
        root = np.sqrt(np.maximum(z2 * (variance + z2 / 4), 0.0))
        limit = n * (corrected + z2 / 2 + root) / (n + z2) - errors
        # If nearly all rows are errors, C4.5 adds two thirds of the rest.
        return np.where(corrected >= n, 0.67 * np.maximum(n - errors, 0.0), limit)

    for_one_error = approximate(np.minimum(1.0, n))
    interpolated = for_no_error + np.minimum(errors, 1.0) * (for_one_error - for_no_error)
    return np.where(errors < 1, interpolated, approximate(errors))
