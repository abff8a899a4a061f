"""Random forest for regression: the average prediction of trees on bootstrap samples."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Literal, final

import numpy as np
from sklearn.utils._param_validation import StrOptions

from bakeoff.learners.base.estimator import Regressor
from bakeoff.learners.decision_tree import DecisionTreeRegressor
from bakeoff.learners.random_forest.base import ForestLearner
from bakeoff.learners.random_forest.bootstrap import TrainingRows, average_tree_weight
from bakeoff.learners.trees import (
    REGRESSION,
    Criterion,
    NumericTarget,
)


@final
class RandomForestRegressor(Regressor, ForestLearner):
    """A random forest for regression.

    Parameters
    ----------
    n_estimators, max_depth, min_samples_split, min_samples_leaf, min_weight_fraction_leaf, min_impurity_decrease,
    max_leaf_nodes, ccp_alpha, feature_subset, bootstrap, max_samples, n_jobs, random_state, nominal_splits,
    categorical_features
        As in `RandomForestClassifier`.
    criterion : {"squared_error"}, default "squared_error"
        As in `DecisionTreeRegressor`.
    max_features : int, fraction, {"sqrt", "log2"} or None, default 1.0
        The number of features drawn; by default all.
    oob_score : bool or callable, default False
        Whether to measure R² on out-of-bag rows; or a function that maps their targets and predictions, one for each
        given row, to a score.

    Attributes
    ----------
    trees_ : list of Tree
    feature_importances_ : ndarray of shape (d,)
    oob_score_ : float
        The weighted R² of the out-of-bag predictions. Available with ``oob_score``.
    oob_prediction_ : ndarray of shape (n,)
        These predictions; NaN for a row that every tree has drawn or whose weight is zero.

    Examples
    --------
    >>> forest = RandomForestRegressor(n_estimators=10, random_state=0)
    >>> forest.fit([[0], [1], [2], [9], [10], [11]], [1.0] * 3 + [5.0] * 3).predict([[1], [10]])
    array([1., 5.])
    """

    _criteria: ClassVar[Mapping[str, Criterion]] = REGRESSION

    _counterpart = ("sklearn.ensemble", "RandomForestRegressor")
    _member = DecisionTreeRegressor

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
        oob_score: bool | Callable[[np.ndarray, np.ndarray], float] = False,
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

    @property
    def _prediction_width(self) -> int:
        return 1

    def _check_training_data(self, X: Any, y: Any, sample_weight: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return self._check_fit(X, y, sample_weight)

    def _make_target(self, rows: TrainingRows, n_draws: int | None) -> NumericTarget:
        weight = rows.weigh_each_draw(n_draws)
        tree_weight = average_tree_weight(rows, weight, n_draws)
        return NumericTarget(rows.y, weight, tree_weight)

    def _predict_at_nodes(self, value: np.ndarray) -> np.ndarray:
        return value

    def _score_out_of_bag(self, predictions: np.ndarray, rows: TrainingRows) -> float:
        has_prediction = ~np.isnan(predictions[:, 0])  # (k,)
        if not has_prediction.any():
            return 0.0
        weight = rows.weight[has_prediction]
        y = rows.y[has_prediction]
        if callable(self.oob_score):
            given = rows.inverse[has_prediction[rows.inverse]]
            return float(self.oob_score(rows.y[given], predictions[given, 0]))
        mean = np.average(y, weights=weight)
        total_squares = float(weight @ (y - mean) ** 2)
        residual_squares = float(weight @ (y - predictions[has_prediction, 0]) ** 2)
        return 1 - residual_squares / total_squares if total_squares > 0 else 0.0

    def _store_out_of_bag(self, predictions: np.ndarray) -> None:
        self.oob_prediction_ = predictions[:, 0]

    def _values(self, X: np.ndarray) -> np.ndarray:
        return self._average_predictions(X)[:, 0]
