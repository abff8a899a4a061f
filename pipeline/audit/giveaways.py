"""Columns that give the target away alone: they separate the classes, copy them, or explain the numbers."""

from __future__ import annotations

import numpy as np
import pandas as pd

MIN_MINORITY_ROWS = 10
"""Rows outside the largest class, below which a column may separate the classes by chance: 10 of 20 rows are separated
by one of 50 columns of noise with a probability of 5e-4."""
MAX_ERROR_FRACTION = 0.01
"""A column is suspect if a rule on it alone makes at most this fraction of the errors of the majority class."""
MIN_REGRESSION_ROWS = 20
MIN_RANK_CORRELATION = 0.999
FILTER_ROWS = 500
MIN_ROUGH_CORRELATION = 0.9
"""Below this correlation of ranks on `FILTER_ROWS` rows, a column is far from `MIN_RANK_CORRELATION` on all rows."""
MIN_EXPLAINED_FRACTION = 0.999
MAX_COPY_ERROR_FRACTION = 0.05
"""As `MAX_ERROR_FRACTION`, for a column of as many values as there are classes: it may be the target, entered twice."""


def find_separating(X: pd.DataFrame, y: np.ndarray) -> list[str]:
    """Return the names of the columns that separate the classes.

    Parameters
    ----------
    X : DataFrame of shape (m, d)
        Numeric and nominal columns.
    y : ndarray of shape (m,)
        Classes as codes from 0.
    """
    n_minority = len(y) - int(np.bincount(y).max())
    if n_minority < MIN_MINORITY_ROWS:
        return []
    max_errors = MAX_ERROR_FRACTION * n_minority
    numeric = [name for name in X.columns if not isinstance(X[name].dtype, pd.CategoricalDtype)]
    # Sorting all columns at once is fast, and leaves few of them to be examined one by one.
    positions = _filter_numeric(X[numeric].to_numpy(dtype=np.float64), y, max_errors)
    candidates = [numeric[position] for position in positions]
    suspects = {name for name in candidates if _count_errors(X[name], y) <= max_errors}
    for name in X.columns.difference(numeric):
        if _separates_by_value(X[name].cat.codes.to_numpy(), y):
            suspects.add(name)
    return [str(name) for name in X.columns if name in suspects]


def find_near_copies(X: pd.DataFrame, y: np.ndarray) -> dict[str, str]:
    """Return the columns that seem to be the target in another spelling, with errors, and a reason for each.

    A near copy has one value for each class, and few rows in which the value is that of another class. Missing cells
    are not compared, unless there are many.

    Parameters
    ----------
    X : DataFrame of shape (m, d)
    y : ndarray of shape (m,)
        Classes as codes from 0.
    """
    n_classes = int(y.max()) + 1
    reasons = {}
    for name, column in X.items():
        if column.nunique() != n_classes:
            continue
        codes = pd.factorize(column)[0]
        is_there = codes >= 0
        counts = _cross_tabulate(codes[is_there], y[is_there])  # (v, c)
        n_rows = int(counts.sum())
        n_minority = n_rows - int(counts.sum(axis=0).max())
        n_errors = n_rows - int(counts.max(axis=1).sum())
        is_one_to_one = len(set(counts.argmax(axis=1))) == n_classes
        has_enough = n_minority >= MIN_MINORITY_ROWS and 2 * n_rows > len(y)
        if is_one_to_one and has_enough and n_errors <= MAX_COPY_ERROR_FRACTION * n_minority:
            reasons[str(name)] = f"each of its values goes with one class, except in {n_errors} of {n_rows} rows"
    return reasons


def _filter_numeric(X: np.ndarray, y: np.ndarray, max_errors: float) -> np.ndarray:
    """Return the columns of X (m, d) along which the class y (m,) changes so rarely that they may separate classes.

    A rule with e errors has at most c - 1 + 4 e changes, if rows with equal values are in the order of their classes.
    """
    by_class = np.argsort(y, kind="stable")  # (m,)
    order = np.argsort(X[by_class], axis=0, kind="stable")  # (m, d)
    classes = y[by_class][order]  # (m, d)
    n_changes = (classes[1:] != classes[:-1]).sum(axis=0)  # (d,)
    return np.flatnonzero(n_changes <= y.max() + 4 * max_errors)


