"""The attributes by which scikit-learn's tools read a forest.

Paths are sparse tables of SciPy, as scikit-learn's are: NumPy has none.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import csr_matrix, hstack, issparse
from sklearn.utils.validation import check_is_fitted

from bakeoff.learners.base.estimator import Learner
from bakeoff.learners.base.sklearn_class import SklearnCounterpart
from bakeoff.learners.decision_tree import DecisionTreeClassifier, DecisionTreeRegressor
from bakeoff.learners.decision_tree.sklearn_attributes import encode_points, mark_paths
from bakeoff.learners.trees import Tree, compute_partial_dependence, count_features

Member = DecisionTreeClassifier | DecisionTreeRegressor

LEARNT_FROM_COLUMNS = ("n_features_in_", "feature_names_in_", "categories_", "_any_nominal", "classes_")
"""The fitted attributes that a tree shares with its forest."""


class SklearnForestAttributes(SklearnCounterpart, Learner):
    """Abstract: what scikit-learn's forests are called in its API.

    Attributes
    ----------
    trees_ : list of Tree
    n_outputs_ : int
        Always 1.
    """

    trees_: list[Tree]
    max_features: int | float | str | None
    n_outputs_: ClassVar[int] = 1

    _member: ClassVar[type[Member]]
    """The class of ``estimators_``."""

    @property
    def estimators_(self) -> list[Member]:
        """The trees as fitted decision trees, which share the arrays of the forest.

        They have its parameters, but for ``random_state``: a tree that is fitted alone draws other features. Unlike
        scikit-learn's, they predict the labels themselves.
        """
        check_is_fitted(self)
        member = self._make_member()
        return [_copy_with_tree(member, tree) for tree in self.trees_]

    def _make_member(self) -> Member:
        member = self._member()
        own = self.get_params(deep=False)
        shared = member.get_params(deep=False).keys() & own.keys() - {"random_state", "class_weight"}
        member.set_params(**{name: own[name] for name in shared})
        for name in LEARNT_FROM_COLUMNS:
            if name in vars(self):
                setattr(member, name, getattr(self, name))
        member.max_features_ = count_features(self.max_features, self.n_features_in_)
        return member

    def __len__(self) -> int:
        """Return the number of trees."""
        check_is_fitted(self)
        return len(self.trees_)

    def __bool__(self) -> bool:
        """Return True: a forest is not empty before it is fitted."""
        return True

    def __getitem__(self, index: int) -> Member:
        """Return a tree as a fitted decision tree."""
        return self.estimators_[index]

    def __iter__(self) -> Iterator[Member]:
        """Iterate over the trees as fitted decision trees."""
        return iter(self.estimators_)

    def apply(self, X: Any) -> np.ndarray:
        """Return the number of the node where each row of X (m, d) stops in each of T trees, shape (m, T)."""
        table = self._check_query(X)
        return np.column_stack([tree.apply(table) for tree in self.trees_])

    def _compute_partial_dependence_recursion(self, grid: Any, target_features: Any) -> np.ndarray:
        """Return the partial dependence at points (g, f) of these features (f,), shape (g,), for scikit-learn."""
        cells = encode_points(grid, target_features, self.categories_)
        of_trees = [compute_partial_dependence(tree, cells, target_features) for tree in self.trees_]
        return np.asarray(np.mean(of_trees, axis=0))

    def decision_path(self, X: Any) -> tuple[csr_matrix, np.ndarray]:
        """Return which nodes each row visits.

        Parameters
        ----------
        X : array-like of shape (m, d)

        Returns
        -------
        paths : csr_matrix of shape (m, k)
            1 where a row visits a node, of the k nodes of all trees.
        first_node : ndarray of shape (T + 1,), int
            The column of the first node of each tree; at last k.
        """
        table = self._check_query(X)
        parts = [mark_paths(tree, tree.apply(table)) for tree in self.trees_]
        node_counts = [tree.node_count for tree in self.trees_]
        first_node = np.cumsum([0, *node_counts])
        return csr_matrix(hstack(parts, format="csr")), first_node


def refuse_sparse_target(y: Any) -> None:
    """Raise ValueError for sparse targets, in the words of scikit-learn's forests."""
    if issparse(y):
        raise ValueError("sparse multilabel-indicator for y is not supported. Give one label or number for each row.")


def _copy_with_tree(member: Member, tree: Tree) -> Member:
    copied = copy(member)
    copied.fitted_tree_ = tree
    return copied
