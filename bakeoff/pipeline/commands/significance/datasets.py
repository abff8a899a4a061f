"""Tests of mean scores over several datasets.

Each dataset counts once, through the ranks of the configurations or of their differences. Whether
Nemenyi's test distinguishes two configurations depends on the others, through the ranks between the two; Wilcoxon's
does not.

SciPy computes all distributions except the exact one of the Wilcoxon test: SciPy's is valid only without ties, and with
ties it enumerates all sign changes for up to 13 datasets, which takes a second per pair. The exact distribution with
ties is a sum over ranks and is computed here in microseconds.

References
----------
Benavoli, A., Corani, G. and Mangili, F. (2016). Should we really use post-hoc tests based on mean-ranks? Journal of
Machine Learning Research 17(5), 1-10.
Demšar, J. (2006). Statistical comparisons of classifiers over multiple data sets. Journal of Machine Learning
Research 7, 1-30.
Iman, R. L. and Davenport, J. M. (1980). Approximations of the critical region of the Friedman statistic. Communications
in Statistics 9, 571-595.
"""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from scipy import stats

MIN_DATASETS = 6
"""Minimum number of datasets for tests over datasets; on five, no p-value of Wilcoxon's test is below .0625."""
MIN_FRIEDMAN_CONFIGURATIONS = 3
"""Two configurations are compared by the Wilcoxon test."""
MAX_EXACT_DATASETS = 50
"""Maximum number of datasets for the exact distribution; R and SciPy use the same limit without ties."""
RANKED_DIGITS = 12
"""Scores that agree in this many digits, relative to the largest of their dataset, are ties."""


@dataclass(frozen=True)
class FriedmanTest:
    """The Friedman test over N datasets and k configurations, corrected for ties; NaN if there is no test.

    Parameters
    ----------
    chi2, p : float
        The statistic and its p-value as computed by SciPy and R, with k - 1 degrees of freedom.
    f : float
        Iman and Davenport's statistic, ``(N - 1) chi2 / (N (k - 1) - chi2)``; infinite if all datasets have the same
        ranks.
    f_p : float
        The p-value with k - 1 and (k - 1)(N - 1) degrees of freedom. If all ranks agree, it is the exact probability
        that N datasets rank k configurations alike by chance, ``k! ** (1 - N)``.
    """

    chi2: float = math.nan
    p: float = math.nan
    f: float = math.nan
    f_p: float = math.nan


def round_scores(scores: np.ndarray) -> np.ndarray:
    """Round scores so that those that differ only by rounding become equal.

    Parameters
    ----------
    scores : ndarray of shape (N, k)
        Mean scores of k configurations on N datasets.

    Returns
    -------
    rounded : ndarray of shape (N, k)
        The scores, rounded to `RANKED_DIGITS` digits relative to the largest score of each row.
    """
    return _round_relative(scores, np.max(np.abs(scores), axis=1, keepdims=True))


def _round_relative(values: np.ndarray, largest: Any) -> np.ndarray:
    """Round values to `RANKED_DIGITS` digits relative to a size."""
    # Dividing by a power of two changes none of the digits of the values.
    unit = np.ldexp(1.0, np.frexp(largest)[1])
    return np.asarray(np.round(values / unit, RANKED_DIGITS) * unit)


def rank_configurations(scores: np.ndarray, greater_is_better: bool = True) -> np.ndarray:
    """Rank the configurations on each dataset: 1 is the best, and ties share the mean of their ranks.

    Parameters
    ----------
    scores : ndarray of shape (N, k)
    greater_is_better : bool, default True

    Returns
    -------
    ranks : ndarray of shape (N, k)
    """
    rounded = round_scores(scores)  # (N, k)
    ordered = -rounded if greater_is_better else rounded
    return np.asarray(stats.rankdata(ordered, method="average", axis=1))


def compute_friedman_test(scores: np.ndarray) -> FriedmanTest:
    """Test whether all configurations have the same mean rank over the datasets.

    The direction of the scores does not matter.

    Parameters
    ----------
    scores : ndarray of shape (N, k)
        N >= 2 datasets, k >= 3 configurations.

    Returns
    -------
    FriedmanTest

    References
    ----------
    Demšar (2006), section 3.2.2. The correction for ties, which SciPy and R also apply, is that of Conover (1999),
    Practical nonparametric statistics, section 5.8.
    """
    ranks = rank_configurations(scores)  # (N, k)
    n_datasets, n_configurations = ranks.shape
    if np.all(ranks == ranks[0, 0]):  # all configurations tie on every dataset
        chi2, p = 0.0, 1.0
    else:
        corrected = stats.friedmanchisquare(*ranks.T)
        chi2, p = float(corrected.statistic), float(corrected.pvalue)
    largest = n_datasets * (n_configurations - 1)
    if math.isclose(chi2, largest, rel_tol=1e-12):
        # The approximation would be 0: the exact probability that all datasets rank alike by chance.
        return FriedmanTest(chi2, p, math.inf, float(math.factorial(n_configurations)) ** (1 - n_datasets))
    f = (n_datasets - 1) * chi2 / (largest - chi2)
    numerator_df = n_configurations - 1
    return FriedmanTest(chi2, p, f, float(stats.f.sf(f, numerator_df, numerator_df * (n_datasets - 1))))


def compute_nemenyi_p(rank_difference: float, n_datasets: int, n_configurations: int) -> float:
    """Return the p-value of Nemenyi's test of two mean ranks, which is corrected for all pairs.

    Parameters
    ----------
    rank_difference : float
        The difference of the mean ranks.
    n_datasets, n_configurations : int
        N and k.
    """
    gap = abs(rank_difference) / compute_rank_error(n_datasets, n_configurations)
    return float(stats.studentized_range.sf(gap * math.sqrt(2), n_configurations, np.inf))


