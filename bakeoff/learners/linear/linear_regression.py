"""Linear and ridge regression (`definitions.least_squares`), from products of centred rows.

The prediction is ŷ = Xw + b. With row weights s_i, and α = 0 for plain least squares,

    (w, b) = argmin Σ_i s_i (y_i - x_i·w - b)² + α ‖w‖².

*Centred rows*: the intercept is not penalised, so centring X and y removes it from the problem. Centring is the part of
a fit that does not depend on the penalty. A few rows at a time are centred, weighted and multiplied while they are in
the cache, and no second table is kept.

*The normal equations*: minimise ‖y - Xw‖² + Σ_j (p_j w_j)². Setting the gradient to zero gives

    (XᵀX + diag(p²)) w = Xᵀy,

which cost O(n d² + d³) through Cholesky. They square the condition number of X, so they are used only with a
certificate that enough digits are correct: columns are scaled to length 1, and for the Cholesky factor L the sum of
squares of L⁻¹ is the trace of the inverse matrix, which bounds its largest eigenvalue. Unless the trace is small, one
step of iterative refinement removes most of the rounding error. The certificate must also be far above the rounding of
the cells. Columns around a mean of 1e12 have errors of 1e-4 of their deviation, so that a smaller trace is required of
them. Without the certificate, orthogonal transformations of X are used, which are O(n d²) with a larger constant.

*Collinear columns*: which directions of a table are more than rounding? Cells are rounded numbers: a column that is the
sum of two others differs from their sum in the last digit of its cells. Centring subtracts the means, but not this
error, so that it may be far larger than the last digit of a *centred* cell: around a mean of 2000, cells have an error
of 1e-13, whatever their deviation. A direction along which the centred columns vary by no more than that does not
count. Therefore

- each column is divided by its length *before* centring, so that all columns have errors of the same size;
- singular values of this table up to ``RELATIVE_CELL_ROUNDING`` √d are rounding: there are as many independent columns
  as there are larger ones;
- a QR decomposition with pivoting, SciPy's, chooses the independent columns, and expresses the others by them;
- of all w with the same predictions, the shortest is taken.

A table that has no such direction is solved by singular values, none of which is left out.

Cost of a fit: O(n d² + d³), or O(n² d) if d > n (more with collinear columns); of a prediction: O(m d). Memory: O(d²)
in addition to the table.

References
----------
A. E. Hoerl and R. W. Kennard, "Ridge regression", Technometrics 12, 1970. G. H. Golub and C. F. Van Loan, "Matrix
Computations", 4th ed., 2013, sections 5.3 to 5.5. G. W. Stewart, "Rank degeneracy", SIAM Journal on Scientific and
Statistical Computing 5, 1984 (columns with errors of the same size).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from scipy.linalg import LinAlgWarning, qr, solve_triangular
from sklearn.base import clone
from sklearn.utils._param_validation import Interval

from bakeoff.learners.base.estimator import Regressor
from bakeoff.learners.base.input_checks import require_path_parameter
from bakeoff.learners.base.scaling import MAX_PENALTY_ROOT, RELATIVE_CELL_ROUNDING, column_units, find_steady_columns
from bakeoff.learners.linear.base import linear_scores

MAX_INVERSE_TRACE = 1e8
"""The largest trace with which the normal equations are used: half of the 16 digits remain."""

MAX_UNREFINED_INVERSE_TRACE = 1e3
"""Up to this trace about 13 digits are correct at once, which saves the two passes over X of a refinement."""


MAX_SQUARED_ROUNDING = 0.01
"""The rounding of the cells, squared, relative to the variation along any direction."""


MIN_SINGULAR_SHARE = 1e-6
"""The smallest singular value, relative to the largest, without a warning; scikit-learn leaves out smaller ones."""


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
    penalty : ndarray of shape (d,)
        The square root of the penalty of each weight; zeros for plain least squares.
    size : ndarray of shape (d,)
        The length of each column before centring, to which its rounding error is relative.
    multiply_residual : callable
        Map w to Xᵀ(y - Xw), computed from the rows.

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


def solve_collinear(
    X: np.ndarray, y: np.ndarray, penalty: np.ndarray, size: np.ndarray, unit: np.ndarray
) -> np.ndarray:
    """Return the solution of minimum ‖w / unit‖ for columns that may be collinear.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Columns whose squares neither overflow nor vanish; one that is constant but for rounding gets the weight 0.
    y : ndarray of shape (n,)
    penalty, size : ndarray of shape (d,)
        Those of `solve_by_normal_equations`.
    unit : ndarray of shape (d,)
        By which the columns were divided.

    Returns
    -------
    ndarray of shape (d,)
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
    if singular_values[-1] < MIN_SINGULAR_SHARE * singular_values[0]:
        warnings.warn(
            "Some columns are almost collinear, so that their weights depend on digits of the cells after the sixth, "
            "and may be large; leave out one of these columns, or use Ridge with a larger alpha.",
            LinAlgWarning,
            stacklevel=6,
        )
    return right.T @ (left.T @ y / singular_values) / length / peak


TILE_CELLS = 1 << 16
"""Cells that are centred together: 512 KiB."""

MIN_TILE_ROWS = 64


class CenteredRows:
    """Final: validated rows, scaled and centred: the part of a fit that does not depend on the penalty.

    Parameters
    ----------
    X : ndarray of shape (n, d)
    y, weight : ndarray of shape (n,)
    fit_intercept : bool
        Whether to centre.

    Attributes
    ----------
    y : ndarray of shape (n,)
        Multiplied by the square root of the row's weight relative to the largest weight.
    unit, mean : ndarray of shape (d,)
        The means are in units.
    target_unit, target_mean, max_weight : float
    """

    def __init__(self, X: np.ndarray, y: np.ndarray, weight: np.ndarray, fit_intercept: bool) -> None:
        self.unit = column_units(X)
        self.target_unit = column_units(y[:, None])[0]
        self._table = X if np.all(self.unit == 1) else X / self.unit  # (n, d)
        self.y = y / self.target_unit
        self.max_weight = weight.max()
        weight = weight / self.max_weight
        self._root_weight = None if np.all(weight == 1) else np.sqrt(weight)  # (n,)
        share = weight / weight.sum()  # (n,)
        self._center(share, fit_intercept)
        if self._root_weight is not None:
            self.y *= self._root_weight
        self._total_weight = weight.sum()
        squares = self._compute_products()  # (d,)
        is_steady = find_steady_columns(self.mean, squares / self._total_weight)
        if is_steady.any():
            squares = self._move_origin(is_steady, share)
        self._size = np.sqrt(squares + self._total_weight * self.mean**2)  # (d,), the lengths before centring

    def _center(self, share: np.ndarray, fit_intercept: bool) -> None:
        self.mean = np.zeros(self._table.shape[1])
        self.target_mean = 0.0
        self._is_centered = fit_intercept
        if fit_intercept:
            self.mean = share @ self._table
            self.target_mean = share @ self.y
            self.y -= self.target_mean
        self._shift = self.mean

    def _move_origin(self, is_steady: np.ndarray, share: np.ndarray) -> np.ndarray:
        """Centre nearly constant columns again, by their first row, so that no rounding error of the mean remains."""
        origin = np.where(is_steady, self._table[0], 0.0)  # (d,)
        self._table = self._table - origin
        self._shift = share @ self._table
        self.mean = origin + self._shift
        return self._compute_products()

    def solve(self, penalty: np.ndarray) -> np.ndarray:
        """Return w (d,) that minimises ‖y - Xw‖² + ‖penalty * w‖², with a penalty of shape (d,)."""
        n, d = self._table.shape
        w = None
        if d <= n:
            w = solve_by_normal_equations(self._gram, self._moment, penalty, self._size, self._multiply_residual)
        elif penalty.all():
            w = _solve_by_dual(self._center_again(), self.y, penalty)
        if w is None:
            return solve_collinear(self._center_again(), self.y, penalty, self._size, self.unit)
        return w

    def _compute_products(self) -> np.ndarray:
        """Compute XᵀX (d, d) and Xᵀy (d,) if d ≤ n; return the sum of squares of each column, (d,)."""
        n, d = self._table.shape
        if d > n:
            return np.square(self._make_table()).sum(axis=0)
        self._gram = np.zeros((d, d))
        self._moment = np.zeros(d)
        for rows, tile in self._tiles():
            self._gram += tile.T @ tile
            self._moment += self.y[rows] @ tile
        return self._gram.diagonal()

    def _multiply_residual(self, w: np.ndarray) -> np.ndarray:
        """Return Xᵀ(y - Xw), of shape (d,)."""
        product = np.zeros_like(w)
        for rows, tile in self._tiles():
            product += (self.y[rows] - tile @ w) @ tile
        return product

    def _center_again(self) -> np.ndarray:
        """Return all rows, of shape (n, d), less what the rounding of the means has left of them."""
        table = self._make_table()
        if not self._is_centered:
            return table
        root_weight = np.ones(len(table)) if self._root_weight is None else self._root_weight  # (n,)
        rest = root_weight @ table / self._total_weight  # (d,)
        table -= root_weight[:, None] * rest
        return table

    def _make_table(self) -> np.ndarray:
        """Return all rows, centred and weighted, of shape (n, d)."""
        return np.concatenate([tile.copy() for _, tile in self._tiles()])

    def _tiles(self) -> Iterator[tuple[slice, np.ndarray]]:
        """Yield some rows, centred and weighted, with their positions; the array is reused for the next tile."""
        n, d = self._table.shape
        step = min(n, max(MIN_TILE_ROWS, TILE_CELLS // d))
        buffer = np.empty((step, d))
        for start in range(0, n, step):
            rows = slice(start, start + step)
            tile = self._table[rows]
            tile = np.subtract(tile, self._shift, out=buffer[: len(tile)])
            if self._root_weight is not None:
                tile *= self._root_weight[rows, None]
            yield rows, tile


class LinearRegressor(Regressor):
    """Abstract: least squares with the penalty α, in the unit of y² per squared weight."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {"fit_intercept": ["boolean"]}

    fit_intercept: bool
    alpha: float = 0.0

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the weights and the intercept.

        Parameters
        ----------
        X : array-like of shape (n, d)
        y : array-like of shape (n,)
        sample_weight : array-like of shape (n,), optional
            A row of weight 2 counts as two rows.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            A cell that is not a finite number; weights too large for floats.

        Warns
        -----
        LinAlgWarning
            Columns are almost collinear, so that their weights depend on digits of the cells after the sixth;
            scikit-learn's `LinearRegression` leaves out such a direction.
        """
        rows = CenteredRows(*self._check_fit(X, y, sample_weight), self.fit_intercept)
        self._solve(rows)
        return self

    def _solve(self, rows: CenteredRows) -> None:
        """Set the fitted attributes, in the original units of the columns and the target."""
        unit = rows.unit
        target_unit = rows.target_unit
        with np.errstate(over="ignore", under="ignore"):
            penalty_root = np.sqrt(self.alpha) / np.sqrt(rows.max_weight) / unit  # (d,)
            w = rows.solve(np.minimum(penalty_root, MAX_PENALTY_ROOT))  # (d,)
            self.coef_ = w * target_unit / unit
            self.intercept_ = float((rows.target_mean - rows.mean @ w) * target_unit)
        if not np.isfinite(self.coef_).all() or not np.isfinite(self.intercept_):
            raise ValueError(
                f"{type(self).__name__}: a weight overflows (y reaches {target_unit:.0e}, a column only "
                f"{unit.min():.0e}); rescale y or the columns."
            )

    def _values(self, X: np.ndarray) -> np.ndarray:
        scores = linear_scores(X, self.coef_[None, :], np.array([self.intercept_]))  # (m, 1)
        return scores[:, 0]


class LinearRegression(LinearRegressor):
    """Least squares without a penalty; if columns are collinear, the solution of minimum norm.

    Columns are collinear if they are but for the rounding of their cells, which is relative to the size of the cells,
    not to their deviation.

    Parameters
    ----------
    fit_intercept : bool, default=True
        Whether to fit b; otherwise the hyperplane passes through the origin.

    Attributes
    ----------
    coef_ : ndarray of shape (d,)
        In units of y per unit of the column.
    intercept_ : float
        In units of y.

    Examples
    --------
    >>> model = LinearRegression().fit([[0], [1], [2]], [1, 3, 5])
    >>> model.predict([[10]]).round(6)
    array([21.])
    """

    def __init__(self, fit_intercept: bool = True) -> None:
        self.fit_intercept = fit_intercept


class Ridge(LinearRegressor):
    """Least squares with the penalty α ‖w‖².

    Parameters
    ----------
    alpha : float, default=1.0
        The strength of the penalty, at least 0; 0 is equivalent to `LinearRegression`.
    fit_intercept : bool, default=True
        Whether to fit b, which is not penalised.

    Attributes
    ----------
    coef_ : ndarray of shape (d,)
        In units of y per unit of the column.
    intercept_ : float
        In units of y.

    Examples
    --------
    >>> model = Ridge(alpha=2.0).fit([[-1], [0], [1]], [-2, 0, 2])
    >>> model.coef_.round(6)
    array([1.])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **LinearRegressor._parameter_constraints,
        "alpha": [Interval(Real, 0, None, closed="left")],
    }

    path_parameters: ClassVar[tuple[str, ...]] = ("alpha",)

    def __init__(self, alpha: float = 1.0, fit_intercept: bool = True) -> None:
        self.alpha = alpha
        self.fit_intercept = fit_intercept

    def path(self, X: Any, y: Any, parameter: str, values: Sequence[Any], sample_weight: Any = None) -> Iterator[Self]:
        """Centre the rows and compute their products once for several penalties (see `learners.base.input_checks`)."""
        require_path_parameter(self, parameter)
        checked = clone(self).set_params(alpha=values[0])
        X, y, weight = checked._check_fit(X, y, sample_weight)
        rows = CenteredRows(X, y, weight, self.fit_intercept)
        for alpha in values:
            fitted = copy(checked).set_params(alpha=alpha)
            fitted._validate_params()
            fitted._solve(rows)
            yield fitted
