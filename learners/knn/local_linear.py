"""Locally weighted linear regression: a least-squares plane through each query's neighbours.

    minimise over a, b:  Σ_i v_i (y_i - a - b·(x_i - q))²,        the prediction at q is a,

with the votes v. Relative to the weighted means, the plane is ȳ + b·(x - x̄), evaluated at q. Among all solutions b,
the one of minimum norm is used, with columns scaled by their spread among the neighbours, so that a plane also exists
for few or collinear neighbours. With a single neighbour, the prediction is its target.

Cost: O(m k d min(k, d)).

Reference: W. S. Cleveland and S. J. Devlin, "Locally weighted regression", JASA 83, 1988.
"""

from __future__ import annotations

import numpy as np

from bakeoff.learners.base.scaling import RELATIVE_CELL_ROUNDING

MIN_RELATIVE_SPREAD = 1e-12
"""A column whose spread is a smaller fraction of its mean is constant up to rounding."""

MIN_RELATIVE_SINGULAR_VALUE = 1e-10
"""Directions of smaller singular values, relative to the largest, are left out of the plane.

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
        Votes; rows sum to 1.

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
    # What the rounding of the mean has left of it would be a direction of the plane.
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
