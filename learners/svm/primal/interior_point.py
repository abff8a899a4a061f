"""Common code of the interior point methods for hard and soft margin: scaling, the Newton system, the duality gap.

Newton's method moves through the interior of the feasible region, with a barrier at each constraint that decreases
over the iterations. Slacks and multipliers are eliminated row by row, so that each iteration solves one system of d +
1 unknowns,

    (D + Z Θ Zᵀ) Δu = …,      z_i = y_i (x_i / s, 1),   u = (w s, b),   D = diag(1 / s_j², 0),   Θ diagonal.

By Woodbury's identity this is the system of n unknowns that the dual would have. Every column j is divided by its
largest absolute value s_j. The system is computed from individual rows, never from products between rows: if columns
have very different units, as in a table that is not standardized, kernel values lose the digits that separate the
classes, whereas the rows retain them.

References
----------
S. Mehrotra, "On the implementation of a primal-dual interior point method", SIAM Journal on Optimization 2, 1992.
M. C. Ferris, T. S. Munson, "Interior-point methods for massive support vector machines", SIAM Journal on Optimization
13, 2002.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

FRACTION_TO_BOUNDARY = 0.995
"""Fraction of the way to the nearest constraint that a step may go."""

MAX_GAP = 1e-8
"""Largest relative gap between the objectives of an accepted solution if rounding does not allow a smaller one."""

MAX_COLUMN_RATIO = 1e300
"""Largest entry of D, relative to the smallest."""

RIDGE = 1e-15
"""Added to the diagonal of Newton's system, which is 1: collinear columns make the system singular."""


@final
@dataclass(frozen=True)
class PrimalSolution:
    """A hyperplane, and the multipliers that prove it optimal.

    Attributes
    ----------
    normal : ndarray of shape (d,)
        w.
    intercept : float
        b.
    alpha : ndarray of shape (n,)
        Multipliers; 0 except for support vectors.
    gap : float
        Upper bound on the distance of the objective from its minimum, relative.
    """

    normal: np.ndarray
    intercept: float
    alpha: np.ndarray
    gap: float


@final
@dataclass(frozen=True)
class ScaledRows:
    """Training rows with every column divided by its largest absolute value.

    Attributes
    ----------
    Z : ndarray of shape (d + 1, n)
        Column i is z_i = y_i (x_i / s, 1).
    D : ndarray of shape (d + 1,)
        Diagonal of the quadratic form ‖w‖² in u, relative to its smallest entry; 0 for the intercept.
    scale : ndarray of shape (d,)
        s.
    """

    Z: np.ndarray
    D: np.ndarray
    scale: np.ndarray


def scale_rows(X: np.ndarray, signs: np.ndarray) -> ScaledRows:
    """Scale the rows X (n, d) with the signs y (n,)."""
    scale = np.abs(X).max(axis=0)  # (d,)
    scale[scale == 0.0] = 1.0
    quadratic = np.minimum((scale.max() / scale) ** 2, MAX_COLUMN_RATIO)
    rows = np.vstack([X.T / scale[:, None], np.ones(len(X))])  # (d + 1, n)
    return ScaledRows(rows * signs, np.append(quadratic, 0.0), scale)


@final
@dataclass(frozen=True)
class Residuals:
    """The residuals of the optimality conditions at a point.

    Attributes
    ----------
    primal : ndarray of shape (n,)
        The residuals of the margin constraints.
    dual : ndarray of shape (d + 1,)
        Du - Σ α_i z_i.
    """

    primal: np.ndarray
    dual: np.ndarray


def bound_gap(complementarity: float, alpha_sum: float, u: np.ndarray, D: np.ndarray, residuals: Residuals) -> float:
    """Return an upper bound on the possible decrease of the objective, relative to Σ α.

    Parameters
    ----------
    complementarity : float
        Sum of multiplier times slack.
    alpha_sum : float
        Σ α.
    u, D : ndarray of shape (d + 1,)
    residuals : Residuals
    """
    imbalance = residuals.dual
    # Restoring the primal constraints costs Σ α times the largest residual; for the dual constraints, see below.
    costs = np.abs(imbalance * u)
    costs[:-1] += imbalance[:-1] ** 2 / D[:-1]
    bound = complementarity + alpha_sum * np.abs(residuals.primal).max() + costs.sum() + abs(imbalance[-1])
    return float(bound) / alpha_sum


def limit_step(worst_ratio: float) -> float:
    """Return the length of a step, at most 1, that stays inside: ``worst_ratio`` is the largest -step / value."""
    if worst_ratio <= 0.0:
        return 1.0
    return min(1.0, FRACTION_TO_BOUNDARY / worst_ratio)


@final
class NewtonSystem:
    """The system D + Z Θ Zᵀ of one iteration.

    Every unknown has its own unit, chosen so that the diagonal is 1: otherwise the largest entries would reduce the
    precision of the others.

    Parameters
    ----------
    rows : ScaledRows
    theta : ndarray of shape (n,)
        Diagonal of Θ.
    """

    def __init__(self, rows: ScaledRows, theta: np.ndarray) -> None:
        matrix = (rows.Z * theta) @ rows.Z.T  # (d + 1, d + 1)
        diagonal = matrix.reshape(-1)[:: len(matrix) + 1]  # (d + 1,), a view
        diagonal += rows.D
        unit = 1.0 / np.sqrt(diagonal)  # (d + 1,)
        matrix *= unit
        matrix *= unit[:, None]
        diagonal += RIDGE
        self._matrix = matrix
        self._unit = unit

    def is_finite(self) -> bool:
        """Whether nothing overflowed."""
        return bool(np.isfinite(self._matrix).all())

    def solve(self, right_side: np.ndarray) -> np.ndarray:
        """Return Δu, of shape (d + 1,); raises LinAlgError if the system is singular."""
        return self._unit * np.linalg.solve(self._matrix, self._unit * right_side)
