"""What it would take to tell two configurations apart: a larger difference, more repeats, more rows, or more datasets.

On one dataset, the corrected standard error of `resampled` is taken as the true one. The corrected t-statistic then has
a noncentral t distribution with J - 1 degrees of freedom, and the noncentrality is the true mean difference over the
standard error. A difference "can be shown" if the two-sided test at alpha finds it with the asked power.

All of this is a rough plan: the variance is estimated from the same folds, and the difference seen is taken as the true
one, although the difference that was seen may well be luck.

References
----------
Nadeau, C. and Bengio, Y. (2003). Inference for the generalization error. Machine Learning 52, 239-281.
Cohen, J. (1988). Statistical power analysis for the behavioral sciences, chapter 2.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from scipy import optimize, stats

from bakeoff.pipeline.comparison.statistics.post_hoc import compute_critical_difference
from bakeoff.pipeline.comparison.statistics.resampled import CorrectedTTest

MAX_REPEATS = 1_000_000
"""More repeats than that are called "no number of repeats"."""
MAX_DATASETS = 1_000_000
"""More datasets than that are called "no number of datasets"."""


@dataclass(frozen=True)
class Requirement:
    """What these folds can show, and what it would take to show the difference seen.

    Parameters
    ----------
    alpha, power : float
    smallest_difference : float
        The smallest true mean difference that the test finds on these folds with the asked power.
    repeats : int or None
        About how many repeats of the same folds would find the difference seen. None if no number of them would: the
        term n_test / n_train of the variance does not shrink with repeats.
    rows : int or None
        About how many rows would find the difference seen, with the same kind of folds. This assumes that the variance
        of a fold's difference is proportional to 1 / rows at the same ratio, and that the true difference stays. None
        if the difference seen is 0.
    problem : str
        Why the numbers are missing (NaN and None); empty if they are not.
    """

    alpha: float
    power: float
    smallest_difference: float
    repeats: int | None
    rows: int | None
    problem: str


def estimate_requirement(
    test: CorrectedTTest, folds_per_repeat: int, n_rows: int, alpha: float = 0.05, power: float = 0.8
) -> Requirement:
    """Estimate what it would take to tell two configurations apart.

    Parameters
    ----------
    test : CorrectedTTest
        Of the differences that were seen.
    folds_per_repeat : int
        k of k folds; 1 for repeated holdout or bootstrap.
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
    problem = test.problem
    if test.is_degenerate:
        problem = "all differences are equal: their variance is 0, and nothing can be planned from it"
    if problem:
        return Requirement(alpha, power, float("nan"), None, None, problem)
    effect = find_effect(test.degrees_of_freedom, alpha, power)
    smallest_difference = effect * test.standard_error
    repeats = count_repeats(test, folds_per_repeat, alpha, power)
    rows = None
    if test.mean != 0:
        # The standard error has to shrink by this factor, and its square is proportional to 1 / rows.
        factor = smallest_difference / abs(test.mean)
        rows = math.ceil(n_rows * factor**2)
    return Requirement(alpha, power, smallest_difference, repeats, rows, "")


def count_repeats(test: CorrectedTTest, folds_per_repeat: int, alpha: float = 0.05, power: float = 0.8) -> int | None:
    """Count the repeats of the folds that would find a true difference of the size seen.

    Parameters
    ----------
    test : CorrectedTTest
        Neither degenerate nor of one fold.
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


def count_datasets(rank_difference: float, n_configurations: int, alpha: float = 0.05) -> int | None:
    """Count the datasets from which Nemenyi's critical difference is at most a difference of mean ranks.

    Parameters
    ----------
    rank_difference : float
        That was seen; assumed to stay the same on more datasets.
    n_configurations : int
    alpha : float, default 0.05

    Returns
    -------
    int or None
        None if the difference is 0, or would need more than `MAX_DATASETS`.
    """
    if rank_difference <= 0:
        return None
    of_one_dataset = compute_critical_difference(1, n_configurations, alpha)
    n_datasets = math.ceil((of_one_dataset / rank_difference) ** 2)
    return n_datasets if n_datasets <= MAX_DATASETS else None


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
    """Find the noncentrality at which a two-sided t-test has the asked power.

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
