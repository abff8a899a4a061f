"""The binary problems of one fit, and the hyperplane of each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from bakeoff.learners.base.multiclass import label_one_against_rest
from bakeoff.learners.svm.hard_margin import fit_hard_margin
from bakeoff.learners.svm.hyperplane import Hyperplane
from bakeoff.learners.svm.kernel.training_space import TrainingSpace
from bakeoff.learners.svm.one_vs_one import list_class_pairs
from bakeoff.learners.svm.soft_margin import MAX_C, fit_soft_margin

MIN_ROWS_PER_FEATURE = 3
"""Fewest rows per feature with which the linear primal may be solved."""

MAX_FEATURES_FOR_LARGE_C = 1000
"""With up to this number of features it may be solved for few rows as well, if C exceeds `MAX_C`."""

MIN_STEP_LIMIT = 100_000
STEPS_PER_ROW = 100


@final
@dataclass(frozen=True)
class BinaryProblem:
    """Rows of two classes.

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
        Of the n rows.
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
    """Find the hyperplane of one problem, given C of its rows."""
    n = problem.rows.size
    # If a problem contains all rows in order, it uses the whole Gram matrix without a copy.
    is_in_order = bool((np.diff(problem.rows) == 1).all())
    gram = space.gram if n == space.gram.diagonal.size and is_in_order else space.gram.restrict_to(problem.rows)
    primal_rows = _take_primal_rows(space, C, problem)
    max_steps = max(MIN_STEP_LIMIT, STEPS_PER_ROW * n) if max_iter == -1 else max_iter
    if np.isinf(C).any():
        hyperplane = fit_hard_margin(gram, problem.signs, tol, max_steps, primal_rows)
    else:
        hyperplane = fit_soft_margin(gram, problem.signs, C, tol, max_steps, primal_rows)
    return hyperplane.in_length_unit(space.length_unit)


def _take_primal_rows(space: TrainingSpace, C: np.ndarray, problem: BinaryProblem) -> np.ndarray | None:
    """Return the rows (n, d) of the problem if the linear primal may be solved for them, else None."""
    if space.rows is None:
        return None
    d = space.rows.shape[1]
    has_many_rows = problem.rows.size >= MIN_ROWS_PER_FEATURE * d
    needs_digits = d <= MAX_FEATURES_FOR_LARGE_C and float(C.max()) > MAX_C
    return space.rows[problem.rows] if has_many_rows or needs_digits else None
