"""Nominal columns: which they are, their values, and the table of codes that the mathematics works on.

A nominal column has a finite set of values without order or distance (job = true, false).  Learners that understand
such columns take them as they are, strings included; inside, each value is its position in the column's list of values.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from sklearn.utils import check_array

from bakeoff.learners.base.input_checks import SMALL, distinct, small_integers

Categories: TypeAlias = list[np.ndarray | None]

UNSEEN = -1.0
"""The code of a value that was not there in training."""

TILE = 1 << 16
"""Cells counted at a time: their places, 512 KiB, stay in cache."""


def learn_categories(X: Any, categorical_features: Any) -> Categories:
    """Find the nominal columns of a table and their values.

    Parameters
    ----------
    X : DataFrame or array-like of shape (n, d)
    categorical_features : {"from_dtype"}, array-like of bool, int or str, or None
        ``"from_dtype"`` takes the columns of a DataFrame whose dtype is categorical, and none of an array;
        otherwise a mask of length d, column positions, or column names.

    Returns
    -------
    list of length d
        The values of a nominal column: all that its dtype declares, else the sorted values found; None if numeric.

    Raises
    ------
    ValueError
        A name or position that is not a column of X.
    """
    if categorical_features is None or (isinstance(categorical_features, str) and not hasattr(X, "dtypes")):
        return [None]
    X = _table(X)
    d = X.shape[1]
    nominal = _nominal_mask(X, categorical_features, d)
    if nominal.all() and isinstance(X, np.ndarray):
        small = small_integers(X)
        if small is not None:
            return [np.flatnonzero(found).astype(X.dtype) for found in _found(small)]
    return [_column_values(_column(X, j)) if nominal[j] else None for j in range(d)]


def encode(X: Any, categories: Categories, *, allow_nan: bool, owner: str) -> np.ndarray:
    """Write a mixed table as numbers.

    Parameters
    ----------
    X : DataFrame or array-like of shape (m, d)
    categories : list of length d
        As from `learn_categories`.
    allow_nan : bool
        Whether the learner takes missing cells.
    owner : str
        The learner's name, for error messages.

    Returns
    -------
    ndarray of shape (m, d)
        Numeric cells as they are, nominal cells as codes; NaN where missing, `UNSEEN` where the value is unknown.

    Raises
    ------
    ValueError
        Infinite cells, text in a numeric column, or missing cells where they are not allowed.
    """
    X = _table(X)
    codes = _coded_at_once(X, categories)
    if codes is not None:
        return codes
    columns = [
        _numbers(_column(X, j), j) if values is None else _codes(_column(X, j), values)
        for j, values in enumerate(categories)
    ]
    table = np.column_stack(columns)
    finite: bool | str = "allow-nan" if allow_nan else True
    return check_array(table, dtype=np.float64, ensure_all_finite=finite, estimator=owner, input_name="X")


def _nominal_mask(X: Any, categorical_features: Any, d: int) -> np.ndarray:
    if isinstance(categorical_features, str):
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
            raise ValueError(f"categorical_features names {item!r}, which is no column of X: give {allowed}.")
        mask[position] = True
    return mask


def _table(X: Any) -> Any:
    """Return X as something with columns: a DataFrame as it is, anything else as an array."""
    if hasattr(X, "iloc"):
        return X
    table = X if isinstance(X, np.ndarray) else np.asarray(X, dtype=object)
    if table.ndim != 2:
        raise ValueError(f"X must be a table of rows and columns, but has {table.ndim} dimension(s); reshape it.")
    return table


def _column(X: Any, j: int) -> Any:
    return X.iloc[:, j] if hasattr(X, "iloc") else X[:, j]


def _missing(column: Any) -> np.ndarray:
    if hasattr(column, "isna"):
        return column.isna().to_numpy()
    if column.dtype.kind != "O":
        return np.asarray(column != column)
    return np.array([value is None or value != value for value in column], dtype=bool)


def _column_values(column: Any) -> np.ndarray:
    declared = getattr(getattr(column, "dtype", None), "categories", None)
    if declared is not None:
        return _compact(np.asarray(declared))
    cells = _compact(np.asarray(column)[~_missing(column)])
    return distinct(cells)[0]


def _found(small: np.ndarray) -> np.ndarray:
    """Return which whole numbers each column of a table (n, d) holds, of shape (d, largest + 1)."""
    d, width = small.shape[1], int(small.max()) + 1
    first = np.arange(d) * width  # each column counts in places of its own, so one count serves all
    found = np.zeros(d * width, dtype=bool)
    step = max(1, TILE // d)
    for start in range(0, small.shape[0], step):
        found |= np.bincount((small[start : start + step] + first).ravel(), minlength=d * width) > 0
    return found.reshape(d, width)


def _coded_at_once(X: Any, categories: Categories) -> np.ndarray | None:
    """Return the codes of a table whose cells and domains are small whole numbers only; None for any other."""
    places = [None if values is None else small_integers(values) for values in categories]
    known = [place for place in places if place is not None]
    small = small_integers(X) if len(known) == len(places) and isinstance(X, np.ndarray) else None
    if small is None:
        return None
    largest = int(small.max())
    if all(place.size > largest and place[-1] == place.size - 1 for place in known):
        return X.astype(np.float64, copy=False)  # in domains 0, 1, 2 … every value is its own code
    width = 1 + max(largest, *(int(place[-1]) for place in known))
    table = np.full((len(known), width), UNSEEN)
    for row, place in zip(table, known, strict=True):
        row[place] = np.arange(place.size)
    return table.take(small + np.arange(len(known)) * width)


def _compact(values: np.ndarray) -> np.ndarray:
    """Text as fixed-width strings: an array of objects could hold anything, and is refused by safe model formats."""
    if values.dtype.kind == "O" and all(isinstance(value, str) for value in values):
        return values.astype(str)
    return values


def _codes(column: Any, values: np.ndarray) -> np.ndarray:
    """Positions of the column's cells in values (missing: NaN; unknown: `UNSEEN`)."""
    if hasattr(column, "cat"):  # a categorical Series: code its few categories, not its cells
        codes = _present_codes(np.asarray(column.cat.categories), values)
        return np.append(codes, np.nan)[column.cat.codes.to_numpy()]  # pandas' code of a missing cell is -1
    missing = _missing(column)
    codes = np.full(missing.shape[0], np.nan)
    codes[~missing] = _present_codes(np.asarray(column)[~missing], values)
    return codes


def _present_codes(cells: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Positions of cells, none of them missing, in values; `UNSEEN` where there is none."""
    small, places = small_integers(cells), small_integers(values)
    if small is not None and places is not None:
        table = np.full(SMALL, UNSEEN)
        table[places] = np.arange(values.shape[0])
        return table[small]
    position = {value: float(code) for code, value in enumerate(values.tolist())}
    return np.array([position.get(cell, UNSEEN) for cell in cells.tolist()], dtype=np.float64)


def _numbers(column: Any, j: int) -> np.ndarray:
    try:
        return np.asarray(column, dtype=np.float64)
    except (TypeError, ValueError) as error:
        name = getattr(column, "name", j)
        raise ValueError(
            f"column {name!r} holds text where a number is wanted ({error}); "
            "make it categorical, or name it in categorical_features."
        ) from error
