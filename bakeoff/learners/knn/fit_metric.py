"""Fit the metric selected by the parameters of k-NN to the training rows: units, ranges, covariances.

There is one function for each family of metrics.

*Mahalanobis* √((x-z)ᵀ V⁻¹ (x-z)) is a Euclidean distance in other coordinates. With the Cholesky factorisation V = LLᵀ
of the covariance, Δᵀ V⁻¹ Δ = ‖L⁻¹ Δ‖²: rows are centred, scaled and multiplied by L⁻¹, and compared by their Euclidean
distance.

Cost: O(nd), for Mahalanobis O(nd² + d³).

Reference: P. C. Mahalanobis, "On the generalised distance in statistics", Proceedings of the National Institute of
Sciences of India 2, 1936.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from bakeoff.learners.base.scaling import RELATIVE_CELL_ROUNDING
from bakeoff.learners.knn.metrics import (
    POWER_BY_METRIC,
    CallableMetric,
    Metric,
    MinkowskiMetric,
    choose_unit,
    compute_half_ranges,
)

MIN_HALF_RANGE = 1e-300
"""A column with a smaller range counts as constant, since the inverse of its range may not be a float."""

MIN_RELATIVE_HALF_RANGE = RELATIVE_CELL_ROUNDING
"""A column with a smaller range, relative to its cells, counts as constant: its cells differ only by rounding."""

PARAMETERS_BY_METRIC = {
    "mahalanobis": frozenset({"V", "VI"}),
    "minkowski": frozenset({"p", "w"}),
    "p": frozenset({"p", "w"}),
}
TAKES_BY_METRIC = {
    "mahalanobis": "either V or VI",
    "minkowski": "w, the weights of the columns, and p",
    "p": "w, the weights of the columns, and p",
}


def fit_metric(
    C: np.ndarray,
    nominal: np.ndarray,
    metric: Any,
    p: float,
    metric_params: dict[str, Any] | None,
    feature_weights: Any,
) -> Metric:
    """Return the metric selected by the parameters, fitted to the training rows.

    Parameters
    ----------
    C : ndarray of shape (d, n)
        The training rows, column by column.
    nominal : ndarray of shape (d,), bool
    metric : str or callable
    p : float
        The power of ``metric="minkowski"``.
    metric_params : dict or None
        V or VI of Mahalanobis, w or p of Minkowski, or keyword arguments of a callable.
    feature_weights : array-like of shape (d,) or None

    Raises
    ------
    ValueError
        If a parameter does not fit the metric or the columns.
    """
    given = dict(metric_params or {})
    _check_metric_params(metric, given)
    if callable(metric) or metric == "mahalanobis":
        if feature_weights is not None:
            raise ValueError(f"feature_weights has no meaning for metric={metric!r}; scale the columns, or pass None.")
        if callable(metric):
            return CallableMetric(metric, given)
        return _fit_mahalanobis(C, nominal, given)

    p = given.get("p", p)
    if p < 1:
        raise ValueError(f"metric_params={{'p': {p}}} must be at least 1: below 1, a p-norm is not a metric.")
    feature_weights = _choose_weights(feature_weights, given)
    # A column of weight 0 is excluded: its cells are not even compared.
    weight = _check_feature_weights(feature_weights, C.shape[0])  # (d,)
    columns = np.flatnonzero(weight)  # (e,)
    if columns.size < C.shape[0]:
        C = C[columns]
        nominal = nominal[columns]
        weight = weight[columns]
    if metric == "hamming":
        return _fit_hamming(columns, weight)
    if metric == "gower":
        return _fit_gower(C, columns, nominal, weight)
    power = POWER_BY_METRIC.get(metric, float(p))
    return _fit_p_norm(power, C, columns, nominal, weight)


def warn_of_power(metric: Any, metric_params: dict[str, Any] | None) -> None:
    """Warn if a power is given twice."""
    if metric in ("minkowski", "p") and "p" in (metric_params or {}):
        message = "Parameter p is found in metric_params. The corresponding parameter from __init__ is ignored."
        warnings.warn(message, SyntaxWarning, stacklevel=4)


def _check_metric_params(metric: Any, given: dict[str, Any]) -> None:
    if callable(metric):
        return
    allowed = PARAMETERS_BY_METRIC.get(metric, frozenset())
    is_ambiguous = set(given) == {"V", "VI"}
    if not set(given) <= allowed or is_ambiguous:
        takes = TAKES_BY_METRIC.get(metric, "none (use feature_weights to weight columns)")
        raise ValueError(f"metric_params has the keys {sorted(given)}, but metric={metric!r} accepts {takes}.")


def _choose_weights(feature_weights: Any, given: dict[str, Any]) -> Any:
    """Return the weights of the columns, from one of the two parameters that set them."""
    if "w" not in given:
        return feature_weights
    if feature_weights is not None:
        raise ValueError("feature_weights and metric_params={'w': …} both set the weights; give only one of them.")
    return given["w"]


def _find_varying(C: np.ndarray) -> np.ndarray:
    """Return whether each column of C (e, n) varies by more than the rounding of its cells: shape (e,)."""
    half = compute_half_ranges(C)
    size = np.fmax.reduce(np.abs(C), axis=1)  # (e,), NaN for a column without values
    return half > np.maximum(MIN_HALF_RANGE, MIN_RELATIVE_HALF_RANGE * np.nan_to_num(size, nan=0.0))


def _check_feature_weights(feature_weights: Any, d: int) -> np.ndarray:
    """Return the weight of each column: shape (d,)."""
    if feature_weights is None:
        return np.ones(d)
    weight = np.asarray(feature_weights, dtype=np.float64)
    if weight.shape != (d,):
        raise ValueError(
            f"feature_weights has shape {weight.shape}, but X has {d} features: give one weight for each feature."
        )
    valid = np.isfinite(weight) & (weight >= 0)
    if not valid.all() or not weight.any():
        raise ValueError("feature_weights must be finite and non-negative, with at least one above 0.")
    return weight


def _fit_hamming(columns: np.ndarray, weight: np.ndarray) -> MinkowskiMetric:
    """Return the weighted fraction of columns that differ."""
    all_nominal = np.ones(columns.size, dtype=bool)
    return MinkowskiMetric(1.0, columns, all_nominal, weight, weight, mean=True)


def _fit_gower(C: np.ndarray, columns: np.ndarray, nominal: np.ndarray, weight: np.ndarray) -> MinkowskiMetric:
    """Return the weighted mean of |difference| / range and of nominal differences."""
    factor = np.where(nominal, weight, weight * _invert_ranges(C))  # (e,)
    return MinkowskiMetric(1.0, columns, nominal, factor, weight, mean=True)


def _invert_ranges(C: np.ndarray) -> np.ndarray:
    """Return 1 / range of each column of C (e, n): shape (e,), 0 for a constant column, in which no rows differ."""
    half = compute_half_ranges(C)
    varies = _find_varying(C)
    divisor = np.where(varies, half, 1.0)
    return np.where(varies, 0.5 / divisor, 0.0)


def _fit_p_norm(
    p: float, C: np.ndarray, columns: np.ndarray, nominal: np.ndarray, weight: np.ndarray
) -> MinkowskiMetric:
    """Return the weighted p-norm, in a unit in which the squares of ordinary differences can be represented."""
    factor = weight if p == np.inf else weight ** (1 / p)  # (e,)
    half = np.where(nominal, 1.0, compute_half_ranges(C))  # (e,)
    unit = choose_unit(float((half * factor).max()))

    # Only differences matter, so a constant column may be shifted to 0. Otherwise, a value of 1e200 in it would
    # dominate.
    constant = (half == 0) & ~np.isnan(C[:, 0])
    offset = np.where(constant, C[:, 0], 0.0)
    return MinkowskiMetric(p, columns, nominal, factor / unit, weight, offset=offset, unit=unit)


MIN_UNEXPLAINED_VARIANCE = 1e-13
"""The smallest fraction of a column's variance that the columns before it may leave unexplained."""

