"""Random forest for classification: trees on bootstrap samples, whose probabilities or votes are averaged."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Literal, final

import numpy as np
from sklearn.utils._param_validation import StrOptions

from bakeoff.learners.base.estimator import ProbabilisticClassifier
from bakeoff.learners.decision_tree import DecisionTreeClassifier
from bakeoff.learners.random_forest.base import ForestLearner
from bakeoff.learners.random_forest.bootstrap import TrainingRows, average_tree_weight
from bakeoff.learners.trees import CLASSIFICATION, ClassTarget, Criterion


@final
class RandomForestClassifier(ProbabilisticClassifier, ForestLearner):
    """A random forest for classification.

    Parameters
    ----------
    n_estimators : int, default 100
        The number of trees.
    criterion, max_depth, min_samples_split, min_samples_leaf, min_weight_fraction_leaf, min_impurity_decrease,
    max_leaf_nodes, ccp_alpha, nominal_splits, categorical_features
        As in `DecisionTreeClassifier`, for every tree. Fractions refer to the rows, or to the weight, of a tree.
    max_features : int, fraction, {"sqrt", "log2"} or None, default "sqrt"
        The number of features drawn.
    feature_subset : {"split", "tree"}, default "split"
        Whether features are drawn for each node, or once for each tree.
    bootstrap : bool, default True
        Whether rows are drawn with replacement.
    max_samples : int, fraction, optional
        The number of rows drawn for each tree, or a fraction of the total of ``sample_weight``, rounded up; it may
        exceed 1. By default, the number of draws is the total, which is n without weights.
    voting : {"average", "majority"}, default "average"
        Whether the trees' probabilities are averaged, or the classes that they predict are counted.
    oob_score : bool or callable, default False
        Whether to measure the accuracy on out-of-bag rows; or a function that maps the class codes of these rows, which
        are positions in ``classes_``, and their predicted codes, one for each given row, to a score.
    class_weight : dict, "balanced", "balanced_subsample", optional
        Weights of classes in the criterion and in the leaves; they do not change which rows are drawn. With
        "balanced_subsample", all classes have equal weight among the rows of each tree.
    n_jobs : int, optional
        The number of processes that grow trees; -1 for all cores, -2 for all but one. The result is the same.
    random_state : int, RandomState, optional
    class_order : array-like of the classes, optional
        The order that breaks ties between classes with equal votes, in a tree or in the forest; by default the smallest
        class is predicted.

    Attributes
    ----------
    classes_ : ndarray of shape (c,)
    trees_ : list of Tree
    feature_importances_ : ndarray of shape (d,)
    oob_score_ : float
        The weighted accuracy of the prediction of each row by the trees that have drawn neither it nor an equal row.
        Available with ``oob_score``.
    oob_decision_function_ : ndarray of shape (n, c)
        The class probabilities of these predictions; NaN for a row that every tree has drawn or whose weight is zero.

    Examples
    --------
    >>> forest = RandomForestClassifier(n_estimators=10, random_state=0)
    >>> forest.fit([[0], [1], [2], [9], [10], [11]], ["low"] * 3 + ["high"] * 3).predict([[1], [10]])
    array(['low', 'high'], dtype='<U4')
    """

    _criteria: ClassVar[Mapping[str, Criterion]] = CLASSIFICATION

    _counterpart = ("sklearn.ensemble", "RandomForestClassifier")
    _member = DecisionTreeClassifier

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **ForestLearner._parameter_constraints,
        "criterion": [StrOptions(set(CLASSIFICATION))],
        "voting": [StrOptions({"average", "majority"})],
        "class_weight": [dict, StrOptions({"balanced", "balanced_subsample"}), None],
        "class_order": ["array-like", None],
    }

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        criterion: Literal["gini", "entropy", "log_loss", "gain_ratio", "misclassification"] = "gini",
        max_depth: int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        min_weight_fraction_leaf: float = 0.0,
        min_impurity_decrease: float = 0.0,
        max_leaf_nodes: int | None = None,
        max_features: int | float | Literal["sqrt", "log2"] | None = "sqrt",
        feature_subset: Literal["split", "tree"] = "split",
        bootstrap: bool = True,
        max_samples: int | float | None = None,
        voting: Literal["average", "majority"] = "average",
        oob_score: bool | Callable[[np.ndarray, np.ndarray], float] = False,
        class_weight: dict[Any, float] | Literal["balanced", "balanced_subsample"] | None = None,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        ccp_alpha: float = 0.0,
        nominal_splits: Literal["multiway", "binary"] = "multiway",
        categorical_features: Any = "from_dtype",
        class_order: Any = None,
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
        self.voting = voting
        self.oob_score = oob_score
        self.class_weight = class_weight
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.ccp_alpha = ccp_alpha
        self.nominal_splits = nominal_splits
        self.categorical_features = categorical_features
        self.class_order = class_order

    @property
    def n_classes_(self) -> int:
        """The number of classes."""
        return self.classes_.size

    @property
    def _prediction_width(self) -> int:
        return self.classes_.size

    def _check_training_data(self, X: Any, y: Any, sample_weight: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return self._check_rows(X, y, sample_weight)

    def _make_target(self, rows: TrainingRows, n_draws: int | None) -> ClassTarget:
        weight = rows.weigh_each_draw(n_draws)
        if self.class_weight is not None and not self._balances_each_tree(n_draws):
            weight = weight * self._compute_class_weight(rows.y, rows.weight)
        tree_weight = average_tree_weight(rows, weight, n_draws)
        return ClassTarget(rows.y, weight, self.classes_.size, self.criterion, tree_weight)

    def _balances_each_tree(self, n_draws: int | None) -> bool:
        return self.class_weight == "balanced_subsample" and n_draws is not None

    def _predict_at_nodes(self, value: np.ndarray) -> np.ndarray:
        if self.voting == "average":
            return value
        votes = np.zeros_like(value)  # (nodes, c)
        majority = self._choose_classes(value)
        votes[np.arange(value.shape[0]), majority] = 1
        return votes

    def _score_out_of_bag(self, predictions: np.ndarray, rows: TrainingRows) -> float:
        has_prediction = ~np.isnan(predictions[:, 0])  # (k,)
        if not has_prediction.any():
            return 0.0
        if callable(self.oob_score):
            given = rows.inverse[has_prediction[rows.inverse]]
            predicted = self._choose_classes(predictions[given])
            return float(self.oob_score(rows.y[given], predicted))
        predicted = self._choose_classes(predictions[has_prediction])
        is_correct = predicted == rows.y[has_prediction]
        return float(np.average(is_correct, weights=rows.weight[has_prediction]))

    def _store_out_of_bag(self, predictions: np.ndarray) -> None:
        self.oob_decision_function_ = predictions

    def _class_scores(self, X: np.ndarray) -> np.ndarray:
        return self._average_predictions(X)
