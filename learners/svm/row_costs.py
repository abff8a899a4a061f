"""The cost C of each row: that of the learner, times the weights of the row and of its class."""

from __future__ import annotations

from typing import Any

import numpy as np

MAX_FINITE_C = 1e200
"""Largest C that is not infinite, in the unit of length of the rows."""


def find_weighted_rows(sample_weight: Any, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the positions in ``fit``'s input, and the weights, of the n rows whose weight is positive: both (n,)."""
    weight = np.asarray(1.0 if sample_weight is None else sample_weight, dtype=np.float64)
    if weight.ndim == 0:
        return np.arange(n), np.ones(n)
    positive = np.flatnonzero(weight > 0)
    return positive, weight[positive]


def scale_C(C: float, weight: np.ndarray, length_unit: float) -> np.ndarray:
    """Return C of each row in the given unit of length; values too large for a float are scaled down in proportion."""
    largest_weight = float(weight.max())
    with np.errstate(over="ignore", under="ignore"):
        largest_C = C * np.float64(length_unit) ** 2 * largest_weight
        if np.isinf(C) or largest_C <= MAX_FINITE_C:
            return C * weight * length_unit**2
        return np.asarray(weight / largest_weight * MAX_FINITE_C)
