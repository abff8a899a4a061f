"""Decision tree for classes: CART, ID3 and C4.5.

A row descends to a leaf, or as far as there are branches for its values. The prediction is the majority class of the
training rows in that node:

    p(class k | x) = weight of class k in the node / weight of the node

`bakeoff.learners.definitions.decision_tree` defines the algorithm. This implementation grows the same tree faster: rows
are sorted once, all nodes of a level are split together, and running sums along the sorted rows give the gains of all
thresholds (`bakeoff.learners.trees`).

The C4.5 options are its growth rules and the pruning of a grown tree.

Cost: O(n d log n + n d c depth) to fit, O(m depth) to predict.

References: Breiman et al., "Classification and Regression Trees", 1984; J. R. Quinlan, "C4.5", 1993; missing values:
B. E. T. H. Twala, M. C. Jones, D. J. Hand, "Good methods for coping with missing data in decision trees", 2008.
"""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from bakeoff.learners.base.estimator import ProbabilisticClassifier
from bakeoff.learners.decision_tree.base import TreeLearner
from bakeoff.learners.trees import (
    CLASSIFICATION,
    IMPURITY,
    C45Rules,
    ClassTarget,
    NodeLosses,
    PruningStep,
    TrainingClasses,
    Tree,
    collapse_useless_splits,
    count_categories,
    count_errors_at_nodes,
    list_collapsed_nodes,
    mark_averaged_features,
    prune_pessimistically,
    prune_with_raising,
)

IN_BITS = ("entropy", "log_loss", "gain_ratio")
"""The criteria whose gains are in bits."""


