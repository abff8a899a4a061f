"""The effects of several changes on a score, from the scores of hybrids in each fold.

Up to `MAX_EXACT` changes, all hybrids are evaluated, and the effect of a change is its Shapley value: the mean of its
contributions over all orders in which the changes can be made. Shapley values add up to the whole difference. With more
changes, the effect is the mean of adding the change to the first configuration and removing it from the second; the
remainder is due to interactions.

References
----------
Shapley, L. S. (1953). A value for n-person games. Contributions to the Theory of Games 2, 307-317.
Grabisch, M. and Roubens, M. (1999). An axiomatic approach to the concept of interaction among players in cooperative
games. International Journal of Game Theory 28, 547-565.
Nadeau, C. and Bengio, Y. (2003). Inference for the generalization error. Machine Learning 52, 239-281.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations
from math import factorial, isnan, nan

import numpy as np

from bakeoff.pipeline.commands.significance.folds import MAX_ROUNDING_UNITS, compute_corrected_t_test
from bakeoff.pipeline.commands.significance.pairs import adjust_p_values

MAX_EXACT = 4
MIN_INTERACTION = 1e-12
"""A smaller interaction is a rounding error."""
Changes = frozenset[int]
"""The numbers of the changes that a hybrid contains."""
Scores = Mapping[Changes, np.ndarray]
"""Hybrid -> its scores, shape (J,)."""


@dataclass(frozen=True)
class Effect:
    """The effect of a change on the mean score over J folds.

    Attributes
    ----------
    mean : float
    low, high : float
        The confidence interval, corrected for overlapping training parts; NaN with a single fold.
    p_value : float
        The corrected resampled t-test, adjusted over all changes by Holm's method; NaN with a single fold.
    """

    mean: float = nan
    low: float = nan
    high: float = nan
    p_value: float = nan

    @property
    def is_tested(self) -> bool:
        """Whether there are several folds."""
        return not isnan(self.p_value)


def list_hybrids(k: int) -> list[Changes]:
    """Return the hybrids needed for the effects of k changes, from no change to all of them."""
    if k <= MAX_EXACT:
        return _list_subsets(range(k))
    alone = [frozenset([i]) for i in range(k)]
    every = frozenset(range(k))
    return [frozenset(), *alone, *(every - change for change in alone), every]


def _list_subsets(numbers: Iterable[int]) -> list[Changes]:
    """Return all subsets of some numbers, the smallest first."""
    ordered = sorted(numbers)
    return [frozenset(chosen) for size in range(len(ordered) + 1) for chosen in combinations(ordered, size)]


def compute_effects(scores: Scores, k: int) -> np.ndarray:
    """Return the effect of each change in each fold.

    Parameters
    ----------
    scores : mapping of frozenset to ndarray of shape (J,)
        The scores of the hybrids of `list_hybrids`.
    k : int

    Returns
    -------
    ndarray of shape (k, J)
    """
    compute = _compute_index if k <= MAX_EXACT else _average_two_orders
    effects = np.array([compute(scores, frozenset([i]), k) for i in range(k)])  # (k, J)
    largest = np.max(np.abs(list(scores.values())), axis=0)  # (J,)
    # A change without effect must not be tested on rounding errors.
    effects[np.abs(effects) <= MAX_ROUNDING_UNITS * np.spacing(largest)] = 0
    return effects


def _average_two_orders(scores: Scores, change: Changes, k: int) -> np.ndarray:
    """Return the mean of adding a change first and adding it last, in each fold: shape (J,)."""
    every = frozenset(range(k))
    added = scores[change] - scores[frozenset()]  # (J,)
    removed = scores[every] - scores[every - change]  # (J,)
    return (added + removed) / 2


def _compute_index(scores: Scores, joint: Changes, k: int) -> np.ndarray:
    """Return the Shapley interaction index of some changes in each fold: shape (J,).

    For a single change, this is its Shapley value. The weight of the other changes made before is the share of the
    orders in which just these come first, where the joint changes count as one.
    """
    gains = []
    for before in _list_subsets({*range(k)} - joint):
        n_after = k - len(joint) - len(before)
        weight = factorial(len(before)) * factorial(n_after) / factorial(k - len(joint) + 1)
        signed = [(-1) ** len(joint - made) * scores[before | made] for made in _list_subsets(joint)]
        gains.append(weight * np.sum(signed, axis=0))
    return np.sum(gains, axis=0)


def find_interactions(scores: Scores, effects: np.ndarray) -> dict[tuple[int, int], float]:
    """Return the mean interactions of pairs of changes that are larger than the effects of both.

    Parameters
    ----------
    scores : mapping of frozenset to ndarray of shape (J,)
    effects : ndarray of shape (k, J)

    Returns
    -------
    dict of (int, int) to float
        Pair -> the Shapley interaction index; empty if not all hybrids were evaluated.
    """
    k = len(effects)
    if k > MAX_EXACT:
        return {}
    sizes = np.abs(effects.mean(axis=1))  # (k,)
    pairs = {(i, j): float(_compute_index(scores, frozenset([i, j]), k).mean()) for i, j in combinations(range(k), 2)}
    return {(i, j): size for (i, j), size in pairs.items() if abs(size) > max(sizes[i], sizes[j], MIN_INTERACTION)}


def estimate_effects(effects: np.ndarray, ratio: float, alpha: float) -> list[Effect]:
    """Return the mean of each effect with its interval and test.

    Parameters
    ----------
    effects : ndarray of shape (k, J)
    ratio : float
        Test rows per training row.
    alpha : float
    """
    tests = [compute_corrected_t_test(values, ratio, 1 - alpha) for values in effects]
    adjusted = adjust_p_values([test.p for test in tests]).tolist()
    return [Effect(test.mean, test.lower, test.upper, p) for test, p in zip(tests, adjusted, strict=True)]
