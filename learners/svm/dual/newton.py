"""Newton's step on the free rows: what sequential steps approach slowly, one linear system reaches.

Once it is known which β lie on a bound, the others solve

    K_FF Δ = λ - gradient_F,   Σ Δ = 0 within each group,      F the free rows, λ one number per group.

A free row that the solution would push through its bound is fixed there, and the rest solved again.  Cost: O(f³) for f
free rows.

Reference: K. Kunisch, F. Rendl, "An infeasible active set method for quadratic problems with simple bounds", SIAM
Journal on Optimization 14, 2003.
"""

from __future__ import annotations

import numpy as np

from bakeoff.learners.svm.dual.box_constraints import BoxConstraints
from bakeoff.learners.svm.dual.kkt_system import locate_groups, solve_kkt_system

ROUNDS = 8
"""How often rows may be fixed before the step is cut short instead."""

RIDGES = (1e-13, 1e-9)
"""Added to the diagonal, relative to the largest: repeated rows make K_FF singular.  The second is tried where the
first fails, for kernels whose small eigenvalues are lost in rounding."""


def take_newton_step(K: np.ndarray, box: BoxConstraints, beta: np.ndarray, gradient: np.ndarray) -> bool:
    """Minimise over the free rows, changing ``beta`` and ``gradient`` in place; never raises the objective.

    Parameters
    ----------
    K : ndarray of shape (n, n)
    box : BoxConstraints
    beta, gradient : ndarray of shape (n,)

    Returns
    -------
    bool
        Whether anything moved.
    """
    return any(_regularised_step(K, box, beta, gradient, ridge) for ridge in RIDGES)


def _regularised_step(K: np.ndarray, box: BoxConstraints, beta: np.ndarray, gradient: np.ndarray, ridge: float) -> bool:
    free = (beta > box.low) & (beta < box.high)
    change = np.zeros_like(beta)
    first: np.ndarray | None = None
    for _ in range(ROUNDS):
        rows = np.flatnonzero(free)
        if not rows.size or not _solve_free(K, box, change, gradient, rows, ridge):
            break
        if first is None:
            first = change.copy()
        target = beta + change
        out = free & ((target <= box.low) | (target >= box.high))
        if not out.any():
            if _accept(K, beta, gradient, change):
                return True
            break
        change[out] = np.clip(target[out], box.low[out], box.high[out]) - beta[out]
        free &= ~out
    return first is not None and _cut_short(K, box, beta, gradient, first)


def _solve_free(
    K: np.ndarray, box: BoxConstraints, change: np.ndarray, gradient: np.ndarray, rows: np.ndarray, ridge: float
) -> bool:
    """Write into ``change[rows]`` the minimiser, the other changes given; False if there is none."""
    change[rows] = 0.0
    values, slope = K.take(rows, axis=0), gradient[rows]  # (f, n) and (f,)
    fixed = change.nonzero()[0]
    if fixed.size:
        slope += values.take(fixed, axis=1) @ change[fixed]
    groups, spans = locate_groups(box, rows)
    sums = [-float(change[group].sum()) for group in groups]
    solved = solve_kkt_system(values.take(rows, axis=1), spans, slope, sums, ridge)
    if solved is not None:
        change[rows] = solved[0]
    return solved is not None


def _accept(K: np.ndarray, beta: np.ndarray, gradient: np.ndarray, change: np.ndarray) -> bool:
    moved = change.nonzero()[0]
    slope = change[moved] @ K.take(moved, axis=0)  # (n,)
    if float(gradient @ change + 0.5 * (slope @ change)) >= 0.0:
        return False
    beta += change
    gradient += slope
    return True


def _bend(K: np.ndarray, change: np.ndarray) -> float:
    moved = change.nonzero()[0]
    return float(change[moved] @ K.take(moved, axis=0).take(moved, axis=1) @ change[moved])


def _cut_short(K: np.ndarray, box: BoxConstraints, beta: np.ndarray, gradient: np.ndarray, change: np.ndarray) -> bool:
    """Go along the change as far as it descends and the box allows."""
    room = np.full_like(beta, np.inf)
    rises, falls = change > 0.0, change < 0.0
    with np.errstate(over="ignore"):  # room without end
        room[rises] = (box.high[rises] - beta[rises]) / change[rises]
        room[falls] = (box.low[falls] - beta[falls]) / change[falls]
    blocking = int(room.argmin())
    slope, curvature = float(gradient @ change), _bend(K, change)
    share = float(room[blocking])
    if curvature > 0.0:
        share = min(share, -slope / curvature)
    if not 0.0 < share < np.inf or not _accept(K, beta, gradient, share * change):
        return False
    np.clip(beta, box.low, box.high, out=beta)
    if share == room[blocking]:
        beta[blocking] = box.high[blocking] if rises[blocking] else box.low[blocking]
    return True
