"""Decision tree for numeric targets: the regression tree of CART.

    ŷ(x) = Σ_l ŷ_l I{x in R_l},   ŷ_l = Average{y_i : x_i in R_l}

Regions are found by recursive binary splitting: the pair (feature j, threshold s) that minimises

    Σ_{x_j < s} (y_i - ŷ_left)² + Σ_{x_j >= s} (y_i - ŷ_right)²

`bakeoff.learners.definitions.decision_tree` defines the algorithm. This implementation grows the same tree faster, in
the same way as the classification tree (`bakeoff.learners.trees`).

Cost: O(n d log n + n d depth) to fit, O(m depth) to predict.

Reference: Breiman, Friedman, Olshen, Stone, "Classification and Regression Trees", 1984, chapter 8.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.utils._param_validation import StrOptions

from bakeoff.learners.base.estimator import Regressor
from bakeoff.learners.decision_tree.base import TreeLearner
from bakeoff.learners.trees import (
    REGRESSION,
    NodeLosses,
    NumericTarget,
    Tree,
    sum_squares_at_nodes,
)


class DecisionTreeRegressor(Regressor, TreeLearner):
    """A decision tree for regression; each split tests one feature.

    Questions, ties, missing cells and unseen values are as in `DecisionTreeClassifier`; the prediction for a row is
    the mean of the node where it stops.

    Parameters
    ----------
    criterion : {"squared_error"}, default "squared_error"
        The variance within nodes.
    splitter : {"best", "random"}, default "best"
        As in `DecisionTreeClassifier`.
    max_depth, min_samples_split, min_samples_leaf, min_weight_fraction_leaf, min_impurity_decrease, max_leaf_nodes,
    max_features, random_state, ccp_alpha, nominal_splits, categorical_features, thresholds
        As in `DecisionTreeClassifier`; impurities are in squared units of the target.

    Attributes
    ----------
    fitted_tree_ : Tree
    feature_importances_ : ndarray of shape (d,)
    pruning_path_ : dict
        Set by `prune`: ``leaves``, ``depth`` and ``score`` at each step, starting with the unpruned tree. The score is
        the negative mean squared error on the validation rows.

    Examples
    --------
    >>> tree = DecisionTreeRegressor(max_depth=1).fit([[1], [2], [3], [4]], [0.0, 0.0, 6.0, 8.0])
    >>> tree.predict([[2.4], [2.5]])
    array([0., 7.])
    """

    _counterpart = ("sklearn.tree", "DecisionTreeRegressor")

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **TreeLearner._parameter_constraints,
        "criterion": [StrOptions(set(REGRESSION))],
    }

    def __init__(
        self,
        *,
        criterion: Literal["squared_error"] = "squared_error",
        splitter: Literal["best", "random"] = "best",
        max_depth: int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        min_weight_fraction_leaf: float = 0.0,
        min_impurity_decrease: float = 0.0,
        max_leaf_nodes: int | None = None,
        max_features: int | float | Literal["sqrt", "log2"] | None = None,
        random_state: int | np.random.RandomState | None = None,
        ccp_alpha: float = 0.0,
        nominal_splits: Literal["multiway", "binary"] = "multiway",
        categorical_features: Any = "from_dtype",
        thresholds: Literal["midpoints", "values"] = "midpoints",
    ) -> None:
        self.criterion = criterion
        self.splitter = splitter
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.min_impurity_decrease = min_impurity_decrease
        self.max_leaf_nodes = max_leaf_nodes
        self.max_features = max_features
        self.random_state = random_state
        self.ccp_alpha = ccp_alpha
        self.nominal_splits = nominal_splits
        self.categorical_features = categorical_features
        self.thresholds = thresholds

    def _grow_unpruned(self, X: Any, y: Any, sample_weight: Any) -> Tree:
        X, y, weight = self._check_fit(X, y, sample_weight)
        target = NumericTarget(y, weight)
        return self._grow(X, target, REGRESSION[self.criterion])

    def _values(self, X: np.ndarray) -> np.ndarray:
        return self.fitted_tree_.value[self.fitted_tree_.apply(X), 0]

    def _compute_losses(self, X: np.ndarray, y: np.ndarray, weight: np.ndarray) -> NodeLosses:
        stop = self.fitted_tree_.apply(X)
        return sum_squares_at_nodes(self.fitted_tree_, stop, y.astype(np.float64), weight)

    def _score_losses(self, loss: np.ndarray, weight: float) -> np.ndarray:
        return -loss / weight
