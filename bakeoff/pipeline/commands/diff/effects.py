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

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from bakeoff.pipeline.commands.compare.analysis import adjust_p_values
from bakeoff.pipeline.commands.compare.fold_tests import MAX_ROUNDING_UNITS, compute_corrected_t_test

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

    mean: float = math.nan
    low: float = math.nan
    high: float = math.nan
    p_value: float = math.nan

    @property
    def is_tested(self) -> bool:
        """Whether there are several folds."""
        return not math.isnan(self.p_value)


def list_hybrids(k: int) -> list[Changes]:
    """Return the hybrids needed for the effects of k changes, from no change to all of them."""
    everything = range(k)
    if k <= MAX_EXACT:
        return [frozenset(chosen) for size in range(k + 1) for chosen in combinations(everything, size)]
    every = frozenset(everything)
    return [frozenset(), *(frozenset([i]) for i in everything), *(every - {i} for i in everything), every]


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
    if k <= MAX_EXACT:
        effects = np.array([_compute_shapley(scores, i, k) for i in range(k)])  # (k, J)
    else:
        every = frozenset(range(k))
        added = np.array([scores[frozenset([i])] - scores[frozenset()] for i in range(k)])  # (k, J)
        removed = np.array([scores[every] - scores[every - {i}] for i in range(k)])  # (k, J)
        effects = (added + removed) / 2
    largest = np.max(np.abs(list(scores.values())), axis=0)  # (J,)
    # A change without effect must not be tested on rounding errors.
    effects[np.abs(effects) <= MAX_ROUNDING_UNITS * np.spacing(largest)] = 0
    return effects


def _compute_shapley(scores: Scores, i: int, k: int) -> np.ndarray:
    """Return the Shapley value of a change in each fold: shape (J,)."""
    gains = [_weigh(len(rest), k) * (scores[rest | {i}] - scores[rest]) for rest in _list_subsets({*range(k)} - {i})]
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
    sizes = np.abs(effects.mean(axis=1))  # (k,)
    found: dict[tuple[int, int], float] = {}
    if k > MAX_EXACT:
        return found
    for i, j in combinations(range(k), 2):
        gains = [
            _weigh(len(others), k - 1)
            * (scores[others | {i, j}] - scores[others | {i}] - scores[others | {j}] + scores[others]).mean()
            for others in _list_subsets(set(range(k)) - {i, j})
        ]
        index = float(np.sum(gains))
        if abs(index) > max(sizes[i], sizes[j], MIN_INTERACTION):
            found[i, j] = index
    return found


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


def _weigh(n_before: int, k: int) -> float:
    """Return the share of the orders of k changes in which a given set of them comes before a given other one."""
    return math.factorial(n_before) * math.factorial(k - n_before - 1) / math.factorial(k)


def _list_subsets(numbers: set[int]) -> Iterator[Changes]:
    for size in range(len(numbers) + 1):
        yield from map(frozenset, combinations(sorted(numbers), size))
