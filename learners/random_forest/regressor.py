"""Random forest for targets: ŷ(x) = average over trees of ŷ_t(x)."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.utils._param_validation import StrOptions

from bakeoff.learners.base.estimator import Regressor
from bakeoff.learners.random_forest.base import Aim, ForestLearner
from bakeoff.learners.random_forest.bootstrap import Pool, mass_of_tree
from bakeoff.learners.random_forest.out_of_bag import spread
from bakeoff.learners.trees import REGRESSION, NumericTarget


class RandomForestRegressor(Regressor, ForestLearner):
    """Trees whose means are averaged.

    Parameters
    ----------
    n_estimators, max_depth, min_samples_split, min_samples_leaf, min_weight_fraction_leaf, min_impurity_decrease,
    max_leaf_nodes, ccp_alpha, feature_subset, bootstrap, max_samples, n_jobs, random_state, nominal_splits,
    categorical_features
        As in `RandomForestClassifier`.
    criterion : {"squared_error"}
    max_features : int, fraction, {"sqrt", "log2"} or None, default 1.0
        By default all.
    oob_score : bool, default False
        Whether to measure R² on rows out of the bag.

    Attributes
    ----------
    trees_ : list of Tree
    feature_importances_ : ndarray of shape (d,)
    oob_score_ : float
        R², by weight, of the predictions out of the bag.  With ``oob_score``.
    oob_prediction_ : ndarray of shape (n,)
        Those predictions; NaN for a row that every tree has seen, or of weight zero.

    Examples
    --------
    >>> forest = RandomForestRegressor(n_estimators=10, random_state=0)
    >>> forest.fit([[0], [1], [2], [9], [10], [11]], [1.0] * 3 + [5.0] * 3).predict([[1], [10]])
    array([1., 5.])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **ForestLearner._parameter_constraints,
        "criterion": [StrOptions(set(REGRESSION))],
    }

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        criterion: Literal["squared_error"] = "squared_error",
        max_depth: int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        min_weight_fraction_leaf: float = 0.0,
        min_impurity_decrease: float = 0.0,
        max_leaf_nodes: int | None = None,
        max_features: int | float | Literal["sqrt", "log2"] | None = 1.0,
        feature_subset: Literal["split", "tree"] = "split",
        bootstrap: bool = True,
        max_samples: int | float | None = None,
        oob_score: bool = False,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        ccp_alpha: float = 0.0,
        nominal_splits: Literal["multiway", "binary"] = "multiway",
        categorical_features: Any = "from_dtype",
    ) -> None:
        self.n_estimators = n_estimators
        self.criterion = criterion
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.min_impurity_decrease = min_impurity_decrease
        self.max_leaf_nodes = max_leaf_nodes
        self.max_features = max_features
        self.feature_subset = feature_subset
        self.bootstrap = bootstrap
        self.max_samples = max_samples
        self.oob_score = oob_score
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.ccp_alpha = ccp_alpha
        self.nominal_splits = nominal_splits
        self.categorical_features = categorical_features

    def _checked(self, X: Any, y: Any, sample_weight: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return self._check_fit(X, y, sample_weight)

    def _aim(self, pool: Pool, size: int | None) -> Aim:
        weight = pool.weight if size is None else np.ones(pool.weight.size)
        return Aim(NumericTarget(pool.truth, weight, mass_of_tree(pool, weight, size)), REGRESSION[self.criterion], 1)

    def _keep_test(self, answers: np.ndarray, pool: Pool, place: np.ndarray) -> None:
        tested = ~np.isnan(answers[:, 0])
        weight, truth = pool.weight[tested], pool.truth[tested]
        spread_out = float(weight @ (truth - np.average(truth, weights=weight)) ** 2) if tested.any() else 0.0
        left = float(weight @ (truth - answers[tested, 0]) ** 2)
        self.oob_prediction_ = spread(answers, place)[:, 0]
        self.oob_score_ = 1 - left / spread_out if spread_out > 0 else 0.0

    def _answers(self, value: np.ndarray) -> np.ndarray:
        return value

    def _values(self, X: np.ndarray) -> np.ndarray:
        return self._mean_answer(X)[:, 0]
