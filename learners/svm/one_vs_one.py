"""One against one: a hyperplane for every pair of classes, each with a vote.

The pairs are (0, 1), (0, 2), … (1, 2), …; the lower class is on the positive side. Cost: c (c - 1) / 2 fits on 2n/c
rows each, which together take less time than c fits on n rows.

References
----------
U. Kreßel, "Pairwise classification and support vector machines", in Advances in Kernel Methods, 1999.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np


def list_class_pairs(c: int) -> list[tuple[int, int]]:
    """Return the pairs of classes (lower, upper) in order."""
    return list(combinations(range(c), 2))


def count_votes(decision: np.ndarray, c: int) -> np.ndarray:
    """Count the pairs that each class wins.

    Parameters
    ----------
    decision : ndarray of shape (m, c (c - 1) / 2)
        f(x) of each pair, positive for the lower class.
    c : int

    Returns
    -------
    ndarray of shape (m, c)
    """
    votes = np.zeros((decision.shape[0], c))
    for column, (lower, upper) in enumerate(list_class_pairs(c)):
        is_lower = decision[:, column] > 0
        votes[:, lower] += is_lower
        votes[:, upper] += ~is_lower
    return votes


def score_by_votes(decision: np.ndarray, c: int) -> np.ndarray:
    """Return one score for each class, of shape (m, c): its votes, plus a confidence that breaks ties.

    Parameters
    ----------
    decision : ndarray of shape (m, c (c - 1) / 2)
        f(x) of each pair, positive for the lower class.
    c : int
    """
    confidence = np.zeros((decision.shape[0], c))
    for column, (lower, upper) in enumerate(list_class_pairs(c)):
        confidence[:, lower] += decision[:, column]
        confidence[:, upper] -= decision[:, column]
    # Scaled to ±1/3, the confidence never outweighs a vote.
    return count_votes(decision, c) + confidence / (3.0 * (np.abs(confidence) + 1.0))


def arrange_dual_coef(expansion: np.ndarray, codes: np.ndarray, c: int) -> np.ndarray:
    """Arrange coefficients as scikit-learn does: each support vector belongs to c - 1 pairs and has c - 1 of them.

    Parameters
    ----------
    expansion : ndarray of shape (s, c (c - 1) / 2)
        The coefficient of each support vector in each pair.
    codes : ndarray of shape (s,)
        The class codes of the support vectors.
    c : int

    Returns
    -------
    ndarray of shape (c - 1, s)
        Row r holds the pair with the r-th of the other classes.
    """
    dual_coef = np.zeros((c - 1, codes.size))
    for column, (lower, upper) in enumerate(list_class_pairs(c)):
        of_lower = codes == lower
        dual_coef[upper - 1, of_lower] = expansion[of_lower, column]
        of_upper = codes == upper
        dual_coef[lower, of_upper] = expansion[of_upper, column]
    return dual_coef
