"""Linear and ridge regression (`definitions.least_squares`), from products of centred rows (`linear.least_squares`).

The prediction is ŷ = Xw + b. With row weights s_i, and α = 0 for plain least squares,

    (w, b) = argmin Σ_i s_i (y_i - x_i·w - b)² + α ‖w‖².

The intercept is not penalised, so centring X and y removes it from the problem. Cost of a fit: O(n d² + d³), or O(n²
d) if d > n (more with collinear columns); of a prediction: O(m d).

Reference: A. E. Hoerl and R. W. Kennard, "Ridge regression", Technometrics 12, 1970.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils._param_validation import Interval

from bakeoff.learners.base.estimator import Regressor
from bakeoff.learners.base.input_checks import require_path_parameter
from bakeoff.learners.base.scaling import MAX_PENALTY_ROOT
from bakeoff.learners.linear.base import linear_scores
from bakeoff.learners.linear.least_squares import CenteredRows


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
    not to their deviation (`linear.least_squares`).

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
        """Centre the rows and compute their products once for several penalties (see `learners.base.paths`)."""
        require_path_parameter(self, parameter)
        checked = clone(self).set_params(alpha=values[0])
        X, y, weight = checked._check_fit(X, y, sample_weight)
        rows = CenteredRows(X, y, weight, self.fit_intercept)
        for alpha in values:
            fitted = copy(checked).set_params(alpha=alpha)
            fitted._validate_params()
            fitted._solve(rows)
            yield fitted
