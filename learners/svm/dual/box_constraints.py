"""The quadratic programme that both margins come down to, and how far a point is from solving it.

With β_i = y_i α_i the dual of the lecture is

    minimise  ½ βᵀKβ - pᵀβ   subject to   low ≤ β ≤ high,  Σ β constant within each group of rows.

Soft margin: p = y, β_i between 0 and y_i C_i, and one group, Σ β = Σ α y = 0.
Hard margin: p = 0, β_i y_i ≥ 0, and two groups, the classes, with Σ β = ±1: the shortest vector between the convex
hulls of the classes.  It is bounded whether or not the classes can be separated, and its length tells which.

Reference: K. P. Bennett, E. J. Bredensteiner, "Duality and geometry in SVM classifiers", ICML 2000.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

DUST = 1e-14
"""What sums of β leave of rounding, relative to the largest β."""


@final
@dataclass(frozen=True)
class BoxConstraints:
    """The constraints on β for n rows.

    Parameters
    ----------
    low, high : ndarray of shape (n,)
    groups : list of slice
        Rows whose β has a constant sum; together they are all rows.
    """

    low: np.ndarray
    high: np.ndarray
    groups: list[slice]

    def restrict_to(self, rows: np.ndarray) -> BoxConstraints:
        """Return the constraints on the given rows (ascending) alone."""
        edges = np.searchsorted(rows, [group.stop for group in self.groups]).tolist()
        starts = [0, *edges[:-1]]
        groups = [slice(a, b) for a, b in zip(starts, edges, strict=True)]
        return BoxConstraints(self.low[rows], self.high[rows], groups)


def snap_to_bounds(box: BoxConstraints, beta: np.ndarray) -> np.ndarray:
    """Return β with rows that lie within rounding of a bound on it, or they would pass for free.

    Parameters
    ----------
    box : BoxConstraints
        Finite.
    beta : ndarray of shape (n,)
    """
    reach = DUST * np.minimum(box.high - box.low, np.abs(beta).max(initial=0.0))
    return np.where(beta <= box.low + reach, box.low, np.where(beta >= box.high - reach, box.high, beta))


def measure_violation(box: BoxConstraints, beta: np.ndarray, gradient: np.ndarray) -> float:
    """Return by how much the Karush-Kuhn-Tucker conditions fail: 0 at the optimum.

    Moving weight from row j to row i of one group lowers the objective while gradient_i < gradient_j; at the optimum
    no β_i that may rise has a smaller gradient than a β_j that may fall.

    Parameters
    ----------
    box : BoxConstraints
    beta, gradient : ndarray of shape (n,)
        gradient = Kβ - p.
    """
    rising = np.where(beta < box.high, gradient, np.inf)
    falling = np.where(beta > box.low, gradient, -np.inf)
    return max(0.0, *(_spread(rising[group], falling[group]) for group in box.groups))


def estimate_multipliers(box: BoxConstraints, beta: np.ndarray, gradient: np.ndarray) -> list[float]:
    """Return the value the gradient has on the free rows of each group, averaged over them.

    Where no row is free, any value between the bounds will do, and the middle is taken.
    """
    levels = []
    for group in box.groups:
        b, g = beta[group], gradient[group]
        rises, falls = b < box.high[group], b > box.low[group]
        free = rises & falls
        if free.any():
            levels.append(float(g[free].mean()))
        else:
            ends = [float(end) for end in (g[falls].max(initial=-np.inf), g[rises].min(initial=np.inf))]
            finite = [end for end in ends if np.isfinite(end)]
            levels.append(sum(finite) / max(len(finite), 1))
    return levels


def _spread(rising: np.ndarray, falling: np.ndarray) -> float:
    return float(falling.max() - rising.min()) if rising.size else 0.0
