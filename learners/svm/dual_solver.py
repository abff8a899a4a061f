"""Solve the dual: decomposition into working sets, SMO within them, and finally pivoting or a Newton step.

With few rows, the working set contains all of them. With more rows, it contains those that violate the optimality
conditions most. Their subproblem is solved with its own kernel matrix, and one product updates the gradient of all
rows: O(n q d) for a working set of q rows, with at most q² kernel values in memory.

References
----------
T. Joachims, "Making large-scale SVM learning practical", in Advances in Kernel Methods, 1999.
J. C. Platt, "Fast training of support vector machines using sequential minimal optimization", ibid.
"""

from __future__ import annotations

import numpy as np

from bakeoff.learners.svm.gram import Gram, StoredGram
from bakeoff.learners.svm.newton import guess_free_rows, solve_by_pivoting, take_newton_step
from bakeoff.learners.svm.quadratic_program import BoxConstraints, DualPoint, find_free_rows, measure_violation
from bakeoff.learners.svm.smo import run_smo

WORKING_SET_ROWS = 1024
"""Rows of a working set, and the largest number of training rows that are solved all at once.

Kernel values take most of the time, and most rows need none.
"""

MAX_WORKING_SET_ROWS = 2048
"""Largest working set, however many support vectors there are: its kernel matrix takes 32 MB."""

SMO_STEPS_PER_CUBED_FREE_ROW = 4e-6
"""f free rows: a linear system costs as much as this number times f³ SMO steps. Both get equal time."""

SMO_STEPS_BEFORE_LARGE_SYSTEM = 2000
"""Linear systems that cost more SMO steps than this must wait until as many have been taken."""

MIN_SMO_STEPS = 48
"""Fewest SMO steps between two guesses of the active set."""

HARD_PROBLEM_SMO_STEPS = 256
"""A problem that takes more steps is a hard one: SMO switches to second-order selection, and a Newton step is tried."""

MAX_POLISHING_STEPS = 3
"""Newton's steps taken after the tolerance was met: rounding could continue them without end."""

EXTRA_GUESSED_ROWS = 16
"""Free rows that a guess may have in addition to twice those of the point."""

LOOSE_VIOLATION = 0.1
"""Violation, in units of the margin, below which the working set hardly changes any more."""

LOOSE_TOLERANCE_RATIO = 0.1
"""Tolerance within a working set, relative to the violation over all rows, while that exceeds `LOOSE_VIOLATION`."""


def solve_dual(gram: Gram, box: BoxConstraints, point: DualPoint, tol: float, max_iter: int) -> None:
    """Minimize from the given point, in place, until the violation is at most ``tol``.

    Parameters
    ----------
    gram : Gram
    box : BoxConstraints
    point : DualPoint
        Within the box; its ``gradient`` must be that of its ``beta``.
    tol : float
    max_iter : int
        If this number of steps is reached first, ``point.converged`` stays False.
    """
    n = point.beta.size
    while point.n_iter < max_iter:
        rows = _select_working_set(box, point)
        max_steps = max_iter - point.n_iter
        if rows.size == n:
            point.n_iter += _solve_working_set(gram, box, point, tol, max_steps)
        else:
            _improve_rows(gram, box, point, rows, tol, max_steps)
        if measure_violation(box, point) <= tol:
            point.converged = True
            return


def _improve_rows(
    gram: Gram, box: BoxConstraints, point: DualPoint, rows: np.ndarray, tol: float, max_steps: int
) -> None:
    """Solve for some rows while the others are fixed, and update the gradient of all rows."""
    # Far from the optimum, a working set need not be solved to the last digit.
    violation = measure_violation(box, point)
    working_tol = max(tol, LOOSE_TOLERANCE_RATIO * violation) if violation > LOOSE_VIOLATION else tol
    working_point = point.restrict_to(rows)
    working_gram = StoredGram(gram.take_block(rows), gram.offset[rows])
    working_box = box.restrict_to(rows)
    point.n_iter += _solve_working_set(working_gram, working_box, working_point, working_tol, max_steps)

    # Most rows of a working set keep their β: only the others change the gradient of all rows.
    change = working_point.beta - point.beta[rows]  # (q,)
    moved = np.flatnonzero(change)
    point.beta[rows] = working_point.beta
    point.gradient += gram.multiply_columns(rows[moved], change[moved])


