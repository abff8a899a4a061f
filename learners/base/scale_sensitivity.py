"""Learners whose results depend on the units of the columns, such as those that add up distances or penalties.

A learner declares this in ``scale_sensitive``. Trees only compare cells of one column, so that no unit matters.
"""

from __future__ import annotations

from typing import Any

SCALE_FREE_MODULES = ("sklearn.dummy", "sklearn.ensemble", "sklearn.naive_bayes", "sklearn.tree")
"""The modules of scikit-learn whose estimators do not depend on units, unless they contain one that does."""


def is_scale_sensitive(estimator: Any) -> bool:
    """Return whether the columns should be scaled for an estimator; one that is not known should have scaled columns.

    Parameters
    ----------
    estimator : estimator
        An estimator of bakeoff or of another library.

    Examples
    --------
    >>> from sklearn.ensemble import BaggingClassifier
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> is_scale_sensitive(BaggingClassifier()), is_scale_sensitive(BaggingClassifier(KNeighborsClassifier()))
    (False, True)
    """
    declared: bool | None = getattr(estimator, "scale_sensitive", None)
    if declared is not None:
        return declared
    module = type(estimator).__module__
    if not any(module == home or module.startswith(f"{home}.") for home in SCALE_FREE_MODULES):
        return True
    parameters = estimator.get_params(deep=True).values()
    return any(is_scale_sensitive(part) for part in parameters if hasattr(part, "get_params"))
