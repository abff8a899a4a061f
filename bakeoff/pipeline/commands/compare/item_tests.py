"""Tests of two systems on the items of one test set, all paired by item.

Two systems whose scores are 0 or 1 differ on b + c items, of which one wins b: McNemar's exact test is the binomial
test of b. Graded scores are tested by exchanging both systems on random items: if they are equal, every pattern of
signs of the differences is equally probable. Items of a cluster, such as questions on one text, are not independent,
so whole clusters are exchanged, and the variance is that of sums over clusters, with G - 1 degrees of freedom.

Up to `MAX_EXACT_UNITS` items or clusters that differ, all exchanges are counted. Otherwise they are drawn, with a seed,
and the p-value has an error. A p-value far below the number of exchanges is bounded by Hoeffding's inequality, which
holds for every number of items.

References
----------
Cochran, W. G. (1950). The comparison of percentages in matched samples. Biometrika 37, 256-266.
Hoeffding, W. (1963). Probability inequalities for sums of bounded random variables. JASA 58, 13-30.
McNemar, Q. (1947). Note on the sampling error of the difference between correlated proportions. Psychometrika 12,
153-157.
Phipson, B. and Smyth, G. K. (2010). Permutation p-values should never be zero. Statistical Applications in Genetics and
Molecular Biology 9(1), 39.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import compress
from typing import NamedTuple

import numpy as np
from scipy import stats

from bakeoff.pipeline.commands.compare.hypothesis_tests import CorrectedTTest

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
RELATIVE_NOISE = 1e-12
"""Scores that differ by less than this, relative to the largest, are equal."""


class ExchangeTest(NamedTuple):
    """The two-sided p-value of a paired test, and its standard error if exchanges were drawn, otherwise 0."""

    p: float
    error: float = 0.0


class Contrast(NamedTuple):
    """Two systems on the same items.

    Attributes
    ----------
    wins, losses : int
        The numbers of items on which the first scores higher and lower.
    test : CorrectedTTest
        Of the mean difference.
    total, size, squares : float
        Of the sums of differences over clusters: the size of their total, and the totals of their sizes and squares.
    changed : ndarray of shape (m,) or None
        The sums that are not 0; None if there are more than `MAX_EXACT_UNITS`.
    """

    wins: int
    losses: int
    test: CorrectedTTest
    total: float
    size: float
    squares: float
    changed: np.ndarray | None


@dataclass(frozen=True)
class Design:
    """How n items depend on one another.

    Attributes
    ----------
    clusters, strata : ndarray of int of shape (n,)
        The cluster and the dataset of each item, numbered from 0.
    """

    clusters: np.ndarray
    strata: np.ndarray

    @cached_property
    def n_clusters(self) -> int:
        """G: the number of clusters, or of items without clusters."""
        return int(self.clusters.max()) + 1

    @property
    def has_clusters(self) -> bool:
        """Whether a cluster has several items."""
        return self.n_clusters < len(self.clusters)

    @cached_property
    def centres(self) -> np.ndarray:
        """The dataset of each item, or 0 for all if a cluster is in several datasets, or is the only one of one."""
        of_cluster = np.zeros(self.n_clusters, dtype=int)  # (G,)
        of_cluster[self.clusters] = self.strata
        is_nested = np.array_equal(of_cluster[self.clusters], self.strata)
        return self.strata if is_nested and np.bincount(of_cluster).min() > 1 else np.zeros_like(self.strata)

    @cached_property
    def factors(self) -> np.ndarray:
        """``G / (G - 1)`` of the dataset of each cluster, of shape (G,)."""
        of_cluster = np.zeros(self.n_clusters, dtype=int)  # (G,)
        of_cluster[self.clusters] = self.centres
        sizes = np.bincount(of_cluster)
        return np.asarray(sizes / (sizes - 1))[of_cluster]

    def sum_clusters(self, values: np.ndarray) -> np.ndarray:
        """Return the sums over clusters, of shape (G,), of values of shape (n,)."""
        return np.bincount(self.clusters, values, self.n_clusters)


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
    mean = float(np.mean(values))
    if design.n_clusters < 2:
        return CorrectedTTest(1, 0.0, mean)
    sizes = np.bincount(design.centres)
    means = np.bincount(design.centres, values) / sizes
    sums = design.sum_clusters(values - means[design.centres])  # (G,)
    error = math.sqrt(float(design.factors @ sums**2)) / len(values)
    is_degenerate = error <= RELATIVE_ROUNDING * float(np.max(np.abs(values)))
    error = 0.0 if is_degenerate else error
    df = design.n_clusters - len(sizes)
    margin = float(stats.t.isf((1 - confidence) / 2, df)) * error
    exact = math.copysign(math.inf, mean) if mean else 0.0
    statistic = mean / error if error else exact
    p = float(2 * stats.t.sf(abs(statistic), df))
    deviation = float(np.std(values, ddof=1))
    return CorrectedTTest(
        df + 1, 0.0, mean, deviation, error, mean - margin, mean + margin, statistic, p, is_degenerate
    )


def compute_mcnemar_p(wins: int, losses: int) -> float:
    """Return the two-sided p-value of McNemar's exact test of the items that only one of two systems gets right.

    Examples
    --------
    >>> compute_mcnemar_p(12, 5), compute_mcnemar_p(0, 0)
    (0.1434..., 1.0)
    """
    return float(min(1.0, 2 * stats.binom.cdf(min(wins, losses), wins + losses, 0.5)))


def compute_cochran_q(scores: np.ndarray) -> tuple[float, float]:
    """Return Cochran's Q of k systems with scores of 0 and 1, and its p-value by the chi-squared distribution.

    Parameters
    ----------
    scores : ndarray of shape (n, k)

    Returns
    -------
    q, p : float
        0 and 1 if all systems agree on every item.
    """
    k = scores.shape[1]
    of_systems, of_items = scores.sum(axis=0), scores.sum(axis=1)  # (k,), (n,)
    spread = float(of_items @ (k - of_items))
    if not spread:
        return 0.0, 1.0
    q = k * (k - 1) * float(np.sum((of_systems - of_systems.mean()) ** 2)) / spread
    return q, float(stats.chi2.sf(q, k - 1))


def contrast_systems(scores: np.ndarray, others: np.ndarray, design: Design, confidence: float = 0.95) -> Contrast:
    """Return all that the tests of a pair need of its scores, each of shape (n,); rounding counts as equality."""
    differences = scores - others
    differences[np.abs(differences) <= RELATIVE_NOISE * max(np.max(np.abs(scores)), np.max(np.abs(others)))] = 0
    sums = design.sum_clusters(differences)  # (G,)
    sizes = np.abs(sums)
    changed = sums[sizes > RELATIVE_ROUNDING * np.max(sizes)]
    return Contrast(
        wins=int(np.sum(differences > 0)),
        losses=int(np.sum(differences < 0)),
        test=compute_clustered_t_test(differences, design, confidence),
        total=abs(float(sums.sum())),
        size=float(sizes.sum()),
        squares=float(sums @ sums),
        changed=changed if len(changed) <= MAX_EXACT_UNITS else None,
    )


def compute_exchange_tests(
    sums: np.ndarray, pairs: Sequence[tuple[int, int]], contrasts: Sequence[Contrast], seed: int = 0
) -> list[ExchangeTest]:
    """Test pairs of systems by exchanging both on random clusters, or on random items without clusters.

    Parameters
    ----------
    sums : ndarray of shape (G, k)
        The sums of the scores of each system over clusters.
    pairs : sequence of p pairs of int
    contrasts : sequence of p Contrast
    seed : int, default 0
        Determines the exchanges that are drawn, which are the same for all pairs.

    Returns
    -------
    list of ExchangeTest
    """
    is_drawn = [each.changed is None for each in contrasts]
    tests = iter(_draw_exchanges(sums, list(compress(pairs, is_drawn)), list(compress(contrasts, is_drawn)), seed))
    return [next(tests) if each.changed is None else ExchangeTest(count_exchanges(each.changed)) for each in contrasts]


def count_exchanges(sums: np.ndarray) -> float:
    """Return the share of all signs of m sums for which the size of their total is at least the observed one."""
    signs = _list_signs(len(sums))  # (2 ** (m - 1), m)
    totals = np.abs(signs @ sums)
    return float(np.mean(totals >= abs(sums.sum()) - RELATIVE_ROUNDING * np.abs(sums).sum()))


@cache
def _list_signs(m: int) -> np.ndarray:
    """Return the signs of m numbers, of shape (2 ** (m - 1), m); the others are the same with all signs exchanged."""
    numbers = np.arange(2 ** max(m - 1, 0))[:, np.newaxis]
    return 1.0 - 2 * (numbers >> np.arange(m) & 1)


def _draw_exchanges(
    sums: np.ndarray, pairs: Sequence[tuple[int, int]], contrasts: Sequence[Contrast], seed: int
) -> list[ExchangeTest]:
    """Return the tests of some pairs by random signs."""
    if not pairs:
        return []
    n_units, k = sums.shape
    n_draws = int(np.clip(MAX_PRODUCTS // (n_units * (k + SIGN_COST)), MIN_DRAWS, MAX_DRAWS))
    centred = sums - sums.mean(axis=1, keepdims=True)  # smaller numbers are rounded less
    first, second = np.array(pairs).T
    totals, sizes, squares = np.array([(each.total, each.size, each.squares) for each in contrasts]).T
    least = totals - RELATIVE_ROUNDING * sizes
    counts = np.zeros(len(pairs), dtype=int)
    for signs in _draw_signs(n_draws, n_units, seed):
        signed = signs @ centred  # (draws, k)
        counts += np.sum(np.abs(signed[:, first] - signed[:, second]) >= least, axis=0)
    drawn = (counts + 1) / (n_draws + 1)
    bounds = 2 * np.exp(-(totals**2) / (2 * squares))
    errors = np.where(bounds < drawn, 0, np.sqrt(drawn * (1 - drawn) / n_draws))
    return [ExchangeTest(*each) for each in zip(np.minimum(drawn, bounds).tolist(), errors.tolist(), strict=True)]


def _draw_signs(n_draws: int, n_units: int, seed: int) -> Iterator[np.ndarray]:
    """Yield random signs, a part of the draws at a time, each of shape (draws, n_units)."""
    generator = np.random.default_rng(seed)
    n_rows = max(1, SIGNS_AT_A_TIME // n_units)
    for start in range(0, n_draws, n_rows):
        shape = min(n_rows, n_draws - start), -(-n_units // 8)
        bits = np.unpackbits(generator.integers(256, size=shape, dtype=np.uint8), axis=1)
        signs = bits[:, :n_units].astype(float)
        signs *= 2
        signs -= 1
        yield signs


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
