"""The Mahalanobis distance, and distances computed by a function.

*Mahalanobis* √((x-z)ᵀ V⁻¹ (x-z)) is a Euclidean distance in other coordinates. With the Cholesky factorisation V = LLᵀ
of the covariance, Δᵀ V⁻¹ Δ = ‖L⁻¹ Δ‖²: rows are centred, scaled and multiplied by L⁻¹, and compared by their Euclidean
distance.

Cost of the factorisation: O(nd² + d³).

A user-supplied function of two rows can be used only with brute force, with one call per pair, because all other
searches rely on properties of the metric.

Reference: P. C. Mahalanobis, "On the generalised distance in statistics", Proceedings of the National Institute of
Sciences of India 2, 1936.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from bakeoff.learners.base.scaling import RELATIVE_CELL_ROUNDING
from bakeoff.learners.knn.metrics import (
    Metric,
    MinkowskiMetric,
    choose_unit,
    compute_half_ranges,
)

MIN_UNEXPLAINED_VARIANCE = 1e-13
"""The smallest fraction of a column's variance that the columns before it may leave unexplained."""


MAX_ASYMMETRY = 1e-8
"""The largest difference of the two halves of a covariance that counts as rounding, as a correlation."""


def fit_mahalanobis(C: np.ndarray, nominal: np.ndarray, given: dict[str, Any]) -> MinkowskiMetric:
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


class CallableMetric(Metric):
    """A metric that is computed by a function of two rows, with nominal cells as codes.

    Parameters
    ----------
    function : callable
        Maps two arrays of shape (d,) to a nonnegative number.
    parameters : dict
        Additional keyword arguments of the function.
    """

    def __init__(self, function: Callable[..., float], parameters: dict[str, Any]) -> None:
        self.function = function
        self.parameters = parameters

    def compute_coordinates(self, C: np.ndarray) -> np.ndarray:
        """Return C (d, m) itself."""
        return C

    def measure_all_pairs(self, Q: np.ndarray, T: np.ndarray, *, missing: bool) -> np.ndarray:
        """Return all distances between Q (d, m) and T (d, n): shape (m, n)."""
        m = Q.shape[1]
        n = T.shape[1]
        query, row = np.divmod(np.arange(m * n), n)
        return self.measure_pairs(Q, query, T, row, missing=missing).reshape(m, n)

    def measure_pairs(
        self, Q: np.ndarray, query: np.ndarray, T: np.ndarray, row: np.ndarray, *, missing: bool
    ) -> np.ndarray:
        """Return the distances between columns Q[:, query[i]] and T[:, row[i]]: shape of ``query``.

        Raises
        ------
        ValueError
            If the function returns NaN or a negative number.
        """
        queries = np.ascontiguousarray(Q.T)  # (m, d)
        rows = np.ascontiguousarray(T.T)  # (n, d)
        pairs = zip(query.tolist(), row.tolist(), strict=True)
        values = (self.function(queries[i], rows[j], **self.parameters) for i, j in pairs)
        distance = np.fromiter(values, dtype=np.float64, count=query.size)
        valid = distance >= 0
        if not valid.all():
            wrong = distance[~valid][0]
            raise ValueError(f"metric: the callable returned {wrong} for two rows; a distance must be non-negative.")
        return distance
