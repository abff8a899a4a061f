"""Paths: many values of one parameter for little more than the cost of one.

A learner that can do so names the parameters in ``path_parameters`` and has

    path(X, y, parameter, values, sample_weight=None)  ->  an iterator of fitted estimators, one for each value in turn,

X of shape (n, d) and y of shape (n,) as for ``fit``; other parameters and values raise ValueError.  Each estimator is
equal to one fitted anew with that value (to the solver's tolerance, where one solution is the start of the search for
the next), the learner itself stays as it is, and what was yielded does not change when the iterator goes on.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sklearn.utils._param_validation import validate_parameter_constraints


def require_path_parameter(learner: Any, parameter: str) -> None:
    """Raise ValueError for a parameter that the learner's ``path`` does not go along."""
    if parameter not in learner.path_parameters:
        raise ValueError(f"path: parameter={parameter!r} must be one of {', '.join(learner.path_parameters)}.")


def checked_values(learner: Any, parameter: str, values: Sequence[Any]) -> list[Any]:
    """Return the values; raise ValueError for a parameter without a path, or for a value that the learner refuses."""
    require_path_parameter(learner, parameter)
    allowed = {parameter: learner._parameter_constraints[parameter]}
    for value in values:
        validate_parameter_constraints(allowed, {parameter: value}, caller_name=type(learner).__name__)
    return list(values)
