"""What a learner accepts: fast checks of plain input, its tags, and paths along a parameter.

scikit-learn's checks handle lists, tables of several libraries, sparse matrices and text, but need a tenth of a
millisecond for a plain array, which is longer than a prediction for a few hundred rows. The functions below use the
type, the shape and one sum of an array to recognise valid input. All other input is passed to scikit-learn's checks,
which also raise all errors.

*Paths* are estimators for many values of one parameter, at little more than the cost of one fit.

A learner that supports paths lists their parameters in ``path_parameters`` and has a method

    path(X, y, parameter, values, sample_weight=None)  ->  an iterator of fitted estimators, one for each value in turn,

in which X of shape (n, d) and y of shape (n,) are as for ``fit``; other parameters and invalid values raise
ValueError. Each estimator equals one that is fitted with that value (up to the tolerance of the solver, if each
solution is the starting point for the next). Neither the learner itself nor an estimator that was already yielded
changes when the iterator continues.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils import Tags
from sklearn.utils._param_validation import validate_parameter_constraints

MAX_SMALL_INTEGERS = 1 << 10
"""Integers from 0 to below this are counted and encoded through a lookup table."""

MAX_FLOAT_BYTES = 8


def as_plain_table(X: Any) -> np.ndarray | None:
    """Return X as float64 if it is an array of real numbers, all finite, with rows and columns; else None."""
    if type(X) is not np.ndarray or X.ndim != 2 or X.size == 0:
        return None
    return _as_finite_floats(X)


def as_plain_column(y: Any, n: int) -> np.ndarray | None:
    """Return y if it is a one-dimensional array of n finite numbers, booleans or strings; else None."""
    if type(y) is not np.ndarray or y.shape != (n,) or n == 0:
        return None
    if y.dtype.kind in "iubU" or _as_finite_floats(y) is not None:
        return y
    return None


def as_small_integers(cells: np.ndarray) -> np.ndarray | None:
    """Return cells of any shape as indices below `MAX_SMALL_INTEGERS` if all are such integers; else None."""
    if cells.dtype.kind not in "iuf" or not cells.size:
        return None
    in_range = cells.min() >= 0 and cells.max() < MAX_SMALL_INTEGERS  # False if a cell is NaN
    if not in_range:
        return None
    integers = cells.astype(np.intp, copy=False)
    if cells.dtype.kind == "f" and not np.array_equal(integers, cells):
        return None
    return integers


def encode_distinct(cells: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the sorted distinct values (k,) of a column, and the position of each cell among them, (n,) int."""
    integers = as_small_integers(cells)
    if integers is None:
        values = np.unique(cells)
        # Several times faster than the inverse that np.unique returns.
        return values, np.searchsorted(values, cells)
    count = np.bincount(integers)
    if count.all():
        return np.arange(count.size, dtype=cells.dtype), integers
    is_present = count > 0
    values = np.flatnonzero(is_present).astype(cells.dtype)
    code_of_integer = np.cumsum(is_present) - 1
    return values, code_of_integer[integers]


def _as_finite_floats(array: np.ndarray) -> np.ndarray | None:
    """Return the array as float64 if it holds real numbers that are all finite; else None."""
    kind = array.dtype.kind
    if kind in "iub":
        return array.astype(np.float64)
    if kind != "f" or array.itemsize > MAX_FLOAT_BYTES:
        return None
    array = array.astype(np.float64, copy=False)
    # One infinite or missing cell makes the sum infinite or NaN. If a sum of finite cells overflows, the slow checks
    # decide. Unlike np.sum, np.einsum does not issue a warning, and suppressing one takes as long as the sum.
    subscripts = "ij->" if array.ndim == 2 else "i->"
    total = np.einsum(subscripts, array)
    return array if math.isfinite(total) else None


def with_input_tags(tags: Tags, *, allow_nan: bool = False, categorical: bool = False) -> Tags:
    """Declare in the tags whether a learner supports missing cells and nominal columns."""
    tags.input_tags.allow_nan = allow_nan
    tags.input_tags.categorical = categorical
    return tags


def is_default(value: Any, default: Any) -> bool:
    """Return whether a parameter has its default; False if a comparison could be ambiguous, as for arrays."""
    if value is default:
        return True
    is_comparable = type(value) is type(default) and type(value) in (str, int, float)
    return is_comparable and value == default


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
