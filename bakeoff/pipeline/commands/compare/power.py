"""Power: how large a study must be to find a difference of a given size four times out of five.

**Folds of one dataset.** If all folds are equally correlated, as the corrected t-test assumes, its statistic has a
noncentral t distribution, whose noncentrality is the difference divided by the corrected standard error.

**Several datasets.** Wilcoxon's sum of positive ranks is the number of pairs of datasets, each with itself included,
whose mean difference is positive. It reaches its critical value if that many of these means exceed 0, so each simulated
sample of normal differences shows how far it must be shifted.

**Items.** The mean difference of two systems is tested by its standard error. McNemar's exact test of scores of 0 and 1
behaves as if the difference were smaller by one item.

References
----------
Miettinen, O. S. (1968). The matched pairs design in the case of all-or-none responses. Biometrics 24, 339-352.
Tukey, J. W. (1949). The simplest signed-rank tests. Memorandum report 17, Princeton University.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from typing import NamedTuple

import numpy as np
from scipy import stats

from bakeoff.pipeline.commands.compare.hypothesis_tests import (
    MIN_DATASETS,
    POWER,
    compute_power,
    compute_wilcoxon_p,
    count_least_datasets,
    find_effect,
)

MIN_DRAWS, MAX_DRAWS = 400, 20_000
MAX_EFFECT = 1e6
"""SciPy computes no power of larger effects, which are always found."""
MAX_MEANS = 50_000_000
"""The number of means of pairs above which fewer samples are drawn, but at least `MIN_DRAWS`."""


class Pairs(NamedTuple):
    """The pairs of a study, and the level of all of them together.

    Attributes
    ----------
    number : int
    alpha : float
    """

    number: int
    alpha: float

    @property
    def level(self) -> float:
        """The level of the first step of Holm's procedure."""
        return self.alpha / self.number


class PlannedFolds(NamedTuple):
    """The folds of a study on a dataset.

    Attributes
    ----------
    folds : int
        The number of folds of one repeat, of all seeds.
    repeats : int
    spread : float
        The standard deviation over folds of the differences of two configurations.
    ratio : float
        Test rows per training row.
    """

    folds: int
    repeats: int
    spread: float
    ratio: float

    def compute_power(self, difference: float, pairs: Pairs) -> float:
        """Return the probability that the corrected t-test finds a mean difference; 0 for one fold, without a test."""
        n_folds = self.folds * self.repeats
        if n_folds < 2:
            return 0.0
        error = self.spread * math.sqrt(1 / n_folds + self.ratio)
        return compute_power(min(difference / error, MAX_EFFECT), n_folds - 1, pairs.level)


class LeastWins(NamedTuple):
    """The share of datasets on which a configuration must win to be found, and its standard error by simulation."""

    share: float
    error: float


def find_least_wins(n_datasets: int, pairs: Pairs, seed: int = 0) -> LeastWins | None:
    """Find the share of wins that Wilcoxon's test finds over datasets with the power `POWER`.

    Parameters
    ----------
    n_datasets : int
    pairs : Pairs
    seed : int, default 0
        Determines the simulated samples.

    Returns
    -------
    LeastWins or None
        None if there are too few datasets for any result to be significant.
    """
    if n_datasets < max(MIN_DATASETS, count_least_datasets(*pairs)):
        return None
    rows, columns = np.triu_indices(n_datasets)
    place = len(rows) - _find_critical_sum(n_datasets, pairs.level)
    n_draws = int(np.clip(MAX_MEANS // len(rows), MIN_DRAWS, MAX_DRAWS))
    shifts = np.empty(n_draws)
    for draw, sample in enumerate(np.random.default_rng(seed).normal(size=(n_draws, n_datasets))):
        means = (sample[rows] + sample[columns]) / 2
        shifts[draw] = -np.partition(means, place)[place]
    error = math.sqrt(POWER * (1 - POWER) / n_draws)
    low, share, high = stats.norm.cdf(np.quantile(shifts, [POWER - error, POWER, POWER + error])).tolist()
    return LeastWins(share, (high - low) / 2)


def _find_critical_sum(n_datasets: int, level: float) -> int:
    """Return the smallest sum of positive ranks that is significant."""
    greatest = n_datasets * (n_datasets + 1) // 2
    sums = range(greatest // 2, greatest + 1)
    zeros = np.zeros(n_datasets)
    return sums[bisect_left(sums, True, key=lambda s: compute_wilcoxon_p(_sign_ranks(s, n_datasets), zeros) <= level)]


def _sign_ranks(total: int, n: int) -> np.ndarray:
    """Return the ranks from 1 to n with signs, so that the positive ones have a sum."""
    ranks = -np.arange(1.0, n + 1)
    for rank in range(n, 0, -1):
        if rank <= total:
            ranks[rank - 1] = rank
            total -= rank
    return ranks


class PilotItems(NamedTuple):
    """What a pilot says about two systems on the items of a test set.

    Attributes
    ----------
    deviation : float
        The standard error of their mean difference, times the root of the number of items.
    n_items, n_clusters : int
        Without clusters, both are equal.
    is_exact : bool
        Whether McNemar's exact test is used.
    """

    deviation: float
    n_items: int
    n_clusters: int
    is_exact: bool

    def find_difference(self, pairs: Pairs) -> float:
        """Return the difference that these items find with the power `POWER`."""
        error = self.deviation / math.sqrt(self.n_items)
        return find_effect(self.n_clusters - 1, pairs.level) * error + self.is_exact / self.n_items

    def count_items(self, difference: float, pairs: Pairs) -> int:
        """Return about how many items, in clusters of the same size, find a difference with the power `POWER`."""
        scaled = find_effect(self.n_clusters - 1, pairs.level) * self.deviation
        root = (scaled + math.sqrt(scaled**2 + 4 * difference * self.is_exact)) / (2 * difference)
        # As many clusters as datasets are needed for any result to be significant.
        least = count_least_datasets(*pairs) * self.n_items / self.n_clusters
        return math.ceil(max(root**2, least))
