"""Which candidate is the best: the one with the best mean score, and the first of equal ones."""

from __future__ import annotations

import numpy as np

from bakeoff.pipeline.errors import UserError

SCORE_ROUNDING = 1e-12
"""Mean scores that differ by at most this fraction of the largest one are equal."""


def find_best_candidate(scores: np.ndarray, greater_is_better: bool) -> int:
    """Return the position of the first of the best scores that are defined; of equal ones, but for rounding, the first.

    Parameters
    ----------
    scores : ndarray of shape (number of candidates,)
        In the metric's natural sign.
    greater_is_better : bool

    Raises
    ------
    UserError
        No score is defined.
    """
    if np.isnan(scores).all():
        raise UserError("tuning: the headline metric is not defined on the inner validation rows for any candidate.")
    best = np.nanmax(scores) if greater_is_better else np.nanmin(scores)
    # The means of the same scores of folds in another order differ in their last digits.
    finite = scores[np.isfinite(scores)]
    rounding = SCORE_ROUNDING * np.abs(finite).max(initial=0.0)
    is_tied = scores >= best - rounding if greater_is_better else scores <= best + rounding
    return int(np.argmax(is_tied))
