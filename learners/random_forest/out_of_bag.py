"""Rows out of the bag: what the trees that have not seen a row say of it, on average."""

from __future__ import annotations

from typing import Any

import numpy as np

from bakeoff.learners.random_forest.bootstrap import Pool


class OutOfBag:
    """Answers so far, of trees on the k rows that they have not seen.

    Parameters
    ----------
    k : int
    width : int
        How many numbers an answer has.
    """

    def __init__(self, k: int, width: int) -> None:
        self._total, self._trees = np.zeros((k, width)), np.zeros((k, 1))

    def add(self, unseen: np.ndarray, answers: np.ndarray) -> None:
        """Add what one tree says (u, width) of the rows marked (k,) that it has not seen."""
        self._total[unseen] += answers
        self._trees[unseen] += 1

    @property
    def answers(self) -> np.ndarray:
        """The means, shape (k, width); NaN for a row that every tree has seen."""
        return np.where(self._trees > 0, self._total / np.maximum(self._trees, 1), np.nan)


def places_given(pool: Pool, sample_weight: Any) -> np.ndarray:
    """Return where each row that ``fit`` was given stands in the pool, -1 if its weight is zero: shape (n,)."""
    if sample_weight is None or np.ndim(sample_weight) == 0:
        return pool.place
    counts = np.asarray(sample_weight, dtype=np.float64) > 0
    place = np.full(counts.size, -1)
    place[counts] = pool.place
    return place


def spread(answers: np.ndarray, place: np.ndarray) -> np.ndarray:
    """Return the answers (k, width) at each place (n,), NaN at -1: shape (n, width)."""
    return np.append(answers, np.full((1, answers.shape[1]), np.nan), axis=0)[place]
