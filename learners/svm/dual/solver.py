"""Solve the dual: working sets of rows, pairs of rows within them, pivoting or Newton's step to finish.

With few rows the working set is all of them.  With more, the rows that violate the optimality conditions most are
taken, solved among themselves with their own kernel matrix, and the gradient of all rows brought up to date with one
product: O(n q d) for a working set of q rows, with no more than q² kernel values in memory.

Reference: T. Joachims, "Making large-scale SVM learning practical", in Advances in Kernel Methods, 1999; J. C. Platt,
"Fast training of support vector machines using sequential minimal optimization", ibid.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from bakeoff.learners.svm.dual.block_principal_pivoting import guess_free_rows, solve_by_pivoting
from bakeoff.learners.svm.dual.box_constraints import BoxConstraints, measure_violation
from bakeoff.learners.svm.dual.newton import take_newton_step
from bakeoff.learners.svm.dual.smo import run_smo
from bakeoff.learners.svm.kernel.gram import Gram, StoredGram

WORKING_SET_ROWS = 1024
"""Rows solved together, and all rows up to so many: kernel values are the dearest part, and most rows need none."""

MAX_WORKING_SET_ROWS = 2048
"""The most rows solved together, however many support vectors there are: their kernel matrix takes 32 MB."""

STEP_COST = 4e-6
"""Steps of a pair that cost as much as Newton's on one free row, cubed: the two get equal time."""

PATIENCE = 48
"""The fewest steps of a pair between two guesses."""

CLOSE = 0.1
"""A violation, in units of the margin, from which on the working set hardly changes."""

LULL = 256
"""After so many steps the problem is a hard one: further ones choose by gain, and Newton's is among them."""

POLISHES = 3
"""How often Newton's step, at the tolerance, may be followed by more steps of a pair: rounding could go on for ever."""


@final
@dataclass
class DualPoint:
    """Where the solver stands.

    Attributes
    ----------
    beta : ndarray of shape (n,)
        β_i = y_i α_i.
    gradient : ndarray of shape (n,)
        Kβ - p.
    n_iter : int
        Pair steps and Newton steps taken.
    converged : bool
    """

    beta: np.ndarray
    gradient: np.ndarray
    n_iter: int = 0
    converged: bool = False


def solve_dual(gram: Gram, box: BoxConstraints, point: DualPoint, tol: float, max_iter: int) -> None:
    """Minimise from the given point, in place, until the violation is at most ``tol``.

    Parameters
    ----------
    gram : Gram
    box : BoxConstraints
    point : DualPoint
        Within the box; its ``beta`` and ``gradient`` belong together.
    tol : float
    max_iter : int
        The most steps, then ``point.converged`` is False.
    """
    n = point.beta.size
    while point.n_iter < max_iter:
        rows = _working_set(box, point.beta, point.gradient)
        budget = max_iter - point.n_iter
        if rows.size == n:
            point.n_iter += _minimise(gram, box, point.beta, point.gradient, tol, budget)
        else:
            # Far from the optimum a working set need not be solved to the last digit.
            fails = measure_violation(box, point.beta, point.gradient)
            goal = max(tol, 0.1 * fails) if fails > CLOSE else tol
            beta, gradient = point.beta[rows], point.gradient[rows]
            inner = StoredGram(gram.take_block(rows), gram.level[rows])
            point.n_iter += _minimise(inner, box.restrict_to(rows), beta, gradient, goal, budget)
            change = beta - point.beta[rows]
            point.beta[rows] = beta
            moved = np.flatnonzero(change)
            point.gradient += gram.product(rows[moved], change[moved])
        if measure_violation(box, point.beta, point.gradient) <= tol:
            point.converged = True
            return


def _minimise(gram: Gram, box: BoxConstraints, beta: np.ndarray, gradient: np.ndarray, tol: float, budget: int) -> int:
    """Solve one working set; return the steps taken.

    Pivoting or Newton's step comes last of all: it leaves the free rows on the margin to rounding, whatever the
    tolerance.
    """
    K = gram.take_block(np.arange(beta.size))
    taken = polished = 0
    free = _free(box, beta)
    while taken < budget:
        limit = min(max(PATIENCE, min(taken // 2, LULL), int(STEP_COST * free**3)), budget - taken)
        steps = run_smo(K, box, beta, gradient, tol, limit, second_order=taken >= LULL)
        taken += steps + 1
        met, free = steps < limit, _free(box, beta)
        # With many free rows a linear system must have been paid for by as much work before it.
        if STEP_COST * free**3 > 2000 + taken:
            if met:
                break
            continue
        guess, most = guess_free_rows(box, beta, gradient, 0.5 * tol), 2 * free + 16
        near = np.count_nonzero(guess) <= most
        if near and solve_by_pivoting(gram, box, beta, gradient, guess, 0.5 * tol, 2 * most):
            break
        if not met and not (near and taken >= LULL):
            continue
        polished += met
        moved = take_newton_step(K, box, beta, gradient)
        if met and (not moved or polished > POLISHES or measure_violation(box, beta, gradient) <= tol):
            break
    return taken


def _free(box: BoxConstraints, beta: np.ndarray) -> int:
    """Return how many rows lie between their bounds."""
    return int(np.count_nonzero((beta > box.low) & (beta < box.high)))


def _working_set(box: BoxConstraints, beta: np.ndarray, gradient: np.ndarray) -> np.ndarray:
    """Choose the rows with the least gradient of those that may rise, and the greatest of those that may fall."""
    if beta.size <= WORKING_SET_ROWS:
        return np.arange(beta.size)
    some = min(max(WORKING_SET_ROWS // 2, beta.size // 3), WORKING_SET_ROWS)
    size = min(max(some, int(np.count_nonzero(beta))), MAX_WORKING_SET_ROWS)
    if beta.size <= size:
        return np.arange(beta.size)
    share = size // (2 * len(box.groups))
    chosen = np.zeros(beta.size, dtype=bool)
    for group in box.groups:
        for order in (np.where(beta < box.high, gradient, np.inf), np.where(beta > box.low, -gradient, np.inf)):
            inside = order[group]
            if inside.size <= share:
                chosen[group] = True
                continue
            first = np.argpartition(inside, share)[:share]
            chosen[group.start + first[np.isfinite(inside[first])]] = True
    return np.flatnonzero(chosen)
