"""What linear models share: scores X·w + b, and the class whose score is largest.

With c > 2 classes every class has its row of weights.  With two there is one row, the score of the second class
against the first: positive means the second.  Cost: O(m d c) for m query rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bakeoff.learners.base.estimator import Classifier

TILE = 64


def linear_scores(X: np.ndarray, coef: np.ndarray, intercept: np.ndarray) -> np.ndarray:
    """Return ``X @ coef.T + intercept`` such that a row's scores do not depend on the other rows, to the last bit.

    BLAS adds in an order that depends on the number of rows.  In tiles of always `TILE` rows, the last one filled up
    with zeros, the order is one and the same.

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
    (m, d), k = X.shape, coef.shape[0]
    X, weights = np.ascontiguousarray(X), np.ascontiguousarray(coef.T)
    whole = m - m % TILE
    scores = np.empty((m, k))
    with np.errstate(over="ignore", invalid="ignore"):
        np.matmul(X[:whole].reshape(-1, TILE, d), weights, out=scores[:whole].reshape(-1, TILE, k))
        if whole < m:
            tile = np.zeros((TILE, d))
            tile[: m - whole] = X[whole:]
            scores[whole:] = (tile @ weights)[: m - whole]
        scores += intercept
    if not np.isfinite(scores).all():
        raise ValueError("the scores of a row outgrow floats: its cells are too large for the weights; rescale X.")
    return scores


class LinearClassifier(Classifier):
    """Abstract: a classifier whose ``fit`` leaves one row of weights per score.

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
            raise ValueError(
                f"{type(self).__name__} tells classes apart, but all rows are of one class, "
                f"{self.classes_.tolist()[0]!r}: give rows of a second one, or take MajorityClassifier."
            )
        return X, codes, weight

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the score of each class; with two classes that of the second, whose sign decides.

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
        scores = linear_scores(X, self.coef_, self.intercept_)
        missing = len(self.classes_) - scores.shape[1]  # of two classes the first is the reference, at score 0
        return np.pad(scores, ((0, 0), (missing, 0))) if missing else scores

    def predict(self, X: Any) -> np.ndarray:
        """Return the class of the largest score (ties: the smallest class).

        Parameters
        ----------
        X : array-like of shape (m, d)

        Returns
        -------
        ndarray of shape (m,)
        """
        scores = linear_scores(self._check_query(X), self.coef_, self.intercept_)
        codes = scores[:, 0] > 0 if scores.shape[1] == 1 else scores.argmax(axis=1)
        return self.classes_[codes.astype(np.intp)]
