"""Tests of the folds of one dataset: the corrected resampled t-test, its Bayesian form, and its power.

The differences of J folds are not independent: the training parts share rows, and in repeated cross-validation the test
parts as well. The variance of their mean is therefore larger than ``variance / J``, and the usual paired t-test finds
differences where there are none. Nadeau and Bengio replace ``1 / J`` by ``1 / J + n_test / n_train``, with the actual
sizes of the parts. ``docs/statistics.md`` shows how often each test errs.

The Bayesian correlated t-test uses the same standard error as the scale of its posterior, which is Student's t with
J - 1 degrees of freedom. The package baycomp computes it for ``n_test / n_train = 1 / (k - 1)`` only, which is wrong
for holdout, bootstrap and folds with a validation part.

The amount of data needed to distinguish two configurations is a rough estimate: the variance comes from the same folds,
and the observed difference is treated as the true one, although it may be due to chance. The corrected t-statistic then
has a noncentral t distribution, whose noncentrality is the true mean difference over the standard error.

References
----------
Nadeau, C. and Bengio, Y. (2003). Inference for the generalization error. Machine Learning 52, 239-281.
Bouckaert, R. R. and Frank, E. (2004). Evaluating the replicability of significance tests for comparing learning
algorithms. PAKDD 2004, 3-12. WEKA's ``PairedCorrectedTTester`` computes the same statistic.
Corani, G. and Benavoli, A. (2015). A Bayesian approach for comparing cross-validated algorithms on multiple data sets.
Machine Learning 100, 285-304.
Benavoli, A., Corani, G., Demšar, J. and Zaffalon, M. (2017). Time for a change: a tutorial for comparing multiple
classifiers through Bayesian analysis. Journal of Machine Learning Research 18(77), 1-36.
Cohen, J. (1988). Statistical power analysis for the behavioral sciences, chapter 2.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy import optimize, stats

MAX_RELATIVE_ROUNDING = 1e-9
"""Differences that vary by less, relative to the largest of them, are equal up to rounding."""
MAX_ROUNDING_UNITS = 8
"""A difference of at most so many units in the last place of the scores is zero."""
MAX_REPEATS = 1_000_000
"""The maximum number of repeats; more are reported as "no number of repeats"."""


@dataclass(frozen=True)
class ResampledMean:
    """The mean over folds with its corrected standard error and confidence interval.

    Parameters
    ----------
    n_folds : int
        J: the number of folds of all repeats.
    ratio : float
        Test rows per training row; 0 if the folds are independent.
    mean : float
    standard_deviation : float
        Over folds, with J - 1 in the denominator; NaN for one fold.
    standard_error : float
        The corrected standard error of the mean; NaN for one fold.
    degrees_of_freedom : int
        J - 1.
    confidence : float
        The confidence level of the interval, such as 0.95.
    lower, upper : float
        The confidence interval of the mean; NaN for one fold.
    is_degenerate : bool
        Whether all values are equal. The interval then contains only the mean, and does not apply to other rows.
    problem : str
        The reason why there is no standard error and no interval; empty if there are both.
    """

    n_folds: int
    ratio: float
    mean: float
    standard_deviation: float
    standard_error: float
    degrees_of_freedom: int
    confidence: float
    lower: float
    upper: float
    is_degenerate: bool
    problem: str


@dataclass(frozen=True)
class CorrectedTTest(ResampledMean):
    """The result of the corrected resampled t-test of mean difference 0.

    Parameters
    ----------
    statistic : float
        Student's t: the mean over the corrected standard error. Plus or minus infinity if all differences are equal and
        not 0, which is degenerate; 0 if they are all 0; NaN for one fold.
    p : float
        Two-sided. 0 or 1 in the degenerate cases, which is WEKA's convention; NaN for one fold.
    """

    statistic: float
    p: float


@dataclass(frozen=True)
class Posterior:
    """The posterior probabilities of a difference, against a region of practical equivalence (rope).

    Parameters
    ----------
    worse, equivalent, better : float
        Their sum is 1; NaN where there is no posterior.
    """

    worse: float
    equivalent: float
    better: float

    def get_verdict(self, threshold: float = 0.95) -> str:
        """Return "worse", "equivalent" or "better" if its probability is at least the threshold, else ""."""
        probabilities = {"worse": self.worse, "equivalent": self.equivalent, "better": self.better}
        likely = [word for word, probability in probabilities.items() if probability >= threshold]
        return likely[0] if likely else ""


@dataclass(frozen=True)
class Requirement:
    """The power of these folds, and the data required for detecting the observed difference.

    Parameters
    ----------
    smallest_difference : float
        The smallest true mean difference that the test detects on these folds with the requested power; NaN without a
        variance, as of a single fold.
    repeats : int or None
        The approximate number of repeats of the same folds for detecting the observed difference. None if no number
        would: the term n_test / n_train of the variance does not shrink with repeats.
    rows : int or None
        The approximate number of rows for detecting the observed difference, with the same kind of folds. This assumes
        that the variance of a fold's difference is proportional to 1 / rows at the same ratio, and that the true
        difference stays. None if the observed difference is 0.
    """

    smallest_difference: float
    repeats: int | None
    rows: int | None


def subtract_scores(scores: np.ndarray, base_scores: np.ndarray) -> np.ndarray:
    """Subtract the scores of a base from those of another learner, fold by fold.

    Differences smaller than the rounding of the scores are set to 0: two means of the same numbers in
    different order are equal.

    Parameters
    ----------
    scores : ndarray of shape (J,)
    base_scores : ndarray of shape (J,)
        On the same folds in the same order.

    Returns
    -------
    differences : ndarray of shape (J,)

    Raises
    ------
    ValueError
        If the shapes differ or a score is not finite.
    """
    scores = check_fold_values(scores)  # (J,)
    base_scores = check_fold_values(base_scores)  # (J,)
    if scores.shape != base_scores.shape:
        raise ValueError(f"{len(scores)} and {len(base_scores)} folds are not paired")
    differences = scores - base_scores  # (J,)
    largest = np.maximum(np.abs(scores), np.abs(base_scores))  # (J,)
    rounding = MAX_ROUNDING_UNITS * np.spacing(largest)  # (J,)
    differences[np.abs(differences) <= rounding] = 0
    return differences


def estimate_mean(values: np.ndarray, ratio: float, confidence: float = 0.95) -> ResampledMean:
    """Estimate the mean over folds with a confidence interval that is corrected for overlapping training parts.

    The standard error is ``sqrt((1 / J + ratio) * variance)`` with the variance over J - 1; the interval is Student's
    with J - 1 degrees of freedom.

    Parameters
    ----------
    values : ndarray of shape (J,)
        Scores of one learner, or paired differences.
    ratio : float
        Test rows per training row, n_test / n_train: 1 / (k - 1) for k folds without a validation part. With 0, the
        interval is the usual one of independent values.
    confidence : float, default 0.95

    Returns
    -------
    ResampledMean

    Raises
    ------
    ValueError
        If there are no values, a value is not finite, the ratio is negative, or the confidence is not between 0 and 1.

    References
    ----------
    Nadeau and Bengio (2003), section 3.3: the corrected resampled t-test as an interval.
    """
    values = check_fold_values(values)  # (J,)
    check_ratio(ratio)
    if not 0 < confidence < 1:
        raise ValueError(f"confidence={confidence}: a probability between 0 and 1 is allowed")
    n_folds = len(values)
    mean = _average(values)
    if n_folds == 1:
        nan = float("nan")
        problem = "one fold has no variance: use more folds or repeats"
        return ResampledMean(1, ratio, mean, nan, nan, 0, confidence, nan, nan, False, problem)

    is_degenerate = are_equal(values)
    standard_deviation = 0.0 if is_degenerate else float(np.std(values, ddof=1))
    standard_error = compute_standard_error(standard_deviation, n_folds, ratio)
    degrees_of_freedom = n_folds - 1
    critical = float(stats.t.ppf((1 + confidence) / 2, degrees_of_freedom))
    margin = critical * standard_error
    return ResampledMean(
        n_folds=n_folds,
        ratio=ratio,
        mean=mean,
        standard_deviation=standard_deviation,
        standard_error=standard_error,
        degrees_of_freedom=degrees_of_freedom,
        confidence=confidence,
        lower=mean - margin,
        upper=mean + margin,
        is_degenerate=is_degenerate,
        problem="",
    )


def compute_corrected_t_test(differences: np.ndarray, ratio: float, confidence: float = 0.95) -> CorrectedTTest:
    """Test whether the mean of paired differences is 0 by the corrected resampled t-test.

    Parameters
    ----------
    differences : ndarray of shape (J,)
        Score minus the base's score, of every fold. `subtract_scores` computes them.
    ratio : float
        Test rows per training row, n_test / n_train. With 0, this is the usual paired t-test.
    confidence : float, default 0.95
        Of the interval.

    Returns
    -------
    CorrectedTTest

    Raises
    ------
    ValueError
        As `estimate_mean`.

    References
    ----------
    Nadeau and Bengio (2003), section 3.3.
    """
    estimate = estimate_mean(differences, ratio, confidence)
    statistic, p = _compute_t(estimate)
    return CorrectedTTest(**vars(estimate), statistic=statistic, p=p)


def mark_difference(test: CorrectedTTest, alpha: float = 0.05, greater_is_better: bool = True) -> str:
    """Return WEKA's mark of a learner against the base: ``v`` is better, ``*`` is worse, and blank is not told apart.

    Parameters
    ----------
    test : CorrectedTTest
        Of the learner's scores minus the base's.
    alpha : float, default 0.05
        The difference is significant if p is at most alpha, as in WEKA.
    greater_is_better : bool, default True

    Returns
    -------
    {"v", "", "*"}
    """
    # NaN, the p-value of one fold, is not at most alpha.
    is_significant = test.p <= alpha and test.mean != 0
    if not is_significant:
        return ""
    is_better = (test.mean > 0) == greater_is_better
    return "v" if is_better else "*"


def compute_standard_error(standard_deviation: float, n_folds: int, ratio: float) -> float:
    """Return the corrected standard error of a mean over folds, ``sqrt((1 / J + ratio)) * standard_deviation``."""
    return float(np.sqrt(1 / n_folds + ratio) * standard_deviation)


def compute_posterior(
    differences: np.ndarray, ratio: float, rope: float = 0.0, greater_is_better: bool = True
) -> Posterior:
    """Compute the posterior of the mean difference on one dataset by the Bayesian correlated t-test.

    Parameters
    ----------
    differences : ndarray of shape (J,)
        Score minus the base's score, of every fold.
    ratio : float
        Test rows per training row, n_test / n_train.
    rope : float, default 0
        Half the width of the region of practical equivalence, in units of the score.
    greater_is_better : bool, default True
        False for errors: a negative difference is then better.

    Returns
    -------
    Posterior

    Raises
    ------
    ValueError
        If the rope is negative, or as `estimate_mean`.

    References
    ----------
    Corani and Benavoli (2015), equation 8; Benavoli et al. (2017), section 4.1.
    """
    require_rope(rope)
    estimate = estimate_mean(differences, ratio)
    if estimate.problem:
        return Posterior(math.nan, math.nan, math.nan)

    location = estimate.mean
    scale = estimate.standard_error
    df = estimate.degrees_of_freedom
    if estimate.is_degenerate:
        below = float(location < -rope)
        above = float(location > rope)
    else:
        below = float(stats.t.cdf(-rope, df, location, scale))
        above = float(stats.t.sf(rope, df, location, scale))
    equivalent = max(0.0, 1 - below - above)
    if not greater_is_better:
        return Posterior(above, equivalent, below)
    return Posterior(below, equivalent, above)


def estimate_requirement(
    test: CorrectedTTest, folds_per_repeat: int, n_rows: int, alpha: float = 0.05, power: float = 0.8
) -> Requirement:
    """Estimate the data required for distinguishing two configurations.

    Parameters
    ----------
    test : CorrectedTTest
        The test of the observed differences.
    folds_per_repeat : int
        k for k folds; 1 for repeated holdout or bootstrap.
    n_rows : int
        Rows of the dataset.
    alpha : float, default 0.05
    power : float, default 0.8

    Returns
    -------
    Requirement

    Raises
    ------
    ValueError
        If alpha or power is not between 0 and 1, or power is not above alpha.
    """
    if not 0 < alpha < power < 1:
        raise ValueError(f"alpha={alpha}, power={power}: 0 < alpha < power < 1 is allowed")
    # Without a variance, the folds allow no estimate.
    if test.problem or test.is_degenerate:
        return Requirement(math.nan, None, None)
    effect = find_effect(test.degrees_of_freedom, alpha, power)
    smallest_difference = effect * test.standard_error
    repeats = count_repeats(test, folds_per_repeat, alpha, power)
    rows = None
    if test.mean != 0:
        # The standard error has to shrink by this factor, and its square is proportional to 1 / rows.
        factor = smallest_difference / abs(test.mean)
        rows = math.ceil(n_rows * factor**2)
    return Requirement(smallest_difference, repeats, rows)


def count_repeats(test: CorrectedTTest, folds_per_repeat: int, alpha: float = 0.05, power: float = 0.8) -> int | None:
    """Count the repeats of the folds for detecting a true difference of the observed size.

    Parameters
    ----------
    test : CorrectedTTest
        A test that is neither degenerate nor based on one fold.
    folds_per_repeat : int
    alpha : float, default 0.05
    power : float, default 0.8

    Returns
    -------
    int or None
        The smallest number r for which ``(1 / (r k) + ratio) * variance`` is small enough, at least 2 folds; None if
        none below `MAX_REPEATS` is.
    """

    def is_enough(repeats: int) -> bool:
        n_folds = repeats * folds_per_repeat
        standard_error = math.sqrt(1 / n_folds + test.ratio) * test.standard_deviation
        return compute_power(abs(test.mean) / standard_error, n_folds - 1, alpha) >= power

    fewest = 1 if folds_per_repeat > 1 else 2
    return _find_smallest(is_enough, fewest, MAX_REPEATS)


def compute_power(effect: float, degrees_of_freedom: int, alpha: float = 0.05) -> float:
    """Compute the probability that a two-sided t-test rejects.

    Parameters
    ----------
    effect : float
        The noncentrality: the true mean over its standard error.
    degrees_of_freedom : int
    alpha : float, default 0.05

    Returns
    -------
    float
    """
    critical = stats.t.isf(alpha / 2, degrees_of_freedom)
    above = stats.nct.sf(critical, degrees_of_freedom, effect)
    # SciPy's lower tail is NaN for large effects. By symmetry, this is the same probability.
    below = stats.nct.sf(critical, degrees_of_freedom, -effect)
    return float(above + below)


@cache
def find_effect(degrees_of_freedom: int, alpha: float = 0.05, power: float = 0.8) -> float:
    """Find the noncentrality at which a two-sided t-test has the requested power.

    Parameters
    ----------
    degrees_of_freedom : int
    alpha : float, default 0.05
    power : float, default 0.8

    Returns
    -------
    float
    """

    def lack(effect: float) -> float:
        return compute_power(effect, degrees_of_freedom, alpha) - power

    # The sum of both quantiles is close from above or below; twice as much is enough in any case.
    critical = stats.t.isf(alpha / 2, degrees_of_freedom)
    upper = 2 * (critical + stats.t.isf(1 - power, degrees_of_freedom))
    return float(optimize.brentq(lack, 0.0, upper, xtol=1e-10))


def require_rope(rope: float) -> None:
    """Raise ValueError if a rope is negative or not finite."""
    if not 0 <= rope < np.inf:
        raise ValueError(f"rope={rope}: a finite half-width, 0 or more, is allowed")


def _average(values: np.ndarray) -> float:
    """Return the mean of values of shape (J,); 0 if they cancel and only rounding is left."""
    mean = float(np.mean(values))
    # Equal means of scores in another order would otherwise differ by 1e-17, and rows be asked for that show it.
    return 0.0 if abs(mean) <= MAX_RELATIVE_ROUNDING * np.max(np.abs(values)) else mean


def are_equal(values: np.ndarray) -> bool:
    """Return whether values of shape (J,) are equal up to rounding."""
    spread = np.max(values) - np.min(values)
    return bool(spread <= MAX_RELATIVE_ROUNDING * np.max(np.abs(values)))


def check_fold_values(values: np.ndarray) -> np.ndarray:
    """Return values of folds as floats of shape (J,), or raise ValueError if there are none or one is not finite."""
    values = np.asarray(values, dtype=float)  # (J,)
    if values.ndim != 1 or len(values) == 0:
        raise ValueError(f"values of shape {values.shape}: one value for each of one or more folds is allowed")
    wrong = np.flatnonzero(~np.isfinite(values))
    if len(wrong):
        raise ValueError(f"the value of fold {wrong[0]} is {values[wrong[0]]}: finite values are allowed")
    return values


def check_ratio(ratio: float) -> None:
    """Raise ValueError if a ratio of test rows to training rows is negative or not finite."""
    if not 0 <= ratio < np.inf:
        raise ValueError(f"ratio={ratio}: a finite number of test rows per training row, 0 or more, is allowed")


def _compute_t(estimate: ResampledMean) -> tuple[float, float]:
    """Return Student's t of a mean and its two-sided p-value."""
    if estimate.problem:
        return float("nan"), float("nan")
    if estimate.is_degenerate:
        if estimate.mean == 0:
            return 0.0, 1.0
        return float(np.copysign(np.inf, estimate.mean)), 0.0
    statistic = estimate.mean / estimate.standard_error
    p = 2 * stats.t.sf(abs(statistic), estimate.degrees_of_freedom)
    return statistic, float(p)


def _find_smallest(is_enough: Callable[[int], bool], fewest: int, most: int) -> int | None:
    """Return the smallest whole number in [fewest, most] from which a condition holds, by bisection; None if none."""
    if is_enough(fewest):
        return fewest
    if not is_enough(most):
        return None
    failing = fewest
    while most - failing > 1:
        middle = (failing + most) // 2
        if is_enough(middle):
            most = middle
        else:
            failing = middle
    return most
