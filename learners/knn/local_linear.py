"""Locally weighted linear regression: a least-squares plane through each query's neighbours.

    minimise over a, b:  Σ_i v_i (y_i - a - b·(x_i - q))²,        the prediction at q is a,

v the votes.  About the weighted means the plane is ȳ + b·(x - x̄), read at q; b is the solution of least norm (columns
measured by their spread among the neighbours), so that few or collinear neighbours give a plane too, and a single one
its own value.

Cost: O(m k d min(k, d)).

Reference: W. S. Cleveland and S. J. Devlin, "Locally weighted regression", JASA 83, 1988.
"""

from __future__ import annotations

import numpy as np


def predict_local_planes(Q: np.ndarray, X: np.ndarray, y: np.ndarray, share: np.ndarray) -> np.ndarray:
    """Fit a plane for each query and read it there.

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
    mean = (share[:, :, None] * X).sum(axis=1)  # (m, d)
    level = (share * y).sum(axis=1)  # (m,)
    offset = (X - mean[:, None]) * (share > 0)[:, :, None]  # (m, K, d)
    spread = np.abs(offset).max(axis=1)  # (m, d)
    # What remains of a constant column is the rounding of its mean; it must not become a direction.
    varies = spread > 1e-12 * np.abs(mean)
    spread = np.where(varies, spread, 1.0)
    root = np.sqrt(share)
    design = np.where(varies[:, None], offset / spread[:, None], 0.0) * root[:, :, None]
    slope = np.linalg.pinv(design, rcond=1e-10) @ (root * (y - level[:, None]))[:, :, None]  # (m, d, 1)
    step = np.where(varies, (Q - mean) / spread, 0.0)
    return level + (step * slope[:, :, 0]).sum(axis=1)
