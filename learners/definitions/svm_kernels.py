"""Kernels: inner products K(x, z) = Φ(x)·Φ(z) in a space of features Φ that need not be computed.

    linear        x·z
    polynomial    (x·z + 1)^p
    Gaussian      exp(-‖x - z‖² / 2σ²)

A support vector machine uses the rows only in inner products. If these are replaced by a kernel, it finds a
hyperplane in the space of Φ, which is a curved boundary in the space of x.

Cost: O(n m d) for the kernel values between n and m rows.

Reference: B. E. Boser, I. M. Guyon, V. N. Vapnik, "A training algorithm for optimal margin classifiers", COLT 1992.
"""

from __future__ import annotations

import numpy as np


def linear(X: np.ndarray, Z: np.ndarray) -> np.ndarray:
    """Return x·z for each row x of X (n, d) and z of Z (m, d): shape (n, m)."""
    return X @ Z.T


def polynomial(X: np.ndarray, Z: np.ndarray, p: int) -> np.ndarray:
    """Return (x·z + 1)^p for each row x of X (n, d) and z of Z (m, d): shape (n, m)."""
    return np.asarray((X @ Z.T + 1) ** p)


def gaussian(X: np.ndarray, Z: np.ndarray, sigma: float) -> np.ndarray:
    """Return exp(-‖x - z‖² / 2σ²) for each row x of X (n, d) and z of Z (m, d): shape (n, m)."""
    squared_distance = ((X[:, None, :] - Z[None, :, :]) ** 2).sum(axis=2)  # (n, m)
    return np.exp(-squared_distance / (2 * sigma**2))
