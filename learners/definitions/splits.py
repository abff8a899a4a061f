"""Splits: the tests that a node of a decision tree can apply, and the choice of the best one.

A numeric feature x_j is cut at a threshold s, halfway between two neighbouring values (CART):

    R_1(j, s) = {x | x_j < s}        R_2(j, s) = {x | x_j >= s}

A nominal feature is split into as many parts as it has values (a multiway split, as in ID3 and C4.5). It is then
constant in each part and cannot be split again there. The best split has the largest gain, or gain ratio. C4.5 cuts
each numeric feature at the threshold of largest gain, and then chooses the feature of largest gain ratio. Ties are
resolved in favour of the first feature, and then of the lowest threshold. Logarithms and sums of squares are rounded,
so gains and gain ratios that differ by at most `TIE_TOLERANCE` of the larger one, and `ROUND_OFF` of the impurity, tie.

Only cuts between rows of different targets can be optimal, and the lectures consider only these; here all cuts are
tried.

Cost: O(n d) possible splits of n rows with d features, each evaluated in O(n log n).

References: L. Breiman and others, "Classification and Regression Trees", 1984; J. R. Quinlan, "Induction of decision
trees", Machine Learning 1, 1986, and "C4.5", 1993; U. M. Fayyad and K. B. Irani, "On the handling of continuous-valued
attributes in decision tree generation", Machine Learning 8, 1992 (which cuts can be the best).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from bakeoff.learners.definitions.criteria import Impurity, Number, gain, gain_ratio

TIE_TOLERANCE = 1e-10
ROUND_OFF = 1e-13

Question = tuple[int, float | None]
"""A feature j and a threshold s; None instead of a threshold asks for the value of a nominal feature."""


def pick_question(
    X: np.ndarray,
    y: np.ndarray,
    features: Iterable[int],
    impurity: Impurity,
    by_ratio: bool = False,
    nominal: Collection[int] = (),
) -> Question | None:
    """Evaluate all splits of rows X (n, d) with targets y (n,) by some of the features, and return the best one.

    Return None if all of these features are constant.
    """
    round_off = ROUND_OFF * float(impurity(y))
    questions: list[Question] = []
    merits: list[Number] = []
    for j in features:
        column = X[:, j]  # (n,)
        if len(np.unique(column)) == 1:
            continue
        # A feature is split where the gain is largest, of equals at the first threshold.
        thresholds: list[float | None] = [None] if j in nominal else [*midpoints(column)]
        gains = [gain(y, parts_of(y, column, s), impurity) for s in thresholds]
        best_cut = first_of_largest(gains, round_off)
        threshold = thresholds[best_cut]
        # Features compete by gain or by gain ratio; of equals the first is picked.
        merit = gain_ratio(y, parts_of(y, column, threshold), impurity) if by_ratio else gains[best_cut]
        questions.append((j, threshold))
        merits.append(merit)
    if not questions:
        return None
    return questions[first_of_largest(merits, round_off)]


def first_of_largest(merits: Sequence[Number], round_off: float) -> int:
    """Return the index of the first merit that is the largest, but for rounding.

    >>> first_of_largest([0.2, 0.3, 0.1 + 0.2], round_off=0.0)
    1
    """
    least_that_ties = float(max(merits)) * (1 - TIE_TOLERANCE) - round_off
    return next(index for index, merit in enumerate(merits) if merit >= least_that_ties)


def midpoints(column: np.ndarray) -> list[float]:
    """Return the thresholds halfway between neighbouring values of a column (n,), ascending.

    >>> midpoints(np.array([3.0, 1.0, 1.0, 8.0]))
    [2.0, 5.5]
    """
    return [(low + high) / 2 for low, high in pairwise(np.unique(column).tolist())]


def answers(column: np.ndarray, threshold: float | None) -> dict[Any, np.ndarray]:
    """Return, for each answer to a question about a column (n,), the mask (n,) of the rows that give it."""
    if threshold is None:
        return {value: column == value for value in np.unique(column).tolist()}
    return {"left": column < threshold, "right": column >= threshold}


def parts_of(y: np.ndarray, column: np.ndarray, threshold: float | None) -> list[np.ndarray]:
    """Return the targets y (n,) of the rows that give each answer to a question about a column (n,)."""
    return [y[part] for part in answers(column, threshold).values()]
