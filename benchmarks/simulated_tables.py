"""Drawn tables on which learners are equally good by symmetry, and their scores on resampled folds.

Each learner sees the shared columns and a block of its own. Given the class, all columns are independent, and the
blocks have one distribution. Exchanging two blocks therefore changes nothing but the names of the learners: the
difference of their scores has the same distribution as its negative, on any folds, and none of them is better. A `gain`
of one learner moves the means of its own block apart, which makes it truly better.

Both learners are vectorised over all folds at once: Gaussian naive Bayes by sums over rows, and k nearest neighbours by
one order of the rows for each row. The tests compare both with the estimators of `bakeoff.learners`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

N_SHARED = 3
"""Columns that all learners see."""
N_OWN = 2
"""Columns that one learner sees alone."""
N_NEIGHBORS = 5
SMOOTHING = 1e-9
"""This fraction of the largest variance of a column is added to all variances, as the learner's default does."""


@dataclass(frozen=True)
class Population:
    """Two classes of equal probability, told apart by the means of normal columns.

    Parameters
    ----------
    n_rows : int
        Of each table that is drawn.
    n_learners : int
    separation : float
        The distance of the classes' means in each column, in standard deviations.
    gain : float
        What is added to the separation in the own columns of learner 0.
    """

    n_rows: int
    n_learners: int = 2
    separation: float = 0.75
    gain: float = 0.0

    def draw_table(self, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Draw a table.

        Parameters
        ----------
        rng : Generator

        Returns
        -------
        blocks : ndarray of shape (L, n, d)
            The columns that each learner sees.
        y : ndarray of shape (n,)
            Classes 0 and 1.
        """
        y = rng.integers(0, 2, self.n_rows)  # (n,)
        shared = rng.normal(size=(self.n_rows, N_SHARED)) + self.separation * y[:, np.newaxis]  # (n, 3)
        own = rng.normal(size=(self.n_learners, self.n_rows, N_OWN))  # (L, n, 2)
        own += self.separation * y[:, np.newaxis]
        own[0] += self.gain * y[:, np.newaxis]
        repeated = np.broadcast_to(shared, (self.n_learners, *shared.shape))  # (L, n, 3)
        return np.concatenate([repeated, own], axis=2), y


@dataclass(frozen=True)
class Evaluation:
    """A way to split tables: repeated k folds, or repeated holdout.

    Parameters
    ----------
    name : str
    repeats : int
    folds : int
        k of k folds; 0 for holdout.
    test_fraction : float
        Of holdout.
    """

    name: str
    repeats: int
    folds: int = 0
    test_fraction: float = 0.0

    @property
    def ratio(self) -> float:
        """Return the test rows per training row."""
        if self.folds:
            return 1 / (self.folds - 1)
        return self.test_fraction / (1 - self.test_fraction)

    def draw_splits(self, y: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Draw stratified test parts.

        Parameters
        ----------
        y : ndarray of shape (n,)
        rng : Generator

        Returns
        -------
        is_test : ndarray of bool of shape (J, n)
        """
        parts = []
        for _ in range(self.repeats):
            place = _place_in_class(y, rng)  # (n,)
            if self.folds:
                parts += [place % self.folds == fold for fold in range(self.folds)]
            else:
                # Spread over each class, every third row for a fraction of 1/3.
                parts.append(np.floor((place + 1) * self.test_fraction) > np.floor(place * self.test_fraction))
        return np.array(parts)


Scorer = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]
"""Takes blocks (L, n, d), classes (n,) and test parts (J, n); returns accuracies (J, L)."""


def score_naive_bayes(blocks: np.ndarray, y: np.ndarray, is_test: np.ndarray) -> np.ndarray:
    """Fit Gaussian naive Bayes to each training part and return its accuracies on the test parts.

    Parameters
    ----------
    blocks : ndarray of shape (L, n, d)
    y : ndarray of shape (n,)
    is_test : ndarray of shape (J, n)

    Returns
    -------
    accuracies : ndarray of shape (J, L)
    """
    is_train = (~is_test).astype(float)  # (J, n)
    accuracies = np.empty((len(is_test), len(blocks)))  # (J, L)
    for learner, X in enumerate(blocks):
        totals = is_train.sum(axis=1, keepdims=True)  # (J, 1)
        spread = is_train @ X**2 / totals - (is_train @ X / totals) ** 2  # (J, d)
        smoothing = SMOOTHING * spread.max(axis=1, keepdims=True)  # (J, 1)
        scores = [_compute_log_joint(X, is_train * (y == label), totals, smoothing) for label in (0, 1)]
        predicted = scores[1] > scores[0]  # (J, n)
        accuracies[:, learner] = _average_tests(predicted == y, is_test)
    return accuracies


def score_neighbors(blocks: np.ndarray, y: np.ndarray, is_test: np.ndarray) -> np.ndarray:
    """Predict each test part by the nearest neighbours among its training rows and return the accuracies.

    Parameters
    ----------
    blocks : ndarray of shape (L, n, d)
    y : ndarray of shape (n,)
    is_test : ndarray of shape (J, n)

    Returns
    -------
    accuracies : ndarray of shape (J, L)
    """
    accuracies = np.empty((len(is_test), len(blocks)))  # (J, L)
    for learner, X in enumerate(blocks):
        order = _order_by_distance(X)  # (n, n): for each row, all rows from the nearest on
        for split, tested in enumerate(is_test):
            rows = np.flatnonzero(tested)  # (m,)
            neighbors = order[rows]  # (m, n)
            is_known = ~tested[neighbors]  # (m, n)
            is_near = is_known & (np.cumsum(is_known, axis=1) <= N_NEIGHBORS)  # (m, n)
            votes = np.sum(is_near & (y[neighbors] == 1), axis=1)  # (m,)
            accuracies[split, learner] = np.mean((votes > N_NEIGHBORS / 2) == y[rows])
    return accuracies


def _place_in_class(y: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return places (n,): rows of one class in random order, and after them those of the other class."""
    shuffled = rng.permutation(len(y))  # (n,)
    by_class = shuffled[np.argsort(y[shuffled], kind="stable")]  # (n,)
    place = np.empty(len(y), dtype=int)  # (n,)
    place[by_class] = np.arange(len(y))
    return place


def _compute_log_joint(X: np.ndarray, weight: np.ndarray, totals: np.ndarray, smoothing: np.ndarray) -> np.ndarray:
    """Return log-densities (J, n) of one class, for rows X (n, d) and weights (J, n) that select its rows."""
    count = weight.sum(axis=1, keepdims=True)  # (J, 1)
    mean = weight @ X / count  # (J, d)
    variance = weight @ X**2 / count - mean**2 + smoothing  # (J, d)
    constant = (
        np.log(count / totals) - np.sum(mean**2 / variance + np.log(variance), axis=1, keepdims=True) / 2
    )  # (J, 1)
    return np.asarray(constant + (mean / variance) @ X.T - (0.5 / variance) @ (X**2).T)


def _order_by_distance(X: np.ndarray) -> np.ndarray:
    """Return for each row of X (n, d) the numbers of all rows (n, n) from the nearest on."""
    squares = np.sum(X**2, axis=1)  # (n,)
    distances = squares[:, np.newaxis] + squares - 2 * X @ X.T  # (n, n)
    return np.argsort(distances, axis=1)


def _average_tests(is_right: np.ndarray, is_test: np.ndarray) -> np.ndarray:
    """Return the fraction (J,) of rows that are right among the test rows, from two arrays (J, n)."""
    return np.asarray(np.sum(is_right & is_test, axis=1) / np.sum(is_test, axis=1))