class DecisionTreeClassifier(ProbabilisticClassifier, TreeLearner):
    """A decision tree for classification; each split tests one feature.

    A numeric question is ``x < s`` (equality goes right), with s halfway between neighbouring values; a nominal one
    has a branch for every value, or two groups of values. Among equally good questions, the one about the first feature
    is asked, and among these the one with the lowest threshold. Questions are equally good if their gains, or gain
    ratios, differ by at most 1e-10 of the larger one plus 1e-13, to allow for rounding. A missing numeric cell goes to
    the side that was better in training, or to the one with more rows if no cell was missing at that node; a missing
    nominal cell is treated as a separate value (C4.5 differs: it sends fractions of a row with a missing cell down all
    branches). A row whose nominal value has no branch stops at the node, and the node's majority class is predicted.

    Parameters
    ----------
    criterion : {"gini", "entropy", "log_loss", "gain_ratio", "misclassification"}, default "gini"
        Entropy, also called log_loss, is information gain (ID3). Gain ratio (C4.5) cuts each numeric feature where the
        gain is largest, and chooses among features by the ratio. As in C4.5, the gain of a feature is computed on the
        rows with a known cell and multiplied by their fraction, and the missing cells count as a branch in the divisor;
        unlike with the other criteria, whether a cell is missing is not a separate question. By default only the ratio
        decides, as in the lectures; the other C4.5 rules are the options from ``average_gain`` on, and ``learner=c45``
        sets all of them to Quinlan's defaults.
    splitter : {"best", "random"}, default "best"
        Whether a numeric question uses the best of all thresholds, or a node compares one random threshold per feature,
        drawn uniformly between the feature's smallest and largest values in the node (Geurts et al. 2006). In either
        case, missing cells go to the better side, and questions about nominal values are the best ones.
    max_depth : int, optional
    min_samples_split : int or fraction of the rows, default 2
    min_samples_leaf : int or fraction of the rows, default 1
        The minimum number of training rows in every branch.
    min_weight_fraction_leaf : float, default 0
        The minimum fraction of the total weight in every branch.
    min_impurity_decrease : float, default 0
        The minimum decrease of impurity by a split, in the unit of the criterion (bits for gain ratio), weighted by
        the node's share of the rows.
    max_leaf_nodes : int, optional
        Grow best-first: the split with the largest weighted gain is made first, until the next one would exceed this
        number of leaves.
    max_features : int, fraction, {"sqrt", "log2"}, optional
        The number of features drawn for each node; if none of them can split it, more are drawn.
    class_weight : dict, "balanced", optional
    random_state : int, RandomState, optional
        Used only if features are drawn.
    ccp_alpha : float, default 0
        Complexity parameter of cost-complexity pruning; if it is greater than 0, the tree is pruned after growing.
    nominal_splits : {"multiway", "binary"}, default "multiway"
    categorical_features : {"from_dtype"}, list, mask, optional
        The nominal columns.
    average_gain : bool, default False
        C4.5 option for ``criterion="gain_ratio"``: only features whose gain is at least average are compared by ratio.
        The average is over the features that can split the node, excluding nominal ones that have at least 0.3 values
        per training row; a split without any gain is not made.
    cut_minimum : bool, default False
        C4.5 option: each side of a numeric cut has at least a tenth of an equal share of the classes, n / (10 c) of the
        node's n rows, but never needs more than 25; ``min_samples_leaf`` still applies. Rows count by weight.
    two_branches : bool, default False
        C4.5 option: only two branches of a multiway split need ``min_samples_leaf`` rows, instead of all.
    mdl_correction : bool, default False
        C4.5 option (since release 8) for entropy and gain ratio: the gain of a numeric feature is reduced by
        log2(number of its allowed cuts) / n bits in a node of n rows, and the feature is not used if no gain remains.
    collapse : bool, default False
        C4.5 option: after growing, a node whose subtree makes as many training errors as the node itself becomes a
        leaf.
    pruning_confidence : float in (0, 0.5], optional
        If given, the grown tree is pruned pessimistically, as by `prune` with ``method="pessimistic"`` and this
        ``confidence``, which is 0.25 in C4.5. A smaller value prunes more.
    subtree_raising : bool, default False
        C4.5 option for pruning: the largest branch of a node may replace the node if it is expected to make fewer
        errors on all rows of the node; it is then pruned again.
    thresholds : {"midpoints", "values"}, default "midpoints"
        With "values", as in C4.5, a numeric question is ``x <= v``, where v is the largest training value of the column
        that does not exceed the midpoint. It splits the training rows in the same way, but equality goes left.
    class_order : array-like of the classes, optional
        The order that breaks ties between classes with equal votes; by default the smallest class is predicted.

    Attributes
    ----------
    classes_ : ndarray of shape (c,)
    fitted_tree_ : Tree
    feature_importances_ : ndarray of shape (d,)
    pruning_path_ : dict
        Set by `prune`: ``leaves``, ``depth`` and ``score`` at each step, starting with the unpruned tree. The score is
        the validation accuracy; for ``"pessimistic"`` it is estimated from the training rows.

    Examples
    --------
    >>> X, y = [[1.0, 2.0], [6.0, 2.0], [3.0, 4.0], [6.0, 5.0]], ["Blue", "Blue", "Blue", "Red"]
    >>> tree = DecisionTreeClassifier().fit(X, y)
    >>> tree.predict([[4.5, 3.0], [4.4, 9.0]])
    array(['Blue', 'Red'], dtype='<U4')
    """

    _counterpart = ("sklearn.tree", "DecisionTreeClassifier")

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **TreeLearner._parameter_constraints,
        "criterion": [StrOptions(set(CLASSIFICATION))],
        "class_weight": [dict, StrOptions({"balanced"}), None],
        "average_gain": ["boolean"],
        "cut_minimum": ["boolean"],
        "two_branches": ["boolean"],
        "mdl_correction": ["boolean"],
        "collapse": ["boolean"],
        "pruning_confidence": [Interval(Real, 0, 0.5, closed="right"), None],
        "subtree_raising": ["boolean"],
        "class_order": ["array-like", None],
    }

    def __init__(
        self,
        *,
        criterion: Literal["gini", "entropy", "log_loss", "gain_ratio", "misclassification"] = "gini",
        splitter: Literal["best", "random"] = "best",
        max_depth: int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        min_weight_fraction_leaf: float = 0.0,
        min_impurity_decrease: float = 0.0,
        max_leaf_nodes: int | None = None,
        max_features: int | float | Literal["sqrt", "log2"] | None = None,
        class_weight: dict[Any, float] | Literal["balanced"] | None = None,
        random_state: int | np.random.RandomState | None = None,
        ccp_alpha: float = 0.0,
        nominal_splits: Literal["multiway", "binary"] = "multiway",
        categorical_features: Any = "from_dtype",
        average_gain: bool = False,
        cut_minimum: bool = False,
        two_branches: bool = False,
        mdl_correction: bool = False,
        collapse: bool = False,
        pruning_confidence: float | None = None,
        subtree_raising: bool = False,
        thresholds: Literal["midpoints", "values"] = "midpoints",
        class_order: Any = None,
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
        self.class_weight = class_weight
        self.random_state = random_state
        self.ccp_alpha = ccp_alpha
        self.nominal_splits = nominal_splits
        self.categorical_features = categorical_features
        self.average_gain = average_gain
        self.cut_minimum = cut_minimum
        self.two_branches = two_branches
        self.mdl_correction = mdl_correction
        self.collapse = collapse
        self.pruning_confidence = pruning_confidence
        self.subtree_raising = subtree_raising
        self.thresholds = thresholds
        self.class_order = class_order

    @property
    def n_classes_(self) -> int:
        """The number of classes."""
        return self.classes_.size

    def _grow_unpruned(self, X: Any, y: Any, sample_weight: Any) -> Tree:
        X, codes, weight = self._check_fit(X, y, sample_weight)
        self._check_c45_options()
        target = ClassTarget(codes, weight, self.classes_.size, self.criterion)
        tree = self._grow(X, target, CLASSIFICATION[self.criterion])
        return self._prune_by_training_errors(tree, X, codes, weight)

    def _check_c45_options(self) -> None:
        """Reject options that require another option."""
        if self.average_gain and self.criterion != "gain_ratio":
            raise ValueError(
                f"average_gain restricts the splits compared by gain ratio, but criterion={self.criterion!r}; set "
                "criterion='gain_ratio', or average_gain=False."
            )
        if self.mdl_correction and self.criterion not in IN_BITS:
            raise ValueError(
                f"mdl_correction is measured in bits, but criterion={self.criterion!r} is not; set "
                "criterion='gain_ratio' or 'entropy', or mdl_correction=False."
            )
        if self.subtree_raising and self.pruning_confidence is None:
            raise ValueError(
                "subtree_raising is a part of pruning, but pruning_confidence is None, which disables pruning; "
                "set pruning_confidence=0.25, or subtree_raising=False."
            )

    def _list_rules(self, n: int) -> C45Rules:
        return C45Rules(
            average_gain=self.average_gain,
            cut_minimum=self.cut_minimum,
            two_branches=self.two_branches,
            description_length=self.mdl_correction,
            n_classes=self.classes_.size,
            is_averaged=mark_averaged_features(count_categories(self.categories_), n),
        )

    def _prunes_in_fit(self) -> bool:
        return self.collapse or self.pruning_confidence is not None

    def _prune_by_training_errors(self, tree: Tree, X: np.ndarray, codes: np.ndarray, weight: np.ndarray) -> Tree:
        """Return a grown tree pruned according to the options, given its rows X (n, d), classes and weights (n,)."""
        if self.collapse:
            tree = collapse_useless_splits(tree)
        if self.pruning_confidence is None:
            return tree
        if self.subtree_raising:
            rows = TrainingClasses(X, codes, weight, self.classes_.size, IMPURITY[self.criterion])
            return prune_with_raising(tree, rows, self.pruning_confidence)
        tree.collapse(list_collapsed_nodes(prune_pessimistically(tree, self.pruning_confidence)))
        return tree

    def _class_scores(self, X: np.ndarray) -> np.ndarray:
        return self.fitted_tree_.value[self.fitted_tree_.apply(X)]

    def _compute_losses(self, X: np.ndarray, y: np.ndarray, weight: np.ndarray) -> NodeLosses:
        stop = self.fitted_tree_.apply(X)
        predicted = self._choose_classes(self.fitted_tree_.value)  # (k,)
        return count_errors_at_nodes(self.fitted_tree_, stop, self._encode_validation(y), weight, predicted)

    def _encode_validation(self, y: np.ndarray) -> np.ndarray:
        """Return class codes of validation rows (m,); -1 for a class that did not occur in training.

        Raises
        ------
        ValueError
            If labels are text instead of numbers or numbers instead of text, so that none would have occurred in
            training.
        """
        if _holds_text(y) != _holds_text(self.classes_):
            raise ValueError(
                f"y contains labels such as {y.tolist()[0]!r}, but fit received labels such as "
                f"{self.classes_.tolist()[0]!r}; give both as text, or both as numbers."
            )
        codes = np.searchsorted(self.classes_, y)
        codes[codes == self.classes_.size] = 0
        return np.where(self.classes_[codes] == y, codes, -1)

    def _score_losses(self, loss: np.ndarray, weight: float) -> np.ndarray:
        return 1 - loss / weight

    def _prune_pessimistically(self, confidence: float) -> list[PruningStep]:
        if not 0 < confidence <= 0.5:
            raise ValueError(f"confidence={confidence} must be above 0 and at most 0.5 (C4.5 uses 0.25).")
        return prune_pessimistically(self.fitted_tree_, confidence)


def _holds_text(labels: np.ndarray) -> bool:
    return isinstance(labels.tolist()[0], str)
