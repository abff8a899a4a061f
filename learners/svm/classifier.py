"""The support vector machine: the hyperplane with the widest margin, in the space of a kernel.

    f(x) = Σ_i α_i y_i K(x_i, x) + b,      0 ≤ α_i ≤ C_i,   Σ_i α_i y_i = 0

Only rows on or inside the margin, the support vectors, have α_i > 0.  Each binary problem is solved in its dual, two
rows at a time with block pivoting or Newton's steps to finish; a linear kernel in its primal, of d + 1 unknowns, first,
and another where slack is dear.  More classes: one against one, or one against the rest.

Cost to fit: O(n d²) for the linear primal; otherwise between O(n² d) and O(n³), by the number of support vectors s.
To predict: O(m s d), for the linear kernel O(m d).

Reference: C. Cortes, V. Vapnik, "Support-vector networks", Machine Learning 20, 1995.
"""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any, ClassVar, Self, final

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags
from sklearn.utils._param_validation import Interval, StrOptions

from bakeoff.learners.svm.binary_problems import counted_rows, fit_hyperplanes
from bakeoff.learners.svm.decision import KernelClassifier
from bakeoff.learners.svm.hyperplane import Hyperplane
from bakeoff.learners.svm.kernel.training_space import make_training_space
from bakeoff.learners.svm.one_vs_one import arrange_dual_coef, binary_problems

MAX_FINITE_C = 1e200
"""The largest C that is not infinite, in the unit of length of the rows."""


