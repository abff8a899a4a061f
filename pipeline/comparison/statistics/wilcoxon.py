"""Two configurations over several datasets: the Wilcoxon signed-rank test and the sign test.

SciPy's exact distribution holds without ties only. With ties, SciPy tries all changes of signs up to 13 datasets, which
takes a second for each pair, and has the normal approximation above. The exact distribution with ties is a sum over
ranks, computed here in microseconds. The tests compare it with SciPy's, with R's, and with an enumeration.

References
----------
Wilcoxon, F. (1945). Individual comparisons by ranking methods. Biometrics 1, 80-83.
Demšar, J. (2006). Statistical comparisons of classifiers over multiple data sets. Journal of Machine Learning
Research 7, 1-30, sections 3.1.3 and 3.1.4.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import stats

from bakeoff.pipeline.comparison.statistics.multiple import adjust_by_holm, list_pairs
from bakeoff.pipeline.comparison.statistics.ranks import MIN_DATASETS, RANKED_DIGITS, round_scores

MAX_EXACT_DATASETS = 50
"""The exact distribution is used up to here, as R and SciPy do where there are no ties."""


@dataclass(frozen=True)
class PairedDatasetsTest:
    """The Wilcoxon signed-rank test and the sign test of two configurations over N datasets.

    Parameters
    ----------
    n_datasets : int
    positive_ranks, negative_ranks : float
        Sums of the ranks of positive and negative differences. The ranks of zero differences are split evenly.
    p : float
        Two-sided, of the Wilcoxon test.
    method : {"exact", "normal", "all equal"}
        How `p` was computed: from all changes of signs, or by the normal approximation above `MAX_EXACT_DATASETS`.
    smallest_p : float
        The smallest p-value that N datasets allow, ``2 ** (1 - N)``: above alpha, no difference can be significant.
    wins, ties, losses : int
        Datasets with a positive, a zero and a negative difference.
    sign_p : float
        Two-sided, of the sign test. Ties are split evenly; the last one is left out if their number is odd.
    too_few : bool
        Whether there are fewer than `MIN_DATASETS` datasets.
    """

    n_datasets: int
    positive_ranks: float
    negative_ranks: float
    p: float
    method: str
    smallest_p: float
    wins: int
    ties: int
    losses: int
    sign_p: float
    too_few: bool


@dataclass(frozen=True)
class AllPairsTest:
    """The tests of all pairs of k configurations, with Holm's correction.

    Parameters
    ----------
    pairs : list of (int, int)
        All i < j. A positive difference is one in favour of i.
    tests : list of PairedDatasetsTest
        In the order of `pairs`.
    p_holm : ndarray of shape (k (k - 1) / 2,)
        The Wilcoxon tests' p-values, corrected for all pairs.
    """

    pairs: list[tuple[int, int]]
    tests: list[PairedDatasetsTest]
    p_holm: np.ndarray


def compare_two_over_datasets(
    scores: np.ndarray, base_scores: np.ndarray, greater_is_better: bool = True
) -> PairedDatasetsTest:
    """Test by signed ranks and by signs whether two configurations differ over datasets.

    Zero differences are ranked as the smallest, and their ranks split evenly between both sides (SciPy's ``zsplit``),
    as Demšar does: datasets on which both score the same speak for their equality. Wilcoxon's own rule, which R
    follows, drops them. The exact p-value is then that of Pratt's test, which leaves the zeros' ranks out of both sums.

    Parameters
    ----------
    scores, base_scores : ndarray of shape (N,)
        Mean scores on the same N datasets.
    greater_is_better : bool, default True
        False for errors: a smaller score is then a win and a positive difference.

    Returns
    -------
    PairedDatasetsTest

    Raises
    ------
    ValueError
        If the shapes differ, or as `round_scores`.

    References
    ----------
    Demšar (2006), sections 3.1.3 and 3.1.4.
    """
    differences = _subtract_rounded(scores, base_scores)  # (N,)
    if not greater_is_better:
        differences = -differences
    n_datasets = len(differences)
    wins = int(np.sum(differences > 0))
    losses = int(np.sum(differences < 0))
    ties = n_datasets - wins - losses
    sizes = stats.rankdata(np.abs(differences))  # (N,)
    zero_ranks = float(np.sum(sizes[differences == 0]))
    method = _choose_method(differences)
    return PairedDatasetsTest(
        n_datasets=n_datasets,
        positive_ranks=float(np.sum(sizes[differences > 0])) + zero_ranks / 2,
        negative_ranks=float(np.sum(sizes[differences < 0])) + zero_ranks / 2,
        p=_compute_wilcoxon_p(differences, method),
        method=method,
        smallest_p=2.0 ** (1 - n_datasets),
        wins=wins,
        ties=ties,
        losses=losses,
        sign_p=_compute_sign_p(wins, ties, losses),
        too_few=n_datasets < MIN_DATASETS,
    )


def compare_pairs_over_datasets(scores: np.ndarray, greater_is_better: bool = True) -> AllPairsTest:
    """Test all pairs of configurations over datasets by signed ranks, with Holm's correction.

    Parameters
    ----------
    scores : ndarray of shape (N, k)
    greater_is_better : bool, default True

    Returns
    -------
    AllPairsTest

    Raises
    ------
    UserError
        If statsmodels is not installed.
    ValueError
        As `round_scores`.
    """
    scores = round_scores(scores)  # (N, k)
    pairs = list_pairs(scores.shape[1])
    tests = [compare_two_over_datasets(scores[:, i], scores[:, j], greater_is_better) for i, j in pairs]
    p = np.array([test.p for test in tests])  # (k (k - 1) / 2,)
    return AllPairsTest(pairs, tests, adjust_by_holm(p))


def _subtract_rounded(scores: np.ndarray, base_scores: np.ndarray) -> np.ndarray:
    """Return differences of shape (N,) among which those that differ by rounding alone are equal."""
    if np.shape(scores) != np.shape(base_scores):
        raise ValueError(f"shapes {np.shape(scores)} and {np.shape(base_scores)}: the datasets are not paired")
    both = round_scores(np.column_stack([scores, base_scores]))  # (N, 2)
    _, exponent = np.frexp(np.max(np.abs(both)))
    unit = np.ldexp(1.0, exponent)
    return np.asarray(np.round((both[:, 0] - both[:, 1]) / unit, RANKED_DIGITS) * unit)


def _choose_method(differences: np.ndarray) -> str:
    """Choose how the p-value of differences of shape (N,) is computed."""
    if not np.any(differences):
        return "all equal"
    return "exact" if len(differences) <= MAX_EXACT_DATASETS else "normal"


def _compute_wilcoxon_p(differences: np.ndarray, method: str) -> float:
    """Return the two-sided p-value of the Wilcoxon test of differences of shape (N,)."""
    if method == "all equal":
        return 1.0
    if method == "normal":
        return float(stats.wilcoxon(differences, zero_method="zsplit", correction=False, method="asymptotic").pvalue)
    ranks = stats.rankdata(np.abs(differences))  # (N,)
    # The halves of the zeros' ranks are the same on both sides, whatever the signs are.
    is_signed = differences != 0  # (N,)
    observed = np.sum(ranks[differences > 0])
    return _compute_exact_p(ranks[is_signed], observed)


def _compute_exact_p(ranks: np.ndarray, observed: float) -> float:
    """Return the two-sided p-value of a sum of positive ranks, among all signs of ranks of shape (m,)."""
    # A rank that ties share is a multiple of 1/2, so that twice a rank counts steps.
    steps = np.round(2 * ranks).astype(int)  # (m,)
    probabilities = np.zeros(np.sum(steps) + 1)  # of twice the sum of positive ranks, from 0 on
    probabilities[0] = 1
    for step in steps:
        shifted = np.zeros_like(probabilities)
        shifted[step:] = probabilities[:-step]
        probabilities = (probabilities + shifted) / 2
    place = round(2 * observed)
    below = np.sum(probabilities[: place + 1])
    above = np.sum(probabilities[place:])
    return float(min(1.0, 2 * min(below, above)))


def _compute_sign_p(wins: int, ties: int, losses: int) -> float:
    """Return the two-sided p-value of the sign test with ties split evenly."""
    half = ties // 2
    n_trials = wins + losses + 2 * half
    if n_trials == 0:
        return 1.0
    return float(stats.binomtest(wins + half, n_trials).pvalue)
