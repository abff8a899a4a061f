"""Multiclass classification by binary classifiers, one against the rest.

A classification with c classes is reduced to c binary problems with labels +1 and -1, each class against the rest,
and the class with the largest score is predicted. Two classes need only one problem, in which the second class has
the label +1.

Reference: R. Rifkin and A. Klautau, "In defense of one-vs-all classification", JMLR 5, 2004.
"""

from __future__ import annotations

import numpy as np


def label_one_against_rest(codes: np.ndarray, c: int) -> np.ndarray:
    """Label the rows of each two-class problem.

    Parameters
    ----------
    codes : ndarray of shape (n,), int
        Class codes 0..c-1.
    c : int
        Number of classes, at least 2.

    Returns
    -------
    ndarray of shape (k, n)
        +1.0 for rows of the class of the problem, else -1.0; k is c, or 1 (class 1 against class 0) if c is 2.

    Examples
    --------
    >>> label_one_against_rest(np.array([0, 1, 1]), 2)
    array([[-1.,  1.,  1.]])
    """
    positive_class = np.arange(c)[:, None] if c > 2 else np.array([[1]])  # (k, 1)
    return np.where(codes == positive_class, 1.0, -1.0)
