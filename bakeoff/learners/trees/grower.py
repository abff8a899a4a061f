"""Growing a tree by recursive splitting, as Split(R, T) in the lectures, with the recursion replaced by a loop.

    function Split(R, T):
        if the stopping criterion is fulfilled: return R
        pick the feature and threshold with the largest gain
        split the region R into R_1, R_2 and the rows T into T_1, T_2
        return Split(R_1, T_1), Split(R_2, T_2)

`bakeoff.learners.definitions.decision_tree` implements this function. Here a node is a region R, and each iteration of
the loop calls Split for all open nodes of a level at once: it finds the best split of each, drops weak ones, partitions
the rows, and adds the child nodes. A node stays a leaf if it is pure, if a limit forbids splitting it, or if it has no
split. A frontier may contain the roots of several trees, which are then grown together.

Best-first growth (``max_leaf_nodes``) uses the same loop: the split of a node depends only on its rows, so the
best-first tree is the level-wise tree pruned to the splits that come first in best-first order. Nodes that can no
longer be among these are not split further.

Cost: O(n d log n) to sort, then O(n d c) per level.

As in C4.5, a threshold may be a value that occurs in the data, instead of the midpoint between two neighbouring values
in a node. It is the largest value v in all training rows, not only in the node, that does not exceed the midpoint, and
equality goes left: x <= v. Because the questions of a tree are x < s, its threshold s is the smallest number above v.

The limits of growth are derived from the parameters shared by decision trees and random forests.

Reference: J. R. Quinlan, "C4.5: Programs for Machine Learning", 1993, section 2.4.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any, Protocol

import numpy as np
from sklearn.utils._param_validation import Interval, RealNotInt, StrOptions

from bakeoff.learners.trees.builder import Level, TreeBuilder
from bakeoff.learners.trees.criteria import Criterion, SquaredDistance
from bakeoff.learners.trees.dense_growth import MAX_DENSE_ROWS, MAX_DENSE_SUMS, DenseGrower
from bakeoff.learners.trees.frontier import Frontier, group_by_branch
from bakeoff.learners.trees.splitting.partition import Partition, partition_rows
from bakeoff.learners.trees.splitting.splits import NO_RULES, C45Rules, SplitRules, Splits
from bakeoff.learners.trees.splitting.splitter import find_best_splits
from bakeoff.learners.trees.target import Target
from bakeoff.learners.trees.tree import Tree

RELATIVE_ROUNDING = 4 * float(np.finfo(np.float64).eps)
"""The rounding error of the gain of a split, relative to the impurity of the node."""

KEPT_BYTES = 4_000_000
"""When a block of this size is freed, C's allocator (glibc) begins to keep freed memory for the next array, up to twice
as much. Before that it returns larger arrays to the system, and each of their pages causes a fault when it is requested
again, at every step of every level, which could take as long as the computation itself."""


@dataclass
class GrowthLimits:
    """The limits of growth, and the kinds of splits that a node may use.

    Attributes
    ----------
    criterion : Criterion
    max_depth : float
    min_samples_split, min_samples_leaf : int
    min_weight_leaf : float
        In the unit of the sample weights.
    min_impurity_decrease : float
        A fraction of the root's weight times a decrease of impurity.
    max_leaf_nodes : float
    max_features : int
        The number of features that each node draws; without generators, a node tries all d features.
    generators : list of Generator
        One generator for each tree.
    subsets : list of ndarray of shape (max_features,)
        An alternative to generators: for each tree, the features, ascending, that all of its nodes try.
    multiway : bool
        Whether a nominal split has a branch for each value, rather than two.
    c45 : C45Rules
        The rules of C4.5 that apply.
    threshold_generator : Generator, optional
        Given if the thresholds of numeric features are random; for one tree only.
    """

    criterion: Criterion
    max_depth: float = np.inf
    min_samples_split: int = 2
    min_samples_leaf: int = 1
    min_weight_leaf: float = 0.0
    min_impurity_decrease: float = 0.0
    max_leaf_nodes: float = np.inf
    max_features: int = 0
    generators: list[np.random.Generator] = field(default_factory=list)
    subsets: list[np.ndarray] = field(default_factory=list)
    multiway: bool = True
    c45: C45Rules = NO_RULES
    threshold_generator: np.random.Generator | None = None

    def draw_thresholds(self, generator: np.random.Generator, target: Target) -> None:
        """Make the thresholds of one tree random; raise ValueError for gain ratio."""
        if self.criterion.by_ratio:
            raise ValueError(
                "splitter='random' compares features by gain, not by gain ratio: set criterion='entropy' or "
                "splitter='best'."
            )
        # Histograms evaluate all cuts.
        target.allows_histogram = False
        self.threshold_generator = generator


def grow_tree(X: np.ndarray, target: Target, n_values: np.ndarray, limits: GrowthLimits) -> Tree:
    """Grow one tree on all rows.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Nominal cells are codes, missing cells NaN.
    target : Target
        The target of these rows.
    n_values : ndarray of shape (d,)
        The number of values of each nominal feature; 0 for a numeric one.
    limits : GrowthLimits

    Returns
    -------
    Tree
    """
    if isinstance(limits.criterion, SquaredDistance) and _may_grow_densely(X, target, n_values, limits):
        grower = DenseGrower(X, target, limits.criterion, limits.min_samples_leaf)
        return grower.grow(_limit_node_rows(limits), limits.max_depth)
    draws_features = len(limits.generators) > 0
    frontier = Frontier.from_rows(X, n_values > 0, target, draws_features=draws_features)
    return grow_frontier(frontier, n_values, limits)[0]


def grow_frontier(frontier: Frontier, n_values: np.ndarray, limits: GrowthLimits) -> list[Tree]:
    """Grow a tree from every root of the frontier.

    Parameters
    ----------
    frontier : Frontier
        Its m nodes are the roots.
    n_values : ndarray of shape (d,)
        The number of values of each nominal feature; 0 for a numeric one.
    limits : GrowthLimits

    Returns
    -------
    list of m Tree
    """
    np.empty(KEPT_BYTES, dtype=np.uint8)  # freed at once
    builder = TreeBuilder(n_values, frontier.target)
    level = builder.add_roots(frontier)
    while True:
        # If the stopping criterion is fulfilled, Split(R, T) returns R: the node stays a leaf.
        level = _keep_open_nodes(level, limits, builder.depth)
        if level.number.size == 0:
            break
        frontier = frontier.make_next_level(level.rows, level.branch, level.tree, level.stats)
        # For each R, pick the feature and threshold with the largest gain.
        splits = _choose_splits(frontier, level, limits)
        splits = _drop_weak_splits(splits, frontier, level, limits, builder.root_weight)
        # T is split into T_1 and T_2, or for nominal features into as many parts as there are branches.
        partition = partition_rows(frontier, splits)
        first_child = builder.add_splits(level.number, splits, partition)
        if np.isfinite(limits.max_leaf_nodes):
            is_made = builder.mark_best_first(limits.max_leaf_nodes)
            partition = partition.keep_splits(is_made[level.number], frontier.node_of_position)
        if not partition.n_branches.any():
            break
        # R is split into R_1 and R_2, and the next iteration calls Split for each of them.
        rows = _group_rows_by_child(frontier, partition)
        level = builder.add_children(level, first_child, partition, rows)
    return builder.finish_trees(limits.max_leaf_nodes)


def _may_grow_densely(X: np.ndarray, target: Target, n_values: np.ndarray, limits: GrowthLimits) -> bool:
    """Return whether a tree on the rows of X (n, d) needs no more than `DenseGrower`."""
    n, d = X.shape
    if n > MAX_DENSE_ROWS or n * d * target.n_sums > MAX_DENSE_SUMS:
        return False
    has_limits = limits.min_impurity_decrease > 0 or limits.min_weight_leaf > 0 or limits.c45.cut_minimum
    grows_best_first = np.isfinite(limits.max_leaf_nodes)
    has_draws = limits.generators or limits.threshold_generator is not None
    has_weights = target.fixed_point_weight is not None
    return not (has_limits or grows_best_first or has_draws or has_weights or n_values.any() or np.isnan(X).any())


def _limit_node_rows(limits: GrowthLimits) -> int:
    """Return the number of rows below which a node is not split."""
    return max(limits.min_samples_split, 2 * limits.min_samples_leaf, 2)


def _keep_open_nodes(level: Level, limits: GrowthLimits, depth: int) -> Level:
    """Return the nodes of a level that may be split within the limits."""
    if depth >= limits.max_depth:
        none = np.zeros(level.number.size, dtype=bool)
        return level.select_nodes(none)
    stats = level.stats
    is_open = stats.n_rows >= _limit_node_rows(limits)
    is_open &= ~stats.pure
    if limits.min_weight_leaf > 0:
        is_open &= stats.weight >= 2 * limits.min_weight_leaf
    return level.select_nodes(is_open)


def _choose_splits(frontier: Frontier, level: Level, limits: GrowthLimits) -> Splits:
    """Find the best split of every node over all features, its tree's subset, or features drawn for the node."""
    if limits.generators:
        return _split_on_drawn_features(frontier, level, limits)
    if limits.subsets:
        features = np.stack(limits.subsets)[level.tree].T  # (b, m)
    else:
        d = frontier.table.columns.shape[0]
        features = np.arange(d)[:, None]  # (d, 1)
    rules = _derive_split_rules(frontier, limits)
    return find_best_splits(frontier, features, rules)


