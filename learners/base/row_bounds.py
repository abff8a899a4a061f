"""Parameters that must not exceed the number of training rows, such as the number of neighbours.

A learner lists such parameters in ``row_bounded_parameters``, so that a value that is too large can be rejected
before fitting.
"""

from __future__ import annotations

from typing import Any

UNDECLARED_ROW_BOUNDED_PARAMETERS = ("n_neighbors",)
"""The parameters of that kind in scikit-learn, whose estimators do not declare them."""


def get_row_bounded_parameters(estimator: Any) -> tuple[str, ...]:
    """Return the parameters of an estimator that must not exceed the number of training rows.

    Parameters
    ----------
    estimator : estimator
        An estimator of bakeoff or of another library.

    Returns
    -------
    tuple of str
    """
    declared: tuple[str, ...] | None = getattr(estimator, "row_bounded_parameters", None)
    if declared is not None:
        return declared
    parameters = estimator.get_params()
    return tuple(name for name in UNDECLARED_ROW_BOUNDED_PARAMETERS if name in parameters)
