"""The least-squares problem under linear and ridge regression.

Minimise ‖y - Xw‖² + Σ_j (p_j w_j)².  Setting the gradient to zero gives the normal equations

    (XᵀX + diag(p²)) w = Xᵀy,

which cost O(n d² + d³) through Cholesky.  They square the condition number of X, so they are trusted only with a
certificate: columns are brought to length 1, and for the Cholesky factor L the sum of squares of L⁻¹ is the trace of
the inverse matrix, which bounds its largest eigenvalue.  Unless that is small, one step of refinement then removes
most of the rounding.
Without the certificate the singular values decide, at O(n d²) with a larger constant; where columns are collinear,
the solution of minimum norm is taken.

Reference: G. H. Golub and C. F. Van Loan, "Matrix Computations", 4th ed., 2013, sections 5.3 and 5.5.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

TRUSTED_INVERSE = 1e8
"""The largest trace of an inverse with which the normal equations are believed: half of the 16 digits remain."""

REFINED_INVERSE = 1e3
"""Up to this trace some 13 digits remain at once, and the two passes over X that refinement takes are spared."""


def least_squares(X: np.ndarray, y: np.ndarray, penalty: np.ndarray) -> np.ndarray:
    """Minimise ‖y - Xw‖² + ‖penalty * w‖².

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Columns whose squares neither overflow nor vanish.
    y : ndarray of shape (n,)
    penalty : ndarray of shape (d,)
        The square root of each weight's penalty; zeros for plain least squares.

    Returns
    -------
    ndarray of shape (d,)
    """
    n, d = X.shape
    w = None
    if d <= n:
        w = by_normal_equations(X.T @ X, X.T @ y, penalty, lambda w: X.T @ (y - X @ w))
    elif penalty.all():
        w = _by_dual(X, y, penalty)
    return by_singular_values(X, y, penalty) if w is None else w


def by_normal_equations(
    gram: np.ndarray, moment: np.ndarray, penalty: np.ndarray, pull: Callable[[np.ndarray], np.ndarray]
) -> np.ndarray | None:
    """Solve the normal equations, unless too few digits of the solution would be right.

    Parameters
    ----------
    gram, moment, penalty : ndarray of shape (d, d), (d,) and (d,)
        XᵀX, Xᵀy, and as of `least_squares`.
    pull : callable
        From w to Xᵀ(y - Xw), computed from the rows.

    Returns
    -------
    ndarray of shape (d,) or None
    """
    length = np.hypot(np.sqrt(np.diagonal(gram)), penalty)  # (d,), of the columns with the penalty's row below them
    length[length == 0] = 1.0  # a constant column, whose weight stays 0
    gram = gram / length  # a new array: the one given may serve other penalties
    gram /= length[:, None]
    np.fill_diagonal(gram, 1.0)
    try:
        inverse_factor = np.linalg.inv(np.linalg.cholesky(gram))
    except np.linalg.LinAlgError:
        return None
    trace = float(np.square(inverse_factor).sum())
    if trace > TRUSTED_INVERSE:
        return None
    share = penalty / length  # (d,), from 0 to 1
    z = inverse_factor.T @ (inverse_factor @ (moment / length))  # (d,), in lengths
    if trace <= REFINED_INVERSE:
        return z / length
    residual = pull(z / length) / length - share**2 * z
    return (z + inverse_factor.T @ (inverse_factor @ residual)) / length


def _by_dual(X: np.ndarray, y: np.ndarray, penalty: np.ndarray) -> np.ndarray | None:
    """Solve for n unknowns instead of d: w = Xᵀ(XXᵀ + 1)⁻¹y where the penalty is 1; other penalties are units."""
    table = X / penalty
    kernel = table @ table.T  # (n, n)
    if not np.trace(kernel) < TRUSTED_INVERSE:
        return None
    kernel[np.diag_indices_from(kernel)] += 1.0
    return table.T @ np.linalg.solve(kernel, y) / penalty


def by_singular_values(X: np.ndarray, y: np.ndarray, penalty: np.ndarray) -> np.ndarray:
    """Solve as it stands, a penalty being a row below X with the target 0."""
    if penalty.any():
        X = np.vstack([X, np.diag(penalty)])
        y = np.concatenate([y, np.zeros(len(penalty))])
    n, d = X.shape
    if d <= n:
        length = np.sqrt(np.einsum("ij,ij->j", X, X))
        length[length == 0] = 1.0
        w, _, rank, _ = np.linalg.lstsq(X / length, y, rcond=None)
        if rank == d:  # one solution only, found without regard to how large a column is
            return w / length
    return np.linalg.lstsq(X, y, rcond=None)[0]  # of many, the shortest
