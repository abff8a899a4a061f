"""One against one: a machine for every two classes, each with a vote.

Pairs go (0, 1), (0, 2), … (1, 2), …; the lower class has the positive side.  Cost: c (c - 1) / 2 fits on 2n/c rows
each, which together is less than c fits on n rows.

Reference: U. Kreßel, "Pairwise classification and support vector machines", in Advances in Kernel Methods, 1999.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np

from bakeoff.learners.base.multiclass import one_against_rest


def list_class_pairs(c: int) -> list[tuple[int, int]]:
    """Return the pairs of classes in order."""
    return list(combinations(range(c), 2))


def binary_problems(codes: np.ndarray, c: int, multi_class: str) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return the rows and the signs of each binary problem, the negative rows first.

    Parameters
    ----------
    codes : ndarray of shape (n,)
        Class codes 0..c-1, ascending.
    c : int
    multi_class : {"ovo", "ovr"}
    """
    if c == 2 or multi_class == "ovr":
        orders = [(np.argsort(signs, kind="stable"), signs) for signs in one_against_rest(codes, c)]
        return [(rows, signs[rows]) for rows, signs in orders]
    runs = np.split(np.arange(codes.size), np.searchsorted(codes, np.arange(1, c)))
    return [
        (np.concatenate([runs[upper], runs[lower]]), np.repeat([-1.0, 1.0], [runs[upper].size, runs[lower].size]))
        for lower, upper in list_class_pairs(c)
    ]


def count_votes(decision: np.ndarray, c: int) -> tuple[np.ndarray, np.ndarray]:
    """Count the pairs that each class wins, and add up by how much.

    Parameters
    ----------
    decision : ndarray of shape (m, c (c - 1) / 2)
        Positive for the lower class of the pair.

    Returns
    -------
    won, confidence : ndarray of shape (m, c)
    """
    won, confidence = np.zeros((decision.shape[0], c)), np.zeros((decision.shape[0], c))
    for column, (lower, upper) in enumerate(list_class_pairs(c)):
        value = decision[:, column]
        won[:, lower] += value > 0
        won[:, upper] += value <= 0
        confidence[:, lower] += value
        confidence[:, upper] -= value
    return won, confidence


def score_by_votes(decision: np.ndarray, c: int) -> np.ndarray:
    """Return one score per class, of shape (m, c): the votes, and equal votes in order of confidence."""
    won, confidence = count_votes(decision, c)
    # Squeezed into ±1/3, confidence never outweighs a vote.
    return won + confidence / (3.0 * (np.abs(confidence) + 1.0))


def arrange_dual_coef(expansion: np.ndarray, codes: np.ndarray, c: int) -> np.ndarray:
    """Write coefficients as scikit-learn does: a support vector takes part in c - 1 pairs, so it has c - 1 of them.

    Parameters
    ----------
    expansion : ndarray of shape (s, c (c - 1) / 2)
        The coefficient of each support vector in each pair.
    codes : ndarray of shape (s,)
        Their classes.

    Returns
    -------
    ndarray of shape (c - 1, s)
        Row r holds the pair with the r-th of the other classes.
    """
    out = np.zeros((c - 1, codes.size))
    for column, (lower, upper) in enumerate(list_class_pairs(c)):
        for own, row in ((lower, upper - 1), (upper, lower)):
            mine = codes == own
            out[row, mine] = expansion[mine, column]
    return out
