"""Thresholds that occur in the data, as in C4.5, instead of the middle between two neighbouring values of a node.

Of all training rows, not only those of the node, the largest value v up to the middle is taken, and equality goes left:
x <= v. In a tree, whose questions are x < s, the threshold s is therefore the smallest number above v.

Reference: J. R. Quinlan, "C4.5: Programs for Machine Learning", 1993, section 2.4.
"""

from __future__ import annotations

import numpy as np

from bakeoff.learners.trees.tree import Tree


def move_thresholds_to_values(tree: Tree, X: np.ndarray) -> Tree:
    """Replace the numeric thresholds of a tree, in place, by numbers next to values of its rows X (n, d); return it.

    No training row changes its side. A question for missing cells, whose threshold is infinite, stays as it is.
    """
    is_numeric = np.isfinite(tree.threshold)
    for feature in np.unique(tree.feature[is_numeric]).tolist():
        nodes = np.flatnonzero(is_numeric & (tree.feature == feature))
        column = X[:, feature]
        values = np.unique(column[~np.isnan(column)])  # ascending
        tree.threshold[nodes] = np.nextafter(_find_values(values, tree.threshold[nodes]), np.inf)
    return tree


def _find_values(values: np.ndarray, threshold: np.ndarray) -> np.ndarray:
    """Return the largest of the values, ascending, up to each threshold (k,) that is not above it in its node: (k,)."""
    # The first value of a node is below its threshold, so there is always one.
    below = values[np.searchsorted(values, threshold, side="left") - 1]
    up_to = values[np.searchsorted(values, threshold, side="right") - 1]
    # Between neighbouring floats there is no middle: the threshold is the value that goes right.
    has_middle = np.nextafter(below, np.inf) < threshold
    return np.where(has_middle, up_to, below)
