"""One against one: a hyperplane for every pair of classes, each with a vote.

The pairs are (0, 1), (0, 2), … (1, 2), …; the lower class is on the positive side. Cost: c (c - 1) / 2 fits on 2n/c
rows each, which together take less time than c fits on n rows.

References
----------
U. Kreßel, "Pairwise classification and support vector machines", in Advances in Kernel Methods, 1999.

A fitted machine predicts from f(x) of every binary problem, which yields a score for each class. SciPy's sparse tables
are recognised only to reject them.

Cost: O(m s d) for s support vectors, for the linear kernel O(m d).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Any, final

import numpy as np
from scipy.sparse import issparse

from bakeoff.learners.base.estimator import Classifier, label_one_against_rest
from bakeoff.learners.svm.gram import Kernel
from bakeoff.learners.svm.hyperplane import Hyperplane
from bakeoff.learners.svm.margins import MAX_C, fit_hard_margin, fit_soft_margin
from bakeoff.learners.svm.training_space import TrainingSpace


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


def fit_hyperplanes(
    space: TrainingSpace, C: np.ndarray, problems: list[BinaryProblem], tol: float, max_iter: int
) -> list[Hyperplane]:
    """Find the hyperplane of every problem.

    Parameters
    ----------
    space : TrainingSpace
        The space of the n rows.
    C : ndarray of shape (n,)
        C of each row, in the unit of length of the space; all infinite for the hard margin.
    problems : list of BinaryProblem
    tol : float
    max_iter : int
        Maximum number of steps for one problem, as for `SVC`.
    """
    return [_fit_hyperplane(space, C[problem.rows], problem, tol, max_iter) for problem in problems]


def _make_problem(signs: np.ndarray) -> BinaryProblem:
    rows = np.argsort(signs, kind="stable")
    return BinaryProblem(rows, signs[rows])


def _fit_hyperplane(
    space: TrainingSpace, C: np.ndarray, problem: BinaryProblem, tol: float, max_iter: int
) -> Hyperplane:
    """Find the hyperplane of one problem, given C of each row."""
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
