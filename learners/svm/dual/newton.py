"""Newton step on the free rows: one linear system yields the point that SMO steps approach slowly.

If the rows on a bound are fixed, the minimum over the free rows is the solution of one linear system (see
`kkt_system`). A free row that the solution would move beyond its bound is fixed on the bound, and the system of the
other rows is solved again.

Cost: O(f³) for f free rows.

References
----------
K. Kunisch, F. Rendl, "An infeasible active set method for quadratic problems with simple bounds", SIAM Journal on
Optimization 14, 2003.
"""

from __future__ import annotations

import numpy as np

from bakeoff.learners.svm.dual.kkt_system import locate_groups, solve_kkt_system
from bakeoff.learners.svm.dual.quadratic_program import BoxConstraints, DualPoint, find_free_rows

MAX_ROUNDS = 8
"""Number of times that rows may be fixed on their bounds before the step is shortened instead."""

RIDGE_RATIOS = (1e-13, 1e-9)
"""Added to the diagonal, relative to its largest entry, because repeated rows make K_FF singular.

The second is tried if the first fails: rounding hides the small eigenvalues of some kernels.
"""


def take_newton_step(K: np.ndarray, box: BoxConstraints, point: DualPoint) -> bool:
    """Minimize over the free rows, changing the point in place; the objective never increases.

    Parameters
    ----------
    K : ndarray of shape (n, n)
    box : BoxConstraints
    point : DualPoint

    Returns
    -------
    bool
        Whether β changed.
    """
    return any(_take_regularized_step(K, box, point, ridge) for ridge in RIDGE_RATIOS)


def _take_regularized_step(K: np.ndarray, box: BoxConstraints, point: DualPoint, ridge: float) -> bool:
    free = find_free_rows(box, point)  # (n,)
    change = np.zeros_like(point.beta)  # (n,)
    first_change: np.ndarray | None = None
    for _ in range(MAX_ROUNDS):
        free_rows = np.flatnonzero(free)
        if not free_rows.size or not _solve_free_rows(K, box, change, point.gradient, free_rows, ridge):
            break
        if first_change is None:
            first_change = change.copy()
        target = point.beta + change
        outside = free & ((target <= box.low) | (target >= box.high))
        if not outside.any():
            if _apply_descent(K, point, change):
                return True
            break
        # Fix the rows that would leave the box on their bounds, and solve for the others again.
        nearest_bound = np.clip(target[outside], box.low[outside], box.high[outside])
        change[outside] = nearest_bound - point.beta[outside]
        free &= ~outside
    # Too many rows would leave the box, or the objective would increase: move part of the way to the first solution.
    return first_change is not None and _take_shortened_step(K, box, point, first_change)


def _solve_free_rows(
    K: np.ndarray, box: BoxConstraints, change: np.ndarray, gradient: np.ndarray, free_rows: np.ndarray, ridge: float
) -> bool:
    """Write the minimizer into ``change[free_rows]``, for fixed other changes; return False if there is none."""
    change[free_rows] = 0.0
    K_free = K.take(free_rows, axis=0)  # (f, n)
    slope = gradient[free_rows]  # (f,)
    fixed = change.nonzero()[0]
    if fixed.size:
        slope += K_free.take(fixed, axis=1) @ change[fixed]
    groups, spans = locate_groups(box, free_rows)
    totals = [-float(change[group].sum()) for group in groups]
    solution = solve_kkt_system(K_free.take(free_rows, axis=1), spans, slope, totals, ridge)
    if solution is None:
        return False
    change[free_rows] = solution[0]
    return True


def _apply_descent(K: np.ndarray, point: DualPoint, change: np.ndarray) -> bool:
    """Make the change if it lowers the objective; return whether it did."""
    moved = change.nonzero()[0]
    slope = change[moved] @ K.take(moved, axis=0)  # (n,), the change of the gradient
    if float(point.gradient @ change + 0.5 * (slope @ change)) >= 0.0:
        return False
    point.beta += change
    point.gradient += slope
    return True


def _take_shortened_step(K: np.ndarray, box: BoxConstraints, point: DualPoint, change: np.ndarray) -> bool:
    """Move along the change to the minimum, or to the first bound on the way; return whether β changed."""
    beta = point.beta
    rising = change > 0.0
    falling = change < 0.0
    room = np.full_like(beta, np.inf)  # (n,), share of the change up to the row's bound
    with np.errstate(over="ignore"):  # bounds may be infinite
        room[rising] = (box.high[rising] - beta[rising]) / change[rising]
        room[falling] = (box.low[falling] - beta[falling]) / change[falling]
    blocking = int(room.argmin())
    share = float(room[blocking])
    curvature = _measure_curvature(K, change)
    if curvature > 0.0:
        share = min(share, -float(point.gradient @ change) / curvature)
    if not 0.0 < share < np.inf or not _apply_descent(K, point, share * change):
        return False

    # A β on its bound is exactly equal to the bound.
    np.clip(beta, box.low, box.high, out=beta)
    if share == room[blocking]:
        beta[blocking] = box.high[blocking] if rising[blocking] else box.low[blocking]
    return True


def _measure_curvature(K: np.ndarray, change: np.ndarray) -> float:
    """Return ΔᵀKΔ."""
    moved = change.nonzero()[0]
    K_moved = K.take(moved, axis=0).take(moved, axis=1)
    return float(change[moved] @ K_moved @ change[moved])
