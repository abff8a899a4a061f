"""The linear system of the free rows, which both the Newton step and block principal pivoting solve.

Let F be the free rows, and let the changes Δ of all other rows be fixed. The optimality conditions are then

    K_FF Δ_F = λ - gradient_F,      Σ Δ given within each group,      λ one number per group,

where gradient_F includes the changes of the other rows.

Cost: O(f³) for f free rows. The Cholesky factorization needs half the operations of Gaussian elimination. NumPy
provides it, but no solver for triangular systems, so this step uses SciPy's LAPACK.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg.lapack import dposv

from bakeoff.learners.svm.dual.quadratic_program import BoxConstraints


def locate_groups(box: BoxConstraints, rows: np.ndarray) -> tuple[list[slice], list[slice]]:
    """Return the groups that hold at least one of the rows (ascending), and the positions of those among the rows."""
    if len(box.groups) == 1:
        return box.groups, [slice(0, rows.size)]
    stops = np.searchsorted(rows, [group.stop for group in box.groups]).tolist()
    starts = [0, *stops[:-1]]
    groups = []
    spans = []
    for group, start, stop in zip(box.groups, starts, stops, strict=True):
        if start < stop:
            groups.append(group)
            spans.append(slice(start, stop))
    return groups, spans


def solve_kkt_system(
    K: np.ndarray, spans: list[slice], gradient: np.ndarray, totals: list[float], ridge: float
) -> tuple[np.ndarray, list[float]] | None:
    """Solve the system of the free rows.

    Parameters
    ----------
    K : ndarray of shape (f, f)
        Kernel values between the free rows, in ascending order.
    spans : list of slice
        The free rows of each group that has any.
    gradient : ndarray of shape (f,)
        Their gradient, including the changes of the other rows.
    totals : list of float
        Σ Δ over each span.
    ridge : float
        Added to the diagonal of K, relative to its largest entry.

    Returns
    -------
    change : ndarray of shape (f,)
        Δ of the free rows.
    multipliers : list of float
        λ of each span. None instead of both if there is no solution.
    """
    # In this unit, the coefficients of the sums are as large as the kernel values.
    unit = float(np.abs(K.diagonal()).max()) or 1.0
    if len(spans) == 1:
        solution = _solve_by_cholesky(K, gradient, totals[0], unit, ridge)
        if solution is not None:
            return solution
    return _solve_by_elimination(K, spans, gradient, totals, unit, ridge)


def _solve_by_elimination(
    K: np.ndarray, spans: list[slice], gradient: np.ndarray, totals: list[float], unit: float, ridge: float
) -> tuple[np.ndarray, list[float]] | None:
    """Solve for all groups; return None if the system is singular.

    The sums remain in the system instead of being eliminated first, because K_FF may be singular even if the whole
    system is not.
    """
    f = gradient.size
    size = f + len(spans)
    system = np.zeros((size, size))
    system[:f, :f] = K
    diagonal = system.reshape(-1)[: f * size : size + 1]  # (f,), a view
    diagonal += ridge * unit
    # One more row and column for each group: its sum, and its multiplier.
    for row, span in enumerate(spans, start=f):
        system[row, span] = unit
        system[span, row] = unit
    right_side = np.append(-gradient, [unit * total for total in totals])  # (f + groups,)
    try:
        solution = np.linalg.solve(system, right_side)  # (f + groups,)
    except np.linalg.LinAlgError:
        return None
    if not np.isfinite(solution).all():
        return None
    return solution[:f], (-unit * solution[f:]).tolist()


def _solve_by_cholesky(
    K: np.ndarray, gradient: np.ndarray, total: float, unit: float, ridge: float
) -> tuple[np.ndarray, list[float]] | None:
    """Solve for one group, in half the time of elimination; return None if K is numerically not positive definite.

    Since Σ Δ is fixed, adding a constant to K changes only λ. It makes K positive definite in the direction of
    constant β, in which a centered K is singular.
    """
    system = K + unit  # (f, f)
    system.reshape(-1)[:: gradient.size + 1] += ridge * unit
    right_sides = np.ones((2, gradient.size))
    np.negative(gradient, right_sides[0])
    _, solutions, failed = dposv(system.T, right_sides.T, overwrite_a=True, overwrite_b=True)
    if failed or not 0.0 < float(solutions[:, 1].sum()) < np.inf:
        return None
    unconstrained, per_multiplier = solutions.T  # (f,) each: Δ for λ = 0, and its change per unit of λ
    multiplier = (total - float(unconstrained.sum())) / float(per_multiplier.sum())
    change = unconstrained + multiplier * per_multiplier
    if not np.isfinite(change).all():
        return None
    return change, [multiplier - unit * total]
