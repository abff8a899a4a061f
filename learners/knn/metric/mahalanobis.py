"""The Mahalanobis distance √((x-z)ᵀ V⁻¹ (x-z)), as a Euclidean distance in other coordinates.

With the Cholesky factorisation V = LLᵀ of the covariance, Δᵀ V⁻¹ Δ = ‖L⁻¹ Δ‖²: rows are centred, scaled and multiplied
by L⁻¹, and compared by their Euclidean distance.

Cost: O(nd² + d³).

Reference: P. C. Mahalanobis, "On the generalised distance in statistics", Proceedings of the National Institute of
Sciences of India 2, 1936.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bakeoff.learners.base.scaling import RELATIVE_CELL_ROUNDING
from bakeoff.learners.knn.metric.minkowski import MinkowskiMetric
from bakeoff.learners.knn.metric.units import choose_unit, compute_half_ranges

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
        Nominal columns, a single row, or a matrix that is not a covariance or has no inverse.
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
        raise ValueError(f"metric_params: V or VI must be a finite symmetric ({d}, {d}) matrix; its shape: {V.shape}.")
    return V


def _is_symmetric(V: np.ndarray) -> bool:
    """Return whether both halves of V (d, d) agree, relative to the deviations of the two columns of each entry."""
    deviation = np.sqrt(np.abs(np.diag(V)))  # (d,)
    return bool((np.abs(V - V.T) <= MAX_ASYMMETRY * np.outer(deviation, deviation)).all())


def _estimate_covariance(C: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """Return the sample covariance, with n - 1, of rows C (d, n) after scaling: shape (d, d)."""
    if C.shape[1] < 2:
        raise ValueError("metric='mahalanobis' learns the covariance and needs 2 rows; training has 1 sample. Give V.")
    scaled = C * scale[:, None]  # (d, n)
    return np.atleast_2d(np.cov(scaled, ddof=1))


def _factor_covariance(V: np.ndarray, rounding: np.ndarray) -> np.ndarray:
    """Return the lower triangular L with V = LLᵀ: shape (d, d), given what of a variance is rounding (d,)."""
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
