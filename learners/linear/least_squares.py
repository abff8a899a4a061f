"""`definitions.least_squares`, by normal equations if a certificate shows that enough digits are correct.

Minimise ‖y - Xw‖² + Σ_j (p_j w_j)². Setting the gradient to zero gives the normal equations

    (XᵀX + diag(p²)) w = Xᵀy,

which cost O(n d² + d³) through Cholesky. They square the condition number of X, so they are used only with a
certificate: columns are scaled to length 1, and for the Cholesky factor L the sum of squares of L⁻¹ is the trace of
the inverse matrix, which bounds its largest eigenvalue. Unless the trace is small, one step of iterative refinement
removes most of the rounding error. Without the certificate, orthogonal transformations of X are used
(`linear.collinear`), which are O(n d²) with a larger constant; if columns are collinear, they give the solution of
minimum norm.

The certificate must also be far above the rounding of the cells. Columns around a mean of 1e12 have errors of 1e-4 of
their deviation, so that a smaller trace is required of them.

Reference: G. H. Golub and C. F. Van Loan, "Matrix Computations", 4th ed., 2013, sections 5.3 and 5.5.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from bakeoff.learners.base.scaling import RELATIVE_CELL_ROUNDING
from bakeoff.learners.linear.collinear import solve_collinear

MAX_INVERSE_TRACE = 1e8
"""The largest trace with which the normal equations are used: half of the 16 digits remain."""

MAX_UNREFINED_INVERSE_TRACE = 1e3
"""Up to this trace about 13 digits are correct at once, which saves the two passes over X of a refinement."""


MAX_SQUARED_ROUNDING = 0.01
"""The rounding of the cells, squared, relative to the variation along any direction."""


def solve_least_squares(
    X: np.ndarray, y: np.ndarray, penalty: np.ndarray, size: np.ndarray, unit: np.ndarray
) -> np.ndarray:
    """Minimise ‖y - Xw‖² + ‖penalty * w‖²; of several solutions, return that of minimum ‖w / unit‖.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Columns whose squares neither overflow nor vanish.
    y : ndarray of shape (n,)
    penalty : ndarray of shape (d,)
        The square root of the penalty of each weight; zeros for plain least squares.
    size : ndarray of shape (d,)
        The length of each column before centring, to which its rounding error is relative.
    unit : ndarray of shape (d,)
        By which the columns were divided.

    Returns
    -------
    ndarray of shape (d,)
    """
    n, d = X.shape
    w = None
    if d <= n:
        w = solve_by_normal_equations(X.T @ X, X.T @ y, penalty, size, lambda w: X.T @ (y - X @ w))
    elif penalty.all():
        w = _solve_by_dual(X, y, penalty)
    if w is None:
        return solve_collinear(X, y, penalty, size, unit)
    return w


def solve_by_normal_equations(
    gram: np.ndarray,
    moment: np.ndarray,
    penalty: np.ndarray,
    size: np.ndarray,
    multiply_residual: Callable[[np.ndarray], np.ndarray],
) -> np.ndarray | None:
    """Solve the normal equations, or return None if too few digits of the solution would be correct.

    Parameters
    ----------
    gram, moment : ndarray of shape (d, d) and (d,)
        XᵀX and Xᵀy.
    penalty, size : ndarray of shape (d,)
        Those of `solve_least_squares`.
    multiply_residual : callable
        From w to Xᵀ(y - Xw), computed from the rows.

    Returns
    -------
    ndarray of shape (d,) or None
    """
    # Each column is extended by its row of the penalty, and the extended column is scaled to length 1.
    length = np.hypot(np.sqrt(np.diagonal(gram)), penalty)  # (d,)
    is_constant = length == 0  # its weight stays 0
    length[is_constant] = 1.0
    rounding = RELATIVE_CELL_ROUNDING * max(1.0, np.where(is_constant, 1.0, size / length).max())
    max_trace = min(MAX_INVERSE_TRACE, MAX_SQUARED_ROUNDING / rounding**2)
    gram = gram / length  # a new array: the original may be used for other penalties
    gram /= length[:, None]
    np.fill_diagonal(gram, 1.0)
    try:
        inverse_factor = np.linalg.inv(np.linalg.cholesky(gram))  # L⁻¹, (d, d)
    except np.linalg.LinAlgError:
        return None
    inverse_trace = float(np.square(inverse_factor).sum())
    if inverse_trace > max_trace:
        return None
    scaled_w = inverse_factor.T @ (inverse_factor @ (moment / length))  # (d,)
    if inverse_trace <= MAX_UNREFINED_INVERSE_TRACE:
        return scaled_w / length
    penalty_share = penalty / length  # (d,), between 0 and 1
    residual = multiply_residual(scaled_w / length) / length - penalty_share**2 * scaled_w
    correction = inverse_factor.T @ (inverse_factor @ residual)
    return (scaled_w + correction) / length


def _solve_by_dual(X: np.ndarray, y: np.ndarray, penalty: np.ndarray) -> np.ndarray | None:
    """Solve for n unknowns instead of d: w = Xᵀ(XXᵀ + 1)⁻¹y for a penalty of 1, to which columns are scaled."""
    table = X / penalty  # (n, d)
    kernel = table @ table.T  # (n, n)
    if not np.trace(kernel) < MAX_INVERSE_TRACE:
        return None
    kernel[np.diag_indices_from(kernel)] += 1.0
    return table.T @ np.linalg.solve(kernel, y) / penalty
