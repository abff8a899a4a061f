"""The options of C4.5: what they may be, the rules of growth that follow, and the pruning of a tree that was grown."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import Any, Protocol

import numpy as np
from sklearn.utils._param_validation import Interval

from bakeoff.learners.trees import (
    IMPURITY,
    C45Rules,
    TrainingClasses,
    Tree,
    collapse_useless_splits,
    count_categories,
    list_collapsed_nodes,
    mark_averaged_features,
    prune_pessimistically,
    prune_with_raising,
)

IN_BITS = ("entropy", "log_loss", "gain_ratio")
"""The criteria whose gains are in bits."""

C45_CONSTRAINTS: dict[str, list[Any]] = {
    "average_gain": ["boolean"],
    "cut_minimum": ["boolean"],
    "two_branches": ["boolean"],
    "mdl_correction": ["boolean"],
    "collapse": ["boolean"],
    "pruning_confidence": [Interval(Real, 0, 0.5, closed="right"), None],
    "subtree_raising": ["boolean"],
}
"""The values that each option may take, in scikit-learn's form."""


class C45Parameters(Protocol):
    """A learner with the options of C4.5."""

    criterion: Any
    average_gain: bool
    cut_minimum: bool
    two_branches: bool
    mdl_correction: bool
    collapse: bool
    pruning_confidence: float | None
    subtree_raising: bool


def check_c45_options(learner: C45Parameters) -> None:
    """Refuse options that need another option.

    Raises
    ------
    ValueError
        A rule about bits with a criterion that is not in bits, or a way of pruning without pruning.
    """
    if learner.average_gain and learner.criterion != "gain_ratio":
        raise ValueError(
            f"average_gain chooses who competes by gain ratio, but criterion is {learner.criterion!r}; "
            "set criterion='gain_ratio', or average_gain=False."
        )
    if learner.mdl_correction and learner.criterion not in IN_BITS:
        raise ValueError(
            f"mdl_correction is in bits, but criterion={learner.criterion!r} is not; "
            "set criterion='gain_ratio' or 'entropy', or mdl_correction=False."
        )
    if learner.subtree_raising and learner.pruning_confidence is None:
        raise ValueError(
            "subtree_raising is a part of pruning, but pruning_confidence is None, which does not prune; "
            "set pruning_confidence=0.25, or subtree_raising=False."
        )


def list_c45_rules(learner: C45Parameters, categories: Sequence[np.ndarray | None], n: int, c: int) -> C45Rules:
    """Return the rules of growth for n rows of c classes, given the values of the nominal columns."""
    n_values = count_categories(categories)  # (d,)
    return C45Rules(
        average_gain=learner.average_gain,
        cut_minimum=learner.cut_minimum,
        two_branches=learner.two_branches,
        description_length=learner.mdl_correction,
        n_classes=c,
        is_averaged=mark_averaged_features(n_values, n),
    )


def prune_by_training_errors(
    learner: C45Parameters, tree: Tree, X: np.ndarray, codes: np.ndarray, weight: np.ndarray
) -> Tree:
    """Return a grown tree pruned as the options say, given its rows X (n, d), their classes (n,) and weights (n,)."""
    if learner.collapse:
        tree = collapse_useless_splits(tree)
    confidence = learner.pruning_confidence
    if confidence is None:
        return tree
    if learner.subtree_raising:
        rows = TrainingClasses(X, codes, weight, tree.value.shape[1], IMPURITY[learner.criterion])
        return prune_with_raising(tree, rows, confidence)
    tree.collapse(list_collapsed_nodes(prune_pessimistically(tree, confidence)))
    return tree