MAX_ASYMMETRY = 1e-8
"""The largest difference of the two halves of a covariance that counts as rounding, as a correlation."""


def _fit_mahalanobis(C: np.ndarray, nominal: np.ndarray, given: dict[str, Any]) -> MinkowskiMetric:
    """Return the Mahalanobis distance with a given covariance or that of the training rows.

    Parameters
    ----------
    C : ndarray of shape (d, n)
        The training rows, column by column.
    nominal : ndarray of shape (d,), bool
    given : dict
        V (the covariance), VI (its inverse), or nothing.

    Raises
    ------
    ValueError
        If there are nominal columns or only one row, or the matrix is not a covariance or has no inverse.
    """
    d, n = C.shape
    if nominal.any():
        raise ValueError("metric='mahalanobis' supports numbers only, but X has nominal columns; use metric='gower'.")
    if given:
        scale = np.ones(d)
        rounding = np.zeros(d)
        V = _check_covariance(next(iter(given.values())), d)
    else:
        # The unit of a column cancels out, so each is scaled to a size whose square can be represented.
        half_ranges = compute_half_ranges(C)
        scale = np.array([1 / choose_unit(half) for half in half_ranges.tolist()])  # (d,)
        V = _estimate_covariance(C, scale)
        rounding = (RELATIVE_CELL_ROUNDING * np.abs(C).max(axis=1) * scale) ** 2  # (d,), as a variance

    lower = _factor_covariance(V, rounding)
    rotation = lower.T if "VI" in given else np.linalg.inv(lower)
    centre = (C / n).sum(axis=1)  # (d,)
    return MinkowskiMetric(2.0, np.arange(d), nominal, scale, np.ones(d), offset=centre, rotation=rotation)


