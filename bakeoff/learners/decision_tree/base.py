"""Base class of both tree estimators: fitting, pruning, paths of limits, and properties of the tree.

The tree itself is grown and pruned in `bakeoff.learners.trees`.

scikit-learn's tools access a tree through its attributes. Paths are sparse SciPy tables, as in scikit-learn, because
NumPy has none.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from copy import copy
from typing import Any, ClassVar, Literal, Self

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.utils import Bunch, Tags, check_random_state
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import check_is_fitted

from bakeoff.learners.base.estimator import Learner, SklearnCounterpart
from bakeoff.learners.base.input_checks import (
    Categories,
    check_path_values,
    encode_table,
    split_columns,
    with_input_tags,
)
from bakeoff.learners.trees import (
    TREE_CONSTRAINTS,
    C45Rules,
    Criterion,
    NodeLosses,
    PruningStep,
    Target,
    Tree,
    compute_partial_dependence,
    convert_to_sklearn,
    count_categories,
    derive_limits,
    grow_tree,
    list_alphas,
    list_collapsed_nodes,
    move_thresholds_to_values,
    nest_trees,
    prune_best_first,
    prune_bottom_up,
    prune_to_cost,
)

PruningMethod = Literal["best_first", "bottom_up", "pessimistic"]


class TreeLearner(SklearnCounterpart, Learner):
    """Abstract: a learner that consists of one tree, with the attributes of scikit-learn's trees.

    Attributes
    ----------
    fitted_tree_ : Tree
        Flat arrays with one entry for each of k nodes.
    max_features_ : int
        The number of features tried at each node.
    n_outputs_ : int
        Always 1.
    pruning_path_ : dict
        Set by `prune`: arrays ``leaves``, ``depth`` and ``score`` with one entry per step, starting with the unpruned
        tree.
    """

    fitted_tree_: Tree
    n_outputs_: ClassVar[int] = 1
    splitter: str
    thresholds: str
    scale_sensitive: ClassVar[bool] = False
    path_parameters: ClassVar[tuple[str, ...]] = ("max_depth", "max_leaf_nodes", "ccp_alpha")
    """The parameters supported by `path`."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **TREE_CONSTRAINTS,
        "splitter": [StrOptions({"best", "random"})],
        "thresholds": [StrOptions({"midpoints", "values"})],
    }

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Grow the tree, and prune it if ``ccp_alpha`` is greater than 0.

        Parameters
        ----------
        X : array-like of shape (n, d)
        y : array-like of shape (n,)
        sample_weight : array-like of shape (n,), optional

        Returns
        -------
        self
        """
        tree = self._grow_unpruned(X, y, sample_weight)
        self.fitted_tree_ = prune_to_cost(tree, self.ccp_alpha)
        self.__dict__.pop("pruning_path_", None)
        return self

    def cost_complexity_pruning_path(self, X: Any, y: Any, sample_weight: Any = None) -> Bunch:
        """Return ``ccp_alphas`` and the total ``impurities`` of the leaves at each step of cost-complexity pruning.

        The parameters are those of `fit`; the estimator is also fitted, without pruning.
        """
        self.fitted_tree_ = self._grow_unpruned(X, y, sample_weight)
        alphas, impurities = list_alphas(self.fitted_tree_)
        return Bunch(ccp_alphas=alphas, impurities=impurities)

    @abstractmethod
    def _grow_unpruned(self, X: Any, y: Any, sample_weight: Any) -> Tree:
        """Check the rows, set all fitted attributes except ``fitted_tree_``, and return the tree for ``ccp_alpha``."""

    def _grow(self, X: np.ndarray, target: Target, criterion: Criterion) -> Tree:
        """Grow a tree on checked rows X (n, d)."""
        n, d = X.shape
        weight = float(target.weight.sum())
        limits = derive_limits(self, criterion, n, d, weight)
        limits.c45 = self._list_rules(n)
        self.max_features_ = limits.max_features
        draws_features = limits.max_features < d
        if draws_features or self.splitter == "random":
            random_state = check_random_state(self.random_state)
            seed = random_state.randint(np.iinfo(np.int32).max)
            generator = np.random.default_rng(seed)
            limits.generators = [generator] if draws_features else []
            if self.splitter == "random":
                limits.draw_thresholds(generator, target)
        tree = grow_tree(X, target, count_categories(self.categories_), limits)
        if self.thresholds == "values":
            tree = move_thresholds_to_values(tree, X)
        return tree

    def _prunes_in_fit(self) -> bool:
        """Return whether the tree is pruned by its training errors immediately after growing."""
        return False

    def _list_rules(self, n: int) -> C45Rules:
        """Return the C4.5 rules that apply to a tree of n rows."""
        return C45Rules()

    def path(self, X: Any, y: Any, parameter: str, values: Sequence[Any], sample_weight: Any = None) -> Iterator[Self]:
        """Fit for every value of a parameter whose trees are nested, by growing only one tree.

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
            For each value in turn, an estimator equal to a clone fitted with that value. Estimators share arrays.

        Raises
        ------
        ValueError
            If the parameter is not supported, or a value is invalid.
        """
        values = check_path_values(self, parameter, values)
        limits_growth = parameter == "max_leaf_nodes" or (parameter == "max_depth" and self.max_leaf_nodes is not None)
        draws_at_nodes = limits_growth and (self.max_features is not None or self.splitter == "random")
        prunes_other_tree = parameter != "ccp_alpha" and self._prunes_in_fit()
        if draws_at_nodes or prunes_other_tree:
            # The draws at a node depend on the other nodes of its level, and pruning by training errors depends on the
            # nodes below, so each value needs its own tree.
            for value in values:
                yield clone(self).set_params(**{parameter: value}).fit(X, y, sample_weight)
        elif values:
            yield from self._cut_from_one_tree(X, y, parameter, values, sample_weight)

    def _cut_from_one_tree(
        self, X: Any, y: Any, parameter: str, values: list[Any], sample_weight: Any
    ) -> Iterator[Self]:
        widest = None if None in values else max(values)
        grown = clone(self).set_params(**{parameter: widest})
        if parameter == "max_depth":
            grown.set_params(max_leaf_nodes=None)
        full = grown._grow_unpruned(X, y, sample_weight)
        cut_tree = nest_trees(full, parameter, values, self.max_leaf_nodes)
        for value in values:
            fitted = copy(grown)
            fitted.max_leaf_nodes = self.max_leaf_nodes
            setattr(fitted, parameter, value)
            tree = cut_tree(value)
            fitted.fitted_tree_ = tree if parameter == "ccp_alpha" else prune_to_cost(tree, self.ccp_alpha)
            yield fitted

    def prune(
        self,
        X: Any = None,
        y: Any = None,
        method: PruningMethod = "best_first",
        sample_weight: Any = None,
        confidence: float = 0.25,
    ) -> Self:
        """Prune the tree in place, and record the steps in ``pruning_path_``.

        Parameters
        ----------
        X : array-like of shape (m, d), y : array-like of shape (m,)
            Validation rows, which differ from the training rows; ``"pessimistic"`` does not use any.
        method : {"best_first", "bottom_up", "pessimistic"}
            The first two are reduced-error pruning (Quinlan 1987). Best-first repeatedly collapses the inner node whose
            collapse gives the best validation score, including equal scores, until every collapse lowers it (ties: the
            node nearest to the root). Bottom-up collapses nodes that only have leaves below them if the score is
            strictly greater, until there are none. Pessimistic is C4.5's pruning by upper confidence limits of the
            training errors.
        sample_weight : array-like of shape (m,), optional
            Weights of the validation rows.
        confidence : float in (0, 0.5], default 0.25
            The confidence for ``"pessimistic"``; a smaller value prunes more.

        Returns
        -------
        self
        """
        check_is_fitted(self)
        if method not in ("best_first", "bottom_up", "pessimistic"):
            raise ValueError(f"method={method!r} must be 'best_first', 'bottom_up' or 'pessimistic'.")
        if method == "pessimistic":
            steps = self._prune_pessimistically(confidence)
            return self._apply_pruning(steps, float(self.fitted_tree_.weighted_n_node_samples[0]))
        if X is None or y is None:
            raise ValueError(f"method {method!r} needs validation rows: pass X and y.")
        table = self._check_query(X)
        y = self._check_target(y, table.shape[0])
        weight = self._check_weight(sample_weight, table)
        losses = self._compute_losses(table, y, weight)
        total = float(weight.sum())
        prune_tree = prune_best_first if method == "best_first" else prune_bottom_up
        return self._apply_pruning(prune_tree(self.fitted_tree_, losses), total)

    @abstractmethod
    def _compute_losses(self, X: np.ndarray, y: np.ndarray, weight: np.ndarray) -> NodeLosses:
        """Return the losses on validation rows X (m, d) at every node of the tree."""

    @abstractmethod
    def _score_losses(self, loss: np.ndarray, weight: float) -> np.ndarray:
        """Turn losses of the whole tree (s,) on rows of this total weight into scores (s,), where larger is better."""

    def _prune_pessimistically(self, confidence: float) -> list[PruningStep]:
        raise ValueError(
            "method 'pessimistic' counts misclassified rows, so it does not support regressors; pass validation "
            "rows instead."
        )

    def _apply_pruning(self, steps: list[PruningStep], weight: float) -> Self:
        """Collapse the nodes of the steps, and record the steps, given the total weight of the rows."""
        loss = np.array([step.loss for step in steps])
        self.pruning_path_ = {
            "leaves": np.array([step.leaves for step in steps]),
            "depth": np.array([step.depth for step in steps]),
            "score": self._score_losses(loss, weight),
        }
        self.fitted_tree_.collapse(list_collapsed_nodes(steps))
        return self

    def apply(self, X: Any) -> np.ndarray:
        """Return the number of the node where each row of X (m, d) stops: shape (m,)."""
        table = self._check_query(X)
        return self.fitted_tree_.apply(table)

    @property
    def tree_(self) -> Any:
        """The tree as a copy of type ``sklearn.tree._tree.Tree``, for tools that use scikit-learn's trees.

        Raises AttributeError if the tree splits on nominal values; see `bakeoff.learners.trees.convert_to_sklearn`.
        """
        check_is_fitted(self)
        n_classes = getattr(self, "n_classes_", 1)
        return convert_to_sklearn(self.fitted_tree_, n_classes)

    def decision_path(self, X: Any) -> csr_matrix:
        """Return a sparse table of shape (m, k) that marks the nodes visited by each row of X (m, d) with 1."""
        return mark_paths(self.fitted_tree_, self.apply(X))

    def _compute_partial_dependence_recursion(self, grid: Any, target_features: Any) -> np.ndarray:
        """Return the partial dependence at points (g, f) of these features (f,), shape (g,), for scikit-learn."""
        cells = encode_points(grid, target_features, self.categories_)
        return compute_partial_dependence(self.fitted_tree_, cells, target_features)

    def get_depth(self) -> int:
        """Return the number of splits on the longest path."""
        check_is_fitted(self)
        return self.fitted_tree_.max_depth

    def get_n_leaves(self) -> int:
        """Return the number of leaves."""
        check_is_fitted(self)
        return self.fitted_tree_.n_leaves

    @property
    def feature_importances_(self) -> np.ndarray:
        """The share of each feature in the decrease of impurity, shape (d,); sums to 1, or is 0 without a split."""
        check_is_fitted(self)
        return self.fitted_tree_.compute_feature_importances()

    def __sklearn_tags__(self) -> Tags:
        return with_input_tags(super().__sklearn_tags__(), allow_nan=True, categorical=True)


def encode_points(grid: Any, features: Any, categories: Categories) -> np.ndarray:
    """Return points (g, f) of these features (f,) as numbers, with nominal cells as codes."""
    own = [categories[feature] for feature in features]
    return encode_table(split_columns(np.asarray(grid)), own, allow_nan=True, owner="partial dependence")


def mark_paths(tree: Tree, stop: np.ndarray) -> csr_matrix:
    """Return which of the k nodes are visited by rows that stop at the given nodes (m,).

    Returns
    -------
    csr_matrix of shape (m, k), int
        1 at the nodes from the root to the node where the row stops.
    """
    m = stop.size
    parent = tree.parent
    length = tree.depth.take(stop) + 1  # (m,)
    start = np.concatenate([[0], length.cumsum()])  # (m + 1,)
    visited = np.empty(start[-1], dtype=np.intp)
    rows = np.arange(m)
    node = stop
    entry = start[1:] - 1
    # Parents have lower numbers than their children, so the nodes of a row are in ascending order.
    while rows.size:
        visited[entry] = node
        node = parent.take(node)
        is_below = node >= 0
        rows = rows[is_below]
        node = node[is_below]
        entry = entry[is_below] - 1
    ones = np.ones(visited.size, dtype=np.int64)
    return csr_matrix((ones, visited, start), shape=(m, tree.node_count))