@final
class SVC(KernelClassifier):
    """Support vector classifier.

    Parameters
    ----------
    C : float, default=1.0
        The price of slack.  ``inf``: hard margin, no row may lie within it.  Where rows must pay a price beyond about
        1e10 / K(x, x), floats lose the digits: expect a warning.
    kernel : {"linear", "poly", "rbf", "sigmoid", "precomputed"} or callable, default="rbf"
        A callable takes two tables, (a, d) and (b, d), and returns their kernel values (a, b).  With "precomputed" X
        holds the kernel values between rows, (n, n) in ``fit`` and (m, n) later.
    degree : int, default=3
        p of (γ x·z + coef0)^p.
    gamma : {"scale", "auto"} or float, default="scale"
        γ; of the Gaussian kernel 1 / 2σ².  "scale" is 1 / (d · variance of X), "auto" 1 / d.
    coef0 : float, default=0.0
    tol : float, default=1e-6
        By how much y f(x) may fail the optimality conditions, in units of the margin.
    class_weight : dict, "balanced" or None
        Multiplies C for the rows of a class.
    max_iter : int, default=-1
        The most steps for one binary problem; -1: 100 for each row, and no fewer than 100 000.
    multi_class : {"ovo", "ovr"}, default="ovo"
        Three classes or more: a machine for every two classes, or one for each class against the rest.
    decision_function_shape : {"ovr", "ovo"}, default="ovr"
        Of one-against-one machines: one score for each class, or one for each pair.
    break_ties : bool, default=False
        Whether classes with equal votes are told apart by confidence; else the smallest is predicted.

    Attributes
    ----------
    classes_ : ndarray of shape (c,)
    support_ : ndarray of shape (s,)
        Positions of the support vectors in the training rows, class by class.
    support_vectors_ : ndarray of shape (s, d)
        Empty for a precomputed kernel.
    n_support_ : ndarray of shape (c,)
        Support vectors of each class.
    dual_coef_ : ndarray of shape (1, s), one-against-one (c - 1, s), one-against-rest (c, s)
        y_i α_i.  One against one: row r for the pair with the r-th of the other classes.
    intercept_ : ndarray of shape (p,)
        b of each binary problem, averaged over its free support vectors.
    coef_ : ndarray of shape (p, d)
        w of each binary problem; linear kernel only.
    margin_ : ndarray of shape (p,)
        The geometric margin 1 / ‖w‖, in the unit of the kernel's space.
    dual_objective_, primal_objective_ : ndarray of shape (p,)
        Equal at the optimum.
    kkt_residual_ : ndarray of shape (p,)
        By how much the Karush-Kuhn-Tucker conditions fail.
    n_iter_ : ndarray of shape (p,)
        Steps of the dual solver.
    fit_status_ : int
        0 if every problem was solved to ``tol``, else 1.
    class_weight_ : ndarray of shape (c,)

    Raises
    ------
    ValueError
        One class only; or C=inf, and the classes cannot be separated.

    Examples
    --------
    >>> svm = SVC(C=float("inf"), kernel="linear").fit([[0, 0], [0, 2], [3, 0], [5, 1]], ["a", "a", "b", "b"])
    >>> svm.margin_.round(3), svm.support_.tolist()
    (array([1.5]), [0, 2])
    >>> svm.predict([[1, 0], [2, 0]]).tolist()
    ['a', 'b']
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "C": [Interval(Real, 0.0, None, closed="right")],
        "kernel": [StrOptions({"linear", "poly", "rbf", "sigmoid", "precomputed"}), callable],
        "degree": [Interval(Integral, 0, None, closed="left")],
        "gamma": [StrOptions({"scale", "auto"}), Interval(Real, 0.0, None, closed="left")],
        "coef0": [Interval(Real, None, None, closed="neither")],
        "tol": [Interval(Real, 0.0, None, closed="neither")],
        "class_weight": [StrOptions({"balanced"}), dict, None],
        "max_iter": [Interval(Integral, -1, None, closed="left")],
        "multi_class": [StrOptions({"ovo", "ovr"})],
        "decision_function_shape": [StrOptions({"ovo", "ovr"})],
        "break_ties": ["boolean"],
    }

    def __init__(
        self,
        C: Any = 1.0,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: Any = "scale",
        coef0: float = 0.0,
        tol: float = 1e-6,
        class_weight: Any = None,
        max_iter: int = -1,
        multi_class: str = "ovo",
        decision_function_shape: str = "ovr",
        break_ties: bool = False,
    ) -> None:
        self.C = C
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.tol = tol
        self.class_weight = class_weight
        self.max_iter = max_iter
        self.multi_class = multi_class
        self.decision_function_shape = decision_function_shape
        self.break_ties = break_ties

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Find the hyperplanes.

        Parameters
        ----------
        X : array-like of shape (n, d), or (n, n) for a precomputed kernel
        y : array-like of shape (n,)
        sample_weight : array-like of shape (n,), optional
            Multiplies C row by row; a row of weight zero is not there.

        Returns
        -------
        self
        """
        table, codes, weight = self._check_fit(X, y, sample_weight)
        if self.classes_.size < 2:
            raise ValueError(
                f"SVC separates classes and found one class only, {self.classes_.tolist()}; give two or more."
            )
        kept, given = counted_rows(sample_weight, codes.size)
        order = np.argsort(codes, kind="stable")  # so that each class is a run of rows
        table, codes, weight, kept, given = (part[order] for part in (table, codes, weight, kept, given))
        self._learn_class_weight(codes, weight / given)
        problems = binary_problems(codes, self.classes_.size, self.multi_class)
        whole = len(problems[0][0]) == codes.size
        space = make_training_space(
            self.kernel, self.gamma, self.coef0, self.degree, table, kept, given, for_all_rows=whole
        )
        prices = _prices(self.C, weight, space.length_unit)
        machines = fit_hyperplanes(space, prices, problems, self.tol, self.max_iter)
        self._keep(machines, [members for members, _ in problems], codes)
        self._shift, self._gamma = space.shift, space.gamma
        self.support_ = kept[self._places]
        self.support_vectors_ = np.empty((0, 0)) if self.kernel == "precomputed" else table[self._places]
        if self.kernel == "linear":
            assert space.rows is not None
            self.coef_ = (self._expansion * space.length_unit).T @ space.rows[self._places]
            for row, machine in enumerate(machines):
                if machine.normal is not None:
                    self.coef_[row] = machine.normal
            self.intercept_ -= self.coef_ @ self._shift
        return self

    def _keep(self, machines: list[Hyperplane], members: list[np.ndarray], codes: np.ndarray) -> None:
        """Store what the machines found, and warn of any that did not finish."""
        c = self.classes_.size
        beta = np.zeros((codes.size, len(machines)))
        for column, (machine, rows) in enumerate(zip(machines, members, strict=True)):
            beta[rows, column] = machine.beta
        self._places = np.flatnonzero(beta.any(axis=1))
        self._expansion = beta[self._places]  # (s, p)
        self.n_support_ = np.bincount(codes[self._places], minlength=c)
        one_against_one = c > 2 and self.multi_class == "ovo"
        self.dual_coef_ = (
            arrange_dual_coef(self._expansion, codes[self._places], c) if one_against_one else self._expansion.T
        )
        self.intercept_ = np.array([machine.intercept for machine in machines])
        self.margin_ = np.array([machine.margin for machine in machines])
        self.dual_objective_ = np.array([machine.dual for machine in machines])
        self.primal_objective_ = np.array([machine.primal for machine in machines])
        self.kkt_residual_ = np.array([machine.residual for machine in machines])
        self.n_iter_ = np.array([max(1, machine.n_iter) for machine in machines])
        self.fit_status_ = int(not all(machine.converged for machine in machines))
        if self.fit_status_:
            warnings.warn(
                f"SVC stopped before tol={self.tol:g} was met (conditions fail by {self.kkt_residual_.max():.2g}): "
                "raise max_iter, scale the columns, or lower C.",
                ConvergenceWarning,
                stacklevel=3,
            )

    def _learn_class_weight(self, codes: np.ndarray, factors: np.ndarray) -> None:
        self.class_weight_ = factors[np.searchsorted(codes, np.arange(self.classes_.size))]
        if not (self.class_weight_ > 0).all():
            raise ValueError(f"class_weight gives {self.class_weight_.min():g} to a class; every one must be positive.")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags


def _prices(C: float, weight: np.ndarray, length: float) -> np.ndarray:
    """Return C of each row, in the unit of length of the rows; what would be no number keeps its proportions."""
    heaviest = float(weight.max())
    with np.errstate(over="ignore", under="ignore"):
        dearest = C * np.float64(length) ** 2 * heaviest
        if np.isinf(C) or dearest <= MAX_FINITE_C:
            return C * weight * length**2
        return np.asarray(weight / heaviest * MAX_FINITE_C)
