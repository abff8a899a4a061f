"""The number of values of a nominal column that a learner accepts, if it has a limit."""

from __future__ import annotations

from typing import Any

HISTOGRAM_MODULE = "sklearn.ensemble._hist_gradient_boosting"
"""Its estimators give each value a bin of its own, and do not declare the limit."""


def get_max_nominal_values(estimator: Any) -> int | None:
    """Return the largest number of values of a nominal column that an estimator accepts; None without a limit.

    Parameters
    ----------
    estimator : estimator
        An estimator of bakeoff or of another library.

    Examples
    --------
    >>> from sklearn.ensemble import HistGradientBoostingClassifier
    >>> get_max_nominal_values(HistGradientBoostingClassifier())
    255
    """
    if not type(estimator).__module__.startswith(HISTOGRAM_MODULE):
        return None
    return int(estimator.get_params(deep=False)["max_bins"])
