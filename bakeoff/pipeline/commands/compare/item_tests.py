"""Tests of two systems on the items of one test set, all paired by item.

Two systems whose scores are 0 or 1 differ on b + c items, of which one wins b: McNemar's exact test is the binomial
test of b. Graded scores are tested by exchanging both systems on random items: if they are equal, every pattern of
signs of the differences is equally probable. Items of a cluster, such as questions on one text, are not independent,
so whole clusters are exchanged, and the variance is that of sums over clusters, with G - 1 degrees of freedom.

Up to `MAX_EXACT_UNITS` items or clusters that differ, all exchanges are counted. Otherwise they are drawn, with a seed,
and the p-value has an error. A p-value far below the number of exchanges is bounded by Hoeffding's inequality, which
holds for every number of items: fifty systems have 1,225 pairs, so that Holm's method asks for smaller p-values than
can be drawn.

References
----------
Hoeffding, W. (1963). Probability inequalities for sums of bounded random variables. JASA 58, 13-30.
McNemar, Q. (1947). Note on the sampling error of the difference between correlated proportions. Psychometrika 12,
153-157.
Phipson, B. and Smyth, G. K. (2010). Permutation p-values should never be zero. Statistical Applications in Genetics and
Molecular Biology 9(1), 39.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from functools import cache
from itertools import product
from typing import NamedTuple

import numpy as np

from bakeoff.pipeline.commands.compare.hypothesis_tests import CorrectedTTest, compute_corrected_t_test

MAX_EXACT_UNITS = 16
"""With more items or clusters that differ, not all of the exchanges are counted."""
MIN_DRAWS, MAX_DRAWS = 4_999, 199_999
MAX_PRODUCTS = 5_000_000_000
"""The number of signs times scores above which fewer exchanges are drawn, but at least `MIN_DRAWS`."""
SIGNS_AT_A_TIME = 1_000_000
SIGN_COST = 10
"""Drawing a sign takes as long as this number of products."""
RELATIVE_ROUNDING = 1e-9
"""Sums that differ by less than this, relative to the sum of all sizes, are equal."""


class Design(NamedTuple):
    """How n items depend on one another.

    Attributes
    ----------
    clusters : ndarray of int of shape (n,)
        The cluster of each item, numbered from 0; without clusters, each item is its own.
    strata : ndarray of int of shape (n,)
        The dataset of each item, or 0 for all if a cluster is in several datasets, or is the only one of one.
    factors : ndarray of shape (G,)
        ``G / (G - 1)`` of the dataset of each cluster.
    """

    clusters: np.ndarray
    strata: np.ndarray
    factors: np.ndarray

    @property
    def n_clusters(self) -> int:
        """G: the number of clusters, or of items without clusters."""
        return len(self.factors)

    @property
    def has_clusters(self) -> bool:
        """Whether a cluster has several items."""
        return self.n_clusters < len(self.clusters)

    def sum_clusters(self, values: np.ndarray) -> np.ndarray:
        """Return the sums over clusters, of shape (G,), of values of shape (n,)."""
        return np.bincount(self.clusters, values)


def make_design(clusters: np.ndarray, datasets: np.ndarray) -> Design:
    """Return how items depend on one another, from the numbers of their clusters and datasets, each of shape (n,)."""
    of_clusters = np.unique(np.column_stack([clusters, datasets]), axis=0)[:, 1]  # (G,) if clusters divide the datasets
    n_clusters = int(clusters.max()) + 1
    if len(of_clusters) > n_clusters or np.bincount(of_clusters).min() < 2:
        datasets, of_clusters = np.zeros_like(datasets), np.zeros(n_clusters, dtype=int)
    sizes = np.bincount(of_clusters)
    return Design(clusters, datasets, (sizes / np.maximum(sizes - 1, 1))[of_clusters])


def compute_clustered_t_test(values: np.ndarray, design: Design, confidence: float = 0.95) -> CorrectedTTest:
    """Test whether a mean over items is 0, with an interval that accounts for clusters and datasets.

    The variance of the mean is ``G / (G - 1) * sum(u ** 2) / n ** 2``, where u are the G sums over clusters of the
    deviations from the mean; without clusters, this is that of the paired t-test. With several datasets, deviations are
    those from the mean of each, and the sum has a term for each.

    Parameters
    ----------
    values : ndarray of shape (n,)
    design : Design
    confidence : float, default 0.95

    Returns
    -------
    CorrectedTTest
        Its degrees of freedom are G minus the number of datasets.

    References
    ----------
    Liang, K.-Y. and Zeger, S. L. (1986). Longitudinal data analysis using generalized linear models. Biometrika 73,
    13-22.
    """
    means = np.bincount(design.strata, values) / np.bincount(design.strata)
    sums = design.sum_clusters(values - means[design.strata])  # (G,)
    # G values with the same mean, whose variance over G is that of the mean.
    deviations = sums * np.sqrt(design.factors * (design.n_clusters - 1) * design.n_clusters) / len(values)
    test = compute_corrected_t_test(values.mean() + deviations, 0, confidence, n_means=len(means))
    return replace(test, standard_deviation=float(np.std(values, ddof=1)))


def compute_exchange_tests(
    sums: np.ndarray, pairs: Sequence[tuple[int, int]], seed: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Test pairs of systems by exchanging both on random clusters, or on random items without clusters.

    Parameters
    ----------
    sums : ndarray of shape (k, G)
        The sums of the scores of each system over clusters.
    pairs : sequence of m pairs of int
    seed : int, default 0
        Determines the exchanges that are drawn, which are the same for all pairs.

    Returns
    -------
    p_values, errors : ndarray of shape (m,)
        The errors are 0 unless exchanges were drawn.
    """
    p_values, errors = np.zeros((2, len(pairs)))
    drawn = []
    for number, (i, j) in enumerate(pairs):
        differences = sums[i] - sums[j]
        sizes = np.abs(differences)
        changed = differences[sizes > RELATIVE_ROUNDING * sizes.max()]
        if len(changed) <= MAX_EXACT_UNITS:
            p_values[number] = count_exchanges(changed)
        else:
            drawn.append((number, i, j, abs(differences.sum()), sizes.sum(), differences @ differences))
    if drawn:
        numbers, first, second, totals, sizes, squares = map(np.array, zip(*drawn, strict=True))
        least = totals - RELATIVE_ROUNDING * sizes
        n_draws, counts = _count_drawn(sums, first, second, least, seed)
        shares, bounds = (counts + 1) / (n_draws + 1), 2 * np.exp(-(totals**2) / (2 * squares))
        p_values[numbers] = np.minimum(shares, bounds)
        errors[numbers] = np.where(bounds < shares, 0, np.sqrt(shares * (1 - shares) / n_draws))
    return p_values, errors


