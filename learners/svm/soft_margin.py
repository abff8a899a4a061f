"""The soft margin: some steps of the dual, and the linear primal where that is not enough.

The linear primal of a kernel that is not linear is that of its `embedding`; from there the dual finishes.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from bakeoff.learners.svm.dual.box_constraints import BoxConstraints, estimate_multipliers, snap_to_bounds
from bakeoff.learners.svm.dual.solver import MAX_WORKING_SET_ROWS, WORKING_SET_ROWS, DualPoint, solve_dual
from bakeoff.learners.svm.hyperplane import Hyperplane, hyperplane_from_dual, hyperplane_from_primal
from bakeoff.learners.svm.kernel.feature_map import compute_feature_map, estimate_feature_map_cost
from bakeoff.learners.svm.kernel.gram import Gram
from bakeoff.learners.svm.primal.hard_margin import ENOUGH, solve_hard_margin_primal
from bakeoff.learners.svm.primal.soft_margin import solve_soft_margin_primal

MIN_C_OF_PRIMAL = 1e-100
"""The least price of slack, for rows of length about 1, at which the interior point method keeps its digits."""

MAX_C = 1e10
"""The largest price for such rows: Kβ keeps the digits that the tolerance asks for."""

PROOF = 1e-6
"""The gap between the objectives that proves a plane, relative."""


def fit_soft_margin(
    gram: Gram,
    signs: np.ndarray,
    C: np.ndarray,
    tol: float,
    max_iter: int,
    rows: np.ndarray | None = None,
) -> Hyperplane:
    """Find the hyperplane.

    Parameters
    ----------
    gram : Gram
        Kernel values between the n rows.
    signs : ndarray of shape (n,)
        +1 or -1, both there, all -1 first.
    C : ndarray of shape (n,)
        The price of one unit of slack for each row, finite.
    tol : float
    max_iter : int
    rows : ndarray of shape (n, d), optional
        The rows, where the kernel is linear and the primal is to be solved.
    """
    asked, C = C, _clip_C(gram, C)
    if C is not asked and rows is not None:
        found = _unpaid(rows, signs, asked, tol) or _by_columns(rows, signs, asked, 0, tol)
        if found is not None:
            return found
    box, point = _box(C, signs), DualPoint(np.zeros_like(signs), -signs)
    # Most problems are done before a primal would be: give the dual some steps, for about what that costs.
    worth = _steps_first(signs.size, rows)
    if worth:
        solve_dual(gram, box, point, tol, min(max_iter, worth))
    if not point.converged and point.n_iter < max_iter and float(C.mean()) >= MIN_C_OF_PRIMAL:
        found = None if rows is None else _by_columns(rows, signs, C, point.n_iter, tol)
        if found is not None:
            return found
        X = compute_feature_map(gram) if rows is None and worth else rows
        plane = None if X is None else solve_soft_margin_primal(X, signs, C)
        if plane is not None:
            beta = signs * plane.alpha
            held = np.flatnonzero(beta)
            point = DualPoint(beta, gram.multiply_columns(held, beta[held]) - signs, point.n_iter)
    if not point.converged:
        solve_dual(gram, box, point, tol, max_iter)
    point.beta = snap_to_bounds(box, point.beta)
    intercept = -estimate_multipliers(box, point.beta, point.gradient)[0]
    machine = hyperplane_from_dual(gram, box if C is asked else _box(asked, signs), point, signs, asked, intercept)
    # Or some rows pay the most that is bearable, and would pay more.
    return machine if machine.residual <= tol or C is asked else replace(machine, converged=False)


def _by_columns(rows: np.ndarray, signs: np.ndarray, C: np.ndarray, n_iter: int, tol: float) -> Hyperplane | None:
    """Find the hyperplane from rows, not from kernel values, after so many steps; None if it misses the tolerance.

    Columns in units far apart, and dear slack, keep digits here that sums of kernel values lose.
    """
    plane = solve_soft_margin_primal(rows, signs, C)
    if plane is None or plane.gap > ENOUGH:
        return None
    machine = hyperplane_from_primal(plane, rows, signs, C, n_iter, tol)
    # The multipliers must prove the plane after those next to a bound were put there.
    normal = machine.beta @ rows
    proven = float(plane.alpha.sum()) - 0.5 * float(normal @ normal) >= (1.0 - PROOF) * machine.primal
    return machine if machine.converged and proven else None


def _unpaid(rows: np.ndarray, signs: np.ndarray, C: np.ndarray, tol: float) -> Hyperplane | None:
    """Return the hard margin, if there is one for which no row would pay more than C."""
    found = solve_hard_margin_primal(rows, signs)
    if found is None or found.meet or (found.alpha > C).any():
        return None
    return hyperplane_from_primal(found, rows, signs, C, 0, tol)


def _box(C: np.ndarray, signs: np.ndarray) -> BoxConstraints:
    return BoxConstraints(np.minimum(0.0, C * signs), np.maximum(0.0, C * signs), [slice(0, signs.size)])


def _clip_C(gram: Gram, C: np.ndarray) -> np.ndarray:
    """Return the prices, none beyond `MAX_C`; where all are, in proportion."""
    size = float(np.abs(gram.diagonal).mean()) or 1.0
    with np.errstate(over="ignore", under="ignore"):
        most = min(MAX_C / size, np.finfo(float).max)
    if C.max() <= most:
        return C
    return C / C.max() * most if C.min() > most else np.minimum(C, most)


def _steps_first(n: int, X: np.ndarray | None) -> int:
    if X is None:
        return estimate_feature_map_cost(n) if n <= MAX_WORKING_SET_ROWS else 0
    return estimate_primal_cost(*X.shape) if n <= WORKING_SET_ROWS else 0


def estimate_primal_cost(n: int, d: int) -> int:
    """The steps of a pair that take about half as long as the primal (measured)."""
    return int(64 + 0.03 * n + 1e-4 * n * d**2)
