"""What both tree estimators share: parameters, growing, pruning, and what a tree tells of itself."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from copy import copy
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils import Bunch, Tags, check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from bakeoff.learners.base.estimator import Learner, with_input_tags
from bakeoff.learners.base.paths import checked_values
from bakeoff.learners.trees.criteria import Criterion
from bakeoff.learners.trees.growing.grower import GrowthLimits, grow_frontier
from bakeoff.learners.trees.pruning.collapsible_tree import PruningStep
from bakeoff.learners.trees.pruning.cost_complexity import collapse_weakest_links
from bakeoff.learners.trees.pruning.nested_trees import list_splits_beyond, nest_trees
from bakeoff.learners.trees.pruning.reduced_error import prune_best_first, prune_bottom_up
from bakeoff.learners.trees.rows.frontier import Frontier
from bakeoff.learners.trees.rows.target import Target
from bakeoff.learners.trees.tree import Tree

PruningMethod = Literal["best_first", "bottom_up", "pessimistic"]


class TreeLearner(Learner):
    """Abstract: a learner that is one tree.

    Attributes
    ----------
    tree_ : Tree
        Flat arrays, one entry for each of k nodes.
    pruning_path_ : dict
        After `prune`: arrays ``leaves``, ``depth`` and ``score``, one entry for each step, the unpruned tree first.
    """

    path_parameters: ClassVar[tuple[str, ...]] = ("max_depth", "max_leaf_nodes", "ccp_alpha")
    """The parameters that `path` takes."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "max_depth": [Interval(Integral, 1, None, closed="left"), None],
        "min_samples_split": [Interval(Integral, 2, None, closed="left"), Interval(Real, 0, 1, closed="neither")],
        "min_samples_leaf": [Interval(Integral, 1, None, closed="left"), Interval(Real, 0, 1, closed="neither")],
        "min_weight_fraction_leaf": [Interval(Real, 0, 0.5, closed="both")],
        "min_impurity_decrease": [Interval(Real, 0, None, closed="left")],
        "max_leaf_nodes": [Interval(Integral, 2, None, closed="left"), None],
        "max_features": [
            Interval(Integral, 1, None, closed="left"),
            Interval(Real, 0, 1, closed="right"),
            StrOptions({"sqrt", "log2"}),
            None,
        ],
        "random_state": ["random_state"],
        "ccp_alpha": [Interval(Real, 0, None, closed="left")],
        "nominal_splits": [StrOptions({"multiway", "binary"})],
        "categorical_features": ["array-like", StrOptions({"from_dtype"}), None],
    }

    def _growth(self, n: int, d: int, weight: float, criterion: Criterion) -> GrowthLimits:
        max_features = features_to_draw(self.max_features, d)
        generators = []
        if max_features < d:
            seed = check_random_state(self.random_state).randint(np.iinfo(np.int32).max)
            generators = [np.random.default_rng(seed)]
        return GrowthLimits(
            criterion=criterion,
            max_depth=np.inf if self.max_depth is None else self.max_depth,
            min_samples_split=rows_of(self.min_samples_split, n, least=2),
            min_samples_leaf=rows_of(self.min_samples_leaf, n, least=1),
            min_weight_leaf=self.min_weight_fraction_leaf * weight,
            min_impurity_decrease=self.min_impurity_decrease,
            max_leaf_nodes=np.inf if self.max_leaf_nodes is None else self.max_leaf_nodes,
            max_features=max_features,
            generators=generators,
            multiway=self.nominal_splits == "multiway",
        )

    def _grow(self, X: np.ndarray, target: Target, criterion: Criterion) -> Tree:
        n_values = np.array([0 if values is None else len(values) for values in self.categories_])
        growth = self._growth(X.shape[0], X.shape[1], float(target.weight.sum()), criterion)
        frontier = Frontier.from_rows(X, n_values > 0, target, draws_features=len(growth.generators) > 0)
        return grow_frontier(frontier, n_values, growth)[0]

    def path(self, X: Any, y: Any, parameter: str, values: Sequence[Any], sample_weight: Any = None) -> Iterator[Self]:
        """Fit for every value of a parameter whose trees are parts of one another, with one growth.

        Parameters
        ----------
        X : array-like of shape (n, d), y : array-like of shape (n,)
        parameter : {"max_depth", "max_leaf_nodes", "ccp_alpha"}
            One of ``path_parameters``.
        values : sequence
        sample_weight : array-like of shape (n,), optional

        Yields
        ------
        estimator
            For each value in turn, what a clone with that value would be after `fit`.  Estimators share arrays.

        Raises
        ------
        ValueError
            Another parameter, or a value that is not allowed.
        """
        values = checked_values(self, parameter, values)
        limited = parameter == "max_leaf_nodes" or (parameter == "max_depth" and self.max_leaf_nodes is not None)
        if limited and self.max_features is not None:  # which features a node draws depends on who is grown beside it
            for value in values:
                yield clone(self).set_params(**{parameter: value}).fit(X, y, sample_weight)
        elif values:
            yield from self._path_of(X, y, parameter, values, sample_weight)

    def _path_of(self, X: Any, y: Any, parameter: str, values: list[Any], sample_weight: Any) -> Iterator[Self]:
        widest = None if None in values else max(values)
        grown = clone(self).set_params(**{parameter: widest})
        if parameter == "max_depth":
            grown.set_params(max_leaf_nodes=None)
        full = grown._full_tree(X, y, sample_weight)
        cut_back = full.cut_at_depth if parameter == "max_depth" else nest_trees(full, parameter, values)
        for value in values:
            fitted = copy(grown)
            fitted.max_leaf_nodes = self.max_leaf_nodes
            setattr(fitted, parameter, value)
            tree = cut_back(np.inf if value is None and parameter == "max_depth" else value)
            if parameter == "max_depth" and fitted.max_leaf_nodes is not None:
                tree.collapse(list_splits_beyond(tree, fitted.max_leaf_nodes))
            fitted.tree_ = tree
            yield fitted if parameter == "ccp_alpha" else fitted._keep(tree)

    @abstractmethod
    def _full_tree(self, X: Any, y: Any, sample_weight: Any) -> Tree:
        """Learn what there is to learn but do not prune: return the tree."""

    def _keep(self, tree: Tree) -> Self:
        self.tree_ = cut_to_cost(tree, self.ccp_alpha)
        self.__dict__.pop("pruning_path_", None)
        return self

    @abstractmethod
    def _losses(self, X: np.ndarray, y: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the loss on validation rows of each node as a leaf, and of each node's subtree: both (k,)."""

    @abstractmethod
    def _scores(self, loss: np.ndarray, weight: float) -> np.ndarray:
        """Turn losses of the whole tree into scores, larger is better."""

    def prune(
        self,
        X: Any = None,
        y: Any = None,
        method: PruningMethod = "best_first",
        sample_weight: Any = None,
        confidence: float = 0.25,
    ) -> Self:
        """Cut the tree back, in place, and keep the way there in ``pruning_path_``.

        Parameters
        ----------
        X : array-like of shape (m, d), y : array-like of shape (m,)
            Validation rows, not those of training; ``"pessimistic"`` takes none.
        method : {"best_first", "bottom_up", "pessimistic"}
            Best-first removes, of all subtrees, the one whose removal gives the best validation score, equal scores
            included, until every removal worsens (ties: the node nearest to the root).  Bottom-up makes leaves of
            nodes with leaves only below where the score is strictly greater, until there are none.  Pessimistic is
            C4.5's pruning by upper confidence limits of the training errors.
        sample_weight : array-like of shape (m,), optional
            Weights of the validation rows.
        confidence : float in (0, 0.5], default 0.25
            For ``"pessimistic"``: the smaller, the more is pruned.

        Returns
        -------
        self
        """
        check_is_fitted(self)
        if method not in ("best_first", "bottom_up", "pessimistic"):
            raise ValueError(f"method is {method!r}; it can be 'best_first', 'bottom_up' or 'pessimistic'.")
        if method == "pessimistic":
            return self._follow(self._pessimistic_steps(confidence), float(self.tree_.weighted_n_node_samples[0]))
        if X is None or y is None:
            raise ValueError(f"method {method!r} prunes against validation rows: give X and y.")
        table = self._check_query(X)
        y = self._check_target(y, table.shape[0])
        weight = self._check_weight(sample_weight, table)
        as_leaf, below = self._losses(table, y, weight)
        prune = prune_best_first if method == "best_first" else prune_bottom_up
        steps = prune(self.tree_, as_leaf, below, float(weight.sum()))
        return self._follow(steps, float(weight.sum()))

    def _pessimistic_steps(self, confidence: float) -> list[PruningStep]:
        raise ValueError("method 'pessimistic' counts errors, which a regressor has not: give validation rows instead.")

    def _follow(self, steps: list[PruningStep], weight: float) -> Self:
        self.pruning_path_ = {
            "leaves": np.array([step.leaves for step in steps]),
            "depth": np.array([step.depth for step in steps]),
            "score": self._scores(np.array([step.loss for step in steps]), weight),
        }
        self.tree_.collapse(_collapsed(steps))
        return self

    def _path(self, tree: Tree) -> Bunch:
        steps = collapse_weakest_links(tree, np.inf)
        alphas, impurities = [0.0], [steps[0].loss]
        for step in steps[1:]:
            alpha = max(step.cost, alphas[-1])
            if alpha > alphas[-1]:
                alphas.append(alpha)
                impurities.append(step.loss)
            else:
                impurities[-1] = step.loss
        return Bunch(ccp_alphas=np.array(alphas), impurities=np.array(impurities))

    def apply(self, X: Any) -> np.ndarray:
        """Return the number of the node where each row of X (m, d) stops, shape (m,)."""
        return self.tree_.apply(self._check_query(X))

    def decision_path(self, X: Any) -> np.ndarray:
        """Return which nodes each row of X (m, d) visits: a mask of shape (m, k)."""
        stop = self.apply(X)
        visited = np.zeros((stop.size, self.tree_.node_count), dtype=bool)
        rows, parent = np.arange(stop.size), self.tree_.parent
        while rows.size:
            visited[rows, stop] = True
            stop = parent[stop]
            rows, stop = rows[stop >= 0], stop[stop >= 0]
        return visited

    def get_depth(self) -> int:
        """Return the number of questions on the longest path."""
        check_is_fitted(self)
        return self.tree_.max_depth

    def get_n_leaves(self) -> int:
        """Return the number of leaves."""
        check_is_fitted(self)
        return self.tree_.n_leaves

    @property
    def n_leaves_(self) -> int:
        """The number of leaves."""
        return self.tree_.n_leaves

    @property
    def feature_importances_(self) -> np.ndarray:
        """How much of the fall of impurity each feature brought, shape (d,); sums to 1, or all 0 without a split."""
        check_is_fitted(self)
        return importances(self.tree_, self.n_features_in_)

    def __sklearn_tags__(self) -> Tags:
        return with_input_tags(super().__sklearn_tags__(), allow_nan=True, categorical=True)


def importances(tree: Tree, d: int) -> np.ndarray:
    """Return the share of each of d features in the weighted fall of impurity, shape (d,)."""
    mass = tree.impurity / (tree.impurity[0] if tree.impurity[0] > 0 else 1.0) * tree.weighted_n_node_samples
    inner = ~tree.is_leaf
    kept = np.bincount(np.maximum(tree.parent, 0)[1:], weights=mass[1:], minlength=tree.node_count)
    fall = np.bincount(tree.feature[inner], weights=(mass - kept)[inner], minlength=d)
    return fall / fall.sum() if fall.sum() > 0 else fall


def features_to_draw(max_features: int | float | str | None, d: int) -> int:
    """Return how many of d features a node looks at."""
    if max_features is None:
        return d
    if isinstance(max_features, str):
        return max(1, int(np.sqrt(d) if max_features == "sqrt" else np.log2(d)))
    if isinstance(max_features, Integral):
        return min(int(max_features), d)
    return max(1, int(max_features * d))


def rows_of(value: int | float, n: int, least: int) -> int:
    """Return a number of rows, given as such or as a fraction of n."""
    return int(value) if isinstance(value, Integral) else max(least, int(np.ceil(value * n)))


def cut_to_cost(tree: Tree, ccp_alpha: float) -> Tree:
    """Remove from the tree, in place, what cost-complexity pruning removes; return it."""
    if ccp_alpha > 0:
        tree.collapse(_collapsed(collapse_weakest_links(tree, ccp_alpha)))
    return tree


def _collapsed(steps: list[PruningStep]) -> np.ndarray:
    return np.array([step.node for step in steps if step.node >= 0], dtype=np.intp)
