"""`definitions.least_squares`, by normal equations if a certificate shows that enough digits are correct.

Minimise ‖y - Xw‖² + Σ_j (p_j w_j)². Setting the gradient to zero gives the normal equations

    (XᵀX + diag(p²)) w = Xᵀy,

which cost O(n d² + d³) through Cholesky. They square the condition number of X, so they are used only with a
certificate: columns are scaled to length 1, and for the Cholesky factor L the sum of squares of L⁻¹ is the trace of
the inverse matrix, which bounds its largest eigenvalue. Unless the trace is small, one step of iterative refinement
removes most of the rounding error. Without the certificate, a singular value decomposition is used, which is O(n d²)
with a larger constant; if columns are collinear, it returns the solution of minimum norm.

Reference: G. H. Golub and C. F. Van Loan, "Matrix Computations", 4th ed., 2013, sections 5.3 and 5.5.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

MAX_INVERSE_TRACE = 1e8
"""The largest trace with which the normal equations are used: half of the 16 digits remain."""

MAX_UNREFINED_INVERSE_TRACE = 1e3
"""Up to this trace about 13 digits are correct at once, which saves the two passes over X of a refinement."""


def solve_least_squares(X: np.ndarray, y: np.ndarray, penalty: np.ndarray) -> np.ndarray:
    """Minimise ‖y - Xw‖² + ‖penalty * w‖².

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Columns whose squares neither overflow nor vanish.
    y : ndarray of shape (n,)
    penalty : ndarray of shape (d,)
        The square root of the penalty of each weight; zeros for plain least squares.

    Returns
    -------
    ndarray of shape (d,)
    """
    n, d = X.shape
    w = None
    if d <= n:
        w = solve_by_normal_equations(X.T @ X, X.T @ y, penalty, lambda w: X.T @ (y - X @ w))
    elif penalty.all():
        w = _solve_by_dual(X, y, penalty)
    if w is None:
        return solve_by_singular_values(X, y, penalty)
    return w


def solve_by_normal_equations(
    gram: np.ndarray,
    moment: np.ndarray,
    penalty: np.ndarray,
    multiply_residual: Callable[[np.ndarray], np.ndarray],
) -> np.ndarray | None:
    """Solve the normal equations, or return None if too few digits of the solution would be correct.

    Parameters
    ----------
    gram, moment, penalty : ndarray of shape (d, d), (d,) and (d,)
        XᵀX, Xᵀy, and the penalty of `solve_least_squares`.
    multiply_residual : callable
        From w to Xᵀ(y - Xw), computed from the rows.

    Returns
    -------
    ndarray of shape (d,) or None
    """
    # Each column is extended by its row of the penalty, and the extended column is scaled to length 1.
    length = np.hypot(np.sqrt(np.diagonal(gram)), penalty)  # (d,)
    length[length == 0] = 1.0  # a constant column, whose weight stays 0
    gram = gram / length  # a new array: the original may be used for other penalties
    gram /= length[:, None]
    np.fill_diagonal(gram, 1.0)
    try:
        inverse_factor = np.linalg.inv(np.linalg.cholesky(gram))  # L⁻¹, (d, d)
    except np.linalg.LinAlgError:
        return None
    inverse_trace = float(np.square(inverse_factor).sum())
    if inverse_trace > MAX_INVERSE_TRACE:
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


def solve_by_singular_values(X: np.ndarray, y: np.ndarray, penalty: np.ndarray) -> np.ndarray:
    """Solve the problem itself, with a row below X and the target 0 for each penalty; return w of shape (d,)."""
    if penalty.any():
        X = np.vstack([X, np.diag(penalty)])  # (n + d, d)
        y = np.concatenate([y, np.zeros(len(penalty))])
    n, d = X.shape
    if d <= n:
        length = np.sqrt(np.einsum("ij,ij->j", X, X))  # (d,)
        length[length == 0] = 1.0
        w, _, rank, _ = np.linalg.lstsq(X / length, y, rcond=None)
        if rank == d:  # the unique solution, for any scale of the columns
            return w / length
    # If there are several solutions, this is the one of minimum norm.
    w, _, _, _ = np.linalg.lstsq(X, y, rcond=None)
    return w
