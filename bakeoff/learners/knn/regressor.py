"""k nearest neighbours for regression: the mean target of the nearest training rows, or a plane through them.

    ŷ(q) = Σ_{i ∈ N(q)} v_i y_i / Σ_{i ∈ N(q)} v_i,      N(q) = the k rows with the smallest d(q, x_i)

The votes v are those of `bakeoff.learners.knn.ranking`.
`bakeoff.learners.definitions.k_nearest_neighbors` states the algorithm; the neighbours are found as in
`bakeoff.learners.knn.classifier`.

Locally weighted linear regression fits a least-squares plane to the neighbours of each query:

    minimise over a, b:  Σ_i v_i (y_i - a - b·(x_i - q))²,        the prediction at q is a,

with the votes v. Relative to the weighted means, the plane is ȳ + b·(x - x̄), evaluated at q. Among all solutions b,
the one of minimum norm is used, with columns scaled by their spread among the neighbours, so that a plane also exists
for few or collinear neighbours. With a single neighbour, the prediction is its target.

Cost of m queries: O(mnd) by brute force, about O(md log n) by a kd-tree in few dimensions; the planes take
O(m k d min(k, d)).

References
----------
T. M. Cover, "Estimation by the nearest neighbor rule", IEEE Transactions on Information Theory 14, 1968.
W. S. Cleveland and S. J. Devlin, "Locally weighted regression", JASA 83, 1988.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils._param_validation import StrOptions

from bakeoff.learners.base.estimator import Regressor
from bakeoff.learners.base.scaling import RELATIVE_CELL_ROUNDING
from bakeoff.learners.knn.base import KNeighborsBase

MIN_RELATIVE_SPREAD = 1e-12
"""A column whose spread is a smaller fraction of its mean is constant up to rounding."""

MIN_RELATIVE_SINGULAR_VALUE = 1e-10
"""Directions with smaller singular values, relative to the largest, are left out of the plane.

So are directions of rounding: near neighbours far from zero vary by little more than the last digits of their cells.
"""


def predict_local_planes(Q: np.ndarray, X: np.ndarray, y: np.ndarray, share: np.ndarray) -> np.ndarray:
    """Fit a plane for each query and evaluate it there.

    Parameters
    ----------
    Q : ndarray of shape (m, d)
    X : ndarray of shape (m, K, d)
        The neighbours' rows.
    y : ndarray of shape (m, K)
    share : ndarray of shape (m, K)
        Votes; each row sums to 1.

    Returns
    -------
    ndarray of shape (m,)
    """
    # Relative to the weighted means, the level and the slope of the plane can be computed separately.
    mean = (share[:, :, None] * X).sum(axis=1)  # (m, d)
    level = (share * y).sum(axis=1)  # (m,)
    offset = _centre_rows(X, mean, share)  # (m, K, d)
    # The rounding error of a constant column's mean must not become a direction of the plane.
    spread = np.abs(offset).max(axis=1)  # (m, d)
    varies = spread > MIN_RELATIVE_SPREAD * np.abs(mean)
    spread = np.where(varies, spread, 1.0)
    scaled = np.where(varies[:, None], offset / spread[:, None], 0.0)  # (m, K, d)
    rounding = RELATIVE_CELL_ROUNDING * np.abs(mean) / spread  # (m, d), of a column in units of its spread
    least = np.sqrt((rounding**2).sum(axis=1, where=varies))  # (m,)
    slope = _fit_slopes(scaled, y - level[:, None], share, np.maximum(MIN_RELATIVE_SINGULAR_VALUE, least))  # (m, d)
    step = np.where(varies, (Q - mean) / spread, 0.0)  # (m, d)
    return level + (step * slope).sum(axis=1)


def _centre_rows(X: np.ndarray, mean: np.ndarray, share: np.ndarray) -> np.ndarray:
    """Return neighbours (m, K, d) relative to their weighted means (m, d); 0 for those without a vote (m, K)."""
    takes_part = share > 0  # (m, K)
    offset = (X - mean[:, None]) * takes_part[:, :, None]  # (m, K, d)
    # The rounding error of the mean would otherwise become a direction of the plane.
    rest = (share[:, :, None] * offset).sum(axis=1)  # (m, d)
    offset -= rest[:, None] * takes_part[:, :, None]
    return np.asarray(offset)


def _fit_slopes(rows: np.ndarray, y: np.ndarray, share: np.ndarray, least: np.ndarray) -> np.ndarray:
    """Return the slope of minimum norm, of shape (m, d), of y (m, K) on rows (m, K, d) with the votes (m, K).

    Singular values below ``least``, of shape (m,), relative to the largest, are left out.
    """
    # Weighted least squares is least squares on rows multiplied by the square roots of their weights.
    root = np.sqrt(share)  # (m, K)
    design = rows * root[:, :, None]  # (m, K, d)
    target = root * y  # (m, K)
    inverse = np.linalg.pinv(design, rcond=least)  # (m, d, K)
    slope: np.ndarray = (inverse @ target[:, :, None])[:, :, 0]
    return slope


class KNeighborsRegressor(Regressor, KNeighborsBase):
    """Predict the mean target of the k nearest training rows, or the value of a plane through them.

    Parameters
    ----------
    n_neighbors, weights, bandwidth, algorithm, leaf_size, metric, p, metric_params, feature_weights, ties, missing, \
