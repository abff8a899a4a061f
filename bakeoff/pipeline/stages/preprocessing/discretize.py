"""Convert numeric columns to intervals, with a scikit-learn discretizer or by information gain.

Cuts by information gain are accepted by the minimum description length principle. A cut divides a set S of N rows with
k classes into S1 with k1 and S2 with k2 classes. With the entropy E of the classes, and the cut that makes the
information gain

    Gain = E(S) - |S1| / N · E(S1) - |S2| / N · E(S2)

largest, the cut is accepted if

    Gain > (log2(N - 1) + log2(3^k - 2) - [k E(S) - k1 E(S1) - k2 E(S2)]) / N,

and both sides are then cut in the same way. Gains that differ by at most 1e-12 bits count as equal because of rounding;
if several cuts have equal gain, the lowest is chosen.

Cost: O(n log n) to sort n rows, and O(u c) for each level of cuts between u distinct values of c classes.
"""

import warnings
from itertools import pairwise
from typing import Any, Self

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin, clone
from sklearn.utils.validation import validate_data

from bakeoff.pipeline.stages.preprocessing.transformers import EachColumn

SHOWN_DIGITS = (4, 6, 9, 17)
"""Candidate numbers of significant digits for the bounds in an interval's name; the first sufficient one is used."""
MAX_ROUNDING = 0.001
"""The largest error of a bound in a name, as a fraction of the narrowest interval."""
WHOLE_LINE = "all"
"""The name of the only interval of a column without cuts."""


