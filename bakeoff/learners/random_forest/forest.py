"""Random forest: the average of many trees, each grown on random rows and with random features.

    classification   p(k | x) = average over trees of p_t(k | x),  or the share of trees that vote for k
    regression       ŷ(x)     = average over trees of ŷ_t(x)

`bakeoff.learners.definitions.random_forest` defines the algorithm. This implementation is faster because the trees of a
batch grow as one frontier over columns that are sorted or encoded once (``batch_grower``), and because all trees
predict together (``predictor``).

A tree is grown on n rows drawn with replacement (a bootstrap sample), or on a fraction of the rows drawn without
replacement. It draws a random subset of the features for each node, or once for the whole tree. The rows not drawn by a
tree are its out-of-bag rows, from which the generalization of the forest is estimated.

A sample weight is the number of times that a row counts: rows are drawn in proportion to their weights, and the total
weight is the number of draws. Trees that use all rows without drawing apply the weights in their criterion and in their
leaves, as a decision tree does.

Cost: for T trees, O(T n max_features c depth) to fit and O(T m depth) to predict.

References
----------
L. Breiman, "Random forests", Machine Learning 45, 2001.
T. K. Ho, "The random subspace method for constructing decision forests", IEEE Transactions on Pattern Analysis and
Machine Intelligence 20, 1998 (feature subsets per tree).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from numbers import Integral
from typing import Any, ClassVar, Literal, Self, final

import numpy as np
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.utils import Tags, check_random_state
from sklearn.utils._param_validation import Interval, RealNotInt, StrOptions
from sklearn.utils.validation import check_is_fitted

from bakeoff.learners.base.estimator import Learner, ProbabilisticClassifier, Regressor, SklearnCounterpart
from bakeoff.learners.base.input_checks import check_path_values, with_input_tags
from bakeoff.learners.decision_tree import DecisionTreeClassifier, DecisionTreeRegressor
from bakeoff.learners.decision_tree.base import encode_points, mark_paths
from bakeoff.learners.random_forest.batch_grower import (
    BatchGrower,
    FeatureOrder,
    OutOfBag,
    Sampling,
    TrainingRows,
    average_tree_weight,
    count_draws,
    expand_to_given_rows,
    order_features,
    require_rows_out_of_bag,
    warn_of_rows_in_every_bag,
)
from bakeoff.learners.random_forest.predictor import average_over_trees
from bakeoff.learners.trees import (
    CLASSIFICATION,
    REGRESSION,
    TREE_CONSTRAINTS,
    ClassTarget,
    Criterion,
    NumericTarget,
    Target,
    Tree,
    compute_partial_dependence,
    count_categories,
    count_features,
    derive_limits,
    prune_to_cost,
)


class ForestLearner(SklearnCounterpart, Learner):
    """Abstract: draws rows and features, grows the trees, and averages their predictions.

    It has the attributes and methods of scikit-learn's forests.

    Attributes
    ----------
    trees_ : list of Tree
    estimators_ : list of decision trees
        The same trees as fitted estimators.
    feature_importances_ : ndarray of shape (d,)
        The average of the trees' importances.
    n_outputs_ : int
        Always 1.
    """

    trees_: list[Tree]
    max_features: int | float | str | None
    n_outputs_: ClassVar[int] = 1
    scale_sensitive: ClassVar[bool] = False
    path_parameters: ClassVar[tuple[str, ...]] = ("n_estimators",)
    """The parameters supported by `path`."""

    _member: ClassVar[type[Member]]
    """The class of ``estimators_``."""

    _criteria: ClassVar[Mapping[str, Criterion]]
    """Maps values of the parameter ``criterion`` to criteria of splits."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **TREE_CONSTRAINTS,
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "feature_subset": [StrOptions({"split", "tree"})],
        "bootstrap": ["boolean"],
        "max_samples": [
            Interval(Integral, 1, None, closed="left"),
            Interval(RealNotInt, 0.0, None, closed="neither"),
            None,
        ],
        "oob_score": ["boolean", callable],
        "n_jobs": [Integral, None],
    }

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Grow the trees.

        Parameters
        ----------
        X : array-like of shape (n, d)
        y : array-like of shape (n,)
        sample_weight : array-like of shape (n,), optional
            The number of times that each row counts. With ``bootstrap``, rows are drawn in proportion to their weights,
            and the total weight is the number of draws. Without it, trees with ``max_samples`` draw from that number of
            copies of each row, which must be whole. In both cases, integer weights give bit for bit the forest of a
            table in which each row is repeated that many times. If neither is set and nothing is drawn, every tree uses
            all rows with their weights, as `DecisionTreeClassifier` does: for ``min_samples_split`` and
            ``min_samples_leaf``, a row of weight 2 is one row, while two equal rows are two.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If weights are fractional although a part of the rows is drawn without replacement.

        Warns
        -----
        UserWarning
            If the weights sum to less than a tenth of the number of rows, so that trees draw too few rows.
        """
        for _ in self._grow_forests(X, y, sample_weight, {self.n_estimators}):
            pass
        return self

    def path(self, X: Any, y: Any, parameter: str, values: Sequence[Any], sample_weight: Any = None) -> Iterator[Self]:
        """Fit forests of several sizes: the trees of a smaller one are the first trees of the largest.

        Parameters
        ----------
        X : array-like of shape (n, d), y : array-like of shape (n,)
        parameter : {"n_estimators"}
        values : sequence of int
        sample_weight : array-like of shape (n,), optional

        Yields
        ------
        estimator
            For each value in turn, an estimator equal to a clone fitted with that value. Estimators share trees.

        Raises
        ------
        ValueError
            If the parameter is not supported, or a value is invalid.
        """
        values = check_path_values(self, parameter, values)
        if not values:
            return
        largest = clone(self).set_params(n_estimators=max(values))
        sizes = largest._grow_forests(X, y, sample_weight, set(values))
        # A copy of the forest at each size keeps the out-of-bag attributes of that size.
        fitted_by_size = {size: copy(largest) for size in sizes}
        for size in values:
            fitted = copy(fitted_by_size[size])
            fitted.n_estimators = size
            fitted.trees_ = largest.trees_[:size]
            yield fitted

    def list_draws(self, X: Any, y: np.ndarray) -> list[tuple[np.ndarray, FeatureOrder]]:
        """Return the random choices of each tree: the positions of its rows, and the order of features in its nodes.

        Parameters
        ----------
        X : ndarray of shape (n, d), y : ndarray of shape (n,)
            The rows of ``fit``, which had no weights. Of equal rows, the first one stands for all.

        Raises
        ------
        ValueError
            If ``random_state`` is not an integer, from which the draws can be repeated.
        """
        if not isinstance(self.random_state, Integral):
            raise ValueError(f"random_state={self.random_state} must be an integer to repeat the draws.")
        cells = encode_points(X, range(self.n_features_in_), self.categories_)
        _, codes = np.unique(y, return_inverse=True)
        weight = np.ones(len(y))
        n_draws = count_draws(self.max_samples, weight, replacement=self.bootstrap)
        training = TrainingRows.from_table(cells, codes, weight, merge_equal=n_draws is not None)
        _, first = np.unique(training.inverse, return_index=True)  # (k,)
        subset_size = count_features(self.max_features, self.n_features_in_)
        per_tree = self.feature_subset == "tree"
        draws = []
        for tree, generator in zip(self.trees_, self._make_generators(), strict=True):
            rows = first
            if n_draws is not None:
                counts = training.draw_counts(generator, n_draws, replacement=self.bootstrap)
                rows = np.repeat(first, counts)
            visited = mark_paths(tree, tree.apply(cells)).toarray()  # (n, nodes)
            draws.append((rows, order_features(tree, visited, generator, subset_size, per_tree=per_tree)))
        return draws

    @property
    @abstractmethod
    def _prediction_width(self) -> int:
        """The number of columns of a prediction: classes, or 1."""

    @abstractmethod
    def _check_training_data(self, X: Any, y: Any, sample_weight: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Check the arguments of ``fit``: return X (n, d), codes or targets (n,) and positive weights (n,)."""

    @abstractmethod
    def _make_target(self, rows: TrainingRows, n_draws: int | None) -> Target:
        """Return the target of the rows for trees that draw ``n_draws`` of them; with None, they use all rows."""

    def _balances_each_tree(self, n_draws: int | None) -> bool:
        """Whether all classes have equal weight among the rows of each tree."""
        return False

    @abstractmethod
    def _predict_at_nodes(self, value: np.ndarray) -> np.ndarray:
        """Return the predictions of nodes with these values: the same shape, (nodes, width)."""

    @abstractmethod
    def _score_out_of_bag(self, predictions: np.ndarray, rows: TrainingRows) -> float:
        """Return the score of out-of-bag predictions (k, width), NaN for rows without one; 0 if no row has one."""

    @abstractmethod
    def _store_out_of_bag(self, predictions: np.ndarray) -> None:
        """Store the out-of-bag predictions (n, width), NaN for rows without one."""

    def _grow_forests(self, X: Any, y: Any, sample_weight: Any, sizes: set[int]) -> Iterator[int]:
        """Grow ``trees_``; yield each size as soon as the learner is fitted as a forest of that many trees."""
        refuse_sparse_target(y)
        X, y, weight = self._check_training_data(X, y, sample_weight)
        n_draws = count_draws(self.max_samples, weight, replacement=self.bootstrap)
        self._n_samples_bootstrap = weight.size if n_draws is None else n_draws
        if self.oob_score:
            require_rows_out_of_bag(n_draws)
        # Equal rows are merged so that draws do not depend on how the table lists them; nothing else depends on it.
        rows = TrainingRows.from_table(X, y, weight, merge_equal=n_draws is not None)
        target = self._make_target(rows, n_draws)
        grower = self._make_grower(rows, target, n_draws)
        generators = self._make_generators()
        out_of_bag = OutOfBag(rows.weight.size, self._prediction_width)
        self.trees_ = []
        for unpruned, in_bag in grower.grow_trees(generators, self.n_jobs):
            tree = prune_to_cost(unpruned, self.ccp_alpha)
            self.trees_.append(tree)
            if self.oob_score:
                predictions = self._predict_with_tree(tree, rows.X[~in_bag])
                out_of_bag.add_predictions(~in_bag, predictions)
            size = len(self.trees_)
            if size not in sizes:
                continue
            # A forest of this size is a separate result, so it needs the out-of-bag attributes of its trees.
            if self.oob_score:
                self._set_out_of_bag_attributes(out_of_bag.predictions, rows, sample_weight)
            yield size

    def _make_generators(self) -> list[np.random.Generator]:
        """Return a separate generator for each tree, so that no tree depends on the others."""
        random_state = check_random_state(self.random_state)
        n_seeds = np.iinfo(np.int32).max
        seeds = random_state.randint(n_seeds, size=self.n_estimators)  # (T,)
        return [np.random.default_rng(seed) for seed in seeds]

    def _make_grower(self, rows: TrainingRows, target: Target, n_draws: int | None) -> BatchGrower:
        k, d = rows.X.shape
        n_rows_per_tree = k if n_draws is None else n_draws
        tree_weight = average_tree_weight(rows, target.weight, n_draws)
        criterion = self._criteria[self.criterion]
        limits = derive_limits(self, criterion, n_rows_per_tree, d, tree_weight)
        balances_classes = self._balances_each_tree(n_draws)
        sampling = Sampling(n_draws, self.bootstrap, self.feature_subset == "tree", balances_classes)
        n_values = count_categories(self.categories_)
        return BatchGrower(rows, target, n_values, sampling, limits)

    def _predict_with_tree(self, tree: Tree, X: np.ndarray) -> np.ndarray:
        """Return the predictions of one tree for rows X (r, d): shape (r, width)."""
        stop = tree.apply(X)
        return self._predict_at_nodes(tree.value)[stop]

    def _set_out_of_bag_attributes(self, predictions: np.ndarray, rows: TrainingRows, sample_weight: Any) -> None:
        warn_of_rows_in_every_bag(predictions)
        self.oob_score_ = self._score_out_of_bag(predictions, rows)
        self._store_out_of_bag(expand_to_given_rows(predictions, rows, sample_weight))

    def _average_predictions(self, X: np.ndarray) -> np.ndarray:
        """Return the average prediction of the trees for rows X (m, d): shape (m, width)."""
        predictions = [self._predict_at_nodes(tree.value) for tree in self.trees_]
        return average_over_trees(self.trees_, X, predictions)

    @property
    def estimators_(self) -> list[Member]:
        """The trees as fitted decision trees, which share the arrays of the forest.

        They have the forest's parameters, except ``random_state``: a tree fitted alone draws different features. Unlike
        scikit-learn's, they predict labels rather than class codes.
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

    def apply(self, X: Any) -> np.ndarray:
        """Return the number of the node where each row of X (m, d) stops in each of T trees: shape (m, T)."""
        table = self._check_query(X)
        return np.column_stack([tree.apply(table) for tree in self.trees_])

    def _compute_partial_dependence_recursion(self, grid: Any, target_features: Any) -> np.ndarray:
        """Return the partial dependence at points (g, f) of these features (f,), shape (g,), for scikit-learn."""
        cells = encode_points(grid, target_features, self.categories_)
        of_trees = [compute_partial_dependence(tree, cells, target_features) for tree in self.trees_]
        return np.asarray(np.mean(of_trees, axis=0))

    @property
    def feature_importances_(self) -> np.ndarray:
        """The average of the trees' importances, shape (d,); sums to 1, or is 0 without a split."""
        check_is_fitted(self)
        importances = [tree.compute_feature_importances() for tree in self.trees_]
        average = np.mean(importances, axis=0)  # (d,)
        total = average.sum()
        return average / total if total > 0 else average

    def __sklearn_tags__(self) -> Tags:
        return with_input_tags(super().__sklearn_tags__(), allow_nan=True, categorical=True)


Member = DecisionTreeClassifier | DecisionTreeRegressor

LEARNT_FROM_COLUMNS = ("n_features_in_", "feature_names_in_", "categories_", "_any_nominal", "classes_")
"""The fitted attributes that a tree shares with its forest."""


def refuse_sparse_target(y: Any) -> None:
    """Raise ValueError for sparse targets, with the message of scikit-learn's forests."""
    if issparse(y):
        raise ValueError("sparse multilabel-indicator for y is not supported. Give one label or number for each row.")


def _copy_with_tree(member: Member, tree: Tree) -> Member:
    copied = copy(member)
    copied.fitted_tree_ = tree
    return copied


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
