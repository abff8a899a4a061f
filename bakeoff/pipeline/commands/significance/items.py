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

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from itertools import product
from typing import ClassVar, NamedTuple

import numpy as np
from scipy import stats

from bakeoff.pipeline.commands.significance.folds import CorrectedTTest, compute_corrected_t_test
from bakeoff.pipeline.stages.scoring.metrics import Metric, compute_score
from bakeoff.pipeline.stages.scoring.predictions import Predictions

Pairs = Sequence[tuple[int, int]]
"""The positions of two systems."""

MCNEMAR = "McNemar's exact test"
EXCHANGES = "exchanges of both systems on items"
CLUSTER_EXCHANGES = "exchanges of both systems on whole clusters"
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
DRAWN_ROUNDING = 1e-6
"""The same for drawn exchanges, whose sums are computed with the precision of `DRAWN_TYPE` in half of the time."""
DRAWN_TYPE = np.float32
N_RESAMPLES = 999
MIN_EXCHANGES, MAX_EXCHANGES = 999, 9_999
MAX_SCORED_ROWS = 50_000_000
"""The number of rows above which fewer exchanges of predictions are drawn, but at least `MIN_EXCHANGES`."""
ROWS_PER_CALL = 2_000
"""A call of a metric takes as long as this number of rows."""
BINARY_BOUNDS = (0.0, 1.0)


class Design(NamedTuple):
    """How n items depend on one another.

    Attributes
    ----------
    clusters : ndarray of int of shape (n,)
        The cluster of each item, numbered from 0; without clusters, each item is its own.
    strata : ndarray of int of shape (n,)
        The dataset of each item, or 0 for all if a cluster is in several datasets, or is the only one of one.
    weights : ndarray of shape (G,)
        The roots of ``G / (G - 1)`` of the dataset of each cluster, times that of ``(G - 1) G`` of all clusters.
    """

    clusters: np.ndarray
    strata: np.ndarray
    weights: np.ndarray

    @property
    def n_clusters(self) -> int:
        """G: the number of clusters, or of items without clusters."""
        return len(self.weights)

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
    factors = (sizes / np.maximum(sizes - 1, 1))[of_clusters]  # (G,)
    return Design(clusters, datasets, np.sqrt(factors * (n_clusters - 1) * n_clusters))


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
    deviations = sums * design.weights / len(values)
    test = compute_corrected_t_test(values.mean() + deviations, 0, confidence, n_means=len(means))
    return replace(test, standard_deviation=float(np.std(values, ddof=1)))


class PairTest(NamedTuple):
    """Two systems on the same items.

    Attributes
    ----------
    test : CorrectedTTest
        Its interval and its standard error are those of the difference.
    p_value, p_error : float
        By the test that decides; the error is 0 unless it is drawn.
    wins, losses : int
        The numbers of items on which the first is better and worse.
    """

    test: CorrectedTTest
    p_value: float
    p_error: float
    wins: int
    losses: int


class ItemTests(NamedTuple):
    """Tests of k systems by the mean of their scores over n items.

    Attributes
    ----------
    scores : ndarray of shape (k, n)
        Scores that are equal up to rounding are equal.
    design : Design
    """

    scores: np.ndarray
    design: Design

    @property
    def n_items(self) -> int:
        """The number of items."""
        return self.scores.shape[1]

    @property
    def width(self) -> float:
        """The range of the scores of items."""
        return float(np.ptp(self.scores))

    @property
    def name(self) -> str:
        """The test of the pairs in words."""
        if self.design.has_clusters:
            return CLUSTER_EXCHANGES
        return MCNEMAR if np.isin(self.scores, BINARY_BOUNDS).all() else EXCHANGES

    def estimate_means(self, confidence: float) -> list[CorrectedTTest]:
        """Return the score of each system with its interval."""
        return [compute_clustered_t_test(own, self.design, confidence) for own in self.scores]

    def test_pairs(self, pairs: Pairs, sign: int, confidence: float) -> Iterator[PairTest]:
        """Yield the test of each pair; with the sign 1, greater scores are better, and with -1 they are worse."""
        tests, counts = [], []
        for i, j in pairs:
            differences = sign * (self.scores[i] - self.scores[j])
            tests.append(compute_clustered_t_test(differences, self.design, confidence))
            counts.append((int(np.count_nonzero(differences > 0)), int(np.count_nonzero(differences < 0))))
        if self.name == MCNEMAR:
            p_values = [float(stats.binomtest(wins, max(wins + losses, 1)).pvalue) for wins, losses in counts]
            errors = [0.0] * len(counts)
        else:
            sums = np.array([*map(self.design.sum_clusters, self.scores)])
            p_values, errors = (own.tolist() for own in compute_exchange_tests(sums, pairs))
        for test, p_value, p_error, own in zip(tests, p_values, errors, counts, strict=True):
            yield PairTest(test, p_value, p_error, *own)


