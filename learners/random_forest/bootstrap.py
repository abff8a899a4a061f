"""Drawing rows: a draw falls on what a row holds, never on where it stands in the table.

Rows are put in the order of their contents, equal rows become one row with their weights summed, and a draw is a point
on the line [0, W) on which every row has a stretch as long as its weight (the inverse of the cumulative distribution):

    row of a draw u W  =  the first i with  w_1 + … + w_i > u W,   u uniform in [0, 1)

So rows in another order, a row written twice or a row of weight 2 give the same forest, to the last bit.

Cost: O(n log n) to sort by the first column, and by further columns only what is still tied; O(s + n) for a draw
of s rows, if weights are fractions O(s log s + n); O(n) where s is many times n, since then the counts themselves are
drawn, of which the points on the line would be but another way.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral

import numpy as np

FEW_COPIES = 8
"""On average, of a row."""

MOST_DRAWS = 10**9
"""Of a tree: with so many the shares of the rows are as the weights, to the fifth digit."""

FEWER = 10
"""So many times fewer draws than rows come from weights in the wrong unit rather than from a wish."""


@dataclass
class Pool:
    """The k rows that trees draw from, in the order of their contents.

    Attributes
    ----------
    X : ndarray of shape (k, d)
    truth : ndarray of shape (k,)
        Class codes or targets.
    weight : ndarray of shape (k,)
    place : ndarray of shape (n,), int
        Where each of the n given rows is found.
    """

    X: np.ndarray
    truth: np.ndarray
    weight: np.ndarray
    place: np.ndarray

    @classmethod
    def of(cls, X: np.ndarray, truth: np.ndarray, weight: np.ndarray, *, merge: bool) -> Pool:
        """Sort rows X (n, d), the truth (n,) and weights (n,) by contents; with ``merge`` equal rows become one."""
        cells = [np.where(np.isnan(column), np.inf, column) for column in X.T]
        order, differs = sort_by_contents([*cells, truth])
        if not differs.all():  # equal rows by weight, so that even the rounding of a sum is the same
            order, _ = sort_by_contents([weight], order, differs)
        if not merge:
            differs[:] = True
        first, place = np.flatnonzero(differs), np.empty(order.size, dtype=np.intp)
        place[order] = np.cumsum(differs) - 1
        chosen = order.take(first)
        return cls(X[chosen], truth[chosen], np.add.reduceat(weight.take(order), first), place)

    def draw(self, generator: np.random.Generator, size: int, *, replacement: bool) -> np.ndarray:
        """Return how often each row is drawn, shape (k,); without replacement from as many copies as its weight."""
        upto = self._upto
        if size > FEW_COPIES * self.weight.size:
            if replacement:
                return generator.multinomial(size, self.weight / upto[-1])
            return generator.multivariate_hypergeometric(self.weight.astype(np.int64), size, method="marginals")
        if replacement:
            points = np.minimum(generator.random(size) * upto[-1], np.nextafter(upto[-1], 0))
        else:
            points = generator.choice(int(upto[-1]), size, replace=False, shuffle=False).astype(np.float64)
        if self._first_copy is not None:
            copies = np.bincount(points.astype(np.intp), minlength=int(upto[-1]))
            return np.add.reduceat(copies, self._first_copy)
        return np.diff(np.searchsorted(np.sort(points), upto, side="left"), prepend=0)

    @cached_property
    def _upto(self) -> np.ndarray:
        return np.cumsum(self.weight)

    @cached_property
    def _first_copy(self) -> np.ndarray | None:
        """Where each row's copies begin on the line, if weights are whole and small: then counting is faster."""
        few = self._upto[-1] <= FEW_COPIES * self.weight.size
        whole = few and np.array_equal(self.weight, np.rint(self.weight))
        return (self._upto - self.weight).astype(np.intp) if whole else None


def sort_by_contents(
    columns: Sequence[np.ndarray], order: np.ndarray | None = None, differs: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Sort rows by the first column, ties by the second, and so on.

    Parameters
    ----------
    columns : sequence of ndarray of shape (n,)
    order, differs : ndarray of shape (n,), optional
        What an earlier sorting returned, to be continued.

    Returns
    -------
    order : ndarray of shape (n,), int
    differs : ndarray of shape (n,), bool
        Whether each row, in this order, differs from the one before it.
    """
    n = columns[0].size
    order = np.arange(n) if order is None else order.copy()
    differs = np.arange(n) == 0 if differs is None else differs.copy()
    for column in columns:
        tied = ~differs
        tied[:-1] |= tied[1:]
        at = np.flatnonzero(tied)
        if at.size == 0:
            break
        rows, group = order[at], np.cumsum(differs)[at]
        rows = rows[np.lexsort((column[rows], group))]
        order[at], cells = rows, column[rows]
        differs[at[1:]] |= cells[1:] != cells[:-1]
    return order, differs


def rows_to_draw(max_samples: int | float | None, weight: np.ndarray, *, replacement: bool) -> int | None:
    """Return how many rows a tree draws: a number, or a fraction (None: all) of the total weight (n,).

    None if it needs to draw none, since it gets all of them.
    """
    total = float(weight.sum())
    if not replacement and max_samples is None:
        return None
    if not replacement and total > MOST_DRAWS:
        raise ValueError(
            f"sample_weight sums to {total:.6g}, and bootstrap=False with max_samples={max_samples} draws from as many "
            f"copies of rows, {MOST_DRAWS} at most: divide the weights by one number, or give bootstrap=True."
        )
    if isinstance(max_samples, Integral):
        size = int(max_samples)
    else:
        most = min(total, float(MOST_DRAWS))
        size = max(1, round(most) if max_samples is None else int(np.ceil(max_samples * most)))
        if replacement and total * FEWER < weight.size:
            warnings.warn(
                f"sample_weight sums to {total:.6g}, so that each tree draws {size} of {weight.size} rows. Multiply the"
                f" weights by {weight.size / total:.6g} to draw as many as there are, or give max_samples as an int.",
                UserWarning,
                stacklevel=2,
            )
    if replacement:
        return size
    if size >= total:
        return None
    fractions = weight != np.rint(weight)
    if fractions.any():
        raise ValueError(
            f"sample_weight holds {weight[fractions][0]:.6g}, but bootstrap=False with max_samples={max_samples} draws "
            "from as many copies of a row as its weight: give whole numbers, or bootstrap=True, or max_samples=None."
        )
    return size


def mass_of_tree(pool: Pool, weight: np.ndarray, size: int | None) -> float:
    """Return how much weight, of weights (k,) of the pool's rows, a tree of so many draws is given on average."""
    return float(weight.sum()) if size is None else size * float(np.average(weight, weights=pool.weight))
