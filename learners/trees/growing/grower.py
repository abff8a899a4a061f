"""Growing: recursive splitting (Split(R, T) of the lectures), with the recursion turned into levels.

All nodes of a level are split at once: the best cut of each, then the rows of each into its branches, then the next
level; a node stays a leaf if it is pure, if a limit forbids to split it, or if no cut is left.  A frontier may hold the
roots of several trees, which then grow side by side.

Best-first growth (``max_leaf_nodes``) needs no other order: a node's split depends on its rows alone, so the best-first
tree is the level-wise tree cut back to the splits that a heap would have made first.  After each level those that
could not be among them any more are dropped, so no more is grown than is needed.

Cost: O(n d log n) to sort, then O(n d c) per level.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from bakeoff.learners.trees.criteria import Criterion
from bakeoff.learners.trees.growing.builder import Level, TreeBuilder
from bakeoff.learners.trees.rows.frontier import Frontier
from bakeoff.learners.trees.splitting.splits import BranchLimits, Splits
from bakeoff.learners.trees.splitting.splitter import find_best_splits, partition_rows
from bakeoff.learners.trees.tree import Tree

KEPT = 4_000_000
"""Bytes. When a block of this size is freed, C's allocator (glibc) begins to keep what is freed for the next array, up
to twice as much.  Before that it gives larger arrays back to the system, and each of their pages costs a fault when it
is asked for again: at every step of every level, which could take as long as all that is done with them."""


@dataclass
class GrowthLimits:
    """When a node may be split, and what it may ask.

    Attributes
    ----------
    min_weight_leaf : float
        In the unit of the sample weights.
    max_features : int
        Features drawn for each node; all d of them, without drawing, if there is no generator.
    generators : list of Generator
        One for each tree.
    subsets : list of ndarray of shape (max_features,)
        Instead: the features, ascending, that each tree may ask.
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


def grow_frontier(frontier: Frontier, n_values: np.ndarray, limits: GrowthLimits) -> list[Tree]:
    """Grow a tree from every root of the frontier.

    Parameters
    ----------
    frontier : Frontier
        n rows; its m nodes are the roots.
    n_values : ndarray of shape (d,)
        The number of values of each nominal feature; 0 for a numeric one.
    limits : GrowthLimits

    Returns
    -------
    list of m Tree
    """
    np.empty(KEPT, dtype=np.uint8)  # freed at once
    rows = frontier.order[0].astype(np.intp)
    node = frontier.node_of_position
    roots = np.arange(frontier.n_positions.size)
    stats, addends = frontier.target.compute_stats(rows, node, frontier.n_positions)
    frontier.target.store_addends(rows, addends)
    level = Level(roots, roots, np.zeros_like(roots), stats)
    builder = TreeBuilder(n_values, frontier.target, level)
    while to_split := np.count_nonzero(open_nodes := _mark_open_nodes(level, limits, builder.depth)):
        branch = np.where(open_nodes, level.branch, -1).take(node)
        if to_split < level.number.size:
            on = (branch >= 0).nonzero()[0]
            rows, branch, level = rows.take(on), branch.take(on), level.take(open_nodes.nonzero()[0])
        frontier = frontier.make_next_level(rows, branch, level.tree, level.stats)
        splits = _find_best_splits(frontier, level, limits)
        splits = _drop_weak_splits(splits, frontier, level, limits, builder)
        partition = partition_rows(frontier, splits)
        builder.add_splits(level, splits, partition)
        if np.isfinite(limits.max_leaf_nodes):
            partition = partition.keep_splits(
                builder.mark_best_first(limits.max_leaf_nodes)[level.number], frontier.node_of_position
            )
        if not partition.n_branches.any():
            break
        level, rows, node = builder.add_nodes(frontier, level, partition)
    return builder.finish_trees(limits.max_leaf_nodes)


