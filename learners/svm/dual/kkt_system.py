"""The linear system of the free rows, which Newton's step and pivoting both solve.

    K_FF Δ = λ - gradient_F,   Σ Δ given within each group,      F the free rows, λ one number per group.

Cost: O(f³) for f free rows.  Cholesky's factor takes half the work of elimination; NumPy has it, but nothing that
solves with it, so that step is SciPy's.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg.lapack import dposv

from bakeoff.learners.svm.dual.box_constraints import BoxConstraints


def locate_groups(box: BoxConstraints, rows: np.ndarray) -> tuple[list[slice], list[slice]]:
    """Return the groups that have any of the rows (ascending), and where those stand among the rows."""
    if len(box.groups) == 1:
        return box.groups, [slice(0, rows.size)]
    edges = np.searchsorted(rows, [group.stop for group in box.groups]).tolist()
    pairs = [(group, slice(a, b)) for group, a, b in zip(box.groups, [0, *edges], edges, strict=False) if a < b]
    return [group for group, _ in pairs], [span for _, span in pairs]


def solve_kkt_system(
    K: np.ndarray, spans: list[slice], slope: np.ndarray, sums: list[float], ridge: float
) -> tuple[np.ndarray, list[float]] | None:
    """Solve for the free rows.

    Parameters
    ----------
    K : ndarray of shape (f, f)
        Kernel values between the free rows, ascending.
    spans : list of slice
        The free rows of each group, of those that have any.
    slope : ndarray of shape (f,)
        Their gradient, with the changes of the other rows made.
    sums : list of float
        Σ Δ over each span.
    ridge : float

    Returns
    -------
    Δ of shape (f,), and λ of each span; or None if there is no solution.
    """
    unit = float(np.abs(K.diagonal()).max()) or 1.0  # of the sums, so that they weigh as much as kernel values
    if len(spans) == 1:
        found = _by_cholesky(K, slope, sums[0], unit, ridge)
        if found is not None:
            return found
    f = slope.size
    system = np.zeros((f + len(spans), f + len(spans)))
    system[:f, :f] = K
    diagonal = system.reshape(-1)[: f * len(system) : len(system) + 1]  # a view
    diagonal += ridge * unit
    right = np.append(-slope, [unit * total for total in sums])
    for level, span in enumerate(spans):
        system[f + level, span] = system[span, f + level] = unit
    try:
        # Σ Δ = 0 stands in the system, not worked out before: K_FF alone may be singular where the whole is not.
        solution = np.linalg.solve(system, right)
    except np.linalg.LinAlgError:
        return None
    return (solution[:f], (-unit * solution[f:]).tolist()) if np.isfinite(solution).all() else None


def _by_cholesky(
    K: np.ndarray, slope: np.ndarray, total: float, unit: float, ridge: float
) -> tuple[np.ndarray, list[float]] | None:
    """Solve for one group, for half the work of elimination; None where K is not positive definite to rounding.

    A constant added to K changes λ alone, as Σ Δ is given, and lifts the direction that the sum fixes out of zero.
    """
    system = K + unit
    system.reshape(-1)[:: slope.size + 1] += ridge * unit
    right = np.ones((2, slope.size))
    np.negative(slope, right[0])
    _, solutions, failed = dposv(system.T, right.T, overwrite_a=True, overwrite_b=True)
    if failed or not 0.0 < float(solutions[:, 1].sum()) < np.inf:
        return None
    alone, lifted = solutions.T  # (f,) each: of λ = 0, and for each unit of λ
    level = (total - float(alone.sum())) / float(lifted.sum())
    change = alone + level * lifted
    return (change, [level - unit * total]) if np.isfinite(change).all() else None
