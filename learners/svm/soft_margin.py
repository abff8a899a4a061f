"""The soft margin: some steps of the dual, and the linear primal where that is not enough.

The linear primal of a kernel that is not linear is that of its `embedding`; from there the dual finishes.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from bakeoff.learners.svm.dual.box_constraint import Box, multipliers, on_bounds
from bakeoff.learners.svm.dual.solver import LARGEST_SET, WORKING_SET, DualPoint, solve_dual
from bakeoff.learners.svm.hyperplane import Machine, machine_at, machine_of
from bakeoff.learners.svm.kernel.feature_map import embedded, steps_worth_embedding
from bakeoff.learners.svm.kernel.gram import Gram
from bakeoff.learners.svm.primal.hard_margin import ENOUGH, separate
from bakeoff.learners.svm.primal.soft_margin import solve_primal

CHEAPEST = 1e-100
"""The least price of slack, for rows of length about 1, at which the interior point method keeps its digits."""

DEAREST = 1e10
"""The largest price for such rows: Kβ keeps the digits that the tolerance asks for."""

PROOF = 1e-6
"""The gap between the objectives that proves a plane, relative."""


def soft_margin(
    gram: Gram,
    signs: np.ndarray,
    C: np.ndarray,
    tol: float,
    max_iter: int,
    rows: np.ndarray | None = None,
) -> Machine:
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
    asked, C = C, _bearable(gram, C)
    if C is not asked and rows is not None:
        found = _unpaid(rows, signs, asked, tol) or _by_columns(rows, signs, asked, 0, tol)
        if found is not None:
            return found
    box, point = _box(C, signs), DualPoint(np.zeros_like(signs), -signs)
    # Most problems are done before a primal would be: give the dual some steps, for about what that costs.
    worth = _steps_first(signs.size, rows)
    if worth:
        solve_dual(gram, box, point, tol, min(max_iter, worth))
    if not point.converged and point.n_iter < max_iter and float(C.mean()) >= CHEAPEST:
        found = None if rows is None else _by_columns(rows, signs, C, point.n_iter, tol)
        if found is not None:
            return found
        X = embedded(gram) if rows is None and worth else rows
        plane = None if X is None else solve_primal(X, signs, C)
        if plane is not None:
            beta = signs * plane.alpha
            held = np.flatnonzero(beta)
            point = DualPoint(beta, gram.product(held, beta[held]) - signs, point.n_iter)
    if not point.converged:
        solve_dual(gram, box, point, tol, max_iter)
    point.beta = on_bounds(box, point.beta)
    intercept = -multipliers(box, point.beta, point.gradient)[0]
    machine = machine_at(gram, box if C is asked else _box(asked, signs), point, signs, asked, intercept)
    # Or some rows pay the most that is bearable, and would pay more.
    return machine if machine.residual <= tol or C is asked else replace(machine, converged=False)


def _by_columns(rows: np.ndarray, signs: np.ndarray, C: np.ndarray, n_iter: int, tol: float) -> Machine | None:
    """Find the hyperplane from rows, not from kernel values, after so many steps; None if it misses the tolerance.

    Columns in units far apart, and dear slack, keep digits here that sums of kernel values lose.
    """
    plane = solve_primal(rows, signs, C)
    if plane is None or plane.gap > ENOUGH:
        return None
    machine = machine_of(plane, rows, signs, C, n_iter, tol)
    # The multipliers must prove the plane after those next to a bound were put there.
    normal = machine.beta @ rows
    proven = float(plane.alpha.sum()) - 0.5 * float(normal @ normal) >= (1.0 - PROOF) * machine.primal
    return machine if machine.converged and proven else None


def _unpaid(rows: np.ndarray, signs: np.ndarray, C: np.ndarray, tol: float) -> Machine | None:
    """Return the hard margin, if there is one for which no row would pay more than C."""
    found = separate(rows, signs)
    if found is None or found.meet or (found.alpha > C).any():
        return None
    return machine_of(found, rows, signs, C, 0, tol)


def _box(C: np.ndarray, signs: np.ndarray) -> Box:
    return Box(np.minimum(0.0, C * signs), np.maximum(0.0, C * signs), [slice(0, signs.size)])


def _bearable(gram: Gram, C: np.ndarray) -> np.ndarray:
    """Return the prices, none beyond `DEAREST`; where all are, in proportion."""
    size = float(np.abs(gram.diagonal).mean()) or 1.0
    with np.errstate(over="ignore", under="ignore"):
        most = min(DEAREST / size, np.finfo(float).max)
    if C.max() <= most:
        return C
    return C / C.max() * most if C.min() > most else np.minimum(C, most)


def _steps_first(n: int, X: np.ndarray | None) -> int:
    if X is None:
        return steps_worth_embedding(n) if n <= LARGEST_SET else 0
    return steps_worth_primal(*X.shape) if n <= WORKING_SET else 0


def steps_worth_primal(n: int, d: int) -> int:
    """The steps of a pair that take about half as long as the primal (measured)."""
    return int(64 + 0.03 * n + 1e-4 * n * d**2)