def _mark_open_nodes(level: Level, limits: GrowthLimits, depth: int) -> np.ndarray:
    if depth >= limits.max_depth:
        return np.zeros(level.number.size, dtype=bool)
    enough = level.stats.n_rows >= max(limits.min_samples_split, 2 * limits.min_samples_leaf, 2)
    enough &= ~level.stats.pure
    return enough & (level.stats.weight >= 2 * limits.min_weight_leaf) if limits.min_weight_leaf > 0 else enough


def _branch_limits(frontier: Frontier, limits: GrowthLimits) -> BranchLimits:
    rows, weight = limits.min_samples_leaf, limits.min_weight_leaf * frontier.target.fixed_point_scale
    return (
        BranchLimits(1, max(weight, rows if rows > 1 else 0))
        if frontier.target.weights_are_counts
        else BranchLimits(rows, weight)
    )


def _find_best_splits(frontier: Frontier, level: Level, limits: GrowthLimits) -> Splits:
    """Find every node's best split; where none of the drawn features splits a node, draw more."""
    branch_limits = _branch_limits(frontier, limits)
    d, m = frontier.table.columns.shape[0], level.number.size
    if limits.subsets:
        features = np.stack(limits.subsets)[level.tree].T
        return find_best_splits(frontier, features, limits.criterion, branch_limits, multiway=limits.multiway)
    if not limits.generators:
        return find_best_splits(
            frontier, np.arange(d)[:, None], limits.criterion, branch_limits, multiway=limits.multiway
        )
    drawn = _draw_features(level, limits, d)
    splits = Splits.none(m)
    pending = np.arange(m)
    for first in range(0, d, limits.max_features):
        here = frontier if pending.size == m else frontier.select_nodes(pending)
        features = _next_features(drawn[pending], first, limits.max_features)
        found = find_best_splits(here, features, limits.criterion, branch_limits, multiway=limits.multiway)
        splits.put(pending, found)
        pending = np.flatnonzero(splits.feature < 0)
        if pending.size == 0:
            break
    return splits


def _draw_features(level: Level, limits: GrowthLimits, d: int) -> np.ndarray:
    """Draw a number for each node and feature (m, d), every tree with its own generator: the lowest are looked at."""
    by_tree = np.argsort(level.tree, kind="stable")
    nodes = np.bincount(level.tree, minlength=len(limits.generators)).tolist()
    numbers = [g.random((m, d), np.float32) for g, m in zip(limits.generators, nodes, strict=True)]
    drawn = np.empty((level.tree.size, d), dtype=np.float32)
    drawn[by_tree] = np.concatenate(numbers)
    return drawn


def _next_features(drawn: np.ndarray, first: int, count: int) -> np.ndarray:
    """Return the features of the lowest numbers (m, d) but ``first``, up to ``count`` of them, ascending: (b, m)."""
    last = min(first + count, drawn.shape[1])
    if first == 0 and last < drawn.shape[1]:
        chosen = np.argpartition(drawn, last - 1, axis=1)[:, :last]
    else:
        chosen = np.argsort(drawn, axis=1)[:, first:last]
    return np.ascontiguousarray(np.sort(chosen, axis=1).T)


def _drop_weak_splits(
    splits: Splits, frontier: Frontier, level: Level, limits: GrowthLimits, builder: TreeBuilder
) -> Splits:
    """Return splits that gain enough, their gains in the unit of the impurity times the node's weight."""
    stats = level.stats
    gain = np.where(splits.feature >= 0, splits.gain, 0.0)
    gain *= limits.criterion.gain_unit(frontier.node_weights)
    gain *= stats.gain_unit
    gain *= stats.weight
    kept = splits.feature >= 0
    if limits.min_impurity_decrease > 0:  # a gain equal to the limit but for rounding is enough
        fall = gain / builder.root_weight[level.tree] + np.finfo(np.float64).eps
        kept &= fall >= limits.min_impurity_decrease
    return splits.with_gain(gain, kept)