def _check_covariance(V: Any, d: int) -> np.ndarray:
    V = np.asarray(V, dtype=np.float64)
    valid = V.shape == (d, d) and np.isfinite(V).all()
    if not valid or not _is_symmetric(V):
        raise ValueError(
            f"metric_params: V or VI must be a finite symmetric matrix of shape ({d}, {d}); got shape {V.shape}."
        )
    return V


def _is_symmetric(V: np.ndarray) -> bool:
    """Return whether both halves of V (d, d) agree, relative to the deviations of the two columns of each entry."""
    deviation = np.sqrt(np.abs(np.diag(V)))  # (d,)
    return bool((np.abs(V - V.T) <= MAX_ASYMMETRY * np.outer(deviation, deviation)).all())


def _estimate_covariance(C: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """Return the sample covariance, with divisor n - 1, of rows C (d, n) after scaling: shape (d, d)."""
    if C.shape[1] < 2:
        raise ValueError(
            "metric='mahalanobis' estimates the covariance from at least 2 rows, but training has 1 sample; give V."
        )
    scaled = C * scale[:, None]  # (d, n)
    return np.atleast_2d(np.cov(scaled, ddof=1))


def _factor_covariance(V: np.ndarray, rounding: np.ndarray) -> np.ndarray:
    """Return the lower triangular L with V = LLᵀ: shape (d, d), given the rounding error of each variance (d,)."""
    try:
        lower = np.linalg.cholesky(V)
    except np.linalg.LinAlgError:
        lower = np.zeros_like(V)

    # The squared pivot is the part of the column's variance that is not explained by the columns before it.
    unexplained = np.square(np.diag(lower))  # (d,)
    if not (unexplained > MIN_UNEXPLAINED_VARIANCE * np.diag(V) + len(V) * rounding).all():
        raise ValueError(
            "metric='mahalanobis': the covariance V is singular or not positive definite (constant or collinear "
            "columns, or fewer rows than columns); drop such columns or give metric_params={'V': ...}."
        )
    return lower