@dataclass(frozen=True)
class PredictionTests:
    """Tests of k models by a metric of all rows of a fold that is no mean over rows, such as F1.

    Pairs are tested by exchanging the predictions of both models for random items. Intervals are quantiles over
    resampled sets of items, which are the same for all models.

    Attributes
    ----------
    metric : Metric
    models : sequence of k Predictions
        For the same m rows of all folds, with encoded labels.
    folds : sequence of ndarray of int
        The positions of the rows of each fold; the score is the mean over folds.
    items : ndarray of int of shape (m,)
        The item of each row, numbered from 0.
    errors : ndarray of shape (k, n)
        The error of each model on each item, by which wins and losses are counted.

    References
    ----------
    Efron, B. and Tibshirani, R. J. (1993). An introduction to the bootstrap, chapter 13.
    Yeh, A. (2000). More accurate tests for the statistical significance of result differences. COLING 2000, 947-953.
    """

    metric: Metric
    models: Sequence[Predictions]
    folds: Sequence[np.ndarray]
    items: np.ndarray
    errors: np.ndarray
    name: ClassVar[str] = "exchanges of the predictions of both on test rows"

    @property
    def n_items(self) -> int:
        """The number of items."""
        return self.errors.shape[1]

    @property
    def width(self) -> float:
        """The range of the metric."""
        low, high = self.metric.bounds
        return high - low

    @cached_property
    def resampled(self) -> np.ndarray:
        """The scores of the models on resampled items, of shape (`N_RESAMPLES`, k)."""
        generator = np.random.default_rng(0)
        n = self.n_items
        draws = [np.bincount(generator.integers(n, size=n), minlength=n) for _ in range(N_RESAMPLES)]
        return np.array([[self.score(model, counts) for model in self.models] for counts in draws])

    def score(self, model: Predictions, counts: np.ndarray | None = None) -> float:
        """Return the mean of the metric over folds, in which the items may be counted several times or not at all."""
        folds = self.folds if counts is None else [np.repeat(rows, counts[self.items[rows]]) for rows in self.folds]
        parts = [take_rows(model, rows) for rows in folds if len(rows)]
        return float(np.mean([compute_score(self.metric, part) for part in parts]))

    def estimate_means(self, confidence: float) -> list[CorrectedTTest]:
        """Return the score of each system with its interval."""
        scored = zip(map(self.score, self.models), self.resampled.T, strict=True)
        return [self._estimate(*own, confidence) for own in scored]

    def _estimate(self, score: float, resampled: np.ndarray, confidence: float) -> CorrectedTTest:
        """Return a score or a difference with its bootstrap interval."""
        tail = (1 - confidence) / 2
        lower, upper = np.nanquantile(resampled, [tail, 1 - tail]).tolist()
        error = float(np.nanstd(resampled, ddof=1))
        spread = error * math.sqrt(self.n_items)
        statistic = score / error if error else math.copysign(math.inf, score) if score else 0.0
        return CorrectedTTest(self.n_items, 0, score, spread, error, lower, upper, statistic, is_degenerate=error == 0)

    def test_pairs(self, pairs: Pairs, sign: int, confidence: float) -> Iterator[PairTest]:
        """Yield the test of each pair; with the sign 1, greater scores are better, and with -1 they are worse."""
        n_draws = int(np.clip(MAX_SCORED_ROWS // self.count_scored_rows(len(pairs)), MIN_EXCHANGES, MAX_EXCHANGES))
        scores = sign * np.array([*map(self.score, self.models)])
        resampled = sign * self.resampled
        for i, j in pairs:
            test = self._estimate(float(scores[i] - scores[j]), resampled[:, i] - resampled[:, j], confidence)
            share = (self._count_exchanges(i, j, test.mean, n_draws) + 1) / (n_draws + 1)
            counts = (int(np.sum(self.errors[a] < self.errors[b])) for a, b in ((i, j), (j, i)))
            yield PairTest(test, share, math.sqrt(share * (1 - share) / n_draws), *counts)

    def count_scored_rows(self, n_pairs: int) -> int:
        """Return about how many rows an exchange of each pair scores; the call of a metric counts as many."""
        return 2 * n_pairs * (len(self.items) + ROWS_PER_CALL * len(self.folds))

    def _count_exchanges(self, i: int, j: int, difference: float, n_draws: int) -> int:
        """Return after how many random exchanges the difference of two models is at least as large as before."""
        generator = np.random.default_rng(0)
        models = self.models[i], self.models[j]
        count = 0
        for _ in range(n_draws):
            is_exchanged = generator.integers(2, size=self.n_items, dtype=bool)[self.items]  # (m,)
            first, second = (self.score(mix_rows(*own, is_exchanged)) for own in (models, models[::-1]))
            # A score that is not defined counts as a large difference.
            count += not abs(first - second) < abs(difference) - RELATIVE_ROUNDING
        return count


Tests = ItemTests | PredictionTests


def take_rows(model: Predictions, rows: np.ndarray) -> Predictions:
    """Return the predictions for some rows."""
    probabilities = None if model.probabilities is None else model.probabilities[rows]
    return replace(model, truth=model.truth[rows], predicted=model.predicted[rows], probabilities=probabilities)


def mix_rows(model: Predictions, other: Predictions, is_other: np.ndarray) -> Predictions:
    """Return the predictions of a model, or for some rows those of another one."""
    own, others = model.probabilities, other.probabilities
    mixed = None if own is None or others is None else np.where(is_other[:, np.newaxis], others, own)
    return replace(model, predicted=np.where(is_other, other.predicted, model.predicted), probabilities=mixed)


def compute_exchange_tests(sums: np.ndarray, pairs: Pairs, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
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
        least = totals - DRAWN_ROUNDING * sizes
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
    centred = (sums - sums.mean(axis=0)).T.astype(DRAWN_TYPE)  # smaller numbers are rounded less
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
        yield DRAWN_TYPE(2) * bits[:, :n_units] - DRAWN_TYPE(1)


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
