"""Least squares: linear regression and ridge regression by the normal equations.

The prediction is ŷ = w·x + b. The learned weights minimise

    Σ_i (y_i - w·x_i - b)² + λ ‖w‖²          λ = 0: linear regression,   λ > 0: ridge regression

If a 1 is appended to each row for the intercept b, which is not penalised, the derivative vanishes for

    (XᵀX + λ I') w = Xᵀy          I' is the identity matrix with 0 in the place of b

Cost: O(n d² + d³).

Reference: T. Hastie, R. Tibshirani, J. Friedman, "The Elements of Statistical Learning", 2009, chapter 3.
"""

from __future__ import annotations

import numpy as np


def least_squares(X: np.ndarray, y: np.ndarray, penalty: float = 0.0) -> tuple[np.ndarray, float]:
    """Return the weights w (d,) and the intercept b for rows X (n, d) and targets y (n,).

    >>> w, b = least_squares(np.array([[0], [1], [2]]), np.array([1, 3, 5]))
    >>> w.round(9).tolist(), round(b, 9)
    ([2.0], 1.0)
    """
    n, d = X.shape
    with_ones = np.column_stack([X, np.ones(n)])  # (n, d + 1)
    penalised = np.diag([1.0] * d + [0.0])  # all but the intercept
    solution = np.linalg.solve(with_ones.T @ with_ones + penalty * penalised, with_ones.T @ y)
    return solution[:-1], float(solution[-1])


def objective(X: np.ndarray, y: np.ndarray, w: np.ndarray, b: float, penalty: float = 0.0) -> float:
    """Return the penalised sum of squares, which is minimised."""
    return float(((y - X @ w - b) ** 2).sum() + penalty * (w**2).sum())
