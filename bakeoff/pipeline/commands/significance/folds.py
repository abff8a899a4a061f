"""Tests of scores over the folds of one dataset.

The differences over J folds are not independent: the training parts share rows, and in
repeated cross-validation the test parts do too. The variance of their mean is therefore larger than ``variance / J``,
and the usual paired t-test finds differences where there are none. Nadeau and Bengio replace ``1 / J`` by ``1 / J +
n_test / n_train``, with the actual sizes of the parts. ``docs/statistics.md`` shows how often each test errs.

The Bayesian correlated t-test uses the same standard error as the scale of its posterior, which is Student's t with
J - 1 degrees of freedom. The package baycomp computes it for ``n_test / n_train = 1 / (k - 1)`` only, which is wrong
for holdout, bootstrap and folds with a validation part.

The amount of data needed to distinguish two configurations is a rough estimate: the variance comes from the same folds,
and the observed difference, which may be due to chance, is treated as the true one. The corrected t-statistic then has
a noncentral t distribution, whose noncentrality is the true mean difference divided by the standard error.

References
----------
Benavoli, A., Corani, G., Demšar, J. and Zaffalon, M. (2017). Time for a change: a tutorial for comparing multiple
classifiers through Bayesian analysis. Journal of Machine Learning Research 18(77), 1-36.
Bouckaert, R. R. and Frank, E. (2004). Evaluating the replicability of significance tests for comparing learning
algorithms. PAKDD 2004, 3-12. WEKA's ``PairedCorrectedTTester`` computes the same statistic.
Cohen, J. (1988). Statistical power analysis for the behavioral sciences, chapter 2.
Corani, G. and Benavoli, A. (2015). A Bayesian approach for comparing cross-validated algorithms on multiple data sets.
Machine Learning 100, 285-304.
Nadeau, C. and Bengio, Y. (2003). Inference for the generalization error. Machine Learning 52, 239-281.
"""

import math
from bisect import bisect_left
from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy import optimize, special, stats

MAX_RELATIVE_ROUNDING = 1e-9
"""Differences whose spread is smaller than this, relative to the largest of them, are equal up to rounding."""
MAX_ROUNDING_UNITS = 8
"""A difference of at most this many units in the last place of the scores counts as zero."""
BETTER = "v"
WORSE = "*"
SAME = ""
"""WEKA's marks: significantly better than the base, significantly worse, or not distinguished from it."""
POWER = 0.8
"""The power for which the amount of data is estimated."""
MAX_REPEATS = 1_000_000
"""The maximum number of repeats; larger numbers are reported as "no number of repeats"."""

BOUNDED = "Intervals end at the least and the greatest possible score."
"""The footnote of a table with an interval that would otherwise be longer."""
UNVARIED = "Scores that are equal in all folds have no interval."


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

    def bound_interval(self, bounds: tuple[float, float]) -> tuple[float, float]:
        """Return the interval without values that no mean can have, which leaves its coverage as it is.

        It is NaN if all folds score the same, because their variance says nothing about other rows.
        """
        if not self.lower < self.upper:
            return math.nan, math.nan
        low, high = np.clip([self.lower, self.upper], *bounds).tolist()
        return low, high


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
    margin = float(special.stdtrit(df, (1 + confidence) / 2)) * standard_error
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
        p=float(2 * special.stdtr(df, -abs(statistic))),
        is_degenerate=is_degenerate,
    )


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
        below = float(special.stdtr(test.degrees_of_freedom, (-rope - test.mean) / test.standard_error))
        above = float(special.stdtr(test.degrees_of_freedom, (test.mean - rope) / test.standard_error))
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
    critical = -special.stdtrit(degrees_of_freedom, alpha / 2)
    # By symmetry, the lower tail is the upper one of the opposite effect.
    below, other_below = (special.nctdtr(degrees_of_freedom, each, critical) for each in (effect, -effect))
    power = float(2 - below - other_below)
    if not math.isnan(power):
        return power
    # This takes fifty times as long, and covers large effects and degrees of freedom as well.
    return float(stats.nct.sf(critical, degrees_of_freedom, [effect, -effect]).sum())


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
    upper = -2 * float(special.stdtrit(degrees_of_freedom, [alpha / 2, 1 - POWER]).sum())
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
