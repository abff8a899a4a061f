"""A race: candidates of tuning that are clearly worse than the best one are dropped before all inner folds are fitted.

As in ``tune_race_anova`` of tidymodels' finetune, the inner folds come in random order, and candidates are compared
after a burn-in of three folds and after each further one. The test is the corrected paired t-test of comparisons, whose
level is corrected for the looks. It is not corrected for the number of candidates: a candidate that is dropped by
mistake is about as good as the one that stays.

References
----------
Kuhn, M. (2014). Futility analysis in the cross-validation of machine learning models. arXiv:1405.6974. Maron, O. and
Moore, A. W. (1997). The racing algorithm: model selection for lazy learners. Artificial Intelligence Review 11,
193-225.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bakeoff.pipeline.stages.tuning.looks import correct_for_looks


@dataclass(frozen=True)
class Race:
    """The looks at the candidates of one search.

    Attributes
    ----------
    alpha : float
        The chance, over all looks, that a candidate as good as the best one is dropped.
    burn_in : int
        The number of inner folds before the first look.
    order : sequence of int
        The inner folds in the order in which they are fitted.
    ratio : float
        Rows to score on per row to fit on.
    greater_is_better : bool
    """

    alpha: float
    burn_in: int
    order: Sequence[int]
    ratio: float
    greater_is_better: bool

    def find_worse(self, scores: np.ndarray, n_done: int) -> np.ndarray:
        """Return which candidates are worse than the best one, after some of the inner folds.

        A candidate that has no score on a fold cannot win. One whose differences from the best are all equal stays,
        because such folds do not tell how much the differences vary.

        Parameters
        ----------
        scores : ndarray of shape (candidates, inner folds)
            The scores of the candidates in the race; NaN on folds to come.
        n_done : int
            The number of folds with scores.

        Returns
        -------
        ndarray of bool of shape (candidates,)
        """
        from scipy import stats

        done = scores[:, self.order[:n_done]]  # (candidates, n_done)
        means = done.mean(axis=1)
        if n_done < self.burn_in or np.isnan(means).all():
            return np.zeros(len(scores), dtype=bool)
        best = np.nanargmax(means) if self.greater_is_better else np.nanargmin(means)
        differences = done[best] - done  # (candidates, n_done)
        variances = differences.var(axis=1, ddof=1)
        errors = np.sqrt((1 / n_done + self.ratio) * variances)
        statistics = np.divide(np.abs(differences.mean(axis=1)), errors, out=np.zeros(len(scores)), where=errors > 0)
        looks = tuple(range(self.burn_in, len(self.order) + 1))
        p = correct_for_looks(2 * stats.t.sf(statistics, n_done - 1), looks, self.ratio)
        return np.isnan(means) | (p <= self.alpha)
