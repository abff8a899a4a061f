"""The attributes by which scikit-learn's tools read a decision tree.

Paths are sparse tables of SciPy, as scikit-learn's are: NumPy has none.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.utils.validation import check_is_fitted

from bakeoff.learners.base.nominal_columns import Categories, encode_table
from bakeoff.learners.base.sklearn_class import SklearnCounterpart
from bakeoff.learners.trees import Tree, compute_partial_dependence, convert_to_sklearn


class SklearnTreeAttributes(SklearnCounterpart):
    """Mixin of the tree learners: what scikit-learn's trees are called in its API.

    Attributes
    ----------
    fitted_tree_ : Tree
    n_outputs_ : int
        Always 1.
    """

    fitted_tree_: Tree
    categories_: Categories
    n_outputs_: ClassVar[int] = 1

    @property
    def tree_(self) -> Any:
        """The tree as ``sklearn.tree._tree.Tree``, a copy, for tools that read scikit-learn's trees.

        AttributeError if the tree asks for nominal values; see `bakeoff.learners.trees.convert_to_sklearn`.
        """
        check_is_fitted(self)
        n_classes = getattr(self, "n_classes_", 1)
        return convert_to_sklearn(self.fitted_tree_, n_classes)

    @abstractmethod
    def apply(self, X: Any) -> np.ndarray:
        """Return the number of the node where each row of X (m, d) stops, shape (m,)."""

    def decision_path(self, X: Any) -> csr_matrix:
        """Return which nodes each row of X (m, d) visits: 1 where it does, sparse of shape (m, k)."""
        stop = self.apply(X)
        return mark_paths(self.fitted_tree_, stop)

    def _compute_partial_dependence_recursion(self, grid: Any, target_features: Any) -> np.ndarray:
        """Return the partial dependence at points (g, f) of these features (f,), shape (g,), for scikit-learn."""
        cells = encode_points(grid, target_features, self.categories_)
        return compute_partial_dependence(self.fitted_tree_, cells, target_features)

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore a stored model; those of earlier versions call the tree ``tree_``."""
        state = dict(state)
        if "tree_" in state:
            state["fitted_tree_"] = state.pop("tree_")
        super().__setstate__(state)  # type: ignore[misc]


def encode_points(grid: Any, features: Any, categories: Categories) -> np.ndarray:
    """Return points (g, f) of these features (f,) as numbers: nominal cells as codes."""
    own = [categories[feature] for feature in features]
    return encode_table(np.asarray(grid), own, allow_nan=True, owner="partial dependence")


def mark_paths(tree: Tree, stop: np.ndarray) -> csr_matrix:
    """Return which of the k nodes rows visit that stop at these nodes (m,).

    Returns
    -------
    csr_matrix of shape (m, k), int
        1 at the nodes from the root to where the row stops.
    """
    m = stop.size
    parent = tree.parent
    length = tree.depth.take(stop) + 1  # (m,)
    start = np.concatenate([[0], length.cumsum()])  # (m + 1,)
    visited = np.empty(start[-1], dtype=np.intp)
    rows = np.arange(m)
    node = stop
    entry = start[1:] - 1
    # Parents have lower numbers than their children, so that the nodes of a row ascend.
    while rows.size:
        visited[entry] = node
        node = parent.take(node)
        is_below = node >= 0
        rows = rows[is_below]
        node = node[is_below]
        entry = entry[is_below] - 1
    ones = np.ones(visited.size, dtype=np.int64)
    return csr_matrix((ones, visited, start), shape=(m, tree.node_count))
