"""Logistic regression (`definitions.logistic_regression`), with standardized columns and second-order solvers.

    P(Y=k|x) = exp(w_k·x + b_k) / Σ_l exp(w_l·x + b_l)        the softmax form, a row of weights for every class
    P(Y=K|x) = 1 / (1 + Σ_{l<K} exp(w_l·x + b_l))             the reference-class form, w_K = 0 for the last class

and for two classes P(Y=1|x) = exp(w·x + b) / (1 + exp(w·x + b)) in either form. The fitted weights maximise

    C Σ_i s_i log P(Y=y_i|x_i) - ½ Σ_k ‖w_k‖²,

with row weights s_i; C = ∞ is the plain likelihood. Cost of a step: O(n d c) for gradient descent and L-BFGS, after
O(n d² + d³) once, and O(n (dc)² + (dc)³) for Newton's method, which needs fewer steps than the others.
Cost of a prediction: O(m d c).

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

from bakeoff.learners.base.input_checks import require_path_parameter
from bakeoff.learners.base.scaling import Standardized
from bakeoff.learners.linear.base import MAX_HESSIAN_MULTIPLICATIONS, LinearClassifier, is_diverging, linear_scores
from bakeoff.learners.linear.log_likelihood import FAILURE_BY_SOLVER, SOLVERS, Evaluation, LogLikelihood, has_converged

MAX_PENALTY = 1e300


class LogisticRegression(LinearClassifier):
    """Maximum likelihood for two or more classes, without penalty or with L2.

    Parameters
    ----------
    C : float, default=1.0
        Inverse strength of the penalty ½‖w‖², above 0; infinity means no penalty.
    form : {"softmax", "reference"}, default="softmax"
        For three or more classes: every class has weights, or the last class has none. Without a penalty both forms
        are the same model; a penalty treats all classes equally in the first form, and favours the last class in the
        second.
    fit_intercept : bool, default=True
        Whether to fit b, which is not penalised.
    solver : {"auto", "newton", "lbfgs", "gradient_descent", "newton-cg", "newton-cholesky", "sag", "saga"}, \
