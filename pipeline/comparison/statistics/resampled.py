"""The corrected resampled t-test: paired differences of folds whose training parts overlap.

The differences of J folds are not independent: the training parts share rows, and in repeated cross-validation the test
parts as well. The variance of their mean is therefore larger than ``variance / J``, and the usual paired t-test finds
differences where there are none. Nadeau and Bengio replace ``1 / J`` by ``1 / J + n_test / n_train``, with the actual
sizes of the parts. ``docs/statistics.md`` shows how often each test errs.

References
----------
Nadeau, C. and Bengio, Y. (2003). Inference for the generalization error. Machine Learning 52, 239-281.
Bouckaert, R. R. and Frank, E. (2004). Evaluating the replicability of significance tests for comparing learning
algorithms. PAKDD 2004, 3-12. WEKA's ``PairedCorrectedTTester`` computes the same statistic.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import stats

MAX_RELATIVE_ROUNDING = 1e-9
"""Differences that vary by less, relative to the largest of them, are equal: what is left is rounding."""
MAX_ROUNDING_UNITS = 8
"""A difference of at most so many units in the last place of the scores is zero."""


@dataclass(frozen=True)
class ResampledMean:
    """The mean over folds with its corrected standard error and confidence interval.

    Parameters
    ----------
    n_folds : int
        J: the number of folds, those of all repeats together.
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
        The probability that the interval is made for, such as 0.95.
    lower, upper : float
        The confidence interval of the mean; NaN for one fold.
    is_degenerate : bool
        Whether all values are equal. The interval is then the mean alone, and says nothing about other rows.
    problem : str
        Why there is no standard error and no interval; empty if there are both.
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


def subtract_scores(scores: np.ndarray, base_scores: np.ndarray) -> np.ndarray:
    """Subtract the scores of a base from those of another learner, fold by fold.

    Differences that are smaller than the rounding of the scores are set to 0: two means of the same numbers in
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
