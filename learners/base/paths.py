"""Paths: estimators for many values of one parameter, at little more than the cost of one fit.

A learner that supports paths lists their parameters in ``path_parameters`` and has a method

    path(X, y, parameter, values, sample_weight=None)  ->  an iterator of fitted estimators, one for each value in turn,

in which X of shape (n, d) and y of shape (n,) are as for ``fit``; other parameters and invalid values raise
ValueError. Each estimator equals one that is fitted with that value (up to the tolerance of the solver, if each
solution is the starting point for the next). Neither the learner itself nor an estimator that was already yielded
changes when the iterator continues.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sklearn.utils._param_validation import validate_parameter_constraints


def require_path_parameter(learner: Any, parameter: str) -> None:
    """Raise ValueError for a parameter that is not one of the learner's ``path_parameters``."""
    if parameter not in learner.path_parameters:
        raise ValueError(f"path: parameter={parameter!r} must be one of {', '.join(learner.path_parameters)}.")


def check_path_values(learner: Any, parameter: str, values: Sequence[Any]) -> list[Any]:
    """Return the values; raise ValueError for a parameter without a path, or for an invalid value."""
    require_path_parameter(learner, parameter)
    allowed = {parameter: learner._parameter_constraints[parameter]}
    for value in values:
        validate_parameter_constraints(allowed, {parameter: value}, caller_name=type(learner).__name__)
    return list(values)
