"""Partial dependence of a regression tree: its mean prediction where some features are given and the others are not.

At a question about a given feature, the answer is taken; at any other question, both branches are taken, each with its
share of the training weight.

Cost: O(k g) for k nodes and g points.

Reference: J. H. Friedman, "Greedy function approximation: a gradient boosting machine", Annals of Statistics 29, 2001,
section 8.2 (weighted traversals of trees).
"""

from __future__ import annotations

import numpy as np

from bakeoff.learners.trees.tree import Tree


def compute_partial_dependence(tree: Tree, cells: np.ndarray, features: np.ndarray) -> np.ndarray:
    """Return the mean predictions of a tree at points.

    Parameters
    ----------
    tree : Tree
        k nodes, with one value each.
    cells : ndarray of shape (g, f)
        Nominal cells are codes, missing cells NaN.
    features : ndarray of shape (f,), int
        The features that are given.

    Returns
    -------
    ndarray of shape (g,)
    """
    g = cells.shape[0]
    column_of_feature = {int(feature): cells[:, i] for i, feature in enumerate(features)}
    share = np.zeros((tree.node_count, g))  # of the training weight that reaches a node, of those that the points allow
    share[0] = 1.0
    total = np.zeros(g)
    # Parents have lower numbers than their children.
    for node in range(tree.node_count):
        column = column_of_feature.get(int(tree.feature[node]))
        children = tree.children(node)
        if column is None:
            weight = tree.weighted_n_node_samples
            for child in children:
                share[child] = share[node] * (weight[child] / weight[node])
            stays = np.full(g, tree.feature[node] < 0)
        else:
            branch = tree.find_branch(np.full(g, node), column)
            for b, child in enumerate(children):
                share[child] = np.where(branch == b, share[node], 0.0)
            stays = branch < 0
        total += np.where(stays, share[node], 0.0) * tree.value[node, 0]
    return total