def _solve_working_set(gram: Gram, box: BoxConstraints, point: DualPoint, tol: float, max_steps: int) -> int:
    """Solve for all rows of ``gram``, changing the point in place; return the number of steps.

    SMO approaches the optimum, and pivoting or a Newton step comes last: it places the free rows on the margin up to
    rounding, for any tolerance.
    """
    K = gram.take_block(np.arange(point.beta.size))
    taken = 0
    polishing_steps = 0
    n_free = _count_free_rows(box, point)
    while taken < max_steps:
        # SMO first: its steps are cheap, and far from the optimum a guess of the active set would be wrong.
        planned = min(_plan_smo_steps(taken, n_free), max_steps - taken)
        steps = run_smo(K, box, point, tol, planned, second_order=taken >= HARD_PROBLEM_SMO_STEPS)
        taken += steps + 1
        is_hard = taken >= HARD_PROBLEM_SMO_STEPS
        is_within_tol = steps < planned
        n_free = _count_free_rows(box, point)

        # A linear system of many free rows is solved only after SMO steps of the same total cost.
        if SMO_STEPS_PER_CUBED_FREE_ROW * n_free**3 > SMO_STEPS_BEFORE_LARGE_SYSTEM + taken:
            if is_within_tol:
                break
            continue

        # A guess with many more free rows than the point has indicates a point far from the optimum.
        guess = guess_free_rows(box, point, 0.5 * tol)
        max_guessed = 2 * n_free + EXTRA_GUESSED_ROWS
        is_near = np.count_nonzero(guess) <= max_guessed
        if is_near and solve_by_pivoting(gram, box, point, guess, 0.5 * tol, 2 * max_guessed):
            break

        # At the tolerance, a Newton step removes the remaining error; before, it saves SMO steps on hard problems.
        if is_within_tol or (is_near and is_hard):
            moved = take_newton_step(K, box, point)
            polishing_steps += is_within_tol
            is_polished = not moved or polishing_steps > MAX_POLISHING_STEPS
            if is_within_tol and (is_polished or measure_violation(box, point) <= tol):
                break
    return min(taken, max_steps)  # the last linear system is no step beyond the limit


def _plan_smo_steps(taken: int, n_free: int) -> int:
    """Return the number of SMO steps before the next linear system, given the steps taken so far."""
    growing = min(taken // 2, HARD_PROBLEM_SMO_STEPS)
    cost_of_system = int(SMO_STEPS_PER_CUBED_FREE_ROW * n_free**3)
    return max(MIN_SMO_STEPS, growing, cost_of_system)


def _count_free_rows(box: BoxConstraints, point: DualPoint) -> int:
    return int(np.count_nonzero(find_free_rows(box, point)))


def _select_working_set(box: BoxConstraints, point: DualPoint) -> np.ndarray:
    """Return the rows with the least gradient among those that may rise, and the largest among those that may fall."""
    n = point.beta.size
    size = _choose_working_set_size(point.beta)
    if n <= size:
        return np.arange(n)
    rising = np.where(point.beta < box.high, point.gradient, np.inf)  # (n,)
    falling = np.where(point.beta > box.low, -point.gradient, np.inf)  # (n,)
    rows_per_kind = size // (2 * len(box.groups))
    chosen = np.zeros(n, dtype=bool)
    # The same number of both kinds from every group, so that each group contains pairs that can be changed.
    for group in box.groups:
        for order in (rising[group], falling[group]):
            if order.size <= rows_per_kind:
                chosen[group] = True
                continue
            first = np.argpartition(order, rows_per_kind)[:rows_per_kind]
            movable = first[np.isfinite(order[first])]
            chosen[group.start + movable] = True
    return np.flatnonzero(chosen)


def _choose_working_set_size(beta: np.ndarray) -> int:
    """Return the size of the working set: all rows if there are few, else at least the current support vectors."""
    n = beta.size
    if n <= WORKING_SET_ROWS:
        return n
    third = min(max(WORKING_SET_ROWS // 2, n // 3), WORKING_SET_ROWS)
    n_support = int(np.count_nonzero(beta))
    return min(max(third, n_support), MAX_WORKING_SET_ROWS)