default="auto"
        ``"auto"`` selects Newton's method if its matrix is cheap to compute, otherwise L-BFGS. The last four are
        scikit-learn's names, accepted since the optimum is the same: "newton-cg" and "newton-cholesky" are Newton's
        method with an exact solution of its equations, "sag" and "saga" are L-BFGS. "liblinear" is refused, because
        its penalty includes the intercept.
    tol : float, default=1e-4
        Training ends when no component of the gradient of the mean log-likelihood, with columns scaled to unit
        deviation, is larger.
    max_iter : int, default=300
        Maximum number of steps; with 0, all weights stay 0. Gradient descent is slow and often needs thousands.
    class_weight : dict, "balanced" or None, default=None
        Multiplies the weights of the rows of a class.
    random_state : int, RandomState instance or None, default=None
        Has no effect: none of the methods draws.
    penalty : {"l2", None}, default="l2"
        None is the same as ``C=inf``, whatever C is, which ``fit`` warns of. scikit-learn deprecates this parameter.

    Attributes
    ----------
    classes_ : ndarray of shape (c,)
    coef_ : ndarray of shape (c, d), or (1, d) for two classes
        In log-odds per unit of the column.
    intercept_ : ndarray of shape (c,), or (1,) for two classes
    n_iter_ : ndarray of shape (1,)
        Number of steps, at least 1 unless ``max_iter`` is 0.

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
        "max_iter": [Interval(Integral, 0, None, closed="left")],
        "class_weight": [dict, StrOptions({"balanced"}), None],
        "random_state": ["random_state"],
        "penalty": [StrOptions({"l2"}), None],
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
        random_state: Any = None,
        penalty: str | None = "l2",
    ) -> None:
        self.C = C
        self.form = form
        self.fit_intercept = fit_intercept
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.class_weight = class_weight
        self.random_state = random_state
        self.penalty = penalty

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Find the weights of maximum likelihood.

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
            Only one class; a cell that is not a finite number; weights too large for floats.

        Warns
        -----
        ConvergenceWarning
            The gradient is still above ``tol`` after ``max_iter`` steps; or there is no optimum, because C is infinite
            and a hyperplane separates the classes without error.
        """
        rows = self._check_fit(X, y, sample_weight)
        if self.penalty is None and self.C != 1.0 and np.isfinite(self.C):
            warnings.warn("Setting penalty=None will ignore the C parameter; C=inf has the same effect.", stacklevel=2)
        self._maximize(*rows)
        return self

    def path(self, X: Any, y: Any, parameter: str, values: Sequence[Any], sample_weight: Any = None) -> Iterator[Self]:
        """Fit several values of C, each from the weights of the previous one (see `learners.base.input_checks`)."""
        require_path_parameter(self, parameter)
        checked = clone(self).set_params(C=values[0])
        rows = checked._check_fit(X, y, sample_weight)
        previous: Self | None = None
        for C in values:
            fitted = copy(checked).set_params(C=C)
            fitted._validate_params()
            fitted._maximize(*rows, previous)
            yield fitted
            previous = fitted

    def _maximize(
        self, X: np.ndarray, codes: np.ndarray, weight: np.ndarray, previous: LogisticRegression | None = None
    ) -> None:
        """Find the weights for checked rows, starting from another fit of the same rows or from zero."""
        c = len(self.classes_)
        if c == 2:
            codes = 1 - codes  # the last class is the reference, which has to be the first label
        share = weight / weight.max()  # (n,)
        with np.errstate(over="ignore", divide="ignore"):
            penalty = min(1.0 / (self._get_inverse_penalty() * weight.max() * share.sum()), MAX_PENALTY)
        share /= share.sum()
        columns = Standardized(X, share, penalty, fit_intercept=self.fit_intercept)
        reference = c == 2 or self.form == "reference"
        objective = LogLikelihood(columns, codes, share, columns.penalty, c, reference=reference)
        if previous is not None:
            theta = columns.to_standardized(previous.coef_, previous.intercept_)
            objective.initial_theta = theta[: objective.n_free_classes]
        solver = self._choose_solver(objective)
        best, n_steps = SOLVERS[solver](objective, self.tol, self.max_iter)
        n_reported = max(min(1, self.max_iter), n_steps)
        self.n_iter_ = np.array([n_reported])  # (1,)
        self._warn_unless_optimal(objective, best, solver)
        self._set_weights(*columns.to_original(best.theta))

    def _get_inverse_penalty(self) -> float:
        return self.C if self.penalty == "l2" else float("inf")

    def _choose_solver(self, objective: LogLikelihood) -> str:
        if self.solver != "auto":
            return self.solver
        is_cheap = objective.hessian_multiplications <= MAX_HESSIAN_MULTIPLICATIONS
        return "newton" if is_cheap else "lbfgs"

    def _set_weights(self, coef: np.ndarray, intercept: np.ndarray) -> None:
        """Store the weights; in the reference-class form with three or more classes, the last class has zeros."""
        if not (np.isfinite(coef).all() and np.isfinite(intercept).all()):
            raise ValueError(
                "LogisticRegression: a weight overflows, because the values of a column are almost zero; rescale "
                "the columns."
            )
        k, d = coef.shape
        n_scores = k if len(self.classes_) == 2 else len(self.classes_)
        self.coef_ = np.zeros((n_scores, d))
        self.coef_[:k] = coef
        self.intercept_ = np.zeros(n_scores)
        self.intercept_[:k] = intercept

    def _warn_unless_optimal(self, objective: LogLikelihood, best: Evaluation, solver: str) -> None:
        converged = has_converged(best, self.tol)
        is_separated = objective.is_separated(best)
        if np.isinf(self._get_inverse_penalty()) and (is_separated or (converged and is_diverging(objective, best))):
            # Quasi-separated classes touch, or only some of several classes are separable.
            separation = (
                "are perfectly separable" if is_separated else "touch without overlapping, at least some of them"
            )
            message = (
                f"Without a penalty there is no optimum: the classes {separation}, so the likelihood "
                "increases with the weights; give a finite C. The returned weights are those at which the "
                "gradient fell below tol or max_iter was reached."
            )
        elif not converged:
            failure = FAILURE_BY_SOLVER.get(solver, f"{solver} failed to converge")
            message = (
                f"{failure} after {self.n_iter_[0]} iterations: the gradient is {np.abs(best.gradient).max():.1e}, "
                f"above tol={self.tol:g}. Increase the number of iterations (max_iter) or tol, or choose "
                "solver='newton'."
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
        """Return the natural logarithm of `predict_proba`, of shape (m, c), exact even if that rounds to 0."""
        scores = self._shifted_scores(X)
        scores -= np.log(np.exp(scores).sum(axis=0))
        return np.ascontiguousarray(scores.T)

    def _shifted_scores(self, X: Any) -> np.ndarray:
        """Return scores of shape (c, m), with 0 for the largest of each row, so that no exponential overflows."""
        free_scores = linear_scores(self._check_query(X), self.coef_, self.intercept_).T
        k, m = free_scores.shape
        scores = np.zeros((len(self.classes_), m))
        scores[-k:] = free_scores
        scores -= scores.max(axis=0)
        return scores
