"""Least squares of columns that may be collinear: which directions of a table are more than rounding.

Cells are rounded numbers: a column that is the sum of two others differs from their sum in the last digit of its cells.
Centring subtracts the means, but not this error, so that it may be far larger than the last digit of a *centred* cell:
around a mean of 2000, cells have an error of 1e-13, whatever their deviation. A direction along which the centred
columns vary by no more than that is none. Therefore

- each column is divided by its length *before* centring, so that all columns have errors of the same size;
- singular values of this table up to ``RELATIVE_CELL_ROUNDING`` √d are rounding: there are as many independent columns
  as there are larger ones;
- a QR decomposition with pivoting, SciPy's, chooses the independent columns, and expresses the others by them;
- of all w with the same predictions, the shortest is taken.

A table that has no such direction is solved by singular values, none of which is left out.

Cost: O(n d min(n, d)).

References
----------
G. W. Stewart, "Rank degeneracy", SIAM Journal on Scientific and Statistical Computing 5, 1984 (columns with errors of
the same size). G. H. Golub and C. F. Van Loan, "Matrix Computations", 4th ed., 2013, sections 5.4 and 5.5.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import qr, solve_triangular

from bakeoff.learners.base.scaling import RELATIVE_CELL_ROUNDING


def solve_collinear(
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
        0 for each column that is constant but for rounding.
    """
    is_varying = np.sqrt(np.einsum("ij,ij->j", X, X)) > RELATIVE_CELL_ROUNDING * size  # (d,)
    w = np.zeros(len(size))
    if is_varying.any():
        columns = (each[is_varying] for each in (penalty, size, unit))
        w[is_varying] = _solve_varying(X[:, is_varying], y, *columns)
    return w


def _solve_varying(X: np.ndarray, y: np.ndarray, penalty: np.ndarray, size: np.ndarray, unit: np.ndarray) -> np.ndarray:
    triangle, target = _reduce_rows(X / size, y)
    independent = find_independent_columns(triangle)
    if independent is None:
        return _solve_full_rank(triangle * size, target, penalty)
    shares = independent.shares / size[independent.columns, None] * size  # (r, d)
    # Among weights of the same predictions, the w for which w / unit is in the span of these columns is shortest.
    unit = unit / unit.max()
    shortest, corner = np.linalg.qr((shares * unit).T)  # (d, r), (r, r)
    table = triangle[:, independent.columns] * size[independent.columns] @ corner.T
    same_penalty = np.full(len(corner), (penalty * unit).max())
    return shortest @ _solve_full_rank(table, target, same_penalty) * unit


def _reduce_rows(X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return at most d + 1 rows R (k, d) and z (k,) with ‖z - Rw‖ = ‖y - Xw‖ for every w."""
    n, d = X.shape
    if n <= d + 1:
        return X, y
    corner = np.asarray(np.linalg.qr(np.column_stack([X, y]), mode="r"))
    return corner[:, :-1], corner[:, -1]


@dataclass(frozen=True)
class IndependentColumns:
    """Final: columns that are independent, and all columns as combinations of these.

    Attributes
    ----------
    columns : ndarray of shape (r,)
        Positions.
    shares : ndarray of shape (r, d)
        The table equals its independent columns times ``shares``, but for rounding.
    """

    columns: np.ndarray
    shares: np.ndarray


def find_independent_columns(R: np.ndarray) -> IndependentColumns | None:
    """Return the independent columns of a table whose columns have errors of the same size; None if all are.

    Parameters
    ----------
    R : ndarray of shape (k, d)
        Divided by the lengths of the columns before centring.
    """
    d = R.shape[1]
    tolerance = RELATIVE_CELL_ROUNDING * np.sqrt(d)
    rank = int(np.count_nonzero(np.linalg.svd(R, compute_uv=False) > tolerance))
    if rank == d:
        return None
    corner, order = qr(R, mode="r", pivoting=True)
    others = solve_triangular(corner[:rank, :rank], corner[:rank, rank:])  # (r, d - r)
    # A share that changes its column by less than rounding would matter in columns of another unit.
    lengths = np.sqrt(np.einsum("ij,ij->j", R, R))  # (d,)
    others[np.abs(others) * lengths[order[:rank], None] <= tolerance] = 0.0
    shares = np.zeros((rank, d))
    shares[:, order[:rank]] = np.eye(rank)
    shares[:, order[rank:]] = others
    return IndependentColumns(order[:rank], shares)


def _solve_full_rank(X: np.ndarray, y: np.ndarray, penalty: np.ndarray) -> np.ndarray:
    """Solve for columns that are independent: the solution is unique, for any scale of the columns."""
    if penalty.any():
        X = np.vstack([X, np.diag(penalty)])
        y = np.concatenate([y, np.zeros(len(penalty))])
    # Squares of penalties may overflow.
    peak = np.abs(X).max(axis=0)  # (d,)
    X = X / peak
    length = np.sqrt(np.einsum("ij,ij->j", X, X))  # (d,)
    left, singular_values, right = np.linalg.svd(X / length, full_matrices=False)
    return right.T @ (left.T @ y / singular_values) / length / peak
