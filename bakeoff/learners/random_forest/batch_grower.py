"""The rows of the trees of a forest, and their growth in batches.

*Bootstrap samples* are drawn with or without replacement. A draw depends on the contents of a row, never on its
position in the table. Rows are sorted by content, equal rows are merged and their weights added, and a draw is a point
on the line [0, W) on which each row has an interval as long as its weight (inverse transform sampling):

    row of the point u W  =  the first i with  w_1 + … + w_i > u W,   u uniform in [0, 1)

Therefore the forest does not depend on the order of the rows, and a row that occurs twice is equivalent, bit for bit,
to one row of weight 2. Drawing s rows costs O(s + n) with whole weights and O(s log s + n) with fractional ones; if s
is many times n, it costs O(n), because the counts are then drawn from their joint distribution instead of row by row.
Sorting costs O(n log n) for the first column; further columns are compared only where rows still tie.

*Batches*: the trees of a batch draw their rows and then grow as one frontier. Trees differ only in their rows, so
columns are sorted, or encoded if nodes draw features, once for all of them. The rows of a tree in the order of a
feature are the rows of the table in that order, without those not drawn by the tree. A row drawn several times is
stored once and counts several times. `bakeoff.learners.definitions.random_forest` grows the same trees one after
another.

*Out of bag*: the prediction of a training row is the average over the trees that have not drawn it.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import zip_longest
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.parallel import Parallel, delayed

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

MAX_POINTS_PER_ROW = 8
"""With more draws for each row than this on average, counts are drawn instead of points."""

MAX_COPIES_PER_ROW = 8
"""Up to this average weight, the copies of each row are counted instead of searched for."""

MAX_DRAWS_PER_TREE = 10**9
"""With this number of draws, the shares of the rows equal the shares of their weights to about five digits."""

MAX_ROWS_PER_DRAW = 10
"""More rows for each draw than this suggest weights in the wrong unit."""


@dataclass
class TrainingRows:
    """The k rows that trees draw from, sorted by content.

    Attributes
    ----------
    X : ndarray of shape (k, d)
    y : ndarray of shape (k,)
        Class codes, or numeric targets.
    weight : ndarray of shape (k,)
    inverse : ndarray of shape (n,), int
        The position of each of the n given rows among the k rows, named as in ``numpy.unique``.
    """

    X: np.ndarray
    y: np.ndarray
    weight: np.ndarray
    inverse: np.ndarray

    @classmethod
    def from_table(cls, X: np.ndarray, y: np.ndarray, weight: np.ndarray, *, merge_equal: bool) -> TrainingRows:
        """Sort rows by content.

        Parameters
        ----------
        X : ndarray of shape (n, d)
        y : ndarray of shape (n,)
        weight : ndarray of shape (n,)
        merge_equal : bool
            Whether equal rows are merged into one row, and their weights added.
        """
        # NaN is not equal to itself, so it is replaced by infinity to make missing cells tie.
        cells = [np.where(np.isnan(column), np.inf, column) for column in X.T]
        order, is_new = sort_by_content([*cells, y])
        if not is_new.all():
            # Equal rows are sorted by weight, so that even the rounding of their sum is independent of their order.
            order, _ = sort_by_content([weight], order, is_new)
        if not merge_equal:
            is_new[:] = True
        inverse = np.empty(order.size, dtype=np.intp)  # (n,)
        inverse[order] = np.cumsum(is_new) - 1
        first = np.flatnonzero(is_new)  # (k,)
        kept = order.take(first)
        total_weight = np.add.reduceat(weight.take(order), first)  # (k,)
        return cls(X[kept], y[kept], total_weight, inverse)

    def draw_counts(self, generator: np.random.Generator, n_draws: int, *, replacement: bool) -> np.ndarray:
        """Draw rows in proportion to their weights.

        Parameters
        ----------
        generator : Generator
        n_draws : int
        replacement : bool
            Without replacement, each row can be drawn as many times as its weight, which must be an integer.

        Returns
        -------
        ndarray of shape (k,), int
            The number of times that each row is drawn.
        """
        # Counts have a known distribution, and the time to draw from it does not depend on the number of draws.
        if n_draws > MAX_POINTS_PER_ROW * self.weight.size:
            return self._draw_counts_directly(generator, n_draws, replacement)
        total = self._cumulative_weight[-1]
        if replacement:
            points = generator.random(n_draws) * total
            # Rounding can raise a product to the total itself, which lies beyond the last row.
            points = np.minimum(points, np.nextafter(total, 0))
        else:
            copies = generator.choice(int(total), n_draws, replace=False, shuffle=False)
            points = copies.astype(np.float64)
        if self._first_copy is None:
            return self._count_by_search(points)
        return self._count_by_copy(points, self._first_copy)

    def weigh_each_draw(self, n_draws: int | None) -> np.ndarray:
        """Return the weight of each row in a tree for each time that the tree contains it: shape (k,)."""
        if n_draws is None:
            return self.weight
        # The number of times that a row is drawn already accounts for its weight.
        return np.ones(self.weight.size)

    def _draw_counts_directly(self, generator: np.random.Generator, n_draws: int, replacement: bool) -> np.ndarray:
        if replacement:
            return generator.multinomial(n_draws, self.weight / self._cumulative_weight[-1])
        copies = self.weight.astype(np.int64)
        return generator.multivariate_hypergeometric(copies, n_draws, method="marginals")

    def _count_by_copy(self, points: np.ndarray, first_copy: np.ndarray) -> np.ndarray:
        n_copies = int(self._cumulative_weight[-1])
        counts_of_copies = np.bincount(points.astype(np.intp), minlength=n_copies)
        return np.add.reduceat(counts_of_copies, first_copy)

    def _count_by_search(self, points: np.ndarray) -> np.ndarray:
        points = np.sort(points)
        n_points_before_end = np.searchsorted(points, self._cumulative_weight, side="left")  # (k,)
        return np.diff(n_points_before_end, prepend=0)

    @cached_property
    def _cumulative_weight(self) -> np.ndarray:
        """The end of each row's interval on the line, shape (k,)."""
        return np.cumsum(self.weight)

    @cached_property
    def _first_copy(self) -> np.ndarray | None:
        """The number of the first copy of each row (k,), if all weights are whole and small; else None."""
        if self._cumulative_weight[-1] > MAX_COPIES_PER_ROW * self.weight.size:
            return None
        if not np.array_equal(self.weight, np.rint(self.weight)):
            return None
        return (self._cumulative_weight - self.weight).astype(np.intp)


