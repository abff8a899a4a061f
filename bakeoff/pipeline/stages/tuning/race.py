"""P-values corrected for looks, and the race of tuning candidates, which uses them.

A test that is repeated while folds are added errs more often than its level says. Under the assumption of the corrected
t-test, that all folds are equally correlated, the p-values of all looks have a known distribution, which depends only
on the numbers of folds at the looks and on n_test / n_train. A p-value is replaced by the probability that the smallest
of all looks is as small. Testing this probability at alpha amounts to testing each look at the same, smaller level.

A race drops candidates that are clearly worse than the best one before all inner folds are fitted. As in
``tune_race_anova`` of tidymodels' finetune, the inner folds come in random order, and candidates are compared after a
burn-in of three folds and after each further one. The level is also corrected for the number of candidates, because the
best of many equally good ones leads by chance.

References
----------
Nadeau, C. and Bengio, Y. (2003). Inference for the generalization error. Machine Learning 52, 239-281, for the
correlation. Pocock, S. J. (1977). Group sequential methods in the design and analysis of clinical trials. Biometrika
64, 191-199, for a constant level. Kuhn, M. (2014). Futility analysis in the cross-validation of machine learning
models. arXiv:1405.6974. Maron, O. and Moore, A. W. (1997). The racing algorithm: model selection for lazy learners.
Artificial Intelligence Review 11, 193-225.
"""

from functools import cache

import numpy as np

N_SIMULATED = 200_000
MIN_SIMULATED = 100
"""With fewer simulated p-values, no probability is estimated, and Bonferroni's bound is used instead."""

Looks = tuple[int, ...]
"""The number of folds at each look, ascending; the first is at least 2."""


@cache
def simulate_smallest_p(looks: Looks, ratio: float) -> np.ndarray:
    """Simulate the smallest two-sided p-value of all looks at two equally good learners.

    Parameters
    ----------
    looks : tuple of int
    ratio : float
        n_test / n_train; the correlation of two folds is ratio / (1 + ratio).

    Returns
    -------
    ndarray of shape (N_SIMULATED,)
        In ascending order; equal arguments give equal values.
    """
    from scipy import stats

    rng = np.random.default_rng(looks)
    # In units of a fold's own variance, the variance of the part that all folds share is the ratio.
    shared = np.sqrt(ratio) * rng.standard_normal(N_SIMULATED)
    sums = np.zeros(N_SIMULATED)
    squares = np.zeros(N_SIMULATED)
    smallest = np.ones(N_SIMULATED)
    for n_added, n_folds in zip(np.diff(looks, prepend=0), looks, strict=True):
        added = np.sqrt(n_added) * rng.standard_normal(N_SIMULATED)
        sums += added
        squares += added**2 / n_added
        if n_added > 1:
            squares += rng.chisquare(n_added - 1, N_SIMULATED)
        variances = (squares - sums**2 / n_folds) / (n_folds - 1)
        statistics = (shared + sums / n_folds) / np.sqrt((1 / n_folds + ratio) * variances)
        np.minimum(smallest, 2 * stats.t.sf(np.abs(statistics), n_folds - 1), out=smallest)
    return np.sort(smallest)


def correct_for_looks(p: np.ndarray, looks: Looks, ratio: float) -> np.ndarray:
    """Return the probabilities that the smallest p-value of all looks is at most p, for equally good learners.

    Parameters
    ----------
    p : ndarray of shape (m,)
        P-values of one look; NaN where there is no test.
    looks : tuple of int
    ratio : float
        n_test / n_train; two digits are used, so that datasets of similar sizes share a simulation.
    """
    if len(looks) == 1:
        return p
    smallest = simulate_smallest_p(looks, float(f"{ratio:.2g}"))
    n_smaller = np.maximum(np.searchsorted(smallest, p, side="right"), MIN_SIMULATED)  # (m,)
    return np.minimum(len(looks) * p, n_smaller / N_SIMULATED)


def find_level(alpha: float, looks: Looks, ratio: float) -> float:
    """Return the level of each look at which a test errs with probability alpha over all looks."""
    if len(looks) == 1:
        return alpha
    smallest = simulate_smallest_p(looks, float(f"{ratio:.2g}"))
    return max(alpha / len(looks), float(np.quantile(smallest, alpha)))


def choose_level(alpha: float, n_candidates: int) -> float:
    """Return the level of each test in a race that drops a candidate as good as the best one with a chance of alpha.

    By Bonferroni's bound, its two-sided tests against all others may have twice the level alpha / (n_candidates - 1),
    because only the worse one of a pair is dropped. With two or three candidates, the level is alpha, and the chance is
    smaller.
    """
    return 2 * alpha / max(2, n_candidates - 1)


def find_worse(scores: np.ndarray, looks: Looks, ratio: float, alpha: float, greater_is_better: bool) -> np.ndarray:
    """Return which candidates are worse than the best one, after some of the inner folds.

    A candidate without a score on a fold cannot win. A candidate whose differences from the best are all equal stays,
    because such folds do not show how much the differences vary.

    Parameters
    ----------
    scores : ndarray of shape (candidates, folds)
        The scores of the candidates in the race on the folds so far, of which there are at least two.
    looks : tuple of int
        The number of folds at each look.
    ratio : float
        Rows to score on per row to fit on.
    alpha : float
        The level over all looks.
    greater_is_better : bool

    Returns
    -------
    ndarray of bool of shape (candidates,)
    """
    from scipy import stats

    n_folds = scores.shape[1]
    means = scores.mean(axis=1)
    if np.isnan(means).all():
        return np.zeros(len(scores), dtype=bool)
    best = np.nanargmax(means) if greater_is_better else np.nanargmin(means)
    differences = scores[best] - scores  # (candidates, folds)
    variances = differences.var(axis=1, ddof=1)
    errors = np.sqrt((1 / n_folds + ratio) * variances)
    statistics = np.divide(np.abs(differences.mean(axis=1)), errors, out=np.zeros(len(scores)), where=errors > 0)
    p = correct_for_looks(2 * stats.t.sf(statistics, n_folds - 1), looks, ratio)
    return np.isnan(means) | (p <= alpha)
