"""A race: candidates of tuning that are clearly worse than the best one are dropped before all inner folds are fitted.

As in ``tune_race_anova`` of tidymodels' finetune, the inner folds come in random order, and candidates are compared
after a burn-in of three folds and after each further one. The test is the corrected paired t-test of comparisons, whose
level is corrected for the looks, and for the number of candidates: the best of many equally good ones leads by chance.

References
----------
Kuhn, M. (2014). Futility analysis in the cross-validation of machine learning models. arXiv:1405.6974. Maron, O. and
Moore, A. W. (1997). The racing algorithm: model selection for lazy learners. Artificial Intelligence Review 11,
193-225.
"""

import numpy as np

from bakeoff.pipeline.stages.tuning.looks import Looks, correct_for_looks


def choose_level(alpha: float, n_candidates: int) -> float:
    """Return the level of each test in a race that drops a candidate as good as the best one with a chance of alpha.

    By Bonferroni's bound, its two-sided tests against all others may have twice the level alpha / (n_candidates - 1),
    because only the worse one of a pair is dropped. For two or three candidates, the level alpha has a smaller chance.
    """
    return 2 * alpha / max(2, n_candidates - 1)


def find_worse(scores: np.ndarray, looks: Looks, ratio: float, alpha: float, greater_is_better: bool) -> np.ndarray:
    """Return which candidates are worse than the best one, after some of the inner folds.

    A candidate that has no score on a fold cannot win. One whose differences from the best are all equal stays, because
    such folds do not tell how much the differences vary.

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
