"""Paths: many values of one parameter for little more than the cost of one.

A learner that can do so names the parameters in ``path_parameters`` and has

    path(X, y, parameter, values, sample_weight=None)  ->  an iterator of fitted estimators, one for each value in turn,

X of shape (n, d) and y of shape (n,) as for ``fit``; other parameters and values raise ValueError.  Each estimator is
equal to one fitted anew with that value (to the solver's tolerance, where one solution is the start of the search for
the next), the learner itself stays as it is, and what was yielded does not change when the iterator goes on.
"""

from __future__ import annotations

from typing import Any


def require_path_parameter(learner: Any, parameter: str) -> None:
    """Raise ValueError for a parameter that the learner's ``path`` does not go along."""
    if parameter not in learner.path_parameters:
        raise ValueError(f"path: parameter={parameter!r} must be one of {', '.join(learner.path_parameters)}.")
