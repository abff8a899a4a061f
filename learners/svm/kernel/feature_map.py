"""The feature map of a Gram matrix: rows whose inner products are the kernel values.

    K = V Λ Vᵀ,      rows of V √Λ

With these rows, any kernel becomes a linear one, and the number of features is the rank of K. For large C, thousands
of SMO steps do not come near the optimum of the dual, whereas the primal needs about twenty iterations. This occurs
with smooth kernels, whose numerical rank is often much smaller than n.

Cost: O(n³), once.
"""

from __future__ import annotations

import numpy as np

from bakeoff.learners.svm.kernel.gram import Gram

MIN_EIGENVALUE_RATIO = 1e-14
"""Eigenvalues below this, relative to the largest, are rounding errors."""

MAX_NEGATIVE_EIGENVALUE_RATIO = 1e-10
"""If K has an eigenvalue below minus this, relative to the largest, it is indefinite and has no feature map."""


def compute_feature_map(gram: Gram) -> np.ndarray | None:
    """Return the rows (n, r) in feature space, minus their mean, or None if K is indefinite.

    Parameters
    ----------
    gram : Gram
        Of n rows.
    """
    n = gram.diagonal.size
    try:
        eigenvalues, eigenvectors = np.linalg.eigh(gram.take_block(np.arange(n)))
    except np.linalg.LinAlgError:
        return None
    largest = float(eigenvalues[-1])
    if largest <= 0.0 or eigenvalues[0] < -MAX_NEGATIVE_EIGENVALUE_RATIO * largest:
        return None
    kept = eigenvalues > MIN_EIGENVALUE_RATIO * largest
    rows: np.ndarray = eigenvectors[:, kept] * np.sqrt(eigenvalues[kept])  # (n, r)
    return rows - rows.mean(axis=0)


def estimate_feature_map_cost(n: int) -> int:
    """Return the number of SMO steps that take about as long as the feature map and its primal (measured)."""
    return 1000 + int(2e-5 * n**3)
