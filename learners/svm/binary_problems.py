"""The binary problems of one fit: which rows count, and the machine of each problem."""

from __future__ import annotations

from typing import Any

import numpy as np

from bakeoff.learners.svm.hard_margin import fit_hard_margin
from bakeoff.learners.svm.hyperplane import Hyperplane
from bakeoff.learners.svm.kernel.training_space import TrainingSpace
from bakeoff.learners.svm.soft_margin import MAX_C, fit_soft_margin

MIN_ROWS_PER_FEATURE = 3
"""The linear primal is solved for the soft margin with at least so many rows for each feature."""

MAX_FEATURES = 1000
"""Up to so many features, and however few the rows, it may have the word on the hard margin and dear slack."""

Problem = tuple[np.ndarray, np.ndarray]
"""The rows of a binary problem, the negative ones first, and their signs."""


def fit_hyperplanes(
    space: TrainingSpace, prices: np.ndarray, problems: list[Problem], tol: float, max_iter: int
) -> list[Hyperplane]:
    """Find the hyperplane of every problem.

    Parameters
    ----------
    space : TrainingSpace
        Of the n rows.
    prices : ndarray of shape (n,)
        C of each row; all infinite for the hard margin.
    problems : list of (rows, signs)
        As from `binary_problems`.
    tol : float
    max_iter : int
        Steps for one problem; -1 as of `SVC`.
    """
    return [_fit_problem(space, prices, problem, tol, max_iter) for problem in problems]


def _fit_problem(space: TrainingSpace, prices: np.ndarray, problem: Problem, tol: float, max_iter: int) -> Hyperplane:
    members, signs = problem
    everyone = members.size == prices.size and bool((np.diff(members) == 1).all())
    gram = space.gram if everyone else space.gram.restrict_to(members)
    hard = bool(np.isinf(prices[members]).any())
    rows = None
    if space.rows is not None:
        d = space.rows.shape[1]
        dear = d <= MAX_FEATURES and float(prices[members].max()) > MAX_C
        rows = space.rows[members] if members.size >= MIN_ROWS_PER_FEATURE * d or dear else None
    steps = max(100_000, 100 * members.size) if max_iter == -1 else max_iter
    if hard:
        machine = fit_hard_margin(gram, signs, tol, steps, rows)
    else:
        machine = fit_soft_margin(gram, signs, prices[members], tol, steps, rows)
    return machine.in_unit(space.length_unit)


def counted_rows(sample_weight: Any, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the positions and weights of the ``count`` rows whose weight is not zero."""
    weight = np.asarray(1.0 if sample_weight is None else sample_weight, dtype=np.float64)
    if weight.ndim == 0:
        return np.arange(count), np.ones(count)
    kept = np.flatnonzero(weight > 0)
    return kept, weight[kept]
