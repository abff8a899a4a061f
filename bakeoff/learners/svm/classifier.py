"""Support vector machine: the hyperplane with the widest margin, in the feature space of a kernel.

    f(x) = Σ_i α_i y_i K(x_i, x) + b,      0 ≤ α_i ≤ C_i,   Σ_i α_i y_i = 0

Only rows on or inside the margin, the support vectors, have α_i > 0.

`bakeoff.learners.definitions.svm` states the algorithms. This implementation is faster because SMO updates the gradient
instead of computing it for each step, block principal pivoting or a Newton step completes the solution that SMO
approaches, and the primal, which has d + 1 unknowns for a linear kernel, is solved if the dual would need too many
steps, for example for large C (`bakeoff.learners.svm.margins`).

Several classes are binary problems: one against the rest, or one against one, with a hyperplane for every pair of
classes, each with a vote. The pairs are (0, 1), (0, 2), … (1, 2), …; the lower class is on the positive side. They are
c (c - 1) / 2 fits on 2n/c rows each, which together take less time than c fits on n rows. A prediction turns f(x) of
every binary problem into a score for each class.

Cost to fit: O(n d²) for the linear primal; otherwise between O(n² d) and O(n³), depending on the number of support
vectors s. To predict: O(m s d), for the linear kernel O(m d).

References
----------
C. Cortes, V. Vapnik, "Support-vector networks", Machine Learning 20, 1995.
U. Kreßel, "Pairwise classification and support vector machines", in Advances in Kernel Methods, 1999.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from itertools import combinations, pairwise
from numbers import Integral, Real
from typing import Any, ClassVar, Self, final

import numpy as np
from scipy.sparse import issparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags
from sklearn.utils._param_validation import Interval, StrOptions

from bakeoff.learners.base.estimator import Classifier, label_one_against_rest
from bakeoff.learners.svm.gram import Kernel, TrainingSpace, make_gram_of_values, make_training_space
from bakeoff.learners.svm.margins import (
    MAX_C,
    Hyperplane,
    find_weighted_rows,
    fit_hard_margin,
    fit_soft_margin,
    scale_C,
)


def list_class_pairs(c: int) -> list[tuple[int, int]]:
    """Return the pairs of classes (lower, upper) in order."""
    return list(combinations(range(c), 2))


def count_votes(decision: np.ndarray, c: int) -> np.ndarray:
    """Count the pairs that each class wins.

    Parameters
    ----------
    decision : ndarray of shape (m, c (c - 1) / 2)
        f(x) of each pair, positive for the lower class.
    c : int

    Returns
    -------
    ndarray of shape (m, c)
    """
    votes = np.zeros((decision.shape[0], c))
    for column, (lower, upper) in enumerate(list_class_pairs(c)):
        is_lower = decision[:, column] > 0
        votes[:, lower] += is_lower
        votes[:, upper] += ~is_lower
    return votes


def score_by_votes(decision: np.ndarray, c: int) -> np.ndarray:
    """Return one score for each class, of shape (m, c): its votes, plus a confidence that breaks ties.

    Parameters
    ----------
    decision : ndarray of shape (m, c (c - 1) / 2)
        f(x) of each pair, positive for the lower class.
    c : int
    """
    confidence = np.zeros((decision.shape[0], c))
    for column, (lower, upper) in enumerate(list_class_pairs(c)):
        confidence[:, lower] += decision[:, column]
        confidence[:, upper] -= decision[:, column]
    # Scaled to ±1/3, the confidence never outweighs a vote.
    return count_votes(decision, c) + confidence / (3.0 * (np.abs(confidence) + 1.0))


def arrange_dual_coef(expansion: np.ndarray, codes: np.ndarray, c: int) -> np.ndarray:
    """Arrange coefficients as scikit-learn does: each support vector belongs to c - 1 pairs and has one for each.

    Parameters
    ----------
    expansion : ndarray of shape (s, c (c - 1) / 2)
        The coefficient of each support vector in each pair.
    codes : ndarray of shape (s,)
        The class codes of the support vectors, ascending.
    c : int

    Returns
    -------
    ndarray of shape (c - 1, s)
        Row r is for the pair with the r-th of the other classes.
    """
    dual_coef = np.zeros((c - 1, codes.size))
    edges = np.searchsorted(codes, np.arange(c + 1)).tolist()
    spans = [slice(start, stop) for start, stop in pairwise(edges)]
    for column, (lower, upper) in enumerate(list_class_pairs(c)):
        dual_coef[upper - 1, spans[lower]] = expansion[spans[lower], column]
        dual_coef[lower, spans[upper]] = expansion[spans[upper], column]
    return dual_coef


MIN_ROWS_PER_FEATURE = 3
"""Fewest rows per feature with which the linear primal may be solved."""

MAX_FEATURES_FOR_LARGE_C = 1000
"""With up to this number of features it may be solved for few rows as well, if C exceeds `MAX_C`."""

MIN_STEP_LIMIT = 100_000
STEPS_PER_ROW = 100


@final
@dataclass(frozen=True)
class BinaryProblem:
    """The rows of two classes, or of one class and the rest.

    Attributes
    ----------
    rows : ndarray of shape (n,)
        Positions in the training rows, the negative ones first.
    signs : ndarray of shape (n,)
        -1 or +1.
    """

    rows: np.ndarray
    signs: np.ndarray


def list_binary_problems(codes: np.ndarray, c: int, multi_class: str) -> list[BinaryProblem]:
    """Return the binary problems in the order of the decision function's columns.

    Parameters
    ----------
    codes : ndarray of shape (n,)
        Class codes 0..c-1, ascending.
    c : int
    multi_class : {"ovo", "ovr"}
    """
    # Two classes are one problem, with the second class on the positive side.
    if c == 2 or multi_class == "ovr":
        return [_make_problem(signs) for signs in label_one_against_rest(codes, c)]
    class_starts = np.searchsorted(codes, np.arange(1, c))
    rows_of_class = np.split(np.arange(codes.size), class_starts)
    problems = []
    for lower, upper in list_class_pairs(c):
        negative = rows_of_class[upper]
        positive = rows_of_class[lower]
        rows = np.concatenate([negative, positive])
        signs = np.repeat([-1.0, 1.0], [negative.size, positive.size])
        problems.append(BinaryProblem(rows, signs))
    return problems


def _make_problem(signs: np.ndarray) -> BinaryProblem:
    rows = np.argsort(signs, kind="stable")
    return BinaryProblem(rows, signs[rows])


def fit_hyperplane(
    space: TrainingSpace, C: np.ndarray, problem: BinaryProblem, tol: float, max_iter: int
) -> Hyperplane:
    """Find the hyperplane of a problem.

    Parameters
    ----------
    space : TrainingSpace
        The space of all training rows.
    C : ndarray of shape (n,)
        C of each row of the problem, in the unit of length of the space; all infinite for the hard margin.
    problem : BinaryProblem
    tol : float
    max_iter : int
        Maximum number of steps, as for `SVC`.
    """
    n = problem.rows.size
    # If a problem contains all rows in order, it uses the whole Gram matrix without a copy.
    is_whole = n == space.gram.diagonal.size and bool((np.diff(problem.rows) == 1).all())
    gram = space.gram if is_whole else space.gram.restrict_to(problem.rows)
    primal_rows = _take_primal_rows(space, C, problem)
    max_steps = max(MIN_STEP_LIMIT, STEPS_PER_ROW * n) if max_iter == -1 else max_iter
    if np.isinf(C).any():
        hyperplane = fit_hard_margin(gram, problem.signs, tol, max_steps, primal_rows)
    else:
        hyperplane = fit_soft_margin(gram, problem.signs, C, tol, max_steps, primal_rows)
    return hyperplane.in_length_unit(space.length_unit)


def _take_primal_rows(space: TrainingSpace, C: np.ndarray, problem: BinaryProblem) -> np.ndarray | None:
    """Return the rows (n, d) of the problem if the linear primal may be solved for them, otherwise None."""
    if space.rows is None:
        return None
    d = space.rows.shape[1]
    has_many_rows = problem.rows.size >= MIN_ROWS_PER_FEATURE * d
    needs_digits = d <= MAX_FEATURES_FOR_LARGE_C and float(C.max()) > MAX_C
    return space.rows[problem.rows] if has_many_rows or needs_digits else None


@final
class SVC(Classifier):
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
        space = self._make_space(X, fit_rows, sample_weight, for_all_rows=problems[0].rows.size == codes.size)
        row_C = scale_C(self.C, weight, space.length_unit)
        hyperplanes = [
            fit_hyperplane(space, row_C[problem.rows], problem, self.tol, self.max_iter) for problem in problems
        ]

        self._shift = space.shift  # (d,) or (1,), subtracted from every row
        self._gamma = space.gamma
        support = self._set_coefficients(hyperplanes, problems, codes)
        self.support_ = fit_rows[support]
        self.support_vectors_ = np.empty((0, 0)) if self.kernel == "precomputed" else X[support]
        if self.kernel == "linear":
            self._set_linear_coefficients(hyperplanes, space, support)
        self._set_diagnostics(hyperplanes)
        return self

    def _make_space(
        self, X: np.ndarray, fit_rows: np.ndarray, sample_weight: np.ndarray, *, for_all_rows: bool
    ) -> TrainingSpace:
        """Return the space of training rows with these positions in ``fit``'s input, and these weights: both (n,)."""
        if callable(self.kernel):
            return TrainingSpace(make_gram_of_values(self.kernel(X, X)), np.zeros(1))
        if self.kernel != "precomputed":
            parameters = self.kernel, self.gamma, float(self.coef0), int(self.degree)
            return make_training_space(*parameters, X, sample_weight, for_all_rows=for_all_rows)
        if fit_rows.max() >= X.shape[1]:
            raise ValueError(
                "kernel='precomputed' needs a square X, the kernel matrix of the training rows; X has "
                f"{X.shape[1]} columns."
            )
        return TrainingSpace(make_gram_of_values(X[:, fit_rows]), np.zeros(1))

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
        is_support = np.zeros(codes.size, dtype=bool)
        for hyperplane, problem in zip(hyperplanes, problems, strict=True):
            is_support[problem.rows] |= hyperplane.beta != 0
        support = np.flatnonzero(is_support)
        place = np.cumsum(is_support) - 1  # (n,), among the support vectors
        # Rows that support no hyperplane need no memory here.
        self._expansion = np.zeros((support.size, len(hyperplanes)))  # (s, p), coefficients of the kernel values
        for column, (hyperplane, problem) in enumerate(zip(hyperplanes, problems, strict=True)):
            used = np.flatnonzero(hyperplane.beta)
            self._expansion[place[problem.rows[used]], column] = hyperplane.beta[used]
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
            If ``break_ties`` is combined with ``decision_function_shape="ovo"``, whose scores do not belong to classes.
        """
        if self.break_ties and self.decision_function_shape == "ovo":
            raise ValueError(
                "break_ties must be False when decision_function_shape is 'ovo': ties are broken by the "
                "confidence of each class, which 'ovo' does not provide; use 'ovr'."
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
            Two classes: f(x), positive for ``classes_[1]``. One against the rest: f(x) of each class. One against one:
            with shape "ovo", f(x) of each pair, positive for its lower class; with "ovr", votes plus a confidence
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

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags
