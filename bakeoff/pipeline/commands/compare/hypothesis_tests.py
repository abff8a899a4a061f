"""Tests of scores: over the folds of one dataset, and of means over several datasets.

**Folds of one dataset.** The differences over J folds are not independent: the training parts share rows, and in
repeated cross-validation the test parts do too. The variance of their mean is therefore larger than ``variance / J``,
and the usual paired t-test finds differences where there are none. Nadeau and Bengio replace ``1 / J`` by ``1 / J +
n_test / n_train``, with the actual sizes of the parts. ``docs/statistics.md`` shows how often each test errs.

The Bayesian correlated t-test uses the same standard error as the scale of its posterior, which is Student's t with
J - 1 degrees of freedom. The package baycomp computes it for ``n_test / n_train = 1 / (k - 1)`` only, which is wrong
for holdout, bootstrap and folds with a validation part.

The amount of data needed to distinguish two configurations is a rough estimate: the variance comes from the same folds,
and the observed difference, which may be due to chance, is treated as the true one. The corrected t-statistic then has
a noncentral t distribution, whose noncentrality is the true mean difference divided by the standard error.

**Several datasets.** Each dataset counts once, through the ranks of the configurations or of their differences. Whether
Nemenyi's test distinguishes two configurations depends on the others, through the ranks between the two; Wilcoxon's
does not.

SciPy computes all distributions except the exact one of the Wilcoxon test: SciPy's is valid only without ties, and with
ties it enumerates all sign changes for up to 13 datasets, which takes a second per pair. The exact distribution with
ties is a sum over ranks and is computed here in microseconds.

References
----------
Benavoli, A., Corani, G. and Mangili, F. (2016). Should we really use post-hoc tests based on mean-ranks? Journal of
Machine Learning Research 17(5), 1-10.
Benavoli, A., Corani, G., Demšar, J. and Zaffalon, M. (2017). Time for a change: a tutorial for comparing multiple
classifiers through Bayesian analysis. Journal of Machine Learning Research 18(77), 1-36.
Bouckaert, R. R. and Frank, E. (2004). Evaluating the replicability of significance tests for comparing learning
algorithms. PAKDD 2004, 3-12. WEKA's ``PairedCorrectedTTester`` computes the same statistic.
Cohen, J. (1988). Statistical power analysis for the behavioral sciences, chapter 2.
Corani, G. and Benavoli, A. (2015). A Bayesian approach for comparing cross-validated algorithms on multiple data sets.
Machine Learning 100, 285-304.
Demšar, J. (2006). Statistical comparisons of classifiers over multiple data sets. Journal of Machine Learning
Research 7, 1-30.
Holm, S. (1979). A simple sequentially rejective multiple test procedure. Scandinavian Journal of Statistics 6, 65-70.
Iman, R. L. and Davenport, J. M. (1980). Approximations of the critical region of the Friedman statistic. Communications
in Statistics 9, 571-595.
Nadeau, C. and Bengio, Y. (2003). Inference for the generalization error. Machine Learning 52, 239-281.
"""

import math
from bisect import bisect_left
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from typing import Any

import numpy as np
from scipy import optimize, stats

from bakeoff.pipeline.commands.compare.comparison import BETTER, SAME, WORSE

MAX_RELATIVE_ROUNDING = 1e-9
"""Differences whose spread is smaller than this, relative to the largest of them, are equal up to rounding."""
MAX_ROUNDING_UNITS = 8
"""A difference of at most this many units in the last place of the scores counts as zero."""
POWER = 0.8
"""The power for which the amount of data is estimated."""
MAX_REPEATS = 1_000_000
"""The maximum number of repeats; larger numbers are reported as "no number of repeats"."""


@dataclass(frozen=True)
class CorrectedTTest:
    """The mean of fold values with its corrected interval, and the corrected resampled t-test of mean 0.

    Parameters
    ----------
    n_folds : int
        J: the number of folds of all repeats.
    ratio : float
        Test rows per training row; 0 if the folds are independent.
    mean : float
    standard_deviation : float
        The standard deviation over folds, with J - 1 in the denominator; NaN for one fold.
    standard_error : float
        The corrected standard error of the mean; NaN for one fold.
    lower, upper : float
        The confidence interval of the mean; NaN for one fold.
    statistic : float
        Student's t: the mean divided by the corrected standard error; 0 if all values are 0, infinite with the sign of
        the mean if they are equal and nonzero, and NaN for one fold.
    p : float
        The two-sided p-value; 0 or 1 if degenerate, by WEKA's convention, and NaN for one fold.
    is_degenerate : bool
        Whether all values are equal. The interval then contains only the mean and does not generalize to other rows.
    """

    n_folds: int
    ratio: float
    mean: float
    standard_deviation: float = math.nan
    standard_error: float = math.nan
    lower: float = math.nan
    upper: float = math.nan
    statistic: float = math.nan
    p: float = math.nan
    is_degenerate: bool = False

    @property
    def degrees_of_freedom(self) -> int:
        """J - 1."""
        return self.n_folds - 1


