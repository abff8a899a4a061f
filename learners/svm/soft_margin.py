"""The soft margin: first a limited number of steps on the dual, then the linear primal if they were not sufficient.

For a nonlinear kernel, the primal is that of its feature map, and the dual continues from the primal's solution.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from bakeoff.learners.svm.dual.quadratic_program import BoxConstraints, DualPoint, estimate_multipliers, snap_to_bounds
from bakeoff.learners.svm.dual.solver import MAX_WORKING_SET_ROWS, WORKING_SET_ROWS, solve_dual
from bakeoff.learners.svm.hyperplane import Hyperplane
from bakeoff.learners.svm.kernel.feature_map import compute_feature_map, estimate_feature_map_cost
from bakeoff.learners.svm.kernel.gram import Gram
from bakeoff.learners.svm.primal.hard_margin import solve_hard_margin_primal
from bakeoff.learners.svm.primal.interior_point import MAX_GAP, PrimalSolution
from bakeoff.learners.svm.primal.soft_margin import solve_soft_margin_primal

MIN_C_OF_PRIMAL = 1e-100
"""Smallest mean C, for rows of length about 1, at which the interior point method keeps its digits."""

MAX_C = 1e10
"""Largest C, for rows of length about 1, at which Kβ keeps the digits that the tolerance requires."""

MAX_PROOF_GAP = 1e-6
"""Largest relative gap between the objectives after multipliers were snapped to their bounds."""


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
        +1 or -1; both occur, and all -1 come first.
    C : ndarray of shape (n,)
        Cost of one unit of slack for each row, finite.
    tol : float
    max_iter : int
    rows : ndarray of shape (n, d), optional
        The rows, if the kernel is linear and the primal may be solved.
    """
    clipped_C = _clip_C(gram, C)
    is_clipped = clipped_C is not C
    if is_clipped and rows is not None:
        hyperplane = _fit_without_kernel(rows, signs, C, tol)
        if hyperplane is not None:
            return hyperplane

    # The dual is faster than the primal for most problems: it may take as many steps as cost the same as the primal.
    box = _make_box(clipped_C, signs)
    point = DualPoint(np.zeros_like(signs), -signs)
    first_steps = _count_first_steps(signs.size, rows)
    if first_steps:
        solve_dual(gram, box, point, tol, min(max_iter, first_steps))

    if not point.converged and point.n_iter < max_iter and float(clipped_C.mean()) >= MIN_C_OF_PRIMAL:
        features = compute_feature_map(gram) if rows is None and first_steps else rows
        solution = None if features is None else solve_soft_margin_primal(features, signs, clipped_C)
        if solution is not None and rows is not None:
            hyperplane = _accept_primal(solution, rows, signs, clipped_C, point.n_iter, tol)
            if hyperplane is not None:
                return hyperplane
        if solution is not None:
            point = _make_dual_point(gram, signs, solution, point.n_iter)

    if not point.converged:
        solve_dual(gram, box, point, tol, max_iter)
    point.beta = snap_to_bounds(box, point.beta)
    return _make_hyperplane(gram, point, signs, C, clipped_C, tol)


def estimate_primal_cost(n: int, d: int) -> int:
    """Return the number of SMO steps that take about half as long as the linear primal (measured)."""
    return int(64 + 0.03 * n + 1e-4 * n * d**2)


def _clip_C(gram: Gram, C: np.ndarray) -> np.ndarray:
    """Return C with no value above `MAX_C`; if all are above, they are scaled down in proportion."""
    mean_diagonal = float(np.abs(gram.diagonal).mean()) or 1.0
    with np.errstate(over="ignore", under="ignore"):
        max_C = min(MAX_C / mean_diagonal, np.finfo(float).max)
    if C.max() <= max_C:
        return C
    if C.min() > max_C:
        return C / C.max() * max_C
    return np.minimum(C, max_C)


def _fit_without_kernel(rows: np.ndarray, signs: np.ndarray, C: np.ndarray, tol: float) -> Hyperplane | None:
    """Find the hyperplane from the rows, for a C for which kernel values are not precise enough; None if that fails."""
    hyperplane = _try_hard_margin(rows, signs, C, tol)
    if hyperplane is not None:
        return hyperplane
    solution = solve_soft_margin_primal(rows, signs, C)
    if solution is None:
        return None
    return _accept_primal(solution, rows, signs, C, 0, tol)


def _try_hard_margin(rows: np.ndarray, signs: np.ndarray, C: np.ndarray, tol: float) -> Hyperplane | None:
    """Return the hard margin if it exists and no multiplier exceeds C: then it is the soft margin, too."""
    solution = solve_hard_margin_primal(rows, signs)
    if not isinstance(solution, PrimalSolution) or (solution.alpha > C).any():
        return None
    return Hyperplane.from_primal(solution, rows, signs, C, 0, tol)


def _accept_primal(
    solution: PrimalSolution, rows: np.ndarray, signs: np.ndarray, C: np.ndarray, n_iter: int, tol: float
) -> Hyperplane | None:
    """Return the hyperplane of the primal's solution; None if it misses the tolerance.

    For columns in very different units and a large C, this preserves digits that sums of kernel values lose.
    """
    if solution.gap > MAX_GAP:
        return None
    hyperplane = Hyperplane.from_primal(solution, rows, signs, C, n_iter, tol)
    # The multipliers must still prove optimality after some of them were set to their bounds.
    normal = hyperplane.beta @ rows  # (d,)
    dual = float(solution.alpha.sum()) - 0.5 * float(normal @ normal)
    is_proven = dual >= (1.0 - MAX_PROOF_GAP) * hyperplane.primal
    return hyperplane if hyperplane.converged and is_proven else None


def _make_dual_point(gram: Gram, signs: np.ndarray, solution: PrimalSolution, n_iter: int) -> DualPoint:
    beta = signs * solution.alpha
    support = np.flatnonzero(beta)
    return DualPoint(beta, gram.multiply_columns(support, beta[support]) - signs, n_iter)


def _make_hyperplane(
    gram: Gram, point: DualPoint, signs: np.ndarray, C: np.ndarray, clipped_C: np.ndarray, tol: float
) -> Hyperplane:
    """Return the hyperplane of a solution of the dual for the clipped C."""
    clipped_box = _make_box(clipped_C, signs)
    intercept = -estimate_multipliers(clipped_box, point)[0]
    if clipped_C is C:
        return Hyperplane.from_dual(gram, clipped_box, point, signs, C, intercept)
    # Rows whose multiplier equals the clipped C may violate the conditions for the original C.
    hyperplane = Hyperplane.from_dual(gram, _make_box(C, signs), point, signs, C, intercept)
    return hyperplane if hyperplane.residual <= tol else replace(hyperplane, converged=False)


def _make_box(C: np.ndarray, signs: np.ndarray) -> BoxConstraints:
    signed_C = C * signs
    return BoxConstraints(np.minimum(0.0, signed_C), np.maximum(0.0, signed_C), [slice(0, signs.size)])


def _count_first_steps(n: int, rows: np.ndarray | None) -> int:
    """Return the number of dual steps before the primal is solved; 0 if the rows do not fit into one working set."""
    if rows is None:
        return estimate_feature_map_cost(n) if n <= MAX_WORKING_SET_ROWS else 0
    return estimate_primal_cost(*rows.shape) if n <= WORKING_SET_ROWS else 0
