"""Random forest: many trees, each grown on a random part of the rows and asking random parts of the features.

    classes   p(k | x) = average over trees of p_t(k | x),  or the share of trees that vote for k
    targets   ŷ(x)     = average over trees of ŷ_t(x)

A tree sees n rows drawn with replacement (bootstrap), or a fraction of them without; and looks, at each node or in all
of the tree, at a random subset of the features.  Rows that a tree has not seen are out of its bag, and tell how well
the forest does on new ones.  Weights are how often a row is there: the chance to draw it, and in all the number of
draws (see ``drawing``).

Cost, T trees: O(T n max_features c depth) to fit, O(T m depth) to predict.

Reference: L. Breiman, "Random forests", Machine Learning 45, 2001; subsets by tree: T. K. Ho, "The random subspace
method for constructing decision forests", 1998.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from copy import copy
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils import Tags, check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from bakeoff.learners.base.estimator import Learner, with_input_tags
from bakeoff.learners.base.paths import check_path_values
from bakeoff.learners.random_forest.batch_grower import Plan, grow_trees
from bakeoff.learners.random_forest.bootstrap import Pool, mass_of_tree, rows_to_draw
from bakeoff.learners.random_forest.out_of_bag import OutOfBag, places_given
from bakeoff.learners.random_forest.predictor import coded, woods
from bakeoff.learners.trees import (
    TREE_CONSTRAINTS,
    Criterion,
    GrowthLimits,
    Target,
    Tree,
    count_categories,
    derive_limits,
    prune_to_cost,
)


class Aim(NamedTuple):
    """What trees are grown to: the target of the rows, the criterion of a split, how many numbers an answer has."""

    target: Target
    criterion: Criterion
    width: int


class ForestLearner(Learner):
    """Abstract: draws rows and features, grows the trees, and adds up what they say.

    Attributes
    ----------
    trees_ : list of Tree
    feature_importances_ : ndarray of shape (d,)
        The mean of the trees' importances.
    """

    path_parameters: ClassVar[tuple[str, ...]] = ("n_estimators",)
    """The parameters that `path` takes."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **TREE_CONSTRAINTS,
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "feature_subset": [StrOptions({"split", "tree"})],
        "bootstrap": ["boolean"],
        "max_samples": [Interval(Integral, 1, None, closed="left"), Interval(Real, 0, 1, closed="right"), None],
        "oob_score": ["boolean"],
        "n_jobs": [Integral, None],
    }

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Grow the trees.

        Parameters
        ----------
        X : array-like of shape (n, d)
        y : array-like of shape (n,)
        sample_weight : array-like of shape (n,), optional
            How often each row is there: with whole numbers the forest is that of the table with rows so repeated, to
            the last bit.  With ``bootstrap`` a row is drawn in proportion, and all weights together are the number of
            draws.  Else weights go to every tree as they are, or whole numbers of copies are drawn from.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            Weights that are not whole, where a part of the rows is drawn without replacement.

        Warns
        -----
        UserWarning
            Weights sum to less than a tenth of the rows, so that trees draw too few.
        """
        for _ in self._fit_sizes(X, y, sample_weight, {self.n_estimators}):
            pass
        return self

    def path(self, X: Any, y: Any, parameter: str, values: Sequence[Any], sample_weight: Any = None) -> Iterator[Self]:
        """Fit forests of several sizes, with the trees of the largest: a smaller one has the first of them.

        Parameters
        ----------
        X : array-like of shape (n, d), y : array-like of shape (n,)
        parameter : {"n_estimators"}
        values : sequence of int
        sample_weight : array-like of shape (n,), optional

        Yields
        ------
        estimator
            For each value in turn, what a clone with that value would be after `fit`.  Estimators share trees.

        Raises
        ------
        ValueError
            Another parameter, or a value that is not allowed.
        """
        values = check_path_values(self, parameter, values)
        if values:
            largest = clone(self).set_params(n_estimators=max(values))
            fitted = {size: copy(largest) for size in largest._fit_sizes(X, y, sample_weight, set(values))}
            for value in values:
                fitted[value].n_estimators = value
                fitted[value].trees_ = largest.trees_[:value]
                yield copy(fitted[value])

    @abstractmethod
    def _checked(self, X: Any, y: Any, sample_weight: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Check what ``fit`` is given: rows X (n, d), the truth (n,) and weights (n,), without rows of weight zero."""

    @abstractmethod
    def _aim(self, pool: Pool, size: int | None) -> Aim:
        """Return what to grow trees to, of ``size`` draws from the pool (None: all of it, weights included)."""

    @abstractmethod
    def _keep_test(self, answers: np.ndarray, pool: Pool, place: np.ndarray) -> None:
        """Keep the answers out of the bag (k, width) and their score.

        Rows that ``fit`` was given stand at ``place`` (n,) in the pool of k rows; -1 if of weight zero.
        """

    @abstractmethod
    def _answers(self, value: np.ndarray) -> np.ndarray:
        """Return what nodes with these values (k, c) or (k, 1) say: same shape."""

    def _fit_sizes(self, X: Any, y: Any, sample_weight: Any, sizes: set[int]) -> Iterator[int]:
        """Grow ``trees_``; stop at each of the sizes, when the forest is fitted as one of that size."""
        rows, truth, weight = self._checked(X, y, sample_weight)
        size = rows_to_draw(self.max_samples, weight, replacement=self.bootstrap)
        pool = Pool.of(rows, truth, weight, merge=size is not None)
        aim = self._aim(pool, size)
        seeds = check_random_state(self.random_state).randint(np.iinfo(np.int32).max, size=self.n_estimators)
        generators = [np.random.default_rng(seed) for seed in seeds]
        n_values = count_categories(self.categories_)
        plan = Plan(size, self.bootstrap, self.feature_subset == "tree", self._growth(pool, aim, size))
        outside = OutOfBag(pool.weight.size, aim.width)
        self.trees_: list[Tree] = []
        for tree, seen in grow_trees(pool, aim.target, n_values, plan, generators, self.n_jobs):
            self.trees_.append(prune_to_cost(tree, self.ccp_alpha))
            if self.oob_score:
                outside.add(~seen, self._answers(tree.value)[tree.apply(pool.X[~seen])])
            if len(self.trees_) in sizes:
                if self.oob_score:
                    self._keep_test(outside.answers, pool, places_given(pool, sample_weight))
                yield len(self.trees_)

    def _growth(self, pool: Pool, aim: Aim, size: int | None) -> GrowthLimits:
        n, d = pool.X.shape
        drawn_rows = n if size is None else size
        weight = mass_of_tree(pool, aim.target.weight, size)
        return derive_limits(self, aim.criterion, drawn_rows, d, weight)

    def _mean_answer(self, X: np.ndarray) -> np.ndarray:
        """Return the mean over trees of what they say of rows X (m, d): shape (m, c) or (m, 1)."""
        table, answers = coded(X, self.trees_[0].n_values), [self._answers(tree.value) for tree in self.trees_]
        total = np.zeros((X.shape[0], answers[0].shape[1]))
        for trees, wood in woods(self.trees_):
            wood.add_up(table, answers[trees], total)
        return total / len(self.trees_)

    @property
    def feature_importances_(self) -> np.ndarray:
        """The mean of the trees' importances, shape (d,); sums to 1, or all 0 without a split."""
        check_is_fitted(self)
        mean = np.mean([tree.compute_feature_importances() for tree in self.trees_], axis=0)
        return mean / mean.sum() if mean.sum() > 0 else mean

    def __sklearn_tags__(self) -> Tags:
        return with_input_tags(super().__sklearn_tags__(), allow_nan=True, categorical=True)
