"""The input of a learner: fast checks, nominal columns as codes, and paths along a parameter.

scikit-learn's checks handle lists, tables of several libraries, sparse matrices and text, but need a tenth of a
millisecond for a plain array, which is longer than a prediction for a few hundred rows. The checks in this module
recognize valid input by the array's type, its shape and a single sum over it. All other input is passed to
scikit-learn's checks, which also raise all errors.

*Paths* are fitted estimators for many values of one parameter, at little more than the cost of one fit.

A learner that supports paths lists their parameters in ``path_parameters`` and has a method

    path(X, y, parameter, values, sample_weight=None)  ->  an iterator of fitted estimators, one for each value in turn,

in which X of shape (n, d) and y of shape (n,) are as for ``fit``; other parameters and invalid values raise
ValueError. Each estimator equals one that is fitted with that value (up to the tolerance of the solver, if each
solution is the starting point for the next). Neither the learner itself nor an estimator that was already yielded
changes when the iterator continues.

*Nominal columns*: a nominal column has a finite set of values without order or distance (job = true, false). Learners
that support such columns accept them without encoding, strings included; for computations, the code of a value is its
position in the list of values of the column.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from sklearn.utils import Tags, check_array
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
        # Several times faster than the inverse returned by np.unique.
        return values, np.searchsorted(values, cells)
    count = np.bincount(integers)
    if count.all():
        return np.arange(count.size, dtype=cells.dtype), integers
    is_present = count > 0
    values = np.flatnonzero(is_present).astype(cells.dtype)
    code_of_integer = np.cumsum(is_present) - 1
    return values, code_of_integer[integers]


def _as_finite_floats(array: np.ndarray) -> np.ndarray | None:
    """Return the array as float64 if it contains only finite real numbers; else None."""
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
    """Return whether a parameter has its default value; False if the comparison may be ambiguous, as for arrays."""
    if value is default:
        return True
    is_comparable = type(value) is type(default) and type(value) in (str, int, float)
    return is_comparable and value == default


def require_path_parameter(learner: Any, parameter: str) -> None:
    """Raise ValueError for a parameter that is not one of the learner's ``path_parameters``."""
    if parameter not in learner.path_parameters:
        raise ValueError(f"path: parameter={parameter!r} must be one of {', '.join(learner.path_parameters)}.")


def check_path_values(learner: Any, parameter: str, values: Sequence[Any]) -> list[Any]:
    """Return the values; raise ValueError for a parameter without a path or for an invalid value."""
    require_path_parameter(learner, parameter)
    allowed = {parameter: learner._parameter_constraints[parameter]}
    for value in values:
        validate_parameter_constraints(allowed, {parameter: value}, caller_name=type(learner).__name__)
    return list(values)


Categories: TypeAlias = list[np.ndarray | None]

Column: TypeAlias = tuple[Any, np.ndarray | None]
"""The cells (n,) of a column and, if it is categorical, the values (k,) that its dtype declares."""

UNSEEN = -1.0
"""The code of a value that did not occur in training."""


def find_nominal_columns(X: Any, categorical_features: Any) -> np.ndarray:
    """Find the nominal columns of a table.

    Parameters
    ----------
    X : DataFrame or array-like of shape (n, d)
    categorical_features : {"from_dtype"}, array-like of bool, int or str, or None
        ``"from_dtype"`` selects the categorical columns of a DataFrame, and no columns of an array; otherwise, a mask
        of length d, column positions, or column names.

    Returns
    -------
    ndarray of shape (d,), bool
        Of shape (0,) if no column can be nominal.

    Raises
    ------
    ValueError
        A name or position is not a column of X.
    """
    from_dtype = isinstance(categorical_features, str)
    if categorical_features is None or (from_dtype and not hasattr(X, "iloc")):
        return np.zeros(0, dtype=bool)
    d = _as_table(X).shape[1]
    if from_dtype:
        return np.array([str(dtype) == "category" for dtype in X.dtypes], dtype=bool)
    chosen = np.asarray(categorical_features)
    if chosen.dtype.kind == "b":
        if chosen.shape != (d,):
            raise ValueError(f"categorical_features is a mask of shape {chosen.shape}, but X has {d} features.")
        return chosen
    names = [str(name) for name in getattr(X, "columns", [])]
    mask = np.zeros(d, dtype=bool)
    for item in chosen.tolist():
        position = names.index(item) if item in names else item
        if not isinstance(position, int) or not 0 <= position < d:
            allowed = f"one of {names}" if names else f"an integer from 0 to {d - 1}"
            raise ValueError(f"categorical_features names {item!r}, which is not a column of X: give {allowed}.")
        mask[position] = True
    return mask


def split_columns(X: Any) -> list[Column]:
    """Return the d columns of a DataFrame or an array."""
    table = _as_table(X)
    if isinstance(table, np.ndarray):
        return [(column, None) for column in table.T]
    columns = []
    for _, column in table.items():
        categories = getattr(column.dtype, "categories", None)
        columns.append((column, None if categories is None else np.asarray(categories)))
    return columns


