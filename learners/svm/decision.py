"""What a fitted machine says of a row: f(x) of every binary problem, and a score for each class.

Cost: O(m s d) for s support vectors, for the linear kernel O(m d).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bakeoff.learners.base.estimator import Classifier
from bakeoff.learners.svm.kernel.functions import Kernel
from bakeoff.learners.svm.one_vs_one import count_votes, score_by_votes


class KernelClassifier(Classifier):
    """Abstract: a classifier whose ``fit`` leaves an expansion in kernel values, one column for each binary problem."""

    kernel: Any
    degree: int
    coef0: float
    multi_class: str
    decision_function_shape: str
    break_ties: bool
    support_: np.ndarray
    support_vectors_: np.ndarray
    coef_: np.ndarray
    intercept_: np.ndarray
    _expansion: np.ndarray  # (s, p)
    _shift: np.ndarray
    _gamma: float

    def decision_function(self, X: Any) -> np.ndarray:
        """Return f(x), or scores for three classes or more.

        Parameters
        ----------
        X : array-like of shape (m, d), or (m, n) for a precomputed kernel

        Returns
        -------
        ndarray of shape (m,), (m, c) or (m, c (c - 1) / 2)
            Two classes: f(x), positive for ``classes_[1]``.  One against the rest: f(x) of each class.  One against
            one: for shape "ovo" f(x) of each pair, positive for its lower class; for "ovr" votes, and confidence
            between -1/3 and 1/3 added.
        """
        decision = self._decision(self._check_query(X))
        if self.classes_.size == 2:
            return decision[:, 0]
        if self.multi_class == "ovr" or self.decision_function_shape == "ovo":
            return decision
        return score_by_votes(decision, self.classes_.size)

    def _class_scores(self, X: np.ndarray) -> np.ndarray:
        decision, c = self._decision(X), self.classes_.size
        if c == 2:
            return decision * np.array([-1.0, 1.0])
        if self.multi_class == "ovr":
            return decision
        return score_by_votes(decision, c) if self.break_ties else count_votes(decision, c)[0]

    def _decision(self, X: np.ndarray) -> np.ndarray:
        """Return f(x) of every binary problem: shape (m, p)."""
        with np.errstate(over="ignore", invalid="ignore"):
            if self.kernel == "linear":
                decision = X @ self.coef_.T
            elif self.kernel == "precomputed":
                decision = X[:, self.support_] @ self._expansion
            elif callable(self.kernel):
                decision = np.asarray(self.kernel(X, self.support_vectors_)) @ self._expansion
            else:
                S = self.support_vectors_ - self._shift
                decision = self._named_kernel().multiply(X - self._shift, S, self._expansion)
            decision += self.intercept_
        if not np.isfinite(decision).all():
            raise ValueError("X: f(x) overflows for some rows; scale the columns, in training and here alike.")
        return decision

    def _named_kernel(self) -> Kernel:
        return Kernel(self.kernel, self._gamma, float(self.coef0), int(self.degree))
