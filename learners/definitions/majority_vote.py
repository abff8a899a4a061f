"""Majority vote and average: how the targets of several rows become one prediction.

    prediction = Average{y_i}         for regression
    prediction = MajorityVote{y_i}    for classification (ties: the smallest class)

A leaf of a decision tree, the k nearest neighbours and the trees of a random forest all predict in this way. Rows may
have weights w_i, which multiply their votes or their terms in the average.

Cost: O(n c) for n targets of c classes.

Reference: A. Lindholm, N. Wahlström, F. Lindsten, T. B. Schön, "Machine Learning: A First Course for Engineers and
Scientists", 2022, chapter 2.
"""

from __future__ import annotations

from typing import Any

import numpy as np

VOTE_ROUNDING = 1e-12


def average(y: np.ndarray, weight: np.ndarray | None = None) -> float:
    """Return the mean of targets (n,), weighted if there are weights (n,)."""
    return float(np.average(y, weights=weight))


def majority_vote(y: np.ndarray, weight: np.ndarray | None = None) -> Any:
    """Return the class of labels (n,) with the most votes, or with the largest sum of weights (n,).

    >>> int(majority_vote(np.array([2, 1, 1, 2])))
    1
    """
    weight = np.ones(len(y)) if weight is None else weight
    classes = np.unique(y)  # sorted, so that ties go to the smallest class
    votes = np.array([weight[y == label].sum() for label in classes])
    # Sums are rounded, so compare with a tolerance: votes of .1 and .2 equal one of .3.
    return classes[np.argmax(votes >= votes.max() * (1 - VOTE_ROUNDING))]
