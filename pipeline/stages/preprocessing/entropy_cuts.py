"""Cuts of a numeric column by information gain, accepted by the minimum description length principle.

A cut divides a set S of N rows with k classes into S1 with k1 and S2 with k2 classes. With the entropy E of the
classes, and the cut that makes the information gain

    Gain = E(S) - |S1| / N · E(S1) - |S2| / N · E(S2)

largest, the cut is accepted if

    Gain > (log2(N - 1) + log2(3^k - 2) - [k E(S) - k1 E(S1) - k2 E(S2)]) / N,

and both sides are then cut in the same way. Gains that differ by at most 1e-12 bits are equal, since rounding may part
them: of cuts of equal gain, the lowest is taken.

Cost: O(n log n) to sort n rows, and O(u c) for each level of cuts between u distinct values of c classes.

Reference: U. M. Fayyad and K. B. Irani, "Multi-interval discretization of continuous-valued attributes for
classification learning", IJCAI 1993.
"""

from __future__ import annotations

import numpy as np

EQUAL_BITS = 1e-12
"""Information gains that differ by at most so much are equal."""


def find_cuts(cells: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Return the accepted cuts of a column, in ascending order; each lies half way between two neighbouring values.

    Parameters
    ----------
    cells : ndarray of shape (n,)
        Without missing cells.
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
        cuts.append(_halve(values[first + middle - 1], values[first + middle]))
        open_ranges += [(first, first + middle), (first + middle, end)]
    return np.sort(np.array(cuts))


def _find_best_cut(counts: np.ndarray) -> int | None:
    """Return how many of the u values are below the best cut; None if it is not accepted, or there is none.

    Parameters
    ----------
    counts : ndarray of shape (u, c)
        Rows of each class at each distinct value.
    """
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
    # The text of the theory: classes that are absent on a side need no bits there.
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


def _halve(lower: float, upper: float) -> float:
    """Return the middle of two neighbouring values, above the lower one even if no number lies between them."""
    middle = lower + (upper - lower) / 2
    return float(middle if lower < middle <= upper else upper)
