"""Support vector machine: the hyperplane with the widest margin, in the feature space of a kernel.

    f(x) = Σ_i α_i y_i K(x_i, x) + b,      0 ≤ α_i ≤ C_i,   Σ_i α_i y_i = 0

Only rows on or inside the margin, the support vectors, have α_i > 0. Several classes are handled one against one, or
one against the rest.

`bakeoff.learners.definitions.svm` states the algorithms. This implementation is faster because SMO updates the gradient
instead of computing it for each step, block principal pivoting or a Newton step completes the solution that SMO
approaches, and the primal, which has d + 1 unknowns for a linear kernel, is solved if the dual would need too many
steps, for example for large C.

Cost to fit: O(n d²) for the linear primal; otherwise between O(n² d) and O(n³), depending on the number of support
vectors s. To predict: O(m s d), for the linear kernel O(m d).

References
----------
C. Cortes, V. Vapnik, "Support-vector networks", Machine Learning 20, 1995.
"""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any, ClassVar, Self, final

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags
from sklearn.utils._param_validation import Interval, StrOptions

from bakeoff.learners.svm.hyperplane import Hyperplane
from bakeoff.learners.svm.margins import find_weighted_rows, scale_C
from bakeoff.learners.svm.one_vs_one import (
    BinaryProblem,
    KernelClassifier,
    arrange_dual_coef,
    fit_hyperplanes,
    list_binary_problems,
)
from bakeoff.learners.svm.training_space import TrainingSpace, make_training_space


