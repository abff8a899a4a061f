"""Bootstrap samples: which rows each tree draws, with or without replacement.

A draw depends on the contents of a row, never on its position in the table. Rows are sorted by content, equal rows are
merged and their weights added, and a draw is a point on the line [0, W) on which each row has an interval as long as
its weight (inverse transform sampling):

    row of the point u W  =  the first i with  w_1 + … + w_i > u W,   u uniform in [0, 1)

Therefore the forest does not depend on the order of the rows, and a row that occurs twice is equivalent, bit for bit,
to one row of weight 2.

Cost: O(n log n) to sort by the first column; further columns are compared only where rows still tie. Drawing s rows
costs O(s + n) with whole weights and O(s log s + n) with fractional ones; if s is many times n, it costs O(n), because
the counts are then drawn from their joint distribution instead of row by row.

The out-of-bag prediction of a training row is the average over the trees that have not drawn it.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral
from typing import Any

import numpy as np

MAX_POINTS_PER_ROW = 8
"""With more draws for each row than this on average, counts are drawn instead of points."""

MAX_COPIES_PER_ROW = 8
"""Up to this average weight, the copies of each row are counted instead of searched for."""

MAX_DRAWS_PER_TREE = 10**9
"""With this number of draws, the shares of the rows equal those of their weights to about five digits."""

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