def compute_critical_difference(n_datasets: int, n_configurations: int, alpha: float = 0.05) -> float:
    """Compute the smallest difference of mean ranks at which Nemenyi's test distinguishes two configurations.

    Parameters
    ----------
    n_datasets, n_configurations : int
        N and k.
    alpha : float, default 0.05

    Returns
    -------
    float
        ``q sqrt(k (k + 1) / (6 N))``, where q is the quantile of the studentized range of k groups with infinite
        degrees of freedom, divided by the square root of 2.
    """
    quantile = float(stats.studentized_range.ppf(1 - alpha, n_configurations, np.inf)) / math.sqrt(2)
    return quantile * compute_rank_error(n_datasets, n_configurations)


def compute_rank_error(n_datasets: int, n_configurations: int) -> float:
    """Return the standard error of the difference of two mean ranks under equality, ``sqrt(k (k + 1) / (6 N))``."""
    k = n_configurations
    return math.sqrt(k * (k + 1) / (6 * n_datasets))


def find_groups(names: Sequence[str], told_apart: Collection[frozenset[str]]) -> tuple[tuple[str, ...], ...]:
    """Find groups in which no two configurations are told apart: the bars of a critical-difference diagram.

    Parameters
    ----------
    names : sequence of str
        The configurations in the order of their ranks.
    told_apart : collection of frozenset of str
        The pairs that are told apart.

    Returns
    -------
    groups : tuple of tuple of str
        Groups to which no configuration can be added, each in the order of the ranks. Any two configurations that are
        not told apart share a group, so that one configuration may be in several groups or in none.
    """
    groups: list[tuple[str, ...]] = []
    joined: set[tuple[str, str]] = set()
    for pair in combinations(names, 2):
        if frozenset(pair) in told_apart or pair in joined:
            continue
        group = {*pair}
        for name in names:
            if not any(frozenset((name, member)) in told_apart for member in group):
                group.add(name)
        groups.append(tuple(name for name in names if name in group))
        joined.update(combinations(groups[-1], 2))
    return tuple(groups)


def count_least_datasets(n_pairs: int, alpha: float = 0.05) -> int:
    """Count the datasets on which Wilcoxon's test can show any difference among pairs with Holm's correction.

    The smallest p-value of N datasets is ``2 / 2 ** N``, and Holm's correction multiplies it by the number of pairs.
    """
    return math.ceil(1 + math.log2(n_pairs / alpha))


def compute_wilcoxon_p(scores: np.ndarray, base_scores: np.ndarray) -> float:
    """Return the two-sided p-value of Wilcoxon's signed-rank test of two configurations over datasets.

    Zero differences receive the smallest ranks, which are split evenly between both sides (SciPy's ``zsplit``), as
    Demšar does: datasets on which both score the same are evidence of equality. Wilcoxon's original rule, which R
    follows, drops them. The exact p-value then equals that of Pratt's test, which leaves the ranks of zeros
    out of both sums. Above `MAX_EXACT_DATASETS`, the normal approximation is used.

    Parameters
    ----------
    scores, base_scores : ndarray of shape (N,)
        Mean scores on the same N datasets.

    Returns
    -------
    p : float
        The p-value, which is 1 if all differences are 0.

    References
    ----------
    Demšar (2006), section 3.1.3.
    """
    differences = _subtract_rounded(scores, base_scores)  # (N,)
    is_signed = differences != 0  # (N,)
    if not is_signed.any():
        return 1.0
    if len(differences) > MAX_EXACT_DATASETS:
        return float(stats.wilcoxon(differences, zero_method="zsplit", correction=False, method="asymptotic").pvalue)
    ranks = stats.rankdata(np.abs(differences))  # (N,)
    # The ranks of zeros are split equally between both sides, whatever the signs of the others.
    return compute_exact_p(ranks[is_signed], np.sum(ranks[differences > 0]))


def sum_signed_ranks(scores: np.ndarray, base_scores: np.ndarray) -> float:
    """Return the sum of the signed ranks of Wilcoxon's test, which is positive if the first scores are greater.

    Parameters
    ----------
    scores, base_scores : ndarray of shape (N,)
    """
    differences = _subtract_rounded(scores, base_scores)  # (N,)
    return float(np.sum(np.sign(differences) * stats.rankdata(np.abs(differences))))


def _subtract_rounded(scores: np.ndarray, base_scores: np.ndarray) -> np.ndarray:
    """Return differences of shape (N,), where those that differ only by rounding are equal."""
    both = round_scores(np.column_stack([scores, base_scores]))  # (N, 2)
    return _round_relative(both[:, 0] - both[:, 1], np.max(np.abs(both)))


def compute_exact_p(ranks: np.ndarray, observed: float) -> float:
    """Return the two-sided p-value of a sum of positive ranks over all sign assignments to ranks of shape (m,)."""
    # A rank shared by ties is a multiple of 1/2, so twice a rank is a whole number of steps.
    steps = np.round(2 * ranks).astype(int)  # (m,)
    probabilities = np.zeros(np.sum(steps) + 1)  # distribution of twice the sum of positive ranks, starting at 0
    probabilities[0] = 1
    for step in steps:
        shifted = np.zeros_like(probabilities)
        shifted[step:] = probabilities[:-step]
        probabilities = (probabilities + shifted) / 2
    place = round(2 * observed)
    below = np.sum(probabilities[: place + 1])
    above = np.sum(probabilities[place:])
    return float(min(1.0, 2 * min(below, above)))
