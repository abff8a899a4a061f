"""From the parameters of k-NN and the training rows to the metric that measures distances.

One function per family of metrics.  Cost: O(nd), for Mahalanobis O(nd² + d³).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bakeoff.learners.knn.metric.callable_metric import CallableMetric
from bakeoff.learners.knn.metric.minkowski import POWER_BY_METRIC, Metric, MinkowskiMetric


def fit_metric(
    C: np.ndarray, nominal: np.ndarray, metric: Any, p: float, metric_params: dict[str, Any] | None, weights: Any
) -> Metric:
    """Learn the metric that the parameters name from the training rows.

    Parameters
    ----------
    C : ndarray of shape (d, n)
        The training rows, column by column.
    nominal : ndarray of shape (d,), bool
    metric : str or callable
    p : float
        Of ``metric="minkowski"``.
    metric_params : dict or None
        V or VI of Mahalanobis, or keyword arguments of a callable.
    weights : array-like of shape (d,) or None
        Column weights w.

    Raises
    ------
    ValueError
        A parameter that does not fit the metric or the columns.
    """
    given = dict(metric_params or {})
    allowed = {"V", "VI"} if metric == "mahalanobis" else set(given) if callable(metric) else set()
    if not set(given) <= allowed or (len(given) > 1 and not callable(metric)):
        takes = "V or VI, one of them" if allowed else "none (for weights of columns give feature_weights)"
        raise ValueError(f"metric_params has {sorted(given)}, but metric={metric!r} takes {takes}.")
    if callable(metric) or metric == "mahalanobis":
        if weights is not None:
            raise ValueError(f"feature_weights has no meaning for metric={metric!r}; scale the columns, or pass None.")
        return CallableMetric(metric, given) if callable(metric) else _fit_mahalanobis(C, nominal, given)
    share = _check_feature_weights(weights, C.shape[0])
    columns = np.flatnonzero(share)
    if columns.size < C.shape[0]:
        C, nominal, share = C[columns], nominal[columns], share[columns]
    if metric == "hamming":
        return MinkowskiMetric(1.0, columns, np.ones(columns.size, dtype=bool), share, share, mean=True)
    if metric == "gower":
        return MinkowskiMetric(
            1.0, columns, nominal, np.where(nominal, share, share * _invert_ranges(C)), share, mean=True
        )
    return _fit_minkowski(POWER_BY_METRIC.get(metric, float(p)), C, columns, nominal, share)


def _check_feature_weights(weights: Any, d: int) -> np.ndarray:
    if weights is None:
        return np.ones(d)
    share = np.asarray(weights, dtype=np.float64)
    if share.shape != (d,):
        raise ValueError(f"feature_weights has shape {share.shape}, but X has {d} features: give one weight for each.")
    if not (np.isfinite(share).all() and (share >= 0).all() and share.any()):
        raise ValueError("feature_weights must be finite and not negative, and at least one above 0.")
    return share


def _compute_half_ranges(C: np.ndarray) -> np.ndarray:
    """(largest - smallest) / 2 of each column, of shape (d,): halved first, since the range itself may overflow."""
    half: np.ndarray = np.fmax.reduce(C, axis=1) / 2 - np.fmin.reduce(C, axis=1) / 2
    return np.where(np.isnan(half), 0.0, half)  # a column without a value has none


def _invert_ranges(C: np.ndarray) -> np.ndarray:
    half = _compute_half_ranges(C)
    return np.where(half > 1e-300, 0.5 / np.where(half > 1e-300, half, 1.0), 0.0)  # a constant column tells nothing


def _choose_unit(size: float) -> float:
    """Return the unit that makes a size ordinary: multiplying by a power of two rounds nothing away."""
    if size == 0 or 1e-140 <= size <= 1e150:
        return 1.0
    return float(2.0 ** np.clip(np.frexp(size)[1], -1000, 1000))


def _fit_minkowski(
    p: float, C: np.ndarray, columns: np.ndarray, nominal: np.ndarray, share: np.ndarray
) -> MinkowskiMetric:
    root = share if p == np.inf else share ** (1 / p)
    half = np.where(nominal, 1.0, _compute_half_ranges(C))
    unit = _choose_unit(float((half * root).max()))
    # Only differences count, so a constant column may be moved to 0: else 1e200 there would drown the rest.
    offset = np.where((half == 0) & ~np.isnan(C[:, 0]), C[:, 0], 0.0)
    return MinkowskiMetric(p, columns, nominal, root / unit, share, offset=offset, unit=unit)


def _fit_mahalanobis(C: np.ndarray, nominal: np.ndarray, given: dict[str, Any]) -> MinkowskiMetric:
    d, n = C.shape
    if nominal.any():
        raise ValueError("metric='mahalanobis' takes numbers only, and X has nominal columns; take metric='gower'.")
    scale = np.array(
        [1 / _choose_unit(half) for half in _compute_half_ranges(C).tolist()]
    )  # (d,), all 1 for ordinary data
    if given:
        V = np.asarray(next(iter(given.values())), dtype=np.float64)
        if V.shape != (d, d) or not np.isfinite(V).all() or not np.allclose(V, V.T):
            raise ValueError(
                f"metric_params: V or VI must be a finite symmetric ({d}, {d}) matrix; its shape: {V.shape}."
            )
        scale = np.ones(d)
    elif n < 2:
        raise ValueError("metric='mahalanobis' learns the covariance and needs 2 rows; training has 1 sample. Give V.")
    else:
        V = np.atleast_2d(np.cov(C * scale[:, None], ddof=1))
    lower = _factor_covariance(V)
    rotation = lower.T if "VI" in given else np.linalg.inv(lower)  # V = LLᵀ: Δᵀ V⁻¹ Δ = ‖L⁻¹ Δ‖²
    centre = (C / n).sum(axis=1)
    return MinkowskiMetric(2.0, np.arange(d), nominal, scale, np.ones(d), offset=centre, rotation=rotation)


def _factor_covariance(V: np.ndarray) -> np.ndarray:
    try:
        lower = np.linalg.cholesky(V)
    except np.linalg.LinAlgError:
        lower = np.zeros_like(V)
    # The squared pivot is the part of the column's variance that the columns before it do not explain.
    if not (np.square(np.diag(lower)) > 1e-13 * np.diag(V)).all():
        raise ValueError(
            "metric='mahalanobis': the covariance V is singular or not positive definite (constant or collinear "
            "columns, or fewer rows than columns); drop such columns or give metric_params={'V': ...}."
        )
    return lower
