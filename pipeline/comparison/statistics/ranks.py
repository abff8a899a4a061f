"""Ranks of configurations over several datasets, and the Friedman test that all mean ranks are equal.

References
----------
Demšar, J. (2006). Statistical comparisons of classifiers over multiple data sets. Journal of Machine Learning
Research 7, 1-30.
Friedman, M. (1937). The use of ranks to avoid the assumption of normality implicit in the analysis of variance. Journal
of the American Statistical Association 32, 675-701.
Iman, R. L. and Davenport, J. M. (1980). Approximations of the critical region of the Friedman statistic. Communications
in Statistics 9, 571-595.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import stats

MIN_DATASETS = 5
"""Below this number of datasets, tests over datasets have too little to go on."""
MIN_FRIEDMAN_CONFIGURATIONS = 3
"""Two configurations are compared by the Wilcoxon or the sign test."""
RANKED_DIGITS = 12
"""Scores that agree in so many digits, relative to the largest of their dataset, are ties."""


@dataclass(frozen=True)
class FriedmanTest:
    """The Friedman test over N datasets and k configurations, with and without the correction for ties.

    Parameters
    ----------
    n_datasets, n_configurations : int
    chi2 : float
        Corrected for ties, as SciPy and R compute it: this is the value to report.
    p : float
        Of `chi2`, with k - 1 degrees of freedom.
    chi2_uncorrected : float
        As in Demšar (2006), equation 6, which ignores ties. Without ties, it equals `chi2`.
    p_uncorrected : float
    f : float
        Iman and Davenport's statistic from `chi2`; infinite if all datasets rank alike.
    f_p : float
        Of `f`, with k - 1 and (k - 1)(N - 1) degrees of freedom. If all datasets rank alike, the exact probability of
        that.
    f_uncorrected, f_p_uncorrected : float
        The same from `chi2_uncorrected`.
    is_degenerate : bool
        Whether all configurations tie on every dataset: both statistics are then 0 and p is 1.
    too_few : bool
        Whether there are fewer than `MIN_DATASETS` datasets. The numbers are computed all the same.
    """

    n_datasets: int
    n_configurations: int
    chi2: float
    p: float
    chi2_uncorrected: float
    p_uncorrected: float
    f: float
    f_p: float
    f_uncorrected: float
    f_p_uncorrected: float
    is_degenerate: bool
    too_few: bool


@dataclass(frozen=True)
class Outcomes:
    """On how many datasets each configuration wins, ties and loses against each other one.

    Parameters
    ----------
    wins, ties, losses : ndarray of shape (k, k)
        Counts of row i against column j. Their diagonals hold N ties.
    """

    wins: np.ndarray
    ties: np.ndarray
    losses: np.ndarray


def round_scores(scores: np.ndarray) -> np.ndarray:
    """Round scores so that those that differ by rounding alone are equal.

    Parameters
    ----------
    scores : ndarray of shape (N, k)
        Mean scores of k configurations on N datasets.

    Returns
    -------
    rounded : ndarray of shape (N, k)
        To `RANKED_DIGITS` digits of the largest score of each row.

    Raises
    ------
    ValueError
        If the array is not two-dimensional or a score is not finite.
    """
    scores = np.asarray(scores, dtype=float)  # (N, k)
    if scores.ndim != 2 or scores.size == 0:
        raise ValueError(f"scores of shape {scores.shape}: datasets as rows, configurations as columns are allowed")
    wrong = np.argwhere(~np.isfinite(scores))
    if len(wrong):
        row, column = wrong[0]
        message = f"the score of configuration {column} on dataset {row} is {scores[row, column]}"
        raise ValueError(f"{message}: finite values are allowed")
    largest = np.max(np.abs(scores), axis=1, keepdims=True)  # (N, 1)
    _, exponent = np.frexp(largest)
    # A power of two as the unit changes no digit of the scores that it divides.
    unit = np.ldexp(1.0, exponent)  # (N, 1)
    return np.round(scores / unit, RANKED_DIGITS) * unit


def rank_configurations(scores: np.ndarray, greater_is_better: bool = True) -> np.ndarray:
    """Rank the configurations on each dataset: 1 is the best, and ties share the mean of their ranks.

    Parameters
    ----------
    scores : ndarray of shape (N, k)
    greater_is_better : bool, default True

    Returns
    -------
    ranks : ndarray of shape (N, k)

    Raises
    ------
    ValueError
        As `round_scores`.
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

    Raises
    ------
    ValueError
        If there are fewer datasets or configurations, or as `round_scores`.

    References
    ----------
    Demšar (2006), section 3.2.2. The correction for ties is that of Conover (1999), Practical nonparametric statistics,
    section 5.8, which SciPy and R apply.
    """
    ranks = rank_configurations(scores)  # (N, k)
    n_datasets, n_configurations = ranks.shape
    if n_datasets < 2 or n_configurations < MIN_FRIEDMAN_CONFIGURATIONS:
        given = f"{n_datasets} datasets and {n_configurations} configurations"
        raise ValueError(f"{given}: the Friedman test needs at least 2 and {MIN_FRIEDMAN_CONFIGURATIONS}")
    is_degenerate = bool(np.all(ranks == ranks[0, 0]))
    if is_degenerate:
        chi2, p = 0.0, 1.0
    else:
        corrected = stats.friedmanchisquare(*ranks.T)
        chi2, p = float(corrected.statistic), float(corrected.pvalue)
    chi2_uncorrected = _compute_chi2_without_ties(ranks)
    f, f_p = compute_iman_davenport(chi2, n_datasets, n_configurations)
    f_uncorrected, f_p_uncorrected = compute_iman_davenport(chi2_uncorrected, n_datasets, n_configurations)
    return FriedmanTest(
        n_datasets=n_datasets,
        n_configurations=n_configurations,
        chi2=chi2,
        p=p,
        chi2_uncorrected=chi2_uncorrected,
        p_uncorrected=float(stats.chi2.sf(chi2_uncorrected, n_configurations - 1)),
        f=f,
        f_p=f_p,
        f_uncorrected=f_uncorrected,
        f_p_uncorrected=f_p_uncorrected,
        is_degenerate=is_degenerate,
        too_few=n_datasets < MIN_DATASETS,
    )


def compute_iman_davenport(chi2: float, n_datasets: int, n_configurations: int) -> tuple[float, float]:
    """Compute Iman and Davenport's F from Friedman's chi-squared, and its p-value.

    Parameters
    ----------
    chi2 : float
    n_datasets, n_configurations : int
        N and k.

    Returns
    -------
    f : float
        ``(N - 1) chi2 / (N (k - 1) - chi2)``; infinite if all datasets rank alike, where chi2 is N (k - 1).
    p : float
        With k - 1 and (k - 1)(N - 1) degrees of freedom. Where F is infinite, the exact probability that N datasets
        rank k configurations alike by chance, ``k! ** (1 - N)``, because the approximation would say 0.
    """
    largest = n_datasets * (n_configurations - 1)
    if math.isclose(chi2, largest, rel_tol=1e-12):
        return math.inf, float(math.factorial(n_configurations)) ** (1 - n_datasets)
    f = (n_datasets - 1) * chi2 / (largest - chi2)
    numerator_df = n_configurations - 1
    denominator_df = numerator_df * (n_datasets - 1)
    return f, float(stats.f.sf(f, numerator_df, denominator_df))


def count_outcomes(scores: np.ndarray, greater_is_better: bool = True) -> Outcomes:
    """Count on how many datasets each configuration wins, ties and loses against each other one.

    Parameters
    ----------
    scores : ndarray of shape (N, k)
    greater_is_better : bool, default True

    Returns
    -------
    Outcomes

    Raises
    ------
    ValueError
        As `round_scores`.
    """
    ranks = rank_configurations(scores, greater_is_better)  # (N, k)
    row_ranks = ranks[:, :, np.newaxis]  # (N, k, 1)
    column_ranks = ranks[:, np.newaxis, :]  # (N, 1, k)
    wins = np.sum(row_ranks < column_ranks, axis=0)  # (k, k)
    ties = np.sum(row_ranks == column_ranks, axis=0)  # (k, k)
    return Outcomes(wins=wins, ties=ties, losses=wins.T)


def _compute_chi2_without_ties(ranks: np.ndarray) -> float:
    """Return Friedman's chi-squared of ranks of shape (N, k) by Demšar's equation 6, which ignores ties."""
    n_datasets, n_configurations = ranks.shape
    k = n_configurations
    mean_ranks = np.mean(ranks, axis=0)  # (k,)
    deviation = np.sum(mean_ranks**2) - k * (k + 1) ** 2 / 4
    return max(0.0, float(12 * n_datasets / (k * (k + 1)) * deviation))