def count_exchanges(sums: np.ndarray) -> float:
    """Return the share of all signs of m sums for which the size of their total is at least the observed one."""
    totals = np.abs(_list_signs(len(sums)) @ sums)
    return float(np.mean(totals >= abs(sums.sum()) - RELATIVE_ROUNDING * np.abs(sums).sum()))


@cache
def _list_signs(m: int) -> np.ndarray:
    """Return all signs of m numbers, of shape (2 ** m, m)."""
    return np.array(list(product((1.0, -1.0), repeat=m)))


def _count_drawn(
    sums: np.ndarray, first: np.ndarray, second: np.ndarray, least: np.ndarray, seed: int
) -> tuple[int, np.ndarray]:
    """Return a number of random exchanges, and of how many the total of each pair is at least as large as a bound."""
    k, n_units = sums.shape
    n_draws = int(np.clip(MAX_PRODUCTS // (n_units * (k + SIGN_COST)), MIN_DRAWS, MAX_DRAWS))
    centred = (sums - sums.mean(axis=0)).T  # smaller numbers are rounded less
    counts = np.zeros(len(least), dtype=int)
    for signs in _draw_signs(n_draws, n_units, seed):
        signed = signs @ centred  # (draws, k)
        counts += np.sum(np.abs(signed[:, first] - signed[:, second]) >= least, axis=0)
    return n_draws, counts


def _draw_signs(n_draws: int, n_units: int, seed: int) -> Iterator[np.ndarray]:
    """Yield random signs, a part of the draws at a time, each of shape (draws, n_units)."""
    generator = np.random.default_rng(seed)
    n_rows = max(1, SIGNS_AT_A_TIME // n_units)
    for start in range(0, n_draws, n_rows):
        shape = min(n_rows, n_draws - start), -(-n_units // 8)
        bits = np.unpackbits(generator.integers(256, size=shape, dtype=np.uint8), axis=1)
        yield 2.0 * bits[:, :n_units] - 1


def find_tiers(names: Sequence[str], told_apart: Collection[tuple[str, str]]) -> tuple[tuple[str, ...], ...]:
    """Return tiers of systems: each joins the first one whose best member it is not told apart from.

    Parameters
    ----------
    names : sequence of str
        The systems from best to worst.
    told_apart : collection of pairs of str
        The pairs that are told apart, the better one first.

    Examples
    --------
    >>> find_tiers(["opus", "gpt", "mini"], {("opus", "mini")})
    (('opus', 'gpt'), ('mini',))
    """
    tiers: dict[str, list[str]] = {}
    for name in names:
        best = next((best for best in tiers if (best, name) not in told_apart), name)
        tiers.setdefault(best, []).append(name)
    return tuple(map(tuple, tiers.values()))
