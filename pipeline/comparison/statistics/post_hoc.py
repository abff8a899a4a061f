"""Which configurations differ over several datasets: Nemenyi's test, its critical difference, and tests against a base.

References
----------
Demšar, J. (2006). Statistical comparisons of classifiers over multiple data sets. Journal of Machine Learning
Research 7, 1-30, section 3.2.2.
Nemenyi, P. B. (1963). Distribution-free multiple comparisons. PhD thesis, Princeton University.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import stats

from bakeoff.pipeline.comparison.statistics.extra import import_extra
from bakeoff.pipeline.comparison.statistics.multiple import adjust_by_holm
from bakeoff.pipeline.comparison.statistics.ranks import rank_configurations, round_scores


@dataclass(frozen=True)
class NemenyiTest:
    """Nemenyi's test of all pairs of mean ranks.

    Parameters
    ----------
    mean_ranks : ndarray of shape (k,)
        1 is the best.
    p : ndarray of shape (k, k)
        Corrected for all pairs; 1 on the diagonal.
    alpha : float
    critical_difference : float
        Mean ranks that differ by less are not told apart at alpha.
    cliques : tuple of tuple of int
        The largest groups of configurations that are not told apart, each from best to worst: the bars of a
        critical-difference diagram. A configuration may be in several groups, or in none.
    """

    mean_ranks: np.ndarray
    p: np.ndarray
    alpha: float
    critical_difference: float
    cliques: tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class BaseRankTest:
    """Tests of each mean rank against that of a base.

    Parameters
    ----------
    base : int
        The number of the base.
    z : ndarray of shape (k,)
        Positive if the configuration ranks better than the base; 0 for the base itself.
    p : ndarray of shape (k,)
        Two-sided, not corrected; 1 for the base.
    p_holm : ndarray of shape (k,)
        Holm's correction over the k - 1 tests; 1 for the base.
    """

    base: int
    z: np.ndarray
    p: np.ndarray
    p_holm: np.ndarray


def compute_nemenyi_test(scores: np.ndarray, greater_is_better: bool = True, alpha: float = 0.05) -> NemenyiTest:
    """Test all pairs of configurations by their mean ranks over datasets.

    Parameters
    ----------
    scores : ndarray of shape (N, k)
        Mean scores of k configurations on N datasets.
    greater_is_better : bool, default True
    alpha : float, default 0.05

    Returns
    -------
    NemenyiTest

    Raises
    ------
    UserError
        If scikit-posthocs is not installed, which computes the p-values.
    ValueError
        As `round_scores`.
    """
    posthocs = import_extra("scikit_posthocs", "The Nemenyi test")
    rounded = round_scores(scores)  # (N, k)
    n_datasets, n_configurations = rounded.shape
    mean_ranks = np.mean(rank_configurations(scores, greater_is_better), axis=0)  # (k,)
    p = posthocs.posthoc_nemenyi_friedman(rounded).to_numpy()  # (k, k)
    critical_difference = compute_critical_difference(n_datasets, n_configurations, alpha)
    cliques = find_cliques(mean_ranks, critical_difference)
    return NemenyiTest(mean_ranks, p, alpha, critical_difference, cliques)


def compute_critical_difference(n_datasets: int, n_configurations: int, alpha: float = 0.05) -> float:
    """Compute the difference of mean ranks from which Nemenyi's test tells two configurations apart.

    Parameters
    ----------
    n_datasets, n_configurations : int
        N and k.
    alpha : float, default 0.05

    Returns
    -------
    float
        ``q sqrt(k (k + 1) / (6 N))``, q being the quantile of the studentized range of k groups with infinitely many
        degrees of freedom, over the square root of 2.
    """
    quantile = float(stats.studentized_range.ppf(1 - alpha, n_configurations, np.inf)) / math.sqrt(2)
    return quantile * compute_rank_error(n_datasets, n_configurations)


def compute_rank_error(n_datasets: int, n_configurations: int) -> float:
    """Return the standard error of the difference of two mean ranks if all are equal, ``sqrt(k (k + 1) / (6 N))``."""
    k = n_configurations
    return math.sqrt(k * (k + 1) / (6 * n_datasets))


def find_cliques(mean_ranks: np.ndarray, critical_difference: float) -> tuple[tuple[int, ...], ...]:
    """Find the largest groups of two or more configurations that are not told apart.

    Parameters
    ----------
    mean_ranks : ndarray of shape (k,)
    critical_difference : float
        Mean ranks that differ by less than this are not told apart.

    Returns
    -------
    cliques : tuple of tuple of int
        The numbers of the configurations, best first, within groups and among them.
    """
    order = np.argsort(mean_ranks, kind="stable")  # (k,)
    ordered = np.asarray(mean_ranks)[order]  # (k,)
    found: list[tuple[int, ...]] = []
    end_before = 0
    for start in range(len(ordered)):
        is_near = ordered - ordered[start] < critical_difference  # (k,)
        end = int(np.count_nonzero(is_near))
        # A group that ends where the one before it ends is a part of that one.
        if end - start >= 2 and end > end_before:
            found.append(tuple(int(number) for number in order[start:end]))
        end_before = max(end_before, end)
    return tuple(found)


def compare_ranks_with_base(scores: np.ndarray, base: int, greater_is_better: bool = True) -> BaseRankTest:
    """Test whether each configuration ranks better or worse than a base: fewer tests than all pairs.

    Parameters
    ----------
    scores : ndarray of shape (N, k)
    base : int
        The number of the base, chosen without a look at these scores.
    greater_is_better : bool, default True

    Returns
    -------
    BaseRankTest

    Raises
    ------
    UserError
        If statsmodels is not installed.
    ValueError
        As `round_scores`.

    References
    ----------
    Demšar (2006), section 3.2.2: comparisons with a control by Holm's procedure.
    """
    ranks = rank_configurations(scores, greater_is_better)  # (N, k)
    n_datasets, n_configurations = ranks.shape
    mean_ranks = np.mean(ranks, axis=0)  # (k,)
    z = (mean_ranks[base] - mean_ranks) / compute_rank_error(n_datasets, n_configurations)  # (k,)
    p = 2 * stats.norm.sf(np.abs(z))  # (k,)
    others = np.delete(np.arange(n_configurations), base)  # (k - 1,)
    p_holm = np.ones(n_configurations)  # (k,)
    p_holm[others] = adjust_by_holm(p[others])
    return BaseRankTest(base, z, p, p_holm)
