"""How much of the target a column tells alone: the part of its variance that lies between the values of the column."""

from __future__ import annotations

import numpy as np
import pandas as pd

MAX_BINS = 10
MIN_ROWS_PER_BIN = 10
MIN_BINS = 2


def measure_association(column: pd.Series, y: np.ndarray) -> float:
    """Return the fraction of the target's variance that a column explains alone, beyond what chance would.

    The rows are grouped by the values of the column; numbers and dates by at most `MAX_BINS` ranges with as many rows
    each. Missing cells are a group of their own, and so are all values that occur once, such as names: each explains
    its own row only. For numbers, the result is the correlation ratio η² of the target, adjusted for the number of
    groups (ε²). For classes, the variance is Gini's, and the result is the adjusted τ of Goodman and Kruskal; with two
    classes, this is the square of Cramér's V with a correction for its bias.

    Parameters
    ----------
    column : Series of shape (n,)
    y : ndarray of shape (n,)
        Float64 for numbers; any other type holds classes.

    Returns
    -------
    float
        Between 0 and 1; NaN if the target does not vary.

    References
    ----------
    Kelley (1935), An unbiased correlation ratio measure: ε². Goodman and Kruskal (1954), Measures of association for
    cross classifications, section 9: τ. Light and Margolin (1971), An analysis of variance for categorical data:
    τ as a fraction of variance, and its degrees of freedom. Bergsma (2013), A bias-correction for Cramér's V.
    """
    # The sum of squares of equal numbers may differ from 0 in its last digits.
    if (y == y[0]).all():
        return float("nan")
    groups = _pool_single_rows(group_rows(column))  # (n,)
    total = _sum_squares(np.zeros(len(y), dtype=np.int64), y)
    n_groups = int(groups.max()) + 1
    degrees = len(y) - n_groups
    if degrees == 0:
        return 0.0
    unexplained = _sum_squares(groups, y) / degrees
    return float(max(0.0, 1.0 - unexplained / (total / (len(y) - 1))))


def _pool_single_rows(groups: np.ndarray) -> np.ndarray:
    """Return groups (n,) in which those of one row are one group: each explains its row, and says nothing of others."""
    sizes = np.bincount(groups)
    pooled = np.where(sizes[groups] == 1, len(sizes), groups)
    return np.unique(pooled, return_inverse=True)[1]


def group_rows(column: pd.Series) -> np.ndarray:
    """Return the group of each row, from 0: the value of its cell, or the range of the number or date in it.

    Parameters
    ----------
    column : Series of shape (n,)

    Returns
    -------
    ndarray of shape (n,), int
        Each group has a row.
    """
    is_ordered = column.dtype.kind in "fiM"
    if is_ordered and column.nunique() > MAX_BINS:
        column = _cut_ranges(column)
    return np.asarray(pd.factorize(column, use_na_sentinel=False)[0])


def _cut_ranges(column: pd.Series) -> pd.Series:
    """Return the range that each number or date lies in; equal ones are not separated, and missing cells are kept."""
    is_there = column.notna()
    n_bins = int(np.clip(is_there.sum() // MIN_ROWS_PER_BIN, MIN_BINS, MAX_BINS))
    ranks = column.rank(method="min")  # 1 for the smallest
    ranges = ((ranks - 1.0) * n_bins / is_there.sum()).apply(np.floor)
    return ranges.where(is_there)


def _sum_squares(groups: np.ndarray, y: np.ndarray) -> float:
    """Return the sum of the squared distances of the targets from the mean of their group.

    Of classes, the distance is that of their indicators, so that the sum is n times Gini's variance within the groups.
    """
    sizes = np.bincount(groups)  # (g,)
    if y.dtype.kind == "f":
        means = np.bincount(groups, weights=y) / sizes  # (g,)
        return float(((y - means[groups]) ** 2).sum())
    classes, labels = pd.factorize(y)
    cells = groups.astype(np.int64) * len(labels) + classes
    counts = np.bincount(cells, minlength=len(sizes) * len(labels)).reshape(len(sizes), len(labels))  # (g, c)
    # Half the sum over indicators: one minus the squared fractions of the classes.
    return float((sizes - (counts**2).sum(axis=1) / sizes).sum())
