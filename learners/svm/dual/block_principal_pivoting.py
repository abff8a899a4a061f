"""Block principal pivoting: guess the active set, solve for the free rows, and correct the guess for all rows at once.

The active set contains the rows that lie on a bound. Given the active set, the free rows are the solution of one
linear system (see `kkt_system`). The solution shows which rows of the guess are wrong:

    free rows that the solution puts on or beyond a bound belong to the active set;
    active rows whose gradient is on the wrong side of the multiplier λ are free.

If no row is wrong, the optimality conditions hold to rounding. From a point near the optimum, a few guesses replace
hundreds of SMO steps. Guesses may also cycle; in that case the point is left unchanged, and other steps have to come
nearer to the optimum first.

Cost: O(f³ + f n) for a guess with f free rows.

References
----------
L. F. Portugal, J. J. Júdice, L. N. Vicente, "A comparison of block pivoting and interior-point algorithms for linear
least squares problems with nonnegative variables", Mathematics of Computation 63, 1994.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from bakeoff.learners.svm.dual.kkt_system import locate_groups, solve_kkt_system
from bakeoff.learners.svm.dual.quadratic_program import (
    BoxConstraints,
    DualPoint,
    estimate_multipliers,
    find_free_rows,
)
from bakeoff.learners.svm.kernel.gram import Gram

MAX_STALLED_GUESSES = 3
"""Guesses in a row without fewer wrong rows than the best guess had; after these, the guesses are taken to cycle."""

RIDGE_RATIO = 1e-13
"""Added to the diagonal, relative to its largest entry, as in `newton`."""


def guess_free_rows(box: BoxConstraints, point: DualPoint, tol: float) -> np.ndarray:
    """Guess the free rows at the optimum from a point near it.

    Parameters
    ----------
    box : BoxConstraints
    point : DualPoint
    tol : float
        A row on a bound counts as free if its violation is larger than this.

    Returns
    -------
    ndarray of shape (n,), bool
        The rows between their bounds, and the rows on a bound that should leave it.
    """
    multiplier = _repeat_per_row(box, estimate_multipliers(box, point))
    should_rise = (point.beta < box.high) & (point.gradient < multiplier - tol)
    should_fall = (point.beta > box.low) & (point.gradient > multiplier + tol)
    return find_free_rows(box, point) | should_rise | should_fall


@final
@dataclass(frozen=True)
class _GuessSolution:
    """The solution of the linear system for one guess of the free rows.

    Attributes
    ----------
    bound : ndarray of shape (n,)
        The bound of each row that is not free.
    change : ndarray of shape (n,)
        Δ, from the starting point.
    gradient : ndarray of shape (n,)
        The gradient after this change.
    multipliers : list of float
        λ of each group.
    """

    bound: np.ndarray
    change: np.ndarray
    gradient: np.ndarray
    multipliers: list[float]


def solve_by_pivoting(
    gram: Gram,
    box: BoxConstraints,
    point: DualPoint,
    free: np.ndarray,
    tol: float,
    max_free: int,
) -> bool:
    """Solve the program from a guess, changing the point in place; if it fails, the point is left unchanged.

    Parameters
    ----------
    gram : Gram
    box : BoxConstraints
    point : DualPoint
    free : ndarray of shape (n,), bool
        The guess.
    tol : float
        Largest violation of the rows in the active set.
    max_free : int
        Largest number of free rows in a guess.

    Returns
    -------
    bool
        Whether it was solved.
    """
    at_high = point.beta >= box.high  # (n,), the bound of each active row
    fewest_wrong = point.beta.size + 1
    stalled = 0
    while stalled < MAX_STALLED_GUESSES and 0 < np.count_nonzero(free) <= max_free:
        solution = _solve_guess(gram, box, point, free, at_high)
        if solution is None:
            return False

        # Find the rows that are in the wrong set according to the solution.
        target = point.beta + solution.change
        above = free & (target >= box.high)
        below = free & (target <= box.low)
        excess = solution.gradient - _repeat_per_row(box, solution.multipliers)
        leaving = ~free & (np.where(at_high, excess, -excess) > tol)
        wrong = int(np.count_nonzero(above | below | leaving))
        if not wrong:
            # Twice the change of the objective: an indefinite K may lead to a maximum.
            if float((point.gradient + solution.gradient) @ solution.change) >= 0.0:
                return False
            point.beta[:] = np.where(free, target, solution.bound)
            point.gradient[:] = solution.gradient
            return True

        # More wrong rows than free ones: the start was too far from the optimum.
        if wrong > np.count_nonzero(free):
            return False
        # Exchange all wrong rows at once, unless the guesses have begun to cycle.
        if wrong < fewest_wrong:
            fewest_wrong = wrong
            stalled = 0
        else:
            stalled += 1
        free = (free & ~above & ~below) | leaving
        at_high = (at_high | above) & ~below
    return False


def _solve_guess(
    gram: Gram, box: BoxConstraints, point: DualPoint, free: np.ndarray, at_high: np.ndarray
) -> _GuessSolution | None:
    """Put the active rows on their bounds and solve for the free rows; return None if there is no solution.

    Every group needs a free row, which determines its multiplier.
    """
    free_rows = free.nonzero()[0]  # (f,)
    groups, spans = locate_groups(box, free_rows)
    if len(groups) < len(box.groups):
        return None

    bound = np.where(at_high, box.high, box.low)  # (n,)
    change = np.where(free, 0.0, bound - point.beta)  # (n,)
    # The moves of active rows to their bounds change the gradient of the free rows.
    moved = change.nonzero()[0]
    gradient = point.gradient
    if moved.size:
        gradient = gradient + change[moved] @ gram.take_rows(moved)

    K_free = gram.take_rows(free_rows)  # (f, n)
    totals = [-float(change[group].sum()) for group in groups]
    solution = solve_kkt_system(K_free.take(free_rows, axis=1), spans, gradient[free_rows], totals, RIDGE_RATIO)
    if solution is None:
        return None
    free_change, multipliers = solution
    change[free_rows] = free_change
    return _GuessSolution(bound, change, gradient + free_change @ K_free, multipliers)


def _repeat_per_row(box: BoxConstraints, per_group: list[float]) -> np.ndarray | float:
    """Return the number of each row's group: shape (n,), or one number if there is one group."""
    if len(per_group) == 1:
        return per_group[0]
    sizes = [group.stop - group.start for group in box.groups]
    return np.repeat(per_group, sizes)
