"""Growing the trees of a forest in batches: the trees of a batch draw their rows and then grow as one frontier.

Trees differ only in their rows, so columns are sorted, or encoded if nodes draw features, once for all of them. The
rows of a tree in the order of a feature are the rows of the table in that order, without those not drawn by the tree. A
row drawn several times is stored once and counts several times.

`bakeoff.learners.definitions.random_forest` grows the same trees one after another.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import NamedTuple

import numpy as np
from sklearn.utils.parallel import Parallel, delayed

from bakeoff.learners.random_forest.bootstrap import TrainingRows
from bakeoff.learners.trees import (
    ClassTarget,
    Frontier,
    GrowthLimits,
    Target,
    TrainingTable,
    Tree,
    grow_frontier,
    smallest_row_dtype,
)

MAX_ROWS_PER_BATCH = 1 << 16
"""Trees grow together as long as they draw at most this number of rows in total."""

Generators = list[np.random.Generator]
"""One generator per tree, which draws first the rows of the tree and then its features."""


class GrownTree(NamedTuple):
    """A tree, and a mask of shape (k,) that marks which of the k rows it has drawn."""

    tree: Tree
    in_bag: np.ndarray


@dataclass(frozen=True)
class Sampling:
    """The sampling of rows and features for each tree.

    Attributes
    ----------
    n_draws : int or None
        The number of rows drawn; None if every tree uses all rows.
    replacement : bool
        Whether a row can be drawn again.
    features_per_tree : bool
        Whether features are drawn once per tree instead of once per node.
    balances_classes : bool
        Whether all classes have equal weight among the rows of each tree.
    """

    n_draws: int | None
    replacement: bool
    features_per_tree: bool
    balances_classes: bool = False


class BatchGrower:
    """Grows trees that share the sorted columns and the target but differ in their random draws.

    Parameters
    ----------
    rows : TrainingRows
    target : Target
        The target of these k rows.
    n_values : ndarray of shape (d,)
        The number of values of each nominal feature; 0 for a numeric one.
    sampling : Sampling
    limits : GrowthLimits
        The limits, without generators and subsets, which differ between batches.
    """

    def __init__(
        self, rows: TrainingRows, target: Target, n_values: np.ndarray, sampling: Sampling, limits: GrowthLimits
    ) -> None:
        self._rows = rows
        self._target = target
        self._n_values = n_values
        self._sampling = sampling
        self._limits = limits
        draws_features = limits.max_features < rows.X.shape[1]
        # Trees that try all features share one presort, instead of which histograms would require one for each batch.
        self._table = TrainingTable.from_rows(
            rows.X,
            n_values > 0,
            draws_features=draws_features,
            allows_histogram=draws_features and target.allows_histogram,
        )
        may_repeat = sampling.replacement or rows.weight.max() > 1
        has_unit_weights = target.fixed_point_weight is None
        # A row that is drawn several times is stored once, with its count as its weight if it has no other weight.
        self._stores_counts = sampling.n_draws is not None and may_repeat and has_unit_weights
        if sampling.balances_classes:
            self._stores_counts = False

    def grow_trees(self, generators: Generators, n_jobs: int | None) -> Iterator[GrownTree]:
        """Grow one tree per generator.

        Parameters
        ----------
        generators : list of Generator
        n_jobs : int or None
            The number of processes; see `count_processes`. Threads are no faster than one process, because the many
            small steps between large ones hold Python's global interpreter lock.

        Yields
        ------
        GrownTree
            One tree per generator, in the same order.
        """
        batches = self._divide_into_batches(generators)
        n_processes = min(count_processes(n_jobs), len(batches))
        # Within a single process, trees are yielded batch by batch, so that only one batch is in memory in addition to
        # the forest.
        if n_processes == 1:
            for batch in batches:
                yield from self.grow_batch(batch)
            return
        shares = np.array_split(np.arange(len(batches)), n_processes)
        batches_of_processes = [[batches[i] for i in share] for share in shares]
        parallel = Parallel(n_jobs=n_processes)
        for grown in parallel(delayed(self.grow_batches)(share) for share in batches_of_processes):
            yield from grown

    def _divide_into_batches(self, generators: Generators) -> list[Generators]:
        n_rows_per_tree = self._sampling.n_draws
        if n_rows_per_tree is None:
            n_rows_per_tree = self._rows.weight.size
        n_trees = max(1, MAX_ROWS_PER_BATCH // n_rows_per_tree)
        starts = range(0, len(generators), n_trees)
        return [generators[start : start + n_trees] for start in starts]

    def grow_batches(self, batches: list[Generators]) -> list[GrownTree]:
        """Grow several batches, one after another."""
        return [grown for batch in batches for grown in self.grow_batch(batch)]

    def grow_batch(self, batch: Generators) -> list[GrownTree]:
        """Grow one tree per generator, all at the same time."""
        # A generator draws the rows of its tree before any features, so that a tree is the same in every batch.
        counts = np.stack([self._draw_rows(generator) for generator in batch])  # (T, k)
        frontier = self._make_root_frontier(counts)
        trees = grow_frontier(frontier, self._n_values, self._limit_batch(batch))
        in_bag = counts > 0  # (T, k)
        return [GrownTree(tree, mask) for tree, mask in zip(trees, in_bag, strict=True)]

    def _draw_rows(self, generator: np.random.Generator) -> np.ndarray:
        """Return how many times a tree has drawn each row: shape (k,)."""
        n_draws = self._sampling.n_draws
        if n_draws is None:
            return np.ones(self._rows.weight.size, dtype=np.intp)
        return self._rows.draw_counts(generator, n_draws, replacement=self._sampling.replacement)

    def _make_root_frontier(self, counts: np.ndarray) -> Frontier:
        """Return the frontier of the roots of T trees, given how many times each tree contains each row (T, k)."""
        n_trees, k = counts.shape
        # Row i of tree t is row i + t k of the target.
        if self._sampling.balances_classes:
            assert isinstance(self._target, ClassTarget)
            target: Target = self._target.balance_classes(counts)
        else:
            target = self._target.take_rows(np.tile(np.arange(k), n_trees))
        repeats = counts  # (T, k), how many positions each row takes
        if self._stores_counts:
            repeats = np.minimum(counts, 1)
            largest = int(counts.sum(axis=1).max())
            target = target.with_counts(counts.ravel(), largest)
        order = _repeat_rows(self._table.order, repeats)
        return Frontier.from_roots(self._table, target, order, repeats.sum(axis=1))

    def _limit_batch(self, batch: Generators) -> GrowthLimits:
        """Return the limits with the features drawn for each tree, or with the generators that draw for each node."""
        d = self._table.columns.shape[0]
        max_features = self._limits.max_features
        if self._sampling.features_per_tree:
            subsets = [np.sort(generator.permutation(d)[:max_features]) for generator in batch]
            return replace(self._limits, subsets=subsets)
        if max_features < d:
            return replace(self._limits, generators=batch)
        return replace(self._limits, generators=[])


FeatureOrder = Callable[[np.ndarray], np.ndarray]
"""Maps the positions of the training rows in a node to the order in which it tries the features."""


def order_features(
    tree: Tree, visited: np.ndarray, generator: np.random.Generator, max_features: int, *, per_tree: bool
) -> FeatureOrder:
    """Return the map from the rows of a node to the order in which it tried the features.

    Parameters
    ----------
    tree : Tree
        An unpruned tree of k nodes.
    visited : ndarray of shape (n, k)
        Whether each of n rows, among which are its own, passes each node.
    generator : Generator
        That of the tree, which has drawn its rows.
    max_features : int
    per_tree : bool
        Whether features were drawn once per tree.
    """
    d = tree.n_values.size
    if per_tree:
        subset = generator.permutation(d)[:max_features]
        return lambda rows: subset
    lots = np.zeros((tree.node_count, d))
    # Each level draws a number for every feature of its impure nodes, all first branches before all second ones.
    level = [0]
    while level := [node for node in level if tree.impurity[node] > 0]:
        lots[level] = generator.random((len(level), d), np.float32)
        branches = zip_longest(*map(tree.children, level))
        level = [child for branch in branches for child in branch if child is not None]

    def order(rows: np.ndarray) -> np.ndarray:
        # Parents have lower numbers than their children.
        deepest = np.flatnonzero(visited[rows].all(axis=0))[-1]
        return np.argsort(lots[deepest])

    return order


def count_processes(n_jobs: int | None) -> int:
    """Return the number of processes for ``n_jobs``: None is one, -1 all cores, -2 all but one, and so on.

    >>> count_processes(None), count_processes(3)
    (1, 3)
    """
    if n_jobs == 0:
        raise ValueError("n_jobs=0 must be a positive number of processes, -1 for all cores, or None for one process.")
    if n_jobs is None:
        return 1
    if n_jobs > 0:
        return n_jobs
    return max(1, _count_cores() + 1 + n_jobs)


def _count_cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _repeat_rows(order: np.ndarray, repeats: np.ndarray) -> np.ndarray:
    """Return the rows of all trees, tree after tree and in the order of each feature.

    Parameters
    ----------
    order : ndarray of shape (d, k), int
        The rows of the table in the order of each feature.
    repeats : ndarray of shape (T, k), int
        How many times each tree contains each row.

    Returns
    -------
    ndarray of shape (d, n)
        Row i of tree t is i + t k.
    """
    d, k = order.shape
    dtype = smallest_row_dtype(repeats.size)
    parts = []
    # Repeating rows preserves their order, so the rows of each tree are already sorted by every feature.
    for t, times in enumerate(repeats):
        times_in_order = times.take(order)  # (d, k)
        repeated = np.repeat(order.ravel(), times_in_order.ravel())
        rows_of_tree = repeated.reshape(d, -1).astype(dtype)
        rows_of_tree += dtype.type(t * k)
        parts.append(rows_of_tree)
    return np.concatenate(parts, axis=1)
