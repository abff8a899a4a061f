"""Columns of which it is enough to know where they have cells: these tell the target, whatever stands in them.

Such a column is usually filled in after the target is known, as the number of a body is only after a death.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd

MAX_ERROR_RATIO = 0.05
"""Presence tells the target if rows of other targets are at most this fraction of those that chance would put there."""
MAX_CHANCE = 1e-5
"""Largest probability that rows without a relation to the target look like this: that of one column of noise that
separates 10 of 20 rows."""
MIN_SIDE_ROWS = 10
MIN_ORDERED_FRACTION = 0.99
"""Of the pairs of a row with a cell and one without: the part in which the same row has the higher target."""


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
