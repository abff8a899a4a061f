"""Units in which the squares of differences neither overflow nor underflow."""

from __future__ import annotations

import numpy as np

MIN_ORDINARY_SIZE = 1e-140
MAX_ORDINARY_SIZE = 1e150
"""Sizes between which the unit is 1."""

MAX_UNIT_EXPONENT = 1000
"""The largest unit, and the inverse of the smallest, is 2 to this power."""


def compute_half_ranges(C: np.ndarray) -> np.ndarray:
    """Return (largest - smallest) / 2 of each column of C (d, n): shape (d,), 0 for a column without a value.

    Both are halved first, since the range itself may overflow.
    """
    largest = np.fmax.reduce(C, axis=1)  # (d,)
    smallest = np.fmin.reduce(C, axis=1)  # (d,)
    half = largest / 2 - smallest / 2
    return np.where(np.isnan(half), 0.0, half)


def choose_unit(size: float) -> float:
    """Return a unit in which the size has ordinary magnitude: a power of two, so that scaling by it is exact."""
    if size == 0 or MIN_ORDINARY_SIZE <= size <= MAX_ORDINARY_SIZE:
        return 1.0
    exponent = np.clip(np.frexp(size)[1], -MAX_UNIT_EXPONENT, MAX_UNIT_EXPONENT)
    return float(2.0**exponent)
