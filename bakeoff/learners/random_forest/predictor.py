"""Prediction with many trees at once: all rows descend together through the trees of a group.

`bakeoff.learners.definitions.random_forest` makes the same predictions row by row and tree by tree.

Cost: O(T m depth) for T trees and m rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from bakeoff.learners.trees import NodeTable, Tree, encode_cells

NODES_PER_GROUP = 1 << 14
"""Trees share a table of about this number of nodes, which stays in cache as well."""


def average_over_trees(trees: list[Tree], X: np.ndarray, predictions: list[np.ndarray]) -> np.ndarray:
    """Return the average prediction of the trees for each row.

    Parameters
    ----------
    trees : list of T Tree
    X : ndarray of shape (m, d)
        Nominal cells are codes, missing cells NaN.
    predictions : list of T ndarray of shape (nodes of the tree, width)
        The prediction of each node.

    Returns
    -------
    ndarray of shape (m, width)
    """
    codes = encode_cells(X, trees[0].n_values)  # (m, d)
    width = predictions[0].shape[1]
    total = np.zeros((X.shape[0], width))
    for group in divide_into_groups(trees):
        for chunk, stops in NodeTable(trees[group]).iterate_stops(codes):
            # Add tree by tree, so that rounding does not depend on how trees are grouped.
            for stop, prediction in zip(stops, predictions[group], strict=True):
                total[chunk] += prediction.take(stop, axis=0)
    return total / len(trees)


def divide_into_groups(trees: list[Tree]) -> Iterator[slice]:
    """Divide the trees, in order, into groups of about `NODES_PER_GROUP` nodes."""
    n_nodes_so_far = np.cumsum([tree.node_count for tree in trees])
    group = n_nodes_so_far // NODES_PER_GROUP
    ends = np.flatnonzero(np.diff(group)) + 1
    for first, end in pairwise([0, *ends.tolist(), len(trees)]):
        yield slice(first, end)