@dataclass(frozen=True)
class Posterior:
    """The posterior probabilities of a difference relative to a region of practical equivalence (rope).

    Parameters
    ----------
    worse, equivalent, better : float
        The probabilities, which sum to 1; NaN if there is no posterior.
    """

    worse: float
    equivalent: float
    better: float


@dataclass(frozen=True)
class Requirement:
    """The power of these folds, and the amount of data required to detect the observed difference.

    Parameters
    ----------
    smallest_difference : float
        The smallest true mean difference that the test detects on these folds with the power `POWER`; NaN without a
        variance, as for a single fold.
    repeats : int or None
        The approximate number of repeats of the same folds needed to detect the observed difference. None if no number
        would suffice, because the term n_test / n_train of the variance does not shrink with repeats.
    rows : int or None
        The approximate number of rows needed to detect the observed difference with the same kind of folds. This
        assumes that the variance of a fold's difference is proportional to 1 / rows at the same ratio, and that the
        true difference stays the same. None if the observed difference is 0 or the number of rows is unknown.
    """

    smallest_difference: float
    repeats: int | None
    rows: int | None


def subtract_scores(scores: np.ndarray, base_scores: np.ndarray) -> np.ndarray:
    """Subtract the scores of a base from those of another learner, fold by fold.

    Differences smaller than the rounding error of the scores are set to 0, because means of the same numbers in a
    different order should be equal.

    Parameters
    ----------
    scores : ndarray of shape (J,)
    base_scores : ndarray of shape (J,)
        Scores on the same folds in the same order.

    Returns
    -------
    differences : ndarray of shape (J,)
    """
    differences = scores - base_scores  # (J,)
    largest = np.maximum(np.abs(scores), np.abs(base_scores))  # (J,)
    rounding = MAX_ROUNDING_UNITS * np.spacing(largest)  # (J,)
    differences[np.abs(differences) <= rounding] = 0
    return differences


def compute_corrected_t_test(
    values: np.ndarray, ratio: float, confidence: float = 0.95, n_means: int = 1
) -> CorrectedTTest:
    """Test whether the mean over folds is 0, with an interval corrected for overlapping training parts.

    The standard error is ``sqrt((1 / J + ratio) * variance)``, where the variance has J - 1 in the denominator. The
    test and the interval use Student's t distribution with J - 1 degrees of freedom.

    Parameters
    ----------
    values : ndarray of shape (J,)
        Paired differences, as `subtract_scores` computes them, or scores of one learner.
    ratio : float
        Test rows per training row, n_test / n_train: 1 / (k - 1) for k folds without a validation part. With 0, this is
        the usual t-test of independent values.
    confidence : float, default 0.95
        The confidence level of the interval.
    n_means : int, default 1
        The number of means from which the values deviate; each takes a degree of freedom.

    Returns
    -------
    CorrectedTTest

    References
    ----------
    Nadeau and Bengio (2003), section 3.3.
    """
    n_folds = len(values)
    mean = _average(values)
    if n_folds == 1:
        return CorrectedTTest(1, ratio, mean)
    is_degenerate = _are_equal(values)
    standard_deviation = 0.0 if is_degenerate else float(np.std(values, ddof=1))
    standard_error = float(np.sqrt(1 / n_folds + ratio) * standard_deviation)
    df = n_folds - n_means
    margin = float(stats.t.ppf((1 + confidence) / 2, df)) * standard_error
    if not is_degenerate:
        statistic = mean / standard_error
    else:
        statistic = float(np.copysign(np.inf, mean)) if mean else 0.0
    return CorrectedTTest(
        n_folds=df + 1,
        ratio=ratio,
        mean=mean,
        standard_deviation=standard_deviation,
        standard_error=standard_error,
        lower=mean - margin,
        upper=mean + margin,
        statistic=statistic,
        p=float(2 * stats.t.sf(abs(statistic), df)),
        is_degenerate=is_degenerate,
    )


def mark_difference(difference: float, p: float, alpha: float = 0.05) -> str:
    """Return WEKA's mark of a learner against the base: ``v`` if better, ``*`` if worse, empty if not distinguished.

    Parameters
    ----------
    difference : float
        The mean difference over folds, positive if the learner is better.
    p : float
        The p-value, or NaN if there is no test.
    alpha : float, default 0.05
        The difference is significant if p is at most alpha, as in WEKA.

    Returns
    -------
    {"v", "", "*"}
    """
    if not p <= alpha or difference == 0:
        return SAME
    return BETTER if difference > 0 else WORSE


