"""Predictions of a fitted support vector machine: f(x) of every binary problem, and a score for each class.

SciPy's sparse tables are only recognised, to refuse them.

Cost: O(m s d) for s support vectors, for the linear kernel O(m d).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse

from bakeoff.learners.base.estimator import Classifier
from bakeoff.learners.svm.kernel.functions import Kernel
from bakeoff.learners.svm.one_vs_one import count_votes, score_by_votes


class KernelClassifier(Classifier):
    """Abstract: a classifier whose f(x) is a sum of kernel values, with one column for each of p binary problems."""

    kernel: Any
    degree: int
    coef0: float
    multi_class: str
    decision_function_shape: str
    break_ties: bool
    support_: np.ndarray
    support_vectors_: np.ndarray
    intercept_: np.ndarray
    _expansion: np.ndarray  # (s, p), coefficients of the kernel values
    _shift: np.ndarray  # (d,) or (1,), subtracted from every row
    _gamma: float

    @property
    def coef_(self) -> np.ndarray:
        """The normal w of each binary problem, of shape (p, d); read-only, since the dual coefficients define it."""
        if "coef_" not in self.__dict__:
            raise AttributeError("coef_ is only available when using a linear kernel")
        normals: np.ndarray = self.__dict__["coef_"].view()
        normals.flags.writeable = False
        return normals

    def predict(self, X: Any) -> np.ndarray:
        """Return the class of each row.

        Parameters
        ----------
        X : array-like of shape (m, d), or (m, n) for a precomputed kernel

        Returns
        -------
        ndarray of shape (m,)

        Raises
        ------
        ValueError
            ``break_ties`` with ``decision_function_shape="ovo"``, whose scores are not of classes.
        """
        if self.break_ties and self.decision_function_shape == "ovo":
            raise ValueError(
                "break_ties must be False when decision_function_shape is 'ovo': the confidence of a class breaks "
                "ties, and that shape has none; choose 'ovr'."
            )
        return super().predict(X)

    def decision_function(self, X: Any) -> np.ndarray:
        """Return f(x), or scores for three or more classes.

        Parameters
        ----------
        X : array-like of shape (m, d), or (m, n) for a precomputed kernel

        Returns
        -------
        ndarray of shape (m,), (m, c) or (m, c (c - 1) / 2)
            Two classes: f(x), positive for ``classes_[1]``. One against the rest: f(x) of each class. One against
            one: for shape "ovo" f(x) of each pair, positive for its lower class; for "ovr" votes plus a confidence
            between -1/3 and 1/3.
        """
        decision = self._compute_decision(self._check_query(X))
        if self.classes_.size == 2:
            return decision[:, 0]
        if self.multi_class == "ovr" or self.decision_function_shape == "ovo":
            return decision
        return score_by_votes(decision, self.classes_.size)

    def _check_query(self, X: Any) -> np.ndarray:
        if issparse(X):
            name = type(self).__name__
            raise ValueError(f"cannot use sparse input in {name!r} trained on dense data; pass X.toarray().")
        return super()._check_query(X)

    def _class_scores(self, X: np.ndarray) -> np.ndarray:
        c = self.classes_.size
        decision = self._compute_decision(X)
        if c == 2:
            return decision * np.array([-1.0, 1.0])
        if self.multi_class == "ovr":
            return decision
        if self.break_ties:
            return score_by_votes(decision, c)
        return count_votes(decision, c)

    def _compute_decision(self, X: np.ndarray) -> np.ndarray:
        """Return f(x) of every binary problem, of shape (m, p)."""
        with np.errstate(over="ignore", invalid="ignore"):
            decision = self._sum_kernel_values(X)
            decision += self.intercept_
        if not np.isfinite(decision).all():
            raise ValueError("X: f(x) overflows for some rows; scale the columns, both for training and here.")
        return decision

    def _sum_kernel_values(self, X: np.ndarray) -> np.ndarray:
        """Return f(x) - b of every binary problem, of shape (m, p)."""
        if self.kernel == "linear":
            return X @ self.coef_.T
        if self.kernel == "precomputed":
            return X[:, self.support_] @ self._expansion
        if callable(self.kernel):
            return np.asarray(self.kernel(X, self.support_vectors_)) @ self._expansion
        kernel = Kernel(self.kernel, self._gamma, float(self.coef0), int(self.degree))
        return kernel.multiply(X - self._shift, self.support_vectors_ - self._shift, self._expansion)