def sort_by_content(
    columns: Sequence[np.ndarray], order: np.ndarray | None = None, is_new: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Sort rows by the first column, ties by the second, and so on.

    Parameters
    ----------
    columns : sequence of ndarray of shape (n,)
    order, is_new : ndarray of shape (n,), optional
        The result for other columns, whose ties are sorted by these columns.

    Returns
    -------
    order : ndarray of shape (n,), int
    is_new : ndarray of shape (n,), bool
        Whether each row, in this order, differs from the row before it.
    """
    n = columns[0].size
    order = np.arange(n) if order is None else order.copy()
    is_new = np.arange(n) == 0 if is_new is None else is_new.copy()
    for column in columns:
        # A row is tied if it equals the row before it or the row after it.
        is_tied = ~is_new
        is_tied[:-1] |= is_tied[1:]
        tied = np.flatnonzero(is_tied)
        if tied.size == 0:
            break
        group = np.cumsum(is_new)[tied]
        # Rows that tie in all columns so far form a group; only the order within groups changes.
        rows = order[tied]
        rows = rows[np.lexsort((column[rows], group))]
        order[tied] = rows
        cells = column[rows]
        is_new[tied[1:]] |= cells[1:] != cells[:-1]
    return order, is_new


def count_draws(max_samples: int | float | None, weight: np.ndarray, *, replacement: bool) -> int | None:
    """Return the number of rows drawn for a tree.

    Parameters
    ----------
    max_samples : int, float or None
        The number of draws, or a fraction of the total weight; None for all of it.
    weight : ndarray of shape (n,)
    replacement : bool

    Returns
    -------
    int or None
        None if nothing is drawn, because a tree uses all rows.

    Raises
    ------
    ValueError
        If rows with these weights cannot be drawn without replacement.

    Warns
    -----
    UserWarning
        If the weights result in very few draws with replacement.
    """
    total = float(weight.sum())
    if replacement:
        n_draws = _resolve_max_samples(max_samples, total)
        is_derived = not isinstance(max_samples, Integral)
        if is_derived and total * MAX_ROWS_PER_DRAW < weight.size:
            _warn_of_few_draws(total, n_draws, weight.size)
        return n_draws
    if max_samples is None:
        return None
    if total > MAX_DRAWS_PER_TREE:
        raise ValueError(
            f"sample_weight sums to {total:.6g}, but bootstrap=False with max_samples={max_samples} draws from "
            f"that many copies of the rows, of which there can be at most {MAX_DRAWS_PER_TREE}: divide all "
            "weights by the same number, or set bootstrap=True."
        )
    n_draws = _resolve_max_samples(max_samples, total)
    # If there are as many draws as copies, every copy is drawn.
    if n_draws >= total:
        return None
    _require_whole_weights(weight, max_samples)
    return n_draws


def _resolve_max_samples(max_samples: int | float | None, total: float) -> int:
    if isinstance(max_samples, Integral):
        return int(max_samples)
    largest = min(total, float(MAX_DRAWS_PER_TREE))
    if max_samples is None:
        return max(1, round(largest))
    return max(1, int(np.ceil(max_samples * largest)))


def _warn_of_few_draws(total: float, n_draws: int, n: int) -> None:
    warnings.warn(
        f"sample_weight sums to {total:.6g}, so that each tree draws {n_draws} of {n} rows. Multiply the weights by "
        f"{n / total:.6g} to draw that many rows, or give max_samples as an int.",
        UserWarning,
        stacklevel=3,
    )


def _require_whole_weights(weight: np.ndarray, max_samples: int | float) -> None:
    is_fraction = weight != np.rint(weight)
    if is_fraction.any():
        first_fraction = weight[is_fraction][0]
        raise ValueError(
            f"sample_weight contains {first_fraction:.6g}, but bootstrap=False with max_samples={max_samples} "
            "repeats each row by its weight: give integer weights, or set bootstrap=True or max_samples=None."
        )


def average_tree_weight(rows: TrainingRows, weight: np.ndarray, n_draws: int | None) -> float:
    """Return the average weight of a tree's rows.

    Parameters
    ----------
    rows : TrainingRows
    weight : ndarray of shape (k,)
        The weight of each row in a tree for each time that the tree contains it.
    n_draws : int or None
    """
    if n_draws is None:
        return float(weight.sum())
    return n_draws * float(np.average(weight, weights=rows.weight))


class OutOfBag:
    """Sums of the trees' predictions for those of the k rows that they have not drawn.

    Parameters
    ----------
    k : int
    width : int
        The number of columns of a prediction: classes, or 1.
    """

    def __init__(self, k: int, width: int) -> None:
        self._total = np.zeros((k, width))
        self._n_trees = np.zeros((k, 1))

    def add_predictions(self, out_of_bag: np.ndarray, predictions: np.ndarray) -> None:
        """Add one tree's predictions (r, width) for its r out-of-bag rows, given as a mask (k,)."""
        self._total[out_of_bag] += predictions
        self._n_trees[out_of_bag] += 1

    @property
    def predictions(self) -> np.ndarray:
        """The averages, shape (k, width); NaN for a row that every tree has drawn."""
        average = self._total / np.maximum(self._n_trees, 1)
        return np.where(self._n_trees > 0, average, np.nan)


def require_rows_out_of_bag(n_draws: int | None) -> None:
    """Raise ValueError if every tree has all rows, because nothing is drawn."""
    if n_draws is None:
        raise ValueError(
            "Out of bag estimation only available if bootstrap=True, or if max_samples leaves rows out: here, "
            "every tree is grown on all rows. Set one of the two, or oob_score=False."
        )


def warn_of_rows_in_every_bag(predictions: np.ndarray) -> None:
    """Warn if rows have no out-of-bag prediction, given all of them (k, width)."""
    is_missing = np.isnan(predictions[:, 0])
    if is_missing.any():
        n_missing = np.count_nonzero(is_missing)
        warnings.warn(
            f"Some inputs do not have OOB scores: {n_missing} of {is_missing.size} rows were drawn by every tree "
            "and are ignored. This probably means too few trees were used to compute any reliable OOB estimates: "
            "increase n_estimators.",
            UserWarning,
            stacklevel=2,
        )


def expand_to_given_rows(predictions: np.ndarray, rows: TrainingRows, sample_weight: Any) -> np.ndarray:
    """Return the predictions for the rows given to ``fit``.

    Parameters
    ----------
    predictions : ndarray of shape (k, width)
        Predictions for the sorted, possibly merged rows.
    rows : TrainingRows
    sample_weight : array-like of shape (n,) or None
        As given to ``fit``.

    Returns
    -------
    ndarray of shape (n, width)
        NaN for a row of weight zero, which is not among the k.
    """
    of_weighted_rows = predictions[rows.inverse]
    if sample_weight is None or np.ndim(sample_weight) == 0:
        return of_weighted_rows
    has_weight = np.asarray(sample_weight, dtype=np.float64) > 0  # (n,)
    expanded = np.full((has_weight.size, predictions.shape[1]), np.nan)  # (n, width)
    expanded[has_weight] = of_weighted_rows
    return expanded


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