def compute_posterior(test: CorrectedTTest, rope: float = 0.0) -> Posterior:
    """Compute the posterior of the mean difference on one dataset by the Bayesian correlated t-test.

    Parameters
    ----------
    test : CorrectedTTest
        The test of the differences, which are positive where the first is better.
    rope : float, default 0
        Half the width of the region of practical equivalence, in the unit of the score.

    Returns
    -------
    Posterior

    References
    ----------
    Corani and Benavoli (2015), equation 8; Benavoli et al. (2017), section 4.1.
    """
    if test.n_folds == 1:
        return Posterior(math.nan, math.nan, math.nan)
    if test.is_degenerate:
        below = float(test.mean < -rope)
        above = float(test.mean > rope)
    else:
        below = float(stats.t.cdf(-rope, test.degrees_of_freedom, test.mean, test.standard_error))
        above = float(stats.t.sf(rope, test.degrees_of_freedom, test.mean, test.standard_error))
    return Posterior(below, max(0.0, 1 - below - above), above)


def estimate_requirement(
    test: CorrectedTTest, folds_per_repeat: int, n_rows: float, alpha: float = 0.05
) -> Requirement:
    """Estimate the amount of data required to distinguish two configurations.

    Parameters
    ----------
    test : CorrectedTTest
        The test of the observed differences.
    folds_per_repeat : int
        The number k for k folds; 1 for repeated holdout or bootstrap.
    n_rows : float
        The number of rows of the dataset; NaN if it is unknown.
    alpha : float, default 0.05

    Returns
    -------
    Requirement
    """
    # Without a variance, the folds allow no estimate.
    if test.n_folds == 1 or test.is_degenerate:
        return Requirement(math.nan, None, None)
    effect = find_effect(test.degrees_of_freedom, alpha)
    smallest_difference = effect * test.standard_error
    # Values that share no training rows, such as those of items, are not repeated.
    repeats = count_repeats(test, folds_per_repeat, alpha) if test.ratio else None
    rows = None
    if test.mean != 0 and not math.isnan(n_rows):
        # The standard error has to shrink by this factor, and its square is proportional to 1 / rows.
        factor = smallest_difference / abs(test.mean)
        rows = math.ceil(n_rows * factor**2)
    return Requirement(smallest_difference, repeats, rows)


def count_repeats(test: CorrectedTTest, folds_per_repeat: int, alpha: float = 0.05) -> int | None:
    """Count the repeats of the folds needed to detect a true difference of the observed size.

    Parameters
    ----------
    test : CorrectedTTest
        A test that is neither degenerate nor based on one fold.
    folds_per_repeat : int
    alpha : float, default 0.05

    Returns
    -------
    int or None
        The smallest number r for which ``(1 / (r k) + ratio) * variance`` is small enough, with at least 2 folds; None
        if no number below `MAX_REPEATS` suffices.
    """

    def is_enough(repeats: int) -> bool:
        n_folds = repeats * folds_per_repeat
        standard_error = math.sqrt(1 / n_folds + test.ratio) * test.standard_deviation
        return compute_power(abs(test.mean) / standard_error, n_folds - 1, alpha) >= POWER

    fewest = 1 if folds_per_repeat > 1 else 2
    candidates = range(fewest, MAX_REPEATS + 1)
    position = bisect_left(candidates, True, key=is_enough)
    return candidates[position] if position < len(candidates) else None


def compute_power(effect: float, degrees_of_freedom: int, alpha: float = 0.05) -> float:
    """Compute the probability that a two-sided t-test rejects the null hypothesis.

    Parameters
    ----------
    effect : float
        The noncentrality: the true mean divided by its standard error.
    degrees_of_freedom : int
    alpha : float, default 0.05

    Returns
    -------
    float
    """
    critical = stats.t.isf(alpha / 2, degrees_of_freedom)
    above = stats.nct.sf(critical, degrees_of_freedom, effect)
    # SciPy's lower tail is NaN for large effects. By symmetry, this expression gives the same probability.
    below = stats.nct.sf(critical, degrees_of_freedom, -effect)
    return float(above + below)


@cache
def find_effect(degrees_of_freedom: int, alpha: float = 0.05) -> float:
    """Find the noncentrality at which a two-sided t-test has the power `POWER`.

    Parameters
    ----------
    degrees_of_freedom : int
    alpha : float, default 0.05

    Returns
    -------
    float
    """

    def lack(effect: float) -> float:
        return compute_power(effect, degrees_of_freedom, alpha) - POWER

    # The sum of both quantiles is close to the solution on either side; twice the sum is always sufficient.
    critical = stats.t.isf(alpha / 2, degrees_of_freedom)
    upper = 2 * (critical + stats.t.isf(1 - POWER, degrees_of_freedom))
    return float(optimize.brentq(lack, 0.0, upper, xtol=1e-10))


def _average(values: np.ndarray) -> float:
    """Return the mean of values of shape (J,); 0 if they cancel except for rounding."""
    mean = float(np.mean(values))
    # Equal means of scores in a different order would otherwise differ by 1e-17, and require rows to detect it.
    return 0.0 if abs(mean) <= MAX_RELATIVE_ROUNDING * np.max(np.abs(values)) else mean


def _are_equal(values: np.ndarray) -> bool:
    """Return whether values of shape (J,) are equal up to rounding."""
    spread = np.max(values) - np.min(values)
    return bool(spread <= MAX_RELATIVE_ROUNDING * np.max(np.abs(values)))


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
