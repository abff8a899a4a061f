"""The linear primal by an interior point method: d + 1 unknowns, whatever the number of rows.

    minimise  ½‖w‖² + Σ C_i ξ_i   subject to   y_i (w·x_i + b) ≥ 1 - ξ_i,  ξ_i ≥ 0

Newton's method goes through the inside of the constraints, each held off by a barrier that shrinks.  Slacks and
multipliers are eliminated row by row, so that each iteration solves one system of d + 1 unknowns,

    (D + Z Θ Zᵀ) Δu = …,      z_i = y_i (x_i / s, 1),   u_j = w_j s_j,   D = diag(1 / s_j²),   Θ diagonal,

which is the system of n unknowns that the dual would have, by Woodbury's identity.  Columns are divided by their
largest cell s_j, as in `separation`: where they have units far apart the plane found here has digits that kernel values
lost.  Cost: O(n d²) for an iteration, of which there are some 10 to 40, hardly depending on n.

Reference: S. Mehrotra, "On the implementation of a primal-dual interior point method", SIAM Journal on Optimization 2,
1992; M. C. Ferris, T. S. Munson, "Interior-point methods for massive support vector machines", ibid. 13, 2002.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from bakeoff.learners.svm.primal.hard_margin import FRACTION_TO_BOUNDARY, balanced, gap_bound, scaled

ITERATIONS = 60
GAP = 1e-12
"""Stop at this gap between the objectives, relative."""

PATIENCE = 4
"""So many iterations that narrow the gap no further, and rounding allows no smaller one."""


@final
@dataclass(frozen=True)
class SoftMarginSolution:
    """A hyperplane, and the multipliers that prove it.

    Attributes
    ----------
    normal : ndarray of shape (d,)
        w.
    intercept : float
        b.
    alpha : ndarray of shape (n,)
        Within the box; Σ α y = 0 to rounding.
    gap : float
        How far the objective may be from its least, relative.
    """

    normal: np.ndarray
    intercept: float
    alpha: np.ndarray
    gap: float


@final
@dataclass(frozen=True)
class _InteriorPoint:
    """A point strictly inside the constraints, or a step from one: u of shape (d + 1,), the others (n,)."""

    u: np.ndarray
    alpha: np.ndarray
    eta: np.ndarray  # C - α, the multiplier of ξ ≥ 0
    slack: np.ndarray  # by how much y (w·x + b) exceeds 1 - ξ
    xi: np.ndarray

    def products(self) -> float:
        return float(self.alpha @ self.slack + self.eta @ self.xi)

    def moved(self, step: _InteriorPoint) -> _InteriorPoint:
        """Go along the step as far as keeps all inside, at most to its end."""
        names = ("alpha", "eta", "slack", "xi")
        worst = max(float((-getattr(step, name) / getattr(self, name)).max()) for name in names)
        length = min(1.0, FRACTION_TO_BOUNDARY / worst) if worst > 0.0 else 1.0
        return _InteriorPoint(*(getattr(self, name) + length * getattr(step, name) for name in ("u", *names)))


def solve_soft_margin_primal(X: np.ndarray, signs: np.ndarray, C: np.ndarray) -> SoftMarginSolution | None:
    """Return the plane, as near to the optimum as rounding allows; None if the numbers give out at once.

    Parameters
    ----------
    X : ndarray of shape (n, d)
    signs : ndarray of shape (n,)
        +1 or -1.
    C : ndarray of shape (n,)
        Finite and positive.
    """
    n, d = X.shape
    least, waited, found = np.inf, 0, None
    with np.errstate(over="ignore", divide="ignore", invalid="ignore", under="ignore"):
        Z, D, size = scaled(X, signs)
        unit = float(size.max()) ** 2
        price = C * unit  # rows in the unit of the largest column have these multipliers
        at = _InteriorPoint(np.zeros(d + 1), price / 2, price / 2, np.ones(n), np.full(n, 2.0))
        for _ in range(ITERATIONS):
            short, unbalanced = 1.0 - at.u @ Z - at.xi + at.slack, D * at.u - Z @ at.alpha  # (n,), (d + 1,)
            gap = gap_bound(at.products(), at.alpha.sum(), at.u, D, short, unbalanced)
            waited = 0 if gap < least else waited + 1
            if gap < least:
                least, found = gap, at
            following = None if least <= GAP or waited > PATIENCE else _step(Z, D, at, short, unbalanced)
            if following is None:
                break
            at = following
    if found is None:
        return None
    return SoftMarginSolution(found.u[:d] / size, float(found.u[d]), _snapped(found, price, C, signs), least)


def _step(
    Z: np.ndarray, D: np.ndarray, at: _InteriorPoint, short: np.ndarray, unbalanced: np.ndarray
) -> _InteriorPoint | None:
    """Predict without a barrier, see how far that goes, and correct; None if the numbers give out."""
    theta = 1.0 / (at.xi / at.eta + at.slack / at.alpha)  # (n,)
    system, unit = balanced(Z, theta, D)
    if not np.isfinite(system).all():
        return None

    def towards(for_slack: np.ndarray, for_xi: np.ndarray) -> _InteriorPoint:
        """Newton's step to α·slack and η·ξ changed by the amounts given."""
        right = short - for_xi / at.eta + for_slack / at.alpha
        du = unit * np.linalg.solve(system, unit * (Z @ (theta * right) - unbalanced))
        rise = theta * (right - du @ Z)
        return _InteriorPoint(
            du, rise, -rise, (for_slack - at.slack * rise) / at.alpha, (for_xi + at.xi * rise) / at.eta
        )

    try:
        for_slack, for_xi = -at.alpha * at.slack, -at.eta * at.xi
        guess = towards(for_slack, for_xi)
        products = at.products()
        barrier = (at.moved(guess).products() / products) ** 3 * products / (2 * theta.size)
        step = towards(barrier + for_slack - guess.alpha * guess.slack, barrier + for_xi - guess.eta * guess.xi)
    except np.linalg.LinAlgError:
        return None
    following = at.moved(step)
    return following if all(np.isfinite(part).all() for part in vars(following).values()) else None


def _snapped(point: _InteriorPoint, price: np.ndarray, C: np.ndarray, signs: np.ndarray) -> np.ndarray:
    """Return α, the multipliers that go to a bound put there: those smaller than the slack they are paired with."""
    alpha = np.clip(point.alpha / price, 0.0, 1.0) * C
    alpha[point.alpha < price * point.slack] = 0.0
    above = point.eta < price * point.xi
    alpha[above] = C[above]
    beta = signs * alpha
    # The rounding that this leaves in Σ β goes to rows with room for it, most room first.
    room_up = np.where(signs > 0, C - alpha, alpha)
    room_down = np.where(signs > 0, alpha, C - alpha)
    excess = float(beta.sum())
    room = room_down if excess > 0 else room_up
    order = np.argsort(-np.minimum(room_up, room_down), kind="stable")
    taken = np.clip(abs(excess) - np.concatenate([[0.0], np.cumsum(room[order])[:-1]]), 0.0, room[order])
    beta[order] -= np.sign(excess) * taken
    return np.asarray(signs * beta)