def _split_on_drawn_features(frontier: Frontier, level: Level, limits: GrowthLimits) -> Splits:
    """Find the best split of every node over features drawn for it; if none of them splits a node, draw more."""
    d = frontier.table.columns.shape[0]
    rules = _derive_split_rules(frontier, limits)
    count = limits.max_features
    draws = _draw_numbers(level, limits, d)
    splits = find_best_splits(frontier, draw_features(draws, count), rules)
    pending = np.flatnonzero(splits.feature < 0)
    if pending.size > 0:
        _split_on_later_features(splits, pending, frontier, rules, draws[pending], count)
    return splits


def _split_on_later_features(
    splits: Splits, pending: np.ndarray, frontier: Frontier, rules: SplitRules, draws: np.ndarray, count: int
) -> None:
    """Split nodes (k,) that have no split on their first ``count`` features, given the draws of these nodes (k, d).

    A node tries the next features, in the order of its draws, in which its cells differ.
    """
    d = draws.shape[1]
    varies = frontier.select_nodes(pending).mark_varying_features()  # (d, k)
    ranked = draws.argsort(axis=1)  # (k, d)
    is_next = np.take_along_axis(varies.T, ranked, axis=1)  # (k, d)
    is_next[:, :count] = False
    while True:
        begin = np.where(is_next.any(axis=1), is_next.argmax(axis=1) // count * count, d)  # (k,)
        # The last batch of features of a node may be smaller.
        width = min(count, d - int(begin.min()))
        if width == 0:
            return
        now = np.flatnonzero(begin <= d - width)
        rank = begin[now, None] + np.arange(width)
        features = np.sort(np.take_along_axis(ranked[now], rank, axis=1), axis=1).T  # (width, nodes)
        nodes = pending[now]
        found = find_best_splits(frontier.select_nodes(nodes), features, rules.select_nodes(nodes))
        splits.put(nodes, found)
        untried = np.where(found.feature < 0, begin[now] + width, d)
        is_next[now] &= np.arange(d) >= untried[:, None]


def _draw_numbers(level: Level, limits: GrowthLimits, d: int) -> np.ndarray:
    """Draw a random number for each of m nodes and d features, using each tree's own generator: (m, d)."""
    by_tree = np.argsort(level.tree, kind="stable")
    n_trees = len(limits.generators)
    n_nodes = np.bincount(level.tree, minlength=n_trees).tolist()
    # Thus a tree draws the same numbers regardless of which other trees grow at the same time.
    parts = [generator.random((m, d), np.float32) for generator, m in zip(limits.generators, n_nodes, strict=True)]
    draws = np.empty((level.tree.size, d), dtype=np.float32)
    draws[by_tree] = np.concatenate(parts)
    return draws


def draw_features(draws: np.ndarray, count: int) -> np.ndarray:
    """Return the features with the lowest of random numbers (m, d) in each node, ascending: (count, m)."""
    chosen = np.argpartition(draws, count - 1, axis=1)[:, :count]  # cheaper than sorting
    return np.ascontiguousarray(np.sort(chosen, axis=1).T)


def _drop_weak_splits(
    splits: Splits, frontier: Frontier, level: Level, limits: GrowthLimits, root_weight: np.ndarray
) -> Splits:
    """Return the splits with sufficient gain; gains are converted to decreases of impurity times the node's weight."""
    is_kept = splits.feature >= 0  # (m,)
    gain = np.where(is_kept, splits.gain, 0.0)
    gain *= limits.criterion.gain_unit(frontier.node_weights)
    gain *= level.stats.gain_unit
    gain *= level.stats.weight
    if limits.min_impurity_decrease > 0:
        # A gain equal to the limit is sufficient, up to the rounding of the impurities from which it is computed.
        _, impurity = frontier.target.describe_nodes(level.stats)  # (m,)
        rounding = RELATIVE_ROUNDING * impurity * level.stats.weight
        decrease = (gain + rounding) / root_weight[level.tree]
        is_kept &= decrease >= limits.min_impurity_decrease
    return splits.with_gain(gain, is_kept)


def _derive_split_rules(frontier: Frontier, limits: GrowthLimits) -> SplitRules:
    """Return the rules of the search for splits, in the unit of the frontier's sums."""
    min_rows = limits.min_samples_leaf
    min_weight = limits.min_weight_leaf * frontier.target.fixed_point_scale
    if frontier.target.weights_are_counts:
        # Weights are numbers of rows, so one limit on the weight covers both limits.
        least_count = min_rows if min_rows > 1 else 0
        min_weight = max(min_weight, least_count)
        min_rows = 1
    draws = None
    if limits.threshold_generator is not None:
        n_features = frontier.table.columns.shape[0]
        draws = limits.threshold_generator.random((frontier.n_positions.size, n_features))
    return SplitRules(
        criterion=limits.criterion,
        min_rows=min_rows,
        min_weight=min_weight,
        multiway=limits.multiway,
        c45=limits.c45,
        row_weight=frontier.target.fixed_point_scale,
        draws=draws,
    )


def _group_rows_by_child(frontier: Frontier, partition: Partition) -> np.ndarray:
    """Return the rows of all children, sorted by branch and within a branch by parent: shape (n,)."""
    max_branches = int(partition.n_branches.max())
    by_node = frontier.order[:1]  # (1, n)
    branch = partition.branch[None, :]  # (1, n)
    rows = group_by_branch(by_node, branch, max_branches)[0]
    return rows.astype(np.intp, copy=False)


def move_thresholds_to_values(tree: Tree, X: np.ndarray) -> Tree:
    """Replace the numeric thresholds of a tree, in place, by numbers next to values of its rows X (n, d); return it.

    No training row changes sides. A question about missing cells, whose threshold is infinite, remains unchanged.
    """
    is_numeric = np.isfinite(tree.threshold)
    for feature in np.unique(tree.feature[is_numeric]).tolist():
        nodes = np.flatnonzero(is_numeric & (tree.feature == feature))
        column = X[:, feature]
        values = np.unique(column[~np.isnan(column)])  # ascending
        tree.threshold[nodes] = np.nextafter(_find_values(values, tree.threshold[nodes]), np.inf)
    return tree


def _find_values(values: np.ndarray, threshold: np.ndarray) -> np.ndarray:
    """Return the largest of the ascending values up to each threshold (k,) that goes left of it in its node: (k,)."""
    # The first value of a node is below its threshold, so there is always one.
    below = values[np.searchsorted(values, threshold, side="left") - 1]
    up_to = values[np.searchsorted(values, threshold, side="right") - 1]
    # Neighbouring floats have no midpoint: the threshold is the value that goes right.
    has_middle = np.nextafter(below, np.inf) < threshold
    return np.where(has_middle, up_to, below)


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
"""The allowed values of each shared parameter, in scikit-learn's format."""


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
    """Return the limits of growth set by a learner's parameters.

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
        The limits without generators, which the caller adds if ``max_features`` is less than d.
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
    """Return a number of rows that is specified as a number or as a fraction of n."""
    if isinstance(value, Integral):
        return int(value)
    return max(least, int(np.ceil(value * n)))


def count_features(max_features: int | float | str | None, d: int) -> int:
    """Return the number of features, out of d, tried at a node."""
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