def _count_errors(column: pd.Series, y: np.ndarray) -> float:
    """Return the errors of a rule that predicts one class for each of c ranges of a numeric column.

    Each value takes the class of most of its rows; two changes of this class beyond the c - 1 that are needed count as
    one error. Missing cells are a value of their own.
    """
    codes = np.unique(column.to_numpy(), return_inverse=True, equal_nan=True)[1]
    counts = _cross_tabulate(codes, y)  # (v, c)
    majority = counts.argmax(axis=1)  # (v,)
    n_excess_changes = max(0, int((majority[1:] != majority[:-1]).sum()) - int(y.max()))
    return float(len(y) - counts.max(axis=1).sum() + n_excess_changes / 2)


def _separates_by_value(codes: np.ndarray, y: np.ndarray) -> bool:
    """Return whether the values of a nominal column tell the class of the rows that share their value with others."""
    counts = _cross_tabulate(codes - codes.min(), y)  # (v, c); a missing cell has the code -1
    counts = counts[counts.sum(axis=1) > 1]
    n_rows = int(counts.sum())
    # Values that occur once, such as names, tell the class of every row, but of no other.
    if n_rows < len(y) / 2:
        return False
    n_minority = n_rows - int(counts.sum(axis=0).max())
    n_errors = n_rows - int(counts.max(axis=1).sum())
    return n_minority >= MIN_MINORITY_ROWS and n_errors <= MAX_ERROR_FRACTION * n_minority


def _cross_tabulate(codes: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Count the rows of each value (v) and class (c): shape (v, c)."""
    n_values = int(codes.max()) + 1
    n_classes = int(y.max()) + 1
    cells = codes.astype(np.int64) * n_classes + y
    return np.bincount(cells, minlength=n_values * n_classes).reshape(n_values, n_classes)


def find_explaining(X: pd.DataFrame, y: np.ndarray) -> list[str]:
    """Return the names of the columns that explain the targets.

    Parameters
    ----------
    X : DataFrame of shape (m, d)
        Numeric and nominal columns.
    y : ndarray of shape (m,)
        Numbers.
    """
    if len(y) < MIN_REGRESSION_ROWS:
        return []
    numeric = [name for name in X.columns if not isinstance(X[name].dtype, pd.CategoricalDtype)]
    skipped = {numeric[position] for position in _filter_unordered(X[numeric].to_numpy(dtype=np.float64), y)}
    return [str(name) for name, column in X.items() if name not in skipped and _explains(column, y)]


def _filter_unordered(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the columns of X (m, d) whose order is so different from that of y (m,) that they need no exact test."""
    rows = np.linspace(0, len(y) - 1, min(len(y), FILTER_ROWS)).astype(int)
    ranks = _rank_roughly(X[rows])  # (r, d)
    target = _rank_roughly(y[rows, None])  # (r, 1)
    correlations = (ranks * target).sum(axis=0) / (target**2).sum()  # (d,)
    is_full = ~np.isnan(X).any(axis=0)  # (d,)
    return np.flatnonzero(is_full & (np.abs(correlations) < MIN_ROUGH_CORRELATION))


def _rank_roughly(values: np.ndarray) -> np.ndarray:
    """Return the centered ranks of each column of values (r, d); equal values have different ranks."""
    ranks = np.argsort(np.argsort(values, axis=0, kind="stable"), axis=0)
    return ranks - (len(values) - 1) / 2


def _explains(column: pd.Series, y: np.ndarray) -> bool:
    is_there = column.notna().to_numpy()
    if is_there.sum() < max(MIN_REGRESSION_ROWS, len(y) / 2):
        return False
    target = pd.Series(y[is_there])
    if isinstance(column.dtype, pd.CategoricalDtype):
        return _explained_fraction(column[is_there].cat.codes.to_numpy(), target) >= MIN_EXPLAINED_FRACTION
    values = pd.Series(column.to_numpy()[is_there])
    if values.nunique() < MIN_REGRESSION_ROWS or target.nunique() < MIN_REGRESSION_ROWS:
        return False
    correlation = values.rank().corr(target.rank())
    return bool(abs(correlation) >= MIN_RANK_CORRELATION)


def _explained_fraction(codes: np.ndarray, y: pd.Series) -> float:
    """Return the fraction of the variance of y that is between the values of a nominal column (η²)."""
    groups = y.groupby(codes)
    is_repeated = groups.transform("size").to_numpy() > 1
    repeated = y[is_repeated]
    # Values that occur once explain their rows, and no other.
    if len(repeated) < len(y) / 2 or repeated.nunique() < 2:
        return 0.0
    residuals = repeated - groups.transform("mean")[is_repeated]
    return 1.0 - float((residuals**2).sum() / ((repeated - repeated.mean()) ** 2).sum())
