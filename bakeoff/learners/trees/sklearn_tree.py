"""Conversion of a grown tree to scikit-learn's own ``Tree``, for tools that read scikit-learn's trees.

Only scikit-learn's class works with all of them: SHAP and dtreeviz check the type, and ``export_text`` expects -2 as
the feature of a leaf. Nodes keep their numbers.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bakeoff.learners.trees.tree import Tree

NO_CHILD = -1
NO_FEATURE = -2
NO_THRESHOLD = -2.0


def has_numeric_questions(tree: Tree) -> bool:
    """Return whether every question of a tree is numeric, with two branches."""
    return not np.any(tree.route_start >= 0)


def convert_to_sklearn(tree: Tree, n_classes: int) -> Any:
    """Return a tree of k nodes on d features as ``sklearn.tree._tree.Tree``.

    Parameters
    ----------
    tree : Tree
        A tree with numeric questions only.
    n_classes : int
        1 for a regression tree.

    Returns
    -------
    sklearn.tree._tree.Tree
        Its questions are ``x <= threshold`` instead of ``x < threshold``; its thresholds are the next smaller floats,
        so that both give the same answer for every x.

    Raises
    ------
    AttributeError
        If the tree has a nominal question, so that ``hasattr`` returns False for the caller's attribute.
    """
    if not has_numeric_questions(tree):
        raise AttributeError(
            "tree_ has scikit-learn's tree structure, which supports numeric splits only, but this tree was "
            "grown on nominal columns: use fitted_tree_, or encode the columns before fit."
        )
    # The package takes a quarter of a second to load, and few programs need it.
    from sklearn.tree._tree import Tree as SklearnTree

    d = tree.n_values.size
    converted = SklearnTree(d, np.array([n_classes], dtype=np.intp), 1)
    values = np.ascontiguousarray(tree.value[:, None, :])  # (k, 1, c)
    state = {
        "max_depth": tree.max_depth,
        "node_count": tree.node_count,
        "nodes": _list_nodes(tree),
        "values": values,
    }
    converted.__setstate__(state)
    return converted


def _list_nodes(tree: Tree) -> np.ndarray:
    """Return the nodes in scikit-learn's dtype: shape (k,)."""
    from sklearn.tree._tree import NODE_DTYPE

    leaf = tree.is_leaf
    nodes = np.zeros(tree.node_count, dtype=NODE_DTYPE)  # (k,)
    nodes["left_child"] = np.where(leaf, NO_CHILD, tree.first_child)
    nodes["right_child"] = np.where(leaf, NO_CHILD, tree.first_child + 1)
    nodes["feature"] = np.where(leaf, NO_FEATURE, tree.feature)
    nodes["threshold"] = np.where(leaf, NO_THRESHOLD, np.nextafter(tree.threshold, -np.inf))
    nodes["impurity"] = tree.impurity
    nodes["n_node_samples"] = tree.n_node_samples
    nodes["weighted_n_node_samples"] = tree.weighted_n_node_samples
    nodes["missing_go_to_left"] = ~leaf & (tree.missing_branch == 0)
    return nodes
