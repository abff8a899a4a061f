"""Rows whose products are the kernel values: any kernel becomes a linear one, of as many features as K has rank.

    K = V Λ Vᵀ,      rows V √Λ

Where slack is dear, thousands of steps bring the dual nowhere near the optimum, and the primal takes some twenty.  The
kernels for which that happens are smooth, so the rank, to rounding, is often far less than n.

Cost: O(n³), once.
"""

from __future__ import annotations

import numpy as np

from bakeoff.learners.svm.kernel.gram import Gram

MIN_EIGENVALUE_RATIO = 1e-14
"""Eigenvalues, relative to the largest, that are lost in rounding."""

MIN_NEGATIVE_EIGENVALUE_RATIO = -1e-10
"""An eigenvalue, relative to the largest, below which K is no matrix of products."""


def compute_feature_map(gram: Gram) -> np.ndarray | None:
    """Return rows (n, r) about their mean, or None if K is indefinite.

    Parameters
    ----------
    gram : Gram
        Of n rows.
    """
    try:
        values, vectors = np.linalg.eigh(gram.take_block(np.arange(gram.diagonal.size)))
    except np.linalg.LinAlgError:
        return None
    largest = float(values[-1])
    if largest <= 0.0 or values[0] < MIN_NEGATIVE_EIGENVALUE_RATIO * largest:
        return None
    kept = values > MIN_EIGENVALUE_RATIO * largest
    rows: np.ndarray = vectors[:, kept] * np.sqrt(values[kept])
    return rows - rows.mean(axis=0)


def smo_steps_worth_feature_map(n: int) -> int:
    """The steps of a pair that take about as long as the rows and their primal (measured)."""
    return 1000 + int(2e-5 * n**3)