@final
class SVC(KernelClassifier):
    """Support vector classifier.

    Parameters
    ----------
    C : float, default=1.0
        Cost of one unit of slack. ``inf`` is the hard margin, inside which no row may lie. If C exceeds about 1e10 /
        K(x, x) and the classes overlap, floats are not precise enough for an exact solution, and ``fit`` warns.
    kernel : {"linear", "poly", "rbf", "sigmoid", "precomputed"} or callable, default="rbf"
        A callable receives two arrays, (a, d) and (b, d), and returns their kernel values (a, b). With "precomputed",
        X holds the kernel values between rows: (n, n) in ``fit``, (m, n) in ``predict``.
    degree : int, default=3
        p in (γ x·z + coef0)^p.
    gamma : {"scale", "auto"} or float, default="scale"
        γ; 1 / 2σ² for the Gaussian kernel. "scale" is 1 / (d · variance of X), "auto" is 1 / d.
    coef0 : float, default=0.0
        Constant term of the polynomial and the sigmoid kernel.
    tol : float, default=1e-6
        Largest accepted violation of the optimality conditions, measured by y f(x) in units of the margin.
    class_weight : dict, "balanced" or None, default=None
        Multiplies C for the rows of a class.
    max_iter : int, default=-1
        Maximum number of steps for one binary problem; -1 means 100 for each row, but at least 100 000.
    multi_class : {"ovo", "ovr"}, default="ovo"
        For three or more classes: one hyperplane for every pair of classes, or one for each class against the rest.
    decision_function_shape : {"ovr", "ovo"}, default="ovr"
        One against one: one score for each class, or one for each pair.
    break_ties : bool, default=False
        Among classes with equal votes, predict the one with the largest confidence instead of the smallest one.
        `predict` rejects it for ``decision_function_shape="ovo"``.
    random_state : int, RandomState instance or None, default=None
        Has no effect: nothing is drawn.

    Attributes
    ----------
    classes_ : ndarray of shape (c,)
        The labels, sorted.
    support_ : ndarray of shape (s,)
        Positions of the support vectors in the training rows, class by class.
    support_vectors_ : ndarray of shape (s, d)
        Empty for a precomputed kernel.
    n_support_ : ndarray of shape (c,)
        Number of support vectors of each class.
    dual_coef_ : ndarray of shape (1, s), one-against-one (c - 1, s), one-against-rest (c, s)
        y_i α_i. One against one: row r is for the pair with the r-th of the other classes.
    intercept_ : ndarray of shape (p,)
        b of each binary problem, averaged over its free support vectors.
    coef_ : ndarray of shape (p, d)
        w of each binary problem; linear kernel only, and read-only.
    margin_ : ndarray of shape (p,)
        The geometric margin 1 / ‖w‖, in feature space.
    dual_objective_, primal_objective_ : ndarray of shape (p,)
        The two objectives, which are equal at the optimum.
    kkt_residual_ : ndarray of shape (p,)
        Violation of the Karush-Kuhn-Tucker conditions.
    n_iter_ : ndarray of shape (p,)
        Steps of the dual solver.
    fit_status_ : int
        0 if every problem was solved to ``tol``, else 1.
    class_weight_ : ndarray of shape (c,)
        Factor of C for each class.

    Raises
    ------
    ValueError
        In ``fit``, if there is only one class, or C=inf and no hyperplane separates the classes.

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
        "random_state": ["random_state"],
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
        random_state: Any = None,
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
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Find the hyperplanes.

        Parameters
        ----------
        X : array-like of shape (n, d), or (n, n) for a precomputed kernel
        y : array-like of shape (n,)
        sample_weight : array-like of shape (n,), optional
            Multiplies C row by row; rows of weight zero are ignored.

        Returns
        -------
        self
        """
        X, codes, weight = self._check_fit(X, y, sample_weight)
        if self.classes_.size < 2:
            raise ValueError(
                f"SVC needs at least two classes, but y contains only one class: {self.classes_.tolist()}."
            )
        fit_rows, sample_weight = find_weighted_rows(sample_weight, codes.size)

        # After sorting by class, the rows of a class are consecutive, so its kernel values can be copied as a block.
        order = np.argsort(codes, kind="stable")
        X = X[order]
        codes = codes[order]
        weight = weight[order]
        fit_rows = fit_rows[order]
        sample_weight = sample_weight[order]
        self._set_class_weight(codes, weight / sample_weight)

        problems = list_binary_problems(codes, self.classes_.size, self.multi_class)
        space = make_training_space(
            self.kernel,
            self.gamma,
            self.coef0,
            self.degree,
            X,
            fit_rows,
            sample_weight,
            for_all_rows=problems[0].rows.size == codes.size,
        )
        row_C = scale_C(self.C, weight, space.length_unit)
        hyperplanes = fit_hyperplanes(space, row_C, problems, self.tol, self.max_iter)

        self._shift = space.shift
        self._gamma = space.gamma
        support = self._set_coefficients(hyperplanes, problems, codes)
        self.support_ = fit_rows[support]
        self.support_vectors_ = np.empty((0, 0)) if self.kernel == "precomputed" else X[support]
        if self.kernel == "linear":
            self._set_linear_coefficients(hyperplanes, space, support)
        self._set_diagnostics(hyperplanes)
        return self

    def _check_weight(self, sample_weight: Any, X: np.ndarray) -> np.ndarray:
        weight = np.asarray(1.0 if sample_weight is None else sample_weight)
        if weight.ndim == 1 and weight.dtype.kind in "fiu" and weight.size and (weight <= 0).all():
            raise ValueError("Invalid input - all samples have zero or negative weights.")
        return super()._check_weight(sample_weight, X)

    def _set_class_weight(self, codes: np.ndarray, factor: np.ndarray) -> None:
        """Store the weight of each class, given the codes (ascending) and the class weight of each row: both (n,)."""
        first_rows = np.searchsorted(codes, np.arange(self.classes_.size))
        self.class_weight_ = factor[first_rows]
        if not (self.class_weight_ > 0).all():
            raise ValueError(
                f"class_weight assigns {self.class_weight_.min():g} to a class; every class weight must be positive."
            )

    def _set_coefficients(
        self, hyperplanes: list[Hyperplane], problems: list[BinaryProblem], codes: np.ndarray
    ) -> np.ndarray:
        """Store the coefficients of the support vectors; return their positions among the sorted rows."""
        c = self.classes_.size
        beta = np.zeros((codes.size, len(hyperplanes)))  # (n, p)
        for column, (hyperplane, problem) in enumerate(zip(hyperplanes, problems, strict=True)):
            beta[problem.rows, column] = hyperplane.beta
        support = np.flatnonzero(beta.any(axis=1))
        self._expansion = beta[support]  # (s, p)
        self.n_support_ = np.bincount(codes[support], minlength=c)
        if c > 2 and self.multi_class == "ovo":
            self.dual_coef_ = arrange_dual_coef(self._expansion, codes[support], c)
        else:
            self.dual_coef_ = self._expansion.T
        self.intercept_ = np.array([hyperplane.intercept for hyperplane in hyperplanes])
        return support

    def _set_linear_coefficients(
        self, hyperplanes: list[Hyperplane], space: TrainingSpace, support: np.ndarray
    ) -> None:
        """Store w of each problem, and b relative to the original origin of the rows."""
        assert space.rows is not None
        normals = (self._expansion * space.length_unit).T @ space.rows[support]  # (p, d)
        # The primal's w is more precise than the sum over support vectors.
        for row, hyperplane in enumerate(hyperplanes):
            if hyperplane.normal is not None:
                normals[row] = hyperplane.normal
        self.__dict__["coef_"] = normals
        self.intercept_ -= normals @ self._shift

    def _set_diagnostics(self, hyperplanes: list[Hyperplane]) -> None:
        """Store how well each problem was solved, and warn if one was not."""
        self.margin_ = np.array([hyperplane.margin for hyperplane in hyperplanes])
        self.dual_objective_ = np.array([hyperplane.dual for hyperplane in hyperplanes])
        self.primal_objective_ = np.array([hyperplane.primal for hyperplane in hyperplanes])
        self.kkt_residual_ = np.array([hyperplane.residual for hyperplane in hyperplanes])
        self.n_iter_ = np.array([max(1, hyperplane.n_iter) for hyperplane in hyperplanes])
        self.fit_status_ = int(not all(hyperplane.converged for hyperplane in hyperplanes))
        if self.fit_status_:
            ended_early = (
                f"Solver terminated early (max_iter={self.max_iter}).  Consider pre-processing your data with "
            )
            opening = "" if self.max_iter == -1 else ended_early + "StandardScaler or MinMaxScaler. "
            warnings.warn(
                f"{opening}SVC stopped before it reached tol={self.tol:g}: the optimality conditions are violated "
                f"by {self.kkt_residual_.max():.2g}; raise max_iter, scale the columns, or lower C.",
                ConvergenceWarning,
                stacklevel=3,
            )

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags
