"""Linear regression: the hyperplane with the least squared error, and ridge regression, which also keeps it flat.

The prediction is ŷ = Xw + b.  With row weights s_i, and α = 0 for plain least squares,

    (w, b) = argmin Σ_i s_i (y_i - x_i·w - b)² + α ‖w‖².

The intercept is not penalised, so centring X and y takes it out of the problem.  Cost: O(n d² + d³) to fit, where
d > n O(n² d) (more with collinear columns); O(m d) to predict.

Reference: A. E. Hoerl and R. W. Kennard, "Ridge regression", Technometrics 12, 1970.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from copy import copy
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils._param_validation import Interval

from bakeoff.learners.base.estimator import Regressor
from bakeoff.learners.base.paths import require_path_parameter
from bakeoff.learners.linear.base import linear_scores
from bakeoff.learners.linear.centered_rows import Centred


class LinearRegressor(Regressor):
    """Abstract: a hyperplane of least squares under a penalty that the subclass names."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {"fit_intercept": ["boolean"]}

    fit_intercept: bool

    @abstractmethod
    def _penalty(self) -> float:
        """Return α, in the unit of y² per squared weight."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Find the weights and the intercept.

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
            Cells that are no finite numbers; weights too large to be written as floats.
        """
        self._solve(Centred(*self._check_fit(X, y, sample_weight), self.fit_intercept))
        return self

    def _solve(self, rows: Centred) -> None:
        unit, target_unit = rows.unit, rows.target_unit
        with np.errstate(over="ignore", under="ignore"):
            penalty = np.minimum(np.sqrt(self._penalty()) / np.sqrt(rows.heaviest) / unit, 1e300)  # (d,)
            w = rows.weights(penalty)
            self.coef_ = w * target_unit / unit  # (d,)
            self.intercept_ = float((rows.target_mean - rows.mean @ w) * target_unit)
        if not np.isfinite(self.coef_).all() or not np.isfinite(self.intercept_):
            raise ValueError(
                f"{type(self).__name__}: a weight of this fit is too large for a float (y reaches {target_unit:.0e}, "
                f"a column only {unit.min():.0e}); rescale y or the columns."
            )

    def _values(self, X: np.ndarray) -> np.ndarray:
        return linear_scores(X, self.coef_[None, :], np.array([self.intercept_]))[:, 0]


class LinearRegression(LinearRegressor):
    """Least squares without penalty; with collinear columns, the weights of minimum norm.

    Parameters
    ----------
    fit_intercept : bool, default=True
        Whether to learn b; otherwise the hyperplane passes through the origin.

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

    def _penalty(self) -> float:
        return 0.0


class Ridge(LinearRegressor):
    """Least squares with the penalty α ‖w‖².

    Parameters
    ----------
    alpha : float, default=1.0
        The strength of the penalty, at least 0; 0 is `LinearRegression`.
    fit_intercept : bool, default=True
        Whether to learn b, which is not penalised.

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
        """Centre and multiply once for many penalties (see `bakeoff.learners.base.paths`)."""
        require_path_parameter(self, parameter)
        checked = clone(self).set_params(alpha=values[0])
        X, y, weight = checked._check_fit(X, y, sample_weight)
        rows = Centred(X, y, weight, self.fit_intercept)
        for alpha in values:
            fitted = copy(checked).set_params(alpha=alpha)
            fitted._validate_params()
            fitted._solve(rows)
            yield fitted

    def _penalty(self) -> float:
        return self.alpha