def learn_categories(columns: list[Column], is_nominal: np.ndarray) -> Categories:
    """Find the values of the nominal columns (d,) of a table.

    Returns
    -------
    list of length d
        The values of a nominal column: all values declared by its dtype, or else the sorted values that occur; None for
        a numeric column.
    """
    return [_find_values(*column) if nominal else None for column, nominal in zip(columns, is_nominal, strict=True)]


def encode_table(columns: list[Column], categories: Categories, *, allow_nan: bool, owner: str) -> np.ndarray:
    """Convert a table of numeric and nominal columns to numbers.

    Parameters
    ----------
    columns : list of length d
        The result of `split_columns`.
    categories : list of length d
        The result of `learn_categories`.
    allow_nan : bool
        Whether missing cells are allowed.
    owner : str
        The name of the learner, for error messages.

    Returns
    -------
    ndarray of shape (m, d)
        Numeric cells unchanged and nominal cells as codes; NaN if missing, `UNSEEN` if the value is unknown.

    Raises
    ------
    ValueError
        Infinite cells, text in a numeric column, or missing cells that are not allowed.
    """
    first_column, _ = columns[0]
    table = np.empty((len(first_column), len(columns)))  # (m, d)
    for j, ((column, declared), values) in enumerate(zip(columns, categories, strict=True)):
        table[:, j] = _convert_numbers(column, j) if values is None else _encode_column(column, declared, values)
    plain_table = as_plain_table(table)
    if plain_table is not None:
        return plain_table
    ensure_all_finite: bool | str = "allow-nan" if allow_nan else True
    return check_array(table, dtype=np.float64, ensure_all_finite=ensure_all_finite, estimator=owner, input_name="X")


def _as_table(X: Any) -> Any:
    """Return a DataFrame unchanged, and anything else as an array."""
    table = X if isinstance(X, np.ndarray) or hasattr(X, "iloc") else np.asarray(X, dtype=object)
    if table.ndim != 2:
        raise ValueError(f"X must be a table of rows and columns, but has {table.ndim} dimension(s); reshape it.")
    return table


def _find_missing(column: Any) -> np.ndarray:
    """Return which cells of a column are missing, of shape (n,)."""
    if hasattr(column, "isna"):
        return column.isna().to_numpy()
    if column.dtype.kind != "O":
        return np.asarray(column != column)
    return np.array([value is None or value != value for value in column], dtype=bool)


def _find_values(column: Any, declared: np.ndarray | None) -> np.ndarray:
    """Return the values declared by the dtype of a column, or else those that occur."""
    if declared is not None:
        return _as_fixed_width_text(declared)
    present_cells = np.asarray(column)[~_find_missing(column)]
    values, _ = encode_distinct(_as_fixed_width_text(present_cells))
    return values


def _as_fixed_width_text(values: np.ndarray) -> np.ndarray:
    """Convert an array of text objects, because safe model formats reject object arrays, which may contain anything."""
    if values.dtype.kind == "O" and all(isinstance(value, str) for value in values):
        return values.astype(str)
    return values


def _encode_column(column: Any, declared: np.ndarray | None, values: np.ndarray) -> np.ndarray:
    """Return the positions of the cells of a column in values (missing: NaN; unknown: `UNSEEN`)."""
    if declared is not None:  # a categorical Series: encode its few categories instead of its cells
        # The code of a missing cell in pandas is -1, which selects the NaN at the end.
        code_of_category = np.append(_encode_present(declared, values), np.nan)
        return code_of_category.take(column.array.codes, mode="wrap")
    is_missing = _find_missing(column)
    codes = np.full(is_missing.shape[0], np.nan)
    codes[~is_missing] = _encode_present(np.asarray(column)[~is_missing], values)
    return codes


def _encode_present(cells: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return the positions of cells, none of them missing, in values; `UNSEEN` for unknown ones."""
    if cells.size == values.size and cells.tolist() == values.tolist():
        return np.arange(float(values.size))
    integers = as_small_integers(cells)
    domain = as_small_integers(values)
    if integers is not None and domain is not None:
        code_of_integer = np.full(MAX_SMALL_INTEGERS, UNSEEN)
        code_of_integer[domain] = np.arange(values.shape[0])
        return code_of_integer[integers]
    code_of_value = {value: float(code) for code, value in enumerate(values.tolist())}
    return np.array([code_of_value.get(cell, UNSEEN) for cell in cells.tolist()], dtype=np.float64)


def _convert_numbers(column: Any, j: int) -> np.ndarray:
    try:
        return np.asarray(column, dtype=np.float64)
    except (TypeError, ValueError) as error:
        name = getattr(column, "name", j)
        raise ValueError(
            f"column {name!r} contains text where a number is required ({error}); make it categorical, or name it "
            "in categorical_features."
        ) from error
