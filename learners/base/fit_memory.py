"""The memory of fits that hold a number for each pair of rows, which is known before the fit.

Such a learner needs 100 times the memory for 10 times the rows.
"""

from __future__ import annotations

from typing import Any

BYTES_OF_NUMBER = 8
PAIRWISE_MODULE = "sklearn.gaussian_process"
MATRICES_OF_FITTED_KERNEL = 11
"""Matrices of n × n numbers at the peak of a fit that optimizes its kernel: 10 to 15 were measured."""
MATRICES_OF_GIVEN_KERNEL = 7
"""Matrices at the peak with the kernel as it is given: 5 to 7 were measured."""


def estimate_pairwise_bytes(estimator: Any, n_rows: int) -> int:
    """Return the memory in bytes that a fit needs for pairs of rows; 0 for learners that hold none.

    Parameters
    ----------
    estimator : estimator
        An estimator of bakeoff or of another library.
    n_rows : int
        Of the training rows.

    Examples
    --------
    >>> from sklearn.gaussian_process import GaussianProcessRegressor
    >>> from sklearn.linear_model import Ridge
    >>> estimate_pairwise_bytes(GaussianProcessRegressor(), 10_000), estimate_pairwise_bytes(Ridge(), 10_000)
    (8800000000, 0)
    """
    if not type(estimator).__module__.startswith(PAIRWISE_MODULE):
        return 0
    is_kernel_fitted = estimator.get_params(deep=False).get("optimizer") is not None
    n_matrices = MATRICES_OF_FITTED_KERNEL if is_kernel_fitted else MATRICES_OF_GIVEN_KERNEL
    return n_matrices * BYTES_OF_NUMBER * n_rows * n_rows
