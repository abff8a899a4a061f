"""The linear primal by an interior point method: d + 1 unknowns, whatever the number of rows.

    minimise  ½‖w‖² + Σ C_i ξ_i   subject to   y_i (w·x_i + b) ≥ 1 - ξ_i,  ξ_i ≥ 0

Newton's method goes through the inside of the constraints, each held off by a barrier that shrinks.  Slacks and
multipliers are eliminated row by row, so that each iteration solves one system of d + 1 unknowns,

    (I + XᵀΘX) Δw = …,      Θ diagonal,

which is the system of n unknowns that the dual would have, by Woodbury's identity.  Cost: O(n d²) for an iteration,
of which there are some 10 to 30, hardly depending on n.

Reference: S. Mehrotra, "On the implementation of a primal-dual interior point method", SIAM Journal on Optimization 2,
1992; M. C. Ferris, T. S. Munson, "Interior-point methods for massive support vector machines", ibid. 13, 2002.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

ITERATIONS = 60
GAP = 1e-10
"""Stop at this product of slack and multiplier, relative to the mean C: the dual solver finishes from there."""

INSIDE = 0.995
"""Share of the way to the nearest constraint that a step may go."""


@final
@dataclass
class _Inside:
    """A point strictly inside the constraints; all of shape (n,) but the hyperplane, of shape (d + 1,)."""

    plane: np.ndarray
    alpha: np.ndarray
    eta: np.ndarray  # C - α, the multiplier of ξ ≥ 0
    slack: np.ndarray  # by how much y (w·x + b) exceeds 1 - ξ
    xi: np.ndarray

    def gap(self) -> float:
        return float(self.alpha @ self.slack + self.eta @ self.xi) / (2 * self.alpha.size)

    def moved(self, step: _Inside, length: float) -> _Inside:
        fields = ("plane", "alpha", "eta", "slack", "xi")
        return _Inside(*(getattr(self, name) + length * getattr(step, name) for name in fields))

    def longest(self, step: _Inside) -> float:
        """The longest step, at most 1, that keeps all inside."""
        worst = max(
            float((-getattr(step, name) / getattr(self, name)).max()) for name in ("alpha", "eta", "slack", "xi")
        )
        return min(1.0, INSIDE / worst) if worst > 0 else 1.0


def solve_primal(X: np.ndarray, signs: np.ndarray, C: np.ndarray) -> np.ndarray:
    """Return β = yα of the soft margin, near enough to the optimum for the dual solver to finish in a few steps.

    Parameters
    ----------
    X : ndarray of shape (n, d)
    signs : ndarray of shape (n,)
        +1 or -1.
    C : ndarray of shape (n,)
        Finite and positive.

    Returns
    -------
    ndarray of shape (n,)
        Within the box, Σ β = 0 to rounding.
    """
    n, d = X.shape
    scale = float(np.sqrt(np.einsum("ij,ij->", X, X) / n)) or 1.0
    price = C * scale**2  # the problem with rows of length about 1 has these multipliers
    Z = np.empty((d + 1, n))  # rows as columns, with a last line of ones for b
    Z[:d], Z[d] = X.T / scale, 1.0
    Z *= signs
    point = _Inside(np.zeros(d + 1), price / 2, price / 2, np.ones(n), np.full(n, 2.0))
    for _ in range(ITERATIONS):
        gap = point.gap()
        if gap <= GAP * float(price.mean()):
            break
        following = _iterate(Z, point)
        if following is None:
            break
        point = following
    return _snapped(point, price, C, signs)


def _iterate(Z: np.ndarray, at: _Inside) -> _Inside | None:
    """One step: predict without a barrier, see how far that goes, and correct; None if the numbers give out."""
    gap = at.gap()
    theta = 1.0 / (at.xi / at.eta + at.slack / at.alpha)  # (n,)
    system = (Z * theta) @ Z.T  # (d + 1, d + 1)
    system.flat[: -1 : Z.shape[0] + 1] += 1.0
    no_move = np.zeros_like(theta)
    guess = _direction(Z, at, theta, system, -at.alpha * at.slack, -at.eta * at.xi)
    if guess is None:
        return None
    reached = at.moved(guess, at.longest(guess)).gap()
    barrier = (reached / gap) ** 3 * gap + no_move
    step = _direction(
        Z,
        at,
        theta,
        system,
        barrier - at.alpha * at.slack - guess.alpha * guess.slack,
        barrier - at.eta * at.xi - guess.eta * guess.xi,
    )
    return None if step is None else at.moved(step, at.longest(step))


def _direction(
    Z: np.ndarray, at: _Inside, theta: np.ndarray, system: np.ndarray, for_slack: np.ndarray, for_xi: np.ndarray
) -> _Inside | None:
    """Newton's step towards α·slack and η·ξ changed by the amounts given.

    Z holds y x, so that Zᵀ plane is y (w·x + b).
    """
    missing = 1.0 - at.plane @ Z - at.xi + at.slack  # (n,), what the constraint lacks
    right = missing - for_xi / at.eta + for_slack / at.alpha
    gradient = Z @ at.alpha  # Σ α y x, and Σ α y
    unbalanced = at.plane - gradient
    unbalanced[-1] = -gradient[-1]
    try:
        plane = np.linalg.solve(system, Z @ (theta * right) - unbalanced)
    except np.linalg.LinAlgError:
        return None
    alpha = theta * (right - plane @ Z)
    if not np.isfinite(alpha).all():
        return None
    slack = (for_slack - at.slack * alpha) / at.alpha
    xi = (for_xi + at.xi * alpha) / at.eta
    return _Inside(plane, alpha, -alpha, slack, xi)


def _snapped(point: _Inside, price: np.ndarray, C: np.ndarray, signs: np.ndarray) -> np.ndarray:
    """β with the multipliers that go to a bound put there: those smaller than the slack they are paired with."""
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
    return beta
