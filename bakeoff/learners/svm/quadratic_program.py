"""The quadratic program for both margins: its constraints, its points, and their distance from the optimum.

With β_i = y_i α_i, the dual in the lecture is

    minimize  ½ βᵀKβ - pᵀβ   subject to   low ≤ β ≤ high,   Σ β constant within each group of rows.

Soft margin: p = y, β_i between 0 and y_i C_i, and one group with Σ β = Σ α y = 0.
Hard margin: p = 0, β_i y_i ≥ 0, and two groups, the classes, with Σ β = ±1. The solution is the shortest vector
between the convex hulls of the classes. It always exists, and its length is 0 if the classes cannot be separated.

At the optimum the gradient Kβ - p equals a multiplier λ of the group on the free rows (low < β < high), is at least λ
on the rows at their lower bound, and at most λ on the rows at their upper bound. The intercept is b = -λ.

References
----------
K. P. Bennett, E. J. Bredensteiner, "Duality and geometry in SVM classifiers", ICML 2000.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

ROUNDING_RATIO = 1e-14
"""Rounding error in sums of β, relative to the largest β."""


@final
@dataclass(frozen=True)
class BoxConstraints:
    """The constraints on β for n rows.

    Parameters
    ----------
    low, high : ndarray of shape (n,)
        Bounds on β.
    groups : list of slice
        Each group contains rows whose β have a constant sum; together the groups cover all rows.
    """

    low: np.ndarray
    high: np.ndarray
    groups: list[slice]

    def restrict_to(self, rows: np.ndarray) -> BoxConstraints:
        """Return the constraints on only the given rows (ascending)."""
        stops = np.searchsorted(rows, [group.stop for group in self.groups]).tolist()
        starts = [0, *stops[:-1]]
        groups = [slice(start, stop) for start, stop in zip(starts, stops, strict=True)]
        return BoxConstraints(self.low[rows], self.high[rows], groups)


@final
@dataclass
class DualPoint:
    """A point of the dual, changed in place by the solvers.

    Attributes
    ----------
    beta : ndarray of shape (n,)
        β_i = y_i α_i.
    gradient : ndarray of shape (n,)
        Kβ - p, which the solvers update whenever β changes.
    n_iter : int
        SMO steps and Newton steps taken.
    converged : bool
    """

    beta: np.ndarray
    gradient: np.ndarray
    n_iter: int = 0
    converged: bool = False

    def restrict_to(self, rows: np.ndarray) -> DualPoint:
        """Return a copy restricted to the given rows."""
        return DualPoint(self.beta[rows], self.gradient[rows])


def find_free_rows(box: BoxConstraints, point: DualPoint) -> np.ndarray:
    """Return which rows lie strictly between their bounds, (n,) bool."""
    return (point.beta > box.low) & (point.beta < box.high)


def snap_to_bounds(box: BoxConstraints, beta: np.ndarray) -> np.ndarray:
    """Return β with values that equal a bound up to rounding set to the bound, so that they do not count as free.

    Parameters
    ----------
    box : BoxConstraints
        Finite.
    beta : ndarray of shape (n,)
    """
    largest = np.abs(beta).max(initial=0.0)
    tolerance = ROUNDING_RATIO * np.minimum(box.high - box.low, largest)  # (n,)
    snapped_up = np.where(beta >= box.high - tolerance, box.high, beta)
    return np.where(beta <= box.low + tolerance, box.low, snapped_up)


def measure_violation(box: BoxConstraints, point: DualPoint) -> float:
    """Return the violation of the Karush-Kuhn-Tucker conditions: 0 at the optimum.

    Raising β_i and lowering β_j of the same group lowers the objective while gradient_i < gradient_j. At the optimum
    no β_i that may rise has a smaller gradient than a β_j that may fall.
    """
    rising = np.where(point.beta < box.high, point.gradient, np.inf)  # (n,)
    falling = np.where(point.beta > box.low, point.gradient, -np.inf)  # (n,)
    violations = [_measure_group(rising[group], falling[group]) for group in box.groups]
    return max(0.0, *violations)


def estimate_multipliers(box: BoxConstraints, point: DualPoint) -> list[float]:
    """Return λ of each group: the mean gradient of its free rows.

    If no row of the group is free, every value between the gradients of the two kinds of bounded rows is a multiplier,
    and the midpoint is returned.
    """
    return [
        _estimate_multiplier(box.low[group], box.high[group], point.beta[group], point.gradient[group])
        for group in box.groups
    ]


def _measure_group(rising: np.ndarray, falling: np.ndarray) -> float:
    if not rising.size:
        return 0.0
    return float(falling.max() - rising.min())


def _estimate_multiplier(low: np.ndarray, high: np.ndarray, beta: np.ndarray, gradient: np.ndarray) -> float:
    rising = beta < high
    falling = beta > low
    free = rising & falling
    if free.any():
        return float(gradient[free].mean())
    least = float(gradient[falling].max(initial=-np.inf))
    most = float(gradient[rising].min(initial=np.inf))
    # One end is infinite if all rows are at the same bound.
    finite_ends = [end for end in (least, most) if np.isfinite(end)]
    return sum(finite_ends) / max(len(finite_ends), 1)
