"""Columns that give the target away alone: they separate the classes, copy them, or explain the numbers."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

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
MAX_ERROR_RATIO = 0.05
"""Presence tells the target if rows of other targets are at most this fraction of those that chance would put there."""
MAX_CHANCE = 1e-5
"""Largest probability that rows without a relation to the target look like this: that of one column of noise that
separates 10 of 20 rows."""
MIN_SIDE_ROWS = 10
MIN_ORDERED_FRACTION = 0.99
"""Of the pairs of a row with a cell and one without: the part in which the same row has the higher target."""


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


@dataclass(frozen=True)
class Side:
    """The rows that have a cell in a column, or those that have none, and the target that most of them share.

    Attributes
    ----------
    is_filled : bool
        Whether these rows have a cell.
    n_rows, n_agreeing : int
        Rows of this side, and those of them with the shared target.
    target : object
        The shared target.
    fraction : float
        Of all rows, that with the shared target.
    error_ratio : float
        Rows with other targets, as a fraction of those expected by chance.
    """

    is_filled: bool
    n_rows: int
    n_agreeing: int
    target: object
    fraction: float
    error_ratio: float

    def describe(self, target_name: str) -> str:
        """Return a clause about the column: how many rows of this side share the target."""
        rows = "that have a cell here" if self.is_filled else "that have no cell here"
        count = f"all {self.n_rows}" if self.n_agreeing == self.n_rows else f"{self.n_agreeing} of the {self.n_rows}"
        return f"{count} rows {rows} have {target_name}={self.target}, as {100 * self.fraction:.3g} % of all rows have"


def find_telling_presence(X: pd.DataFrame, y: np.ndarray, target_name: str) -> Iterator[tuple[str, str]]:
    """Yield the name of each column whose missing cells tell the target, and a clause that says how.

    On one side, among the rows with a cell or among those without, nearly all rows have one target that other rows
    often do not have. Numbers that have no such value are examined for their order: all targets of one side may be
    higher than those of the other.

    Parameters
    ----------
    X : DataFrame of shape (n, d)
    y : ndarray of shape (n,)
    target_name : str

    References
    ----------
    Hoeffding (1963), Probability inequalities for sums of bounded random variables: theorem 1 and section 6 bound the
    probability that rows drawn without replacement hold so few of another target.
    """
    is_missing = X.isna()  # (n, d)
    n_missing = is_missing.sum().to_numpy()  # (d,)
    n_smaller = np.minimum(n_missing, len(y) - n_missing)
    candidates = X.columns[n_smaller >= MIN_SIDE_ROWS]
    if candidates.empty:
        return
    codes, targets = pd.factorize(y)  # (n,), (v,)
    for name in candidates:
        is_filled = ~is_missing[name].to_numpy()  # (n,)
        side = _find_purest_side(is_filled, codes, targets)
        if side is not None:
            yield str(name), side.describe(target_name)
        elif y.dtype.kind == "f" and _orders_target(is_filled, y):
            yield str(name), f"the rows that have a cell here are ordered by {target_name} apart from those that do not"


def _find_purest_side(is_filled: np.ndarray, codes: np.ndarray, targets: np.ndarray) -> Side | None:
    """Return the side whose rows share a target most nearly; None if no side tells the target.

    Parameters
    ----------
    is_filled : ndarray of shape (n,), bool
    codes : ndarray of shape (n,), int
        Of the targets.
    targets : ndarray of shape (v,)
    """
    counts = np.bincount(codes, minlength=len(targets))  # (v,)
    sides = []
    for filled in (True, False):
        in_side = np.bincount(codes[is_filled == filled], minlength=len(targets))  # (v,)
        shared = int(in_side.argmax())
        n_rows = int(in_side.sum())
        n_agreeing = int(in_side[shared])
        fraction = float(counts[shared] / len(codes))
        n_errors = n_rows - n_agreeing
        n_expected = n_rows * (1.0 - fraction)
        if n_expected == 0.0:
            return None
        ratio = n_errors / n_expected
        if ratio <= MAX_ERROR_RATIO and _bound_chance(n_errors, n_rows, 1.0 - fraction) <= MAX_CHANCE:
            sides.append(Side(filled, n_rows, n_agreeing, targets[shared], fraction, ratio))
    return min(sides, key=lambda side: side.error_ratio, default=None)


def _bound_chance(n_errors: int, n_rows: int, fraction: float) -> float:
    """Bound the probability of at most `n_errors` in `n_rows`, of which each is an error with a probability `fraction`.

    Examples
    --------
    >>> _bound_chance(0, 10, 0.5) == 0.5**10
    True
    >>> _bound_chance(5, 10, 0.5)
    1.0
    """
    observed = n_errors / n_rows
    if observed >= fraction:
        return 1.0
    divergence = (1.0 - observed) * math.log((1.0 - observed) / (1.0 - fraction))
    if observed > 0.0:
        divergence += observed * math.log(observed / fraction)
    return math.exp(-n_rows * divergence)


def _orders_target(is_filled: np.ndarray, y: np.ndarray) -> bool:
    """Return whether the targets (n,) of one side are nearly all higher than those of the other (Mann and Whitney)."""
    ranks = pd.Series(y).rank().to_numpy()  # (n,)
    n_filled = int(is_filled.sum())
    n_pairs = n_filled * (len(y) - n_filled)
    n_higher = ranks[is_filled].sum() - n_filled * (n_filled + 1) / 2
    return bool(abs(n_higher / n_pairs - 0.5) >= MIN_ORDERED_FRACTION - 0.5)
