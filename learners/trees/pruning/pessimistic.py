"""Pessimistic pruning (C4.5): no validation rows, but the training errors at their upper confidence limit.

A subtree is collapsed if the leaf in its place makes at most 0.1 errors more, so estimated.

Reference: J. R. Quinlan, "C4.5: Programs for Machine Learning", 1993, chapter 4.
"""

from __future__ import annotations

from statistics import NormalDist

import numpy as np

from bakeoff.learners.trees.pruning.collapsible_tree import CollapsibleTree, PruningStep
from bakeoff.learners.trees.tree import Tree


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
