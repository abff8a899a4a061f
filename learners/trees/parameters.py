"""The parameters that decision trees and random forests share, and the limits of growth that follow from them."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any, Protocol

import numpy as np
from sklearn.utils._param_validation import Interval, RealNotInt, StrOptions

from bakeoff.learners.trees.criteria import Criterion
from bakeoff.learners.trees.grower import GrowthLimits

TREE_CONSTRAINTS: dict[str, list[Any]] = {
    "max_depth": [Interval(Integral, 1, None, closed="left"), None],
    "min_samples_split": [Interval(Integral, 2, None, closed="left"), Interval(RealNotInt, 0.0, 1.0, closed="right")],
    "min_samples_leaf": [Interval(Integral, 1, None, closed="left"), Interval(RealNotInt, 0.0, 1.0, closed="neither")],
    "min_weight_fraction_leaf": [Interval(Real, 0, 0.5, closed="both")],
    "min_impurity_decrease": [Interval(Real, 0, None, closed="left")],
    "max_leaf_nodes": [Interval(Integral, 2, None, closed="left"), None],
    "max_features": [
        Interval(Integral, 1, None, closed="left"),
        Interval(RealNotInt, 0.0, 1.0, closed="right"),
        StrOptions({"sqrt", "log2"}),
        None,
    ],
    "random_state": ["random_state"],
    "ccp_alpha": [Interval(Real, 0, None, closed="left")],
    "nominal_splits": [StrOptions({"multiway", "binary"})],
    "categorical_features": ["array-like", StrOptions({"from_dtype"}), None],
}
"""The values that each shared parameter may take, in scikit-learn's form."""


class TreeParameters(Protocol):
    """A learner with the parameters that limit the growth of its trees."""

    max_depth: int | None
    min_samples_split: int | float
    min_samples_leaf: int | float
    min_weight_fraction_leaf: float
    min_impurity_decrease: float
    max_leaf_nodes: int | None
    max_features: int | float | str | None
    nominal_splits: str


def derive_limits(learner: TreeParameters, criterion: Criterion, n: int, d: int, weight: float) -> GrowthLimits:
    """Return the limits of growth that a learner's parameters set.

    Parameters
    ----------
    learner : TreeParameters
    criterion : Criterion
    n : int
        The number of rows of which ``min_samples_split`` and ``min_samples_leaf`` may be fractions.
    d : int
        The number of features of which ``max_features`` may be a fraction.
    weight : float
        The total weight of which ``min_weight_fraction_leaf`` is a fraction.

    Returns
    -------
    GrowthLimits
        Without generators: if ``max_features`` is less than d, the caller adds them.
    """
    max_depth = learner.max_depth
    max_leaf_nodes = learner.max_leaf_nodes
    return GrowthLimits(
        criterion=criterion,
        max_depth=np.inf if max_depth is None else max_depth,
        min_samples_split=count_rows(learner.min_samples_split, n, least=2),
        min_samples_leaf=count_rows(learner.min_samples_leaf, n, least=1),
        min_weight_leaf=learner.min_weight_fraction_leaf * weight,
        min_impurity_decrease=learner.min_impurity_decrease,
        max_leaf_nodes=np.inf if max_leaf_nodes is None else max_leaf_nodes,
        max_features=count_features(learner.max_features, d),
        multiway=learner.nominal_splits == "multiway",
    )


def count_rows(value: int | float, n: int, least: int) -> int:
    """Return a number of rows, specified as a number or as a fraction of n."""
    if isinstance(value, Integral):
        return int(value)
    return max(least, int(np.ceil(value * n)))


def count_features(max_features: int | float | str | None, d: int) -> int:
    """Return the number of features, out of d, that a node tries."""
    if max_features is None:
        return d
    if isinstance(max_features, str):
        wanted = np.sqrt(d) if max_features == "sqrt" else np.log2(d)
        return max(1, int(wanted))
    if isinstance(max_features, Integral):
        return min(int(max_features), d)
    return max(1, int(max_features * d))


def count_categories(categories: Sequence[np.ndarray | None]) -> np.ndarray:
    """Return the number of values of each nominal column, and 0 for a numeric one, given ``categories_``: (d,)."""
    counts = [0 if values is None else len(values) for values in categories]
    return np.array(counts)
