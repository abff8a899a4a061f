"""What linear models share: the scores X·w + b, the class with the largest one, and likelihoods without a maximum.

With c > 2 classes every class has a row of weights. With two classes there is one row, the score of the second class
against the first: a positive score means the second class. Cost: O(m d c) for m query rows.

A likelihood has no maximum if a hyperplane separates classes whose rows touch at most.

Reference: A. Albert and J. A. Anderson, "On the existence of maximum likelihood estimates in logistic regression
models", Biometrika 71, 1984.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bakeoff.learners.base.estimator import Classifier
from bakeoff.learners.linear.log_likelihood import Evaluation, LogLikelihood, solve_newton_direction

TILE_ROWS = 64


def linear_scores(X: np.ndarray, coef: np.ndarray, intercept: np.ndarray) -> np.ndarray:
    """Return ``X @ coef.T + intercept``; to the last bit, the scores of a row do not depend on other rows.

    BLAS adds in an order that depends on the number of rows. In tiles of exactly `TILE_ROWS` rows, the last one padded
    with zeros, the order is always the same.

    Parameters
    ----------
    X : ndarray of shape (m, d)
    coef : ndarray of shape (k, d)
    intercept : ndarray of shape (k,)

    Returns
    -------
    ndarray of shape (m, k)

    Raises
    ------
    ValueError
        A score is too large for a float.
    """
    m, d = X.shape
    k = len(coef)
    X = np.ascontiguousarray(X)
    weights = np.ascontiguousarray(coef.T)  # (d, k)
    scores = np.empty((m, k))
    n_tiled = m - m % TILE_ROWS
    n_rest = m - n_tiled
    with np.errstate(over="ignore", invalid="ignore"):
        tiles = X[:n_tiled].reshape(-1, TILE_ROWS, d)
        np.matmul(tiles, weights, out=scores[:n_tiled].reshape(-1, TILE_ROWS, k))
        if n_rest:
            padded = np.zeros((TILE_ROWS, d))
            padded[:n_rest] = X[n_tiled:]
            scores[n_tiled:] = (padded @ weights)[:n_rest]
        scores += intercept
    if not np.isfinite(scores).all():
        raise ValueError("the scores of a row overflow, because its values are too large; rescale X.")
    return scores


class LinearClassifier(Classifier):
    """Abstract: a classifier whose ``fit`` sets one row of weights per score.

    Attributes
    ----------
    classes_ : ndarray of shape (c,)
    coef_ : ndarray of shape (c, d), or (1, d) for two classes
    intercept_ : ndarray of shape (c,), or (1,) for two classes
    """

    coef_: np.ndarray
    intercept_: np.ndarray

    def _check_fit(self, X: Any, y: Any, sample_weight: Any = None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        X, codes, weight = super()._check_fit(X, y, sample_weight)
        if len(self.classes_) < 2:
            only_class = self.classes_.tolist()[0]
            raise ValueError(
                f"{type(self).__name__} needs rows of at least two classes, but all rows are of one class, "
                f"{only_class!r}: add rows of a second class, or use MajorityClassifier."
            )
        return X, codes, weight

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the score of each class; with two classes only the score of the second, whose sign decides.

        Parameters
        ----------
        X : array-like of shape (m, d)

        Returns
        -------
        ndarray of shape (m, c), or (m,) for two classes
        """
        scores = linear_scores(self._check_query(X), self.coef_, self.intercept_)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def _class_scores(self, X: np.ndarray) -> np.ndarray:
        """Return a score for every class, of shape (m, c)."""
        scores = linear_scores(X, self.coef_, self.intercept_)
        if scores.shape[1] == len(self.classes_):
            return scores
        # With two classes, the first one is the reference and has score 0.
        return np.column_stack([np.zeros(len(scores)), scores])

    def _choose_classes(self, scores: np.ndarray) -> np.ndarray:
        """Return the code of the class with the largest score (ties: the smallest class), of shape (m,)."""
        return scores.argmax(axis=1)


MAX_HESSIAN_MULTIPLICATIONS = 3e6
"""``solver="auto"`` is Newton's method where one Hessian costs at most this many multiplications."""

N_PROBING_STEPS = 6
MIN_PROBED_SCORE_CHANGE = 0.3


def is_diverging(objective: LogLikelihood, point: Evaluation) -> bool:
    """Return whether Newton steps still change some score considerably although the gradient is nearly zero.

    Near an optimum the steps become small quickly. If classes touch but do not overlap, the gradient vanishes but the
    steps do not.
    """
    if objective.hessian_multiplications > MAX_HESSIAN_MULTIPLICATIONS:
        return False
    for _ in range(N_PROBING_STEPS):
        direction = solve_newton_direction(objective, point)
        score_changes = objective.table.compute_scores(direction, slice(None))  # (K, n)
        if np.abs(score_changes).max() < MIN_PROBED_SCORE_CHANGE:
            return False
        point = objective.evaluate(point.theta + direction)
    return True