categorical_features, random_state, n_jobs
        As in `KNeighborsClassifier`.
    regression : {"mean", "linear"}
        The mean of the targets, weighted by the votes (locally weighted regression); or the value at the query of the
        weighted least-squares plane through the neighbours (locally weighted linear regression), which requires
        complete numeric columns.

    Attributes
    ----------
    n_samples_fit_ : int
        n, the number of rows with positive weight.
    effective_metric_ : str or callable
    ties_ : {"first", "all", "random"}

    Notes
    -----
    The array X passed to ``fit`` must not be changed afterwards, as for `KNeighborsClassifier`.

    Examples
    --------
    >>> speed, distance = [[4], [8], [12], [16], [20]], [7.0, 16.0, 24.0, 36.0, 50.0]
    >>> KNeighborsRegressor(n_neighbors=2).fit(speed, distance).predict([[13]])
    array([30.])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **KNeighborsBase._parameter_constraints,
        "regression": [StrOptions({"mean", "linear"})],
    }

    def __init__(
        self,
        n_neighbors: int = 5,
        *,
        weights: str | Callable[[np.ndarray], Any] = "uniform",
        bandwidth: float = 1.0,
        regression: str = "mean",
        algorithm: str = "auto",
        leaf_size: int = 30,
        metric: str | Callable[..., float] = "minkowski",
        p: float = 2,
        metric_params: dict[str, Any] | None = None,
        feature_weights: Any = None,
        ties: str = "auto",
        missing: str = "ignore",
        categorical_features: Any = "from_dtype",
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(
            n_neighbors,
            weights=weights,
            bandwidth=bandwidth,
            algorithm=algorithm,
            leaf_size=leaf_size,
            metric=metric,
            p=p,
            metric_params=metric_params,
            feature_weights=feature_weights,
            ties=ties,
            missing=missing,
            categorical_features=categorical_features,
            random_state=random_state,
            n_jobs=n_jobs,
        )
        self.regression = regression

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Store the rows.

        Parameters
        ----------
        X : array-like of shape (n, d)
        y : array-like of shape (n,)
        sample_weight : array-like of shape (n,), optional

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If there are fewer rows than ``n_neighbors``, or parameters do not fit the columns.
        """
        X, y, weight = self._check_fit(X, y, sample_weight)
        order = self._store_rows(X, weight, sample_weight)
        self._y = y[order]
        if self.regression == "linear":
            if any(values is not None for values in self.categories_):
                raise ValueError("regression='linear' supports numbers only, but X has nominal columns; use 'mean'.")
            self._X = np.array(X[order])  # a copy: X may be the caller's own array
        return self

    def _values(self, X: np.ndarray) -> np.ndarray:
        values = np.empty(X.shape[0])  # (m,)
        for start, rows, share in self._iterate_votes(X):
            block = slice(start, start + rows.shape[0])
            y = self._y[rows]  # (block, K)
            if self.regression == "linear":
                values[block] = predict_local_planes(X[block], self._X[rows], y, share)
            else:
                values[block] = _sum_by_query(share * y)
        return values

    def _accepts_missing(self) -> bool:
        return super()._accepts_missing() and self.regression == "mean"


def _sum_by_query(terms: np.ndarray) -> np.ndarray:
    """Return the sum of each row of terms (m, K), added from left to right for any K: shape (m,)."""
    m, width = terms.shape
    query = np.repeat(np.arange(m), width)
    return np.bincount(query, weights=terms.ravel(), minlength=m)
