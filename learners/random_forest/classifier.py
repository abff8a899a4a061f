"""Random forest for classes: p(k | x) = average over trees of p_t(k | x), or the share of trees that vote for k."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.utils._param_validation import StrOptions

from bakeoff.learners.base.estimator import ProbabilisticClassifier
from bakeoff.learners.random_forest.base import Aim, ForestLearner
from bakeoff.learners.random_forest.bootstrap import Pool, mass_of_tree
from bakeoff.learners.random_forest.out_of_bag import spread
from bakeoff.learners.trees import CLASSIFICATION, ClassTarget


class RandomForestClassifier(ProbabilisticClassifier, ForestLearner):
    """Trees that vote.

    Parameters
    ----------
    n_estimators : int, default 100
        Trees.
    criterion, max_depth, min_samples_split, min_samples_leaf, min_weight_fraction_leaf, min_impurity_decrease,
    max_leaf_nodes, ccp_alpha, nominal_splits, categorical_features
        As in `DecisionTreeClassifier`, for every tree; fractions are of the rows that a tree is given.
    max_features : int, fraction, {"sqrt", "log2"} or None, default "sqrt"
    feature_subset : {"split", "tree"}, default "split"
        Draw ``max_features`` features for each node, or once for each tree.
    bootstrap : bool, default True
        Draw rows with replacement, else without.
    max_samples : int, fraction, optional
        Rows drawn for each tree: a number, or a fraction of the total of ``sample_weight``; by default all of it, which
        is n without weights.
    voting : {"average", "majority"}, default "average"
        Average the trees' probabilities, or count the classes that they predict.
    oob_score : bool, default False
        Whether to measure accuracy on rows out of the bag.
    class_weight : dict, "balanced", optional
        Weighs classes in the criterion and in the leaves; what is drawn does not depend on it.
    n_jobs : int, optional
        Processes that grow trees; -1 for all cores, -2 for all but one.  It does not change the result.
    random_state : int, RandomState, optional

    Attributes
    ----------
    classes_ : ndarray of shape (c,)
    trees_ : list of Tree
    feature_importances_ : ndarray of shape (d,)
    oob_score_ : float
        The accuracy, by weight, of each row's prediction by the trees that have seen neither it nor an equal one.
        With ``oob_score``.
    oob_decision_function_ : ndarray of shape (n, c)
        Those predictions; NaN for a row that every tree has seen, or of weight zero.

    Examples
    --------
    >>> forest = RandomForestClassifier(n_estimators=10, random_state=0)
    >>> forest.fit([[0], [1], [2], [9], [10], [11]], ["low"] * 3 + ["high"] * 3).predict([[1], [10]])
    array(['low', 'high'], dtype='<U4')
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **ForestLearner._parameter_constraints,
        "criterion": [StrOptions(set(CLASSIFICATION))],
        "voting": [StrOptions({"average", "majority"})],
        "class_weight": [dict, StrOptions({"balanced"}), None],
    }

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        criterion: Literal["gini", "entropy", "gain_ratio", "misclassification"] = "gini",
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
        oob_score: bool = False,
        class_weight: dict[Any, float] | Literal["balanced"] | None = None,
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
        self.voting = voting
        self.oob_score = oob_score
        self.class_weight = class_weight
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.ccp_alpha = ccp_alpha
        self.nominal_splits = nominal_splits
        self.categorical_features = categorical_features

    def _checked(self, X: Any, y: Any, sample_weight: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return self._check_rows(X, y, sample_weight)

    def _aim(self, pool: Pool, size: int | None) -> Aim:
        weight = pool.weight if size is None else np.ones(pool.weight.size)
        if self.class_weight is not None:
            weight = weight * self._compute_class_weight(pool.truth, pool.weight)
        mass = mass_of_tree(pool, weight, size)
        target = ClassTarget(pool.truth, weight, self.classes_.size, self.criterion, mass)
        return Aim(target, CLASSIFICATION[self.criterion], self.classes_.size)

    def _keep_test(self, answers: np.ndarray, pool: Pool, place: np.ndarray) -> None:
        tested = ~np.isnan(answers[:, 0])
        right = np.argmax(answers[tested], axis=1) == pool.truth[tested]
        self.oob_decision_function_ = spread(answers, place)
        self.oob_score_ = float(np.average(right, weights=pool.weight[tested])) if tested.any() else 0.0

    def _answers(self, value: np.ndarray) -> np.ndarray:
        if self.voting == "average":
            return value
        votes = np.zeros_like(value)
        votes[np.arange(value.shape[0]), np.argmax(value, axis=1)] = 1
        return votes

    def _class_scores(self, X: np.ndarray) -> np.ndarray:
        return self._mean_answer(X)
