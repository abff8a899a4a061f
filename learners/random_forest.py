"""Random forest: many trees, each grown on a random part of the rows and asking random parts of the features.

    classes   p(k | x) = average over trees of p_t(k | x),  or the share of trees that vote for k
    targets   ŷ(x)     = average over trees of ŷ_t(x)

A tree sees n rows drawn with replacement (bootstrap), or a fraction of them without; and looks, at each node or in all
of the tree, at a random subset of the features.  Trees of a batch grow side by side, level by level, as one front.
Rows that a tree has not seen are out of its bag, and tell how well the forest does on new ones.

Cost, T trees: O(T n max_features c depth) to fit besides O(T n d depth) to keep rows sorted; O(T m depth) to predict.

Reference: L. Breiman, "Random forests", Machine Learning 45, 2001; subsets by tree: T. K. Ho, "The random subspace
method for constructing decision forests", 1998.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.utils import Tags, check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from learners.base import Learner, ProbabilisticClassifier, Regressor, with_input_tags
from learners.decision_tree.base import TreeLearner, features_to_draw, importances, rows_of
from learners.decision_tree.criteria import CLASSIFICATION, REGRESSION, Criterion
from learners.decision_tree.front import Front
from learners.decision_tree.growing import Growth, grow
from learners.decision_tree.targets import Labels, Target, Values
from learners.decision_tree.tree import Tree

BATCH = 1 << 16
"""Rows of all trees that grow together."""


class ForestLearner(Learner):
    """Abstract: draws rows and features, grows the trees, and adds up what they say.

    Attributes
    ----------
    trees_ : list of Tree
    feature_importances_ : ndarray of shape (d,)
        The mean of the trees' importances.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **{k: v for k, v in TreeLearner._parameter_constraints.items() if k not in ("ccp_alpha", "max_leaf_nodes")},
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "feature_subset": [StrOptions({"split", "tree"})],
        "bootstrap": ["boolean"],
        "max_samples": [Interval(Integral, 1, None, closed="left"), Interval(Real, 0, 1, closed="right"), None],
        "oob_score": ["boolean"],
    }

    def _fit_trees(self, X: np.ndarray, target: Target, criterion: Criterion) -> Iterator[np.ndarray]:
        """Grow ``trees_``; for each, yield the mask (n,) of the rows that it has seen."""
        n = X.shape[0]
        size = n if self.max_samples is None else min(n, rows_of(self.max_samples, n, least=1))
        seeds = check_random_state(self.random_state).randint(np.iinfo(np.int32).max, size=self.n_estimators)
        generators = [np.random.default_rng(seed) for seed in seeds]
        rank = np.argsort(np.argsort(X, axis=0), axis=0).T.astype(np.min_scalar_type(n))  # (d, n), missing cells last
        n_values = np.array([0 if values is None else len(values) for values in self.categories_])
        self.trees_: list[Tree] = []
        together = max(1, BATCH // size)
        for first in range(0, self.n_estimators, together):
            batch = generators[first : first + together]
            rows = np.stack([self._draw_rows(generator, n, size) for generator in batch])  # (trees, size)
            front = _front(X, n_values > 0, target.of(rows.ravel()), rank, rows)
            self.trees_ += grow(
                front, n_values, self._growth(X.shape[1], size, float(target.weight.sum()), criterion, batch)
            )
            for seen in rows:
                mask = np.zeros(n, dtype=bool)
                mask[seen] = True
                yield mask

    def _draw_rows(self, generator: np.random.Generator, n: int, size: int) -> np.ndarray:
        rows = generator.integers(0, n, size) if self.bootstrap else generator.permutation(n)[:size]
        return np.sort(rows)

    def _growth(
        self, d: int, size: int, weight: float, criterion: Criterion, generators: list[np.random.Generator]
    ) -> Growth:
        max_features = features_to_draw(self.max_features, d)
        whole_trees = self.feature_subset == "tree"
        subsets = [np.sort(g.permutation(d)[:max_features]) for g in generators] if whole_trees else []
        return Growth(
            criterion=criterion,
            max_depth=np.inf if self.max_depth is None else self.max_depth,
            min_samples_split=rows_of(self.min_samples_split, size, least=2),
            min_samples_leaf=rows_of(self.min_samples_leaf, size, least=1),
            min_weight_leaf=self.min_weight_fraction_leaf * weight,
            min_impurity_decrease=self.min_impurity_decrease,
            max_features=max_features,
            generators=[] if whole_trees or max_features == d else generators,
            subsets=subsets,
            multiway=self.nominal_splits == "multiway",
        )

    @abstractmethod
    def _answers(self, tree: Tree, X: np.ndarray) -> np.ndarray:
        """What one tree says of each row: shape (m, c) or (m, 1)."""

    def _mean_answer(self, X: np.ndarray) -> np.ndarray:
        total = self._answers(self.trees_[0], X).copy()
        for tree in self.trees_[1:]:
            total += self._answers(tree, X)
        return total / len(self.trees_)

    def _grow_and_test(self, X: np.ndarray, target: Target, criterion: Criterion, width: int) -> np.ndarray:
        """Grow the trees; return the mean answer (n, width) of those that have not seen the row, NaN where all have."""
        total, trees = np.zeros((X.shape[0], width)), np.zeros((X.shape[0], 1))
        for number, seen in enumerate(self._fit_trees(X, target, criterion)):
            if self.oob_score:
                total[~seen] += self._answers(self.trees_[number], X[~seen])
                trees[~seen] += 1
        return np.where(trees > 0, total / np.maximum(trees, 1), np.nan)

    @property
    def feature_importances_(self) -> np.ndarray:
        """The mean of the trees' importances, shape (d,); sums to 1, or all 0 without a split."""
        check_is_fitted(self)
        mean = np.mean([importances(tree, self.n_features_in_) for tree in self.trees_], axis=0)
        return mean / mean.sum() if mean.sum() > 0 else mean

    def __sklearn_tags__(self) -> Tags:
        return with_input_tags(super().__sklearn_tags__(), allow_nan=True, categorical=True)


def _front(X: np.ndarray, nominal: np.ndarray, target: Target, rank: np.ndarray, rows: np.ndarray) -> Front:
    """Put each tree's rows (trees, size) into a root of its own."""
    trees, size = rows.shape
    columns = np.ascontiguousarray(X.T).take(rows.ravel(), axis=1)
    missing = np.isnan(columns)
    columns = np.where(missing, np.inf, columns)
    # Small whole numbers sort by counting, much faster than the values themselves.
    order = np.argsort(rank[:, rows], axis=2, kind="stable") + np.arange(trees)[:, None] * size
    rows_in_node = np.full(trees, size)
    return Front(columns, nominal, order.reshape(X.shape[1], -1), rows_in_node, target, bool(missing.any()))


class RandomForestClassifier(ProbabilisticClassifier, ForestLearner):
    """Trees that vote.

    Parameters
    ----------
    n_estimators : int, default 100
        Trees.
    criterion, max_depth, min_samples_split, min_samples_leaf, min_weight_fraction_leaf, min_impurity_decrease,
    nominal_splits, categorical_features
        As in `DecisionTreeClassifier`; fractions are of the rows that a tree is given.
    max_features : int, fraction, {"sqrt", "log2"} or None, default "sqrt"
    feature_subset : {"split", "tree"}, default "split"
        Draw ``max_features`` features for each node, or once for each tree.
    bootstrap : bool, default True
        Draw rows with replacement, else without.
    max_samples : int, fraction, optional
        Rows drawn for each tree; all n by default.
    voting : {"average", "majority"}, default "average"
        Average the trees' probabilities, or count the classes that they predict.
    oob_score : bool, default False
        Whether to measure accuracy on rows out of the bag.
    class_weight : dict, "balanced", optional
    random_state : int, RandomState, optional

    Attributes
    ----------
    classes_ : ndarray of shape (c,)
    trees_ : list of Tree
    feature_importances_ : ndarray of shape (d,)
    oob_score_ : float
        The accuracy of each row's prediction by the trees that have not seen it.  With ``oob_score``.
    oob_decision_function_ : ndarray of shape (n, c)
        Those predictions; NaN for a row that every tree has seen.

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
        max_features: int | float | Literal["sqrt", "log2"] | None = "sqrt",
        feature_subset: Literal["split", "tree"] = "split",
        bootstrap: bool = True,
        max_samples: int | float | None = None,
        voting: Literal["average", "majority"] = "average",
        oob_score: bool = False,
        class_weight: dict[Any, float] | Literal["balanced"] | None = None,
        random_state: int | np.random.RandomState | None = None,
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
        self.max_features = max_features
        self.feature_subset = feature_subset
        self.bootstrap = bootstrap
        self.max_samples = max_samples
        self.voting = voting
        self.oob_score = oob_score
        self.class_weight = class_weight
        self.random_state = random_state
        self.nominal_splits = nominal_splits
        self.categorical_features = categorical_features

    def fit(self, X: Any, y: Any) -> Self:
        """Grow the trees.

        Parameters
        ----------
        X : array-like of shape (n, d)
        y : array-like of shape (n,)

        Returns
        -------
        self
        """
        X, codes, weight = self._check_fit(X, y)
        target = Labels(codes, weight, self.classes_.size, self.criterion)
        answers = self._grow_and_test(X, target, CLASSIFICATION[self.criterion], self.classes_.size)
        if self.oob_score:
            tested = ~np.isnan(answers[:, 0])
            self.oob_decision_function_ = answers
            self.oob_score_ = (
                float(np.mean(np.argmax(answers[tested], axis=1) == codes[tested])) if tested.any() else 0.0
            )
        return self

    def _answers(self, tree: Tree, X: np.ndarray) -> np.ndarray:
        if self.voting == "majority":
            votes = np.zeros_like(tree.value)
            votes[np.arange(tree.node_count), np.argmax(tree.value, axis=1)] = 1
            return votes[tree.apply(X)]
        return tree.value[tree.apply(X)]

    def _class_scores(self, X: np.ndarray) -> np.ndarray:
        return self._mean_answer(X)


class RandomForestRegressor(Regressor, ForestLearner):
    """Trees whose means are averaged.

    Parameters
    ----------
    n_estimators, max_depth, min_samples_split, min_samples_leaf, min_weight_fraction_leaf, min_impurity_decrease,
    feature_subset, bootstrap, max_samples, random_state, nominal_splits, categorical_features
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
        R² of the predictions out of the bag.  With ``oob_score``.
    oob_prediction_ : ndarray of shape (n,)
        Those predictions; NaN for a row that every tree has seen.

    Examples
    --------
    >>> forest = RandomForestRegressor(n_estimators=10, random_state=0)
    >>> forest.fit([[0], [1], [2], [9], [10], [11]], [1.0] * 3 + [5.0] * 3).predict([[1], [10]])
    array([1.4, 5. ])
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
        max_features: int | float | Literal["sqrt", "log2"] | None = 1.0,
        feature_subset: Literal["split", "tree"] = "split",
        bootstrap: bool = True,
        max_samples: int | float | None = None,
        oob_score: bool = False,
        random_state: int | np.random.RandomState | None = None,
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
        self.max_features = max_features
        self.feature_subset = feature_subset
        self.bootstrap = bootstrap
        self.max_samples = max_samples
        self.oob_score = oob_score
        self.random_state = random_state
        self.nominal_splits = nominal_splits
        self.categorical_features = categorical_features

    def fit(self, X: Any, y: Any) -> Self:
        """Grow the trees.

        Parameters
        ----------
        X : array-like of shape (n, d)
        y : array-like of shape (n,)

        Returns
        -------
        self
        """
        X, y, weight = self._check_fit(X, y)
        answers = self._grow_and_test(X, Values(y, weight), REGRESSION[self.criterion], 1)[:, 0]
        if self.oob_score:
            tested = ~np.isnan(answers)
            self.oob_prediction_ = answers
            spread = float(np.sum((y[tested] - y[tested].mean()) ** 2)) if tested.any() else 0.0
            left = float(np.sum((y[tested] - answers[tested]) ** 2))
            self.oob_score_ = 1 - left / spread if spread > 0 else 0.0
        return self

    def _answers(self, tree: Tree, X: np.ndarray) -> np.ndarray:
        return tree.value[tree.apply(X)]

    def _values(self, X: np.ndarray) -> np.ndarray:
        return self._mean_answer(X)[:, 0]
