"""Block pivoting: guess which rows lie on a bound, solve for the others, and correct the guess, all rows at once.

If β_i is right to lie on its bound for the rows outside F, the rows in F solve one linear system (see `newton`):

    K_FF Δ = λ - gradient_F,   Σ Δ = 0 within each group.

Rows of F that the solution puts beyond a bound belong on that bound; rows on a bound whose gradient asks them to leave
it belong to F.  When no row is wrong, the optimality conditions hold to rounding.  From a point near the optimum a few
guesses do what hundreds of steps would.  Guesses may also go in circles: then nothing is changed, and other steps
must come nearer first.

Cost: O(f³ + f n) for a guess with f free rows.

Reference: L. F. Portugal, J. J. Júdice, L. N. Vicente, "A comparison of block pivoting and interior-point algorithms
for linear least squares problems with nonnegative variables", Mathematics of Computation 63, 1994.
"""

from __future__ import annotations

import numpy as np

from bakeoff.learners.svm.dual.box_constraints import BoxConstraints, estimate_multipliers
from bakeoff.learners.svm.dual.kkt_system import locate_groups, solve_kkt_system
from bakeoff.learners.svm.kernel.gram import Gram

PATIENCE = 3
"""Guesses in a row with no fewer wrong rows than the best had, after which they go in circles."""

RIDGE = 1e-13
"""Added to the diagonal, relative to the largest: see `newton`."""


def guess_free_rows(box: BoxConstraints, beta: np.ndarray, gradient: np.ndarray, tol: float) -> np.ndarray:
    """Return which rows a point says are free: those between their bounds, and those that want to be, (n,) bool.

    Parameters
    ----------
    box : BoxConstraints
    beta, gradient : ndarray of shape (n,)
    tol : float
    """
    level = _per_row(box, estimate_multipliers(box, beta, gradient))
    rises, falls = beta < box.high, beta > box.low
    return (rises & falls) | (rises & (gradient < level - tol)) | (falls & (gradient > level + tol))


def solve_by_pivoting(
    gram: Gram, box: BoxConstraints, beta: np.ndarray, gradient: np.ndarray, free: np.ndarray, tol: float, most: int
) -> bool:
    """Solve the programme from a guess, changing ``beta`` and ``gradient`` in place; if it fails, they stay.

    Parameters
    ----------
    gram : Gram
    box : BoxConstraints
    beta, gradient : ndarray of shape (n,)
    free : ndarray of shape (n,), bool
        The guess.
    tol : float
        The violation that rows on a bound may have.
    most : int
        The most free rows that may be guessed.

    Returns
    -------
    bool
        Whether it was solved.
    """
    on_high = beta >= box.high  # of rows that are not free, which bound
    fewest, waited = beta.size + 1, 0
    while waited < PATIENCE and 0 < np.count_nonzero(free) <= most:
        rows, bound = free.nonzero()[0], np.where(on_high, box.high, box.low)
        change = np.where(free, 0.0, bound - beta)
        fixed = change.nonzero()[0]
        slope = gradient + change[fixed] @ gram.take_rows(fixed) if fixed.size else gradient
        groups, spans = locate_groups(box, rows)
        lines = gram.take_rows(rows)  # (f, n)
        sums = [-float(change[group].sum()) for group in groups]
        solved = solve_kkt_system(lines.take(rows, axis=1), spans, slope[rows], sums, RIDGE)
        if solved is None or len(groups) < len(box.groups):
            return False
        change[rows] = solved[0]
        slope = slope + solved[0] @ lines
        target, excess = beta + change, slope - _per_row(box, solved[1])
        above, below = free & (target >= box.high), free & (target <= box.low)
        leaving = ~free & (np.where(on_high, excess, -excess) > tol)
        wrong = int(np.count_nonzero(above | below | leaving))
        if not wrong:
            if float((gradient + slope) @ change) >= 0.0:  # twice the change of the objective: K is indefinite
                return False
            beta[:], gradient[:] = np.where(free, target, bound), slope
            return True
        if wrong > rows.size:  # nowhere near
            return False
        waited = waited + 1 if wrong >= fewest else 0
        fewest = min(fewest, wrong)
        free = (free & ~above & ~below) | leaving
        on_high = (on_high | above) & ~below
    return False


def _per_row(box: BoxConstraints, levels: list[float]) -> np.ndarray | float:
    """Return each group's number for its rows: shape (n,), or the number where there is one group."""
    if len(levels) == 1:
        return levels[0]
    return np.repeat(levels, [group.stop - group.start for group in box.groups])
