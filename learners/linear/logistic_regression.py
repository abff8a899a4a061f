"""Logistic regression: linear scores, turned into the probabilities under which the training labels are likeliest.

    P(Y=k|x) = exp(w_k·x + b_k) / Σ_l exp(w_l·x + b_l)        the softmax form, a row of weights for every class
    P(Y=K|x) = 1 / (1 + Σ_{l<K} exp(w_l·x + b_l))             the reference-class form, w_K = 0 for the last class

and for two classes P(Y=1|x) = exp(w·x + b) / (1 + exp(w·x + b)) in either.  Learned are the weights that maximise

    C Σ_i s_i log P(Y=y_i|x_i) - ½ Σ_k ‖w_k‖²,

with row weights s_i; C = ∞ leaves the plain likelihood.  Cost to fit, per step: O(n d c) by gradient descent and
L-BFGS, which need many or some steps after O(n d² + d³) once, and O(n (dc)² + (dc)³) by Newton, which needs few.
To predict: O(m d c).

Reference: T. Hastie, R. Tibshirani and J. Friedman, "The Elements of Statistical Learning", 2nd ed., 2009, section 4.4.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from copy import copy
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval, StrOptions

from bakeoff.learners.base.paths import require_path_parameter
from bakeoff.learners.base.scaling import Standardized
from bakeoff.learners.linear.base import LinearClassifier, linear_scores
from bakeoff.learners.linear.log_likelihood import Likelihood, Point
from bakeoff.learners.linear.solvers import gradient_descent, lbfgs, newton, newton_direction, reached

SOLVERS = {"newton": newton, "lbfgs": lbfgs, "gradient_descent": gradient_descent}

NEWTON_WORK = 3e6
"""Up to how many multiplications for a matrix of second derivatives ``solver="auto"`` is Newton's method."""