class EntropyDiscretizer(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Cut each column where the classes are separated best, as long as this shortens their description.

    A cut is accepted by the minimum description length principle; a column may remain whole.

    Attributes
    ----------
    bin_edges_ : list of ndarray
        For each column, its minimum, its cuts and its maximum, as in scikit-learn's KBinsDiscretizer.

    References
    ----------
    U. M. Fayyad and K. B. Irani, "Multi-interval discretization of continuous-valued attributes for classification
    learning", IJCAI 1993.
    """

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the cuts of each column of X, of shape (n, d), for classes y of shape (n,); missing cells are ignored.

        Raises
        ------
        ValueError
            The target does not consist of classes.
        """
        if y is None or np.asarray(y).dtype.kind == "f":
            raise ValueError(
                "intervals by information gain need a target of classes; "
                "for a numeric target use preprocessing=discretize."
            )
        codes = np.unique(y, return_inverse=True)[1]  # (n,)
        table = np.asarray(X, dtype=np.float64)  # (n, d)
        validate_data(self, X, skip_check_array=True)
        self.bin_edges_ = [_find_edges(column, codes) for column in table.T]
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Return the number of the interval of each cell, from 0, as float64 (m, d); NaN where a cell is missing."""
        table = np.asarray(X, dtype=np.float64)  # (m, d)
        columns = [number_intervals(cells, edges[1:-1]) for cells, edges in zip(table.T, self.bin_edges_, strict=True)]
        return np.column_stack(columns)


class AsIntervals(EachColumn):
    """Replace each number by the name of its interval: the columns become nominal, with their intervals in order.

    scikit-learn's discretizers number the intervals, and reject missing cells. Here a missing cell stays missing. An
    interval contains its lower bound.

    Parameters
    ----------
    discretizer : transformer
        `EntropyDiscretizer`, or scikit-learn's KBinsDiscretizer: it is fitted on one column at a time.

    Attributes
    ----------
    learned_ : list of ndarray
        The bounds of the intervals of each column in ascending order; the first and the last interval are open, so that
        the first and the last bound are only the extreme values of the training rows.
    """

    def __init__(self, discretizer: Any) -> None:
        self.discretizer = discretizer

    def _learn(self, column: pd.Series, y: Any) -> np.ndarray:
        """Return the minimum, the cuts and the maximum of the present cells of a column (n,)."""
        cells = column.to_numpy(dtype=np.float64)
        is_present = ~np.isnan(cells)
        if not is_present.any():
            return np.array([-np.inf, np.inf])
        present_targets = None if y is None else np.asarray(y)[is_present]
        fitted = clone(self.discretizer)
        with warnings.catch_warnings():
            # KBinsDiscretizer warns about columns with few distinct values, which have fewer intervals.
            warnings.filterwarnings("ignore", category=UserWarning, module="sklearn")
            fitted.fit(cells[is_present, None], present_targets)
        return np.asarray(fitted.bin_edges_[0], dtype=np.float64)

    def _replace(self, column: pd.Series, learned: np.ndarray) -> Any:
        numbers = number_intervals(column.to_numpy(dtype=np.float64), learned[1:-1])  # (m,)
        codes = np.where(np.isnan(numbers), -1, numbers).astype(int)
        return pd.Categorical.from_codes(codes, dtype=pd.CategoricalDtype(name_intervals(learned), ordered=True))


def number_intervals(cells: np.ndarray, cuts: np.ndarray) -> np.ndarray:
    """Return the number of the interval of each cell (m,), from 0; NaN where a cell is missing.

    Examples
    --------
    >>> number_intervals(np.array([1.0, 2.0, np.nan, 7.0]), cuts=np.array([2.0, 5.0]))
    array([ 0.,  1., nan,  2.])
    """
    numbers = np.searchsorted(cuts, cells, side="right").astype(np.float64)
    numbers[np.isnan(cells)] = np.nan
    return numbers


def name_intervals(edges: np.ndarray) -> list[str]:
    """Name the intervals between edges, ignoring the first and the last edge.

    Examples
    --------
    >>> name_intervals(np.array([1.0, 2.45, 4.75, 6.9]))
    ['< 2.45', '2.45 to < 4.75', '≥ 4.75']
    >>> name_intervals(np.array([1.0, 6.9]))
    ['all']
    """
    if len(edges) == 2:
        return [WHOLE_LINE]
    bounds = _write_bounds(edges)
    inner = [f"{lower} to < {upper}" for lower, upper in pairwise(bounds)]
    return [f"< {bounds[0]}", *inner, f"≥ {bounds[-1]}"]


def _write_bounds(edges: np.ndarray) -> list[str]:
    """Format the cuts among edges with as few digits as needed to locate them."""
    cuts = edges[1:-1]
    tolerance = MAX_ROUNDING * np.diff(edges).min()
    for digits in SHOWN_DIGITS:
        bounds = [f"{cut:.{digits}g}" for cut in cuts]
        errors = np.abs(np.array(bounds, dtype=np.float64) - cuts)
        if errors.max() <= tolerance:
            break
    return bounds


def _find_edges(column: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Return the minimum, the cuts and the maximum of a column (n,) with class codes (n,)."""
    is_present = ~np.isnan(column)
    cells = column[is_present]
    if not len(cells):
        return np.array([-np.inf, np.inf])
    cuts = find_cuts(cells, codes[is_present])
    return np.concatenate([[cells.min()], cuts, [cells.max()]])


EQUAL_BITS = 1e-12
"""Information gains that differ by at most this amount are equal."""


def find_cuts(cells: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Return the accepted cuts of a column in ascending order; each lies halfway between two neighbouring values.

    Parameters
    ----------
    cells : ndarray of shape (n,)
        The column, without missing cells.
    codes : ndarray of shape (n,), int
        The class of each row, from 0.

    Examples
    --------
    >>> find_cuts(np.arange(40.0), np.repeat([0, 1], 20))
    array([19.5])
    """
    values, position = np.unique(cells, return_inverse=True)  # (u,), (n,)
    counts = np.zeros((len(values), int(codes.max(initial=0)) + 1))  # (u, c)
    np.add.at(counts, (position, codes), 1)
    cuts: list[float] = []
    open_ranges = [(0, len(values))]
    while open_ranges:
        first, end = open_ranges.pop()
        middle = _find_best_cut(counts[first:end])
        if middle is None:
            continue
        lower, upper = values[first + middle - 1 : first + middle + 1]
        halfway = lower + (upper - lower) / 2
        # The cut is above the lower value even if no number lies between them.
        cuts.append(float(halfway if lower < halfway <= upper else upper))
        open_ranges += [(first, first + middle), (first + middle, end)]
    return np.sort(np.array(cuts))


def _find_best_cut(counts: np.ndarray) -> int | None:
    """Return how many of the u values are below the best cut; None if it is not accepted, or there is none."""
    if len(counts) < 2:
        return None
    total = counts.sum(axis=0)  # (c,)
    below = counts.cumsum(axis=0)[:-1]  # (u - 1, c)
    above = total - below  # (u - 1, c)
    n = total.sum()
    shares = below.sum(axis=1) / n  # (u - 1,)
    remaining = shares * compute_entropy(below) + (1 - shares) * compute_entropy(above)  # (u - 1,)
    best = int((remaining <= remaining.min() + EQUAL_BITS).argmax())
    gain = compute_entropy(total) - remaining[best]
    threshold = _compute_threshold(total, below[best], above[best])
    return best + 1 if gain > threshold + EQUAL_BITS else None


def _compute_threshold(total: np.ndarray, below: np.ndarray, above: np.ndarray) -> float:
    """Return the information gain that a cut must exceed, from the counts of the classes (c,) on both sides."""
    n = total.sum()
    n_classes = np.count_nonzero(total)
    # As in the paper, the entropy of a side is multiplied by the number of classes that occur in it.
    inside = [np.count_nonzero(side) * compute_entropy(side) for side in (below, above)]
    delta = np.log2(3.0**n_classes - 2) - (n_classes * compute_entropy(total) - sum(inside))
    return float((np.log2(n - 1) + delta) / n)


def compute_entropy(counts: np.ndarray) -> np.ndarray:
    """Return the entropy of the classes in bits, from their counts along the last axis.

    Examples
    --------
    >>> compute_entropy(np.array([[2.0, 2.0], [4.0, 0.0]])).tolist()
    [1.0, 0.0]
    """
    sizes = counts.sum(axis=-1, keepdims=True)
    shares = counts / sizes
    with np.errstate(divide="ignore"):
        logarithms = np.where(shares > 0, np.log2(shares), 0.0)
    return np.asarray(-(shares * logarithms).sum(axis=-1) + 0.0)
