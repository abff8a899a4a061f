"""Backfitting (WEKA's REPTree): after reduced-error pruning, the validation rows count in the nodes as well.

The questions of a tree are chosen from the training rows, and its size from the validation rows; once both are settled,
leaves of all rows estimate the class fractions or the mean better than leaves of the training rows alone.

Cost: O(m depth) for m validation rows.

Reference: I. H. Witten, E. Frank, M. A. Hall, C. J. Pal, "Data Mining", 4th edition, 2016, section 6.1 (REPTree).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from bakeoff.learners.trees.tree import Tree


def backfit_classes(
    tree: Tree,
    stop: np.ndarray,
    codes: np.ndarray,
    weight: np.ndarray,
    impurity: Callable[[np.ndarray], np.ndarray],
) -> None:
    """Add rows to the class weights of a tree, in place.

    Parameters
    ----------
    tree : Tree
        k nodes, c classes.
    stop : ndarray of shape (m,), int
        The node where each row stops, as from `Tree.apply`.
    codes : ndarray of shape (m,), int
        Class codes; rows of a class that did not occur in training, -1, are left out.
    weight : ndarray of shape (m,)
    impurity : callable
        From class weights (k, c) to the impurities of nodes (k,).
    """
    k, c = tree.value.shape
    is_known = codes >= 0
    stop = stop[is_known]
    cell = stop * c + codes[is_known]
    added = np.bincount(cell, weights=weight[is_known], minlength=k * c).reshape(k, c)
    counts = tree.value * tree.weighted_n_node_samples[:, None] + tree.sum_over_subtrees(added)  # (k, c)
    total = counts.sum(axis=1)
    tree.n_node_samples = tree.n_node_samples + tree.sum_over_subtrees(np.bincount(stop, minlength=k))
    tree.weighted_n_node_samples = total
    tree.value = counts / total[:, None]
    tree.impurity = np.where(np.count_nonzero(counts, axis=1) == 1, 0.0, impurity(counts))


def backfit_targets(tree: Tree, stop: np.ndarray, y: np.ndarray, weight: np.ndarray) -> None:
    """Add rows to the means of a tree, in place; parameters as of `backfit_classes`, with targets y (m,)."""
    k = tree.node_count
    mean = tree.value[:, 0]
    n_rows = np.zeros(k, dtype=np.intp)
    mass = np.zeros(k)
    drift = np.zeros(k)
    squares = np.zeros(k)
    # A row counts in the node where it stops and in all nodes above, in each relative to the mean of that node.
    node = stop
    while node.size:
        residual = y - mean[node]
        n_rows += np.bincount(node, minlength=k)
        mass += np.bincount(node, weights=weight, minlength=k)
        drift += np.bincount(node, weights=weight * residual, minlength=k)
        squares += np.bincount(node, weights=weight * residual**2, minlength=k)
        above = tree.parent[node]
        is_inside = above >= 0
        node = above[is_inside]
        y = y[is_inside]
        weight = weight[is_inside]
    total = tree.weighted_n_node_samples + mass
    shift = drift / total
    spread = tree.impurity * tree.weighted_n_node_samples + squares
    tree.impurity = np.maximum(spread / total - shift**2, 0.0)
    tree.value = (mean + shift)[:, None]
    tree.weighted_n_node_samples = total
    tree.n_node_samples = tree.n_node_samples + n_rows
