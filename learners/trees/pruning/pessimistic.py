"""Pessimistic pruning (C4.5): uses the upper confidence limit of the training errors instead of validation rows.

A subtree is collapsed if the leaf in its place is estimated to make at most 0.1 more errors.

Reference: J. R. Quinlan, "C4.5: Programs for Machine Learning", 1993, chapter 4.
"""

from __future__ import annotations

from statistics import NormalDist

import numpy as np

from bakeoff.learners.trees.pruning.collapsible_tree import CollapsibleTree, NodeLosses, PruningStep
from bakeoff.learners.trees.tree import Tree

TOLERATED_ERRORS = 0.1
"""A leaf replaces a subtree even if it is expected to make this many more errors (a constant of C4.5)."""


SLACK_ERRORS = 1e-3
"""Errors that differ by less are equal (a constant of C4.5)."""


def prune_pessimistically(tree: Tree, confidence: float) -> list[PruningStep]:
    """Collapse nodes from the bottom up by C4.5's estimate of their errors.

    Parameters
    ----------
    tree : Tree
        It is not modified.
    confidence : float
        C4.5's CF, above 0 and at most 0.5; a smaller one prunes more.

    Returns
    -------
    list of PruningStep
        The unpruned tree first.
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
    """Return how many errors to add to ``errors`` (k,) among weights n (k,): the upper confidence limit, as in C4.5.

    The limit is exact for no error (p solves (1-p)^n = CF), linear from there to one error, and the normal
    approximation with continuity correction beyond.
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