class LogisticRegression(LinearClassifier):
    """Maximum likelihood for two or more classes, without penalty or with L2.

    Parameters
    ----------
    C : float, default=1.0
        The weight of the data against the penalty ½‖w‖², above 0; infinity is no penalty.
    form : {"softmax", "reference"}, default="softmax"
        For three or more classes: every class has weights, or the last class has none.  Without penalty both are one
        model; a penalty treats the classes alike in the first, and draws towards the last class in the second.
    fit_intercept : bool, default=True
        Whether to learn b, which is not penalised.
    solver : {"auto", "newton", "lbfgs", "gradient_descent"}, default="auto"
        ``"auto"`` is Newton's method where its matrix is cheap, otherwise L-BFGS.
    tol : float, default=1e-4
        Stop when no component of the gradient of the mean log-likelihood, columns scaled to unit deviation, is larger.
    max_iter : int, default=300
        The most steps.  Gradient descent is slow and often needs thousands.
    class_weight : dict, "balanced" or None, default=None
        Multiplies the weights of a class's rows.

    Attributes
    ----------
    classes_ : ndarray of shape (c,)
    coef_ : ndarray of shape (c, d), or (1, d) for two classes
        In log-odds per unit of the column.
    intercept_ : ndarray of shape (c,), or (1,) for two classes
    n_iter_ : int
        Steps taken, at least 1.

    Examples
    --------
    >>> model = LogisticRegression(C=float("inf")).fit([[0], [0], [0], [1], [1], [1]], [0, 0, 1, 0, 1, 1])
    >>> model.predict_proba([[1]]).round(3)
    array([[0.333, 0.667]])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "C": [Interval(Real, 0, None, closed="right")],
        "form": [StrOptions({"softmax", "reference"})],
        "fit_intercept": ["boolean"],
        "solver": [StrOptions({"auto", *SOLVERS})],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "class_weight": [dict, StrOptions({"balanced"}), None],
    }

    path_parameters: ClassVar[tuple[str, ...]] = ("C",)

    def __init__(
        self,
        C: float = 1.0,
        form: str = "softmax",
        fit_intercept: bool = True,
        solver: str = "auto",
        tol: float = 1e-4,
        max_iter: int = 300,
        class_weight: Any = None,
    ) -> None:
        self.C = C
        self.form = form
        self.fit_intercept = fit_intercept
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.class_weight = class_weight

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Find the likeliest weights.

        Parameters
        ----------
        X : array-like of shape (n, d)
        y : array-like of shape (n,)
        sample_weight : array-like of shape (n,), optional
            A row of weight 2 counts as two rows.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            One class only; cells that are no finite numbers; weights too large to be written as floats.

        Warns
        -----
        ConvergenceWarning
            The gradient is still above ``tol`` after ``max_iter`` steps; or there is no optimum, because C is infinite
            and a hyperplane separates the classes without error.
        """
        self._maximise(*self._check_fit(X, y, sample_weight))
        return self

    def path(self, X: Any, y: Any, parameter: str, values: Sequence[Any], sample_weight: Any = None) -> Iterator[Self]:
        """Fit many values of C, each from the weights of the one before (see `bakeoff.learners.base.paths`)."""
        require_path_parameter(self, parameter)
        checked = clone(self).set_params(C=values[0])
        rows = checked._check_fit(X, y, sample_weight)
        before: Self | None = None
        for C in values:
            fitted = copy(checked).set_params(C=C)
            fitted._validate_params()
            fitted._maximise(*rows, before)
            yield fitted
            before = fitted

    def _maximise(
        self, X: np.ndarray, codes: np.ndarray, weight: np.ndarray, near: LogisticRegression | None = None
    ) -> None:
        """Find the weights for checked rows, from those of another fit of the same rows or from zero."""
        c = len(self.classes_)
        if c == 2:
            codes = 1 - codes  # the last class is the reference, and that is to be the first label
        share = weight / weight.max()
        with np.errstate(over="ignore", divide="ignore"):
            penalty = min(1.0 / (self.C * weight.max() * share.sum()), 1e300)
        share /= share.sum()
        columns = Standardized(X, share, penalty, fit_intercept=self.fit_intercept)
        reference = c == 2 or self.form == "reference"
        objective = Likelihood(columns, codes, share, columns.penalty, c, reference=reference)
        if near is not None:
            objective.origin = columns.standardized(near.coef_, near.intercept_)[: objective.free]
        best, steps = SOLVERS[self._solver(objective)](objective, self.tol, self.max_iter)
        self.n_iter_ = max(1, steps)
        self._warn(objective, best)
        self._keep(*columns.original(best.theta))

    def _solver(self, objective: Likelihood) -> str:
        if self.solver != "auto":
            return self.solver
        return "newton" if objective.newton_work <= NEWTON_WORK else "lbfgs"

    def _keep(self, coef: np.ndarray, intercept: np.ndarray) -> None:
        """Store the weights; in the reference-class form of three or more classes the last class has zeros."""
        if not (np.isfinite(coef).all() and np.isfinite(intercept).all()):
            raise ValueError(
                "LogisticRegression: a weight of this fit is too large for a float, because a column's values are "
                "almost zero; rescale the columns."
            )
        rows = len(coef) if len(self.classes_) == 2 else len(self.classes_)
        self.coef_, self.intercept_ = np.zeros((rows, coef.shape[1])), np.zeros(rows)
        self.coef_[: len(coef)], self.intercept_[: len(coef)] = coef, intercept

    def _warn(self, objective: Likelihood, best: Point) -> None:
        arrived = reached(best, self.tol)
        if np.isinf(self.C) and (objective.separates(best) or (arrived and _still_moving(objective, best))):
            message = (
                "without penalty there is no optimum: the columns separate classes without error, so that larger "
                "weights are always likelier; give a finite C. The weights returned are those where the gradient fell "
                "under tol, or max_iter was reached."
            )
        elif not arrived:
            message = (
                f"after {self.n_iter_} steps the gradient is {np.abs(best.gradient).max():.1e}, above "
                f"tol={self.tol:g}; raise max_iter or tol, or choose solver='newton'."
            )
        else:
            return
        warnings.warn(f"LogisticRegression: {message}", ConvergenceWarning, stacklevel=4)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probability of each class.

        Parameters
        ----------
        X : array-like of shape (m, d)

        Returns
        -------
        ndarray of shape (m, c)
            Columns in the order of ``classes_``; rows sum to 1.
        """
        probability = np.exp(self._shifted_scores(X))  # (c, m)
        probability /= probability.sum(axis=0)
        return np.ascontiguousarray(probability.T)

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Return the natural logarithm of `predict_proba`, of shape (m, c), exact also where that rounds to 0."""
        scores = self._shifted_scores(X)
        scores -= np.log(np.exp(scores).sum(axis=0))
        return np.ascontiguousarray(scores.T)

    def _shifted_scores(self, X: Any) -> np.ndarray:
        """Return the scores of shape (c, m), the largest of each row at 0, so that no exponential overflows."""
        free = linear_scores(self._check_query(X), self.coef_, self.intercept_).T
        scores = np.zeros((len(self.classes_), free.shape[1]))
        scores[-len(free) :] = free
        scores -= scores.max(axis=0)
        return scores


def _still_moving(objective: Likelihood, point: Point) -> bool:
    """Return whether Newton's steps go on changing some row's score by much although the gradient is nearly zero.

    Towards an optimum they shrink fast.  Where classes touch but do not mix, the gradient fades and the steps do not.
    """
    if objective.newton_work > NEWTON_WORK:
        return False
    for _ in range(6):
        direction = newton_direction(objective, point)
        if np.abs(objective.table.scores(direction, slice(None))).max() < 0.3:
            return False
        point = objective.at(point.theta + direction)
    return True
