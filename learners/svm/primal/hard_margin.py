"""The hard margin of a linear kernel by an interior point method: d + 1 unknowns, whatever the unit of each column.

    minimise  ½‖w‖²   subject to   y_i (w·x_i + b) ≥ 1

With columns divided by their largest cell, u_j = w_j s_j, the rows enter one by one, never as products of rows: where
columns have units far apart, as in a table nobody scaled, kernel values have lost the digits that tell the classes
apart, and these have not.  As in `primal`, slacks and multipliers are eliminated row by row, which leaves

    (D + Z Θ Zᵀ) Δu = …,      z_i = y_i (x_i / s, 1),   D = diag(1 / s_j²),   Θ = diag(α_i / slack_i).

If no hyperplane separates the classes, the multipliers grow without end, towards a proof of it (Farkas):

    Σ α_i y_i x_i = 0,   Σ α_i y_i = 0,   α ≥ 0, not all 0:      the convex hulls of the classes meet.

Cost: O(n d²) for an iteration, of which there are some 10 to 40.

Reference: S. Mehrotra, "On the implementation of a primal-dual interior point method", SIAM Journal on Optimization 2,
1992.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

ITERATIONS = 100
GAP = 1e-13
"""Stop at this gap between the objectives, relative."""

ENOUGH = 1e-8
"""The gap that will do where rounding allows no smaller one, as shows in so many iterations:"""

PATIENCE = 5

HINT = 1e-6
"""Sums Σ α_i z_i so small, relative to Σ α_i, may be on their way to a proof that the hulls meet."""

MEETING = 1e-13
"""Sums that are the proof, relative to their terms: zero to rounding, in every column."""

FRACTION_TO_BOUNDARY = 0.995
"""Share of the way to the nearest constraint that a step may go."""

DEAREST = 1e300
"""The most that a column's D may be, relative to the least."""

STUCK, NEARLY, CENTRING = 0.9, 0.1, 0.3
"""A step that leaves so much of α·slack, with the constraints met so nearly, gives way to one towards so much of it."""

RIDGE = 1e-15
"""Added to the system's diagonal, which is 1: collinear columns make it singular."""


@final
@dataclass(frozen=True)
class HardMarginSolution:
    """What is known of two classes.

    Attributes
    ----------
    meet : bool
        Whether the hulls are known to meet; then the rest says nothing.
    normal : ndarray of shape (d,)
        w.
    intercept : float
        b.
    alpha : ndarray of shape (n,)
        0 but for support vectors.
    """

    meet: bool
    normal: np.ndarray
    intercept: float
    alpha: np.ndarray


@final
@dataclass(frozen=True)
class _InteriorPoint:
    """A point strictly inside the constraints, or a step from one: u (d + 1,), α and slack (n,)."""

    u: np.ndarray
    alpha: np.ndarray
    slack: np.ndarray

    def moved(self, step: _InteriorPoint) -> _InteriorPoint:
        """Go along the step as far as keeps all inside, at most to its end."""
        worst = max(float((-step.alpha / self.alpha).max()), float((-step.slack / self.slack).max()))
        length = min(1.0, FRACTION_TO_BOUNDARY / worst) if worst > 0.0 else 1.0
        return _InteriorPoint(
            self.u + length * step.u, self.alpha + length * step.alpha, self.slack + length * step.slack
        )


def solve_hard_margin_primal(X: np.ndarray, signs: np.ndarray) -> HardMarginSolution | None:
    """Find the widest margin, or a proof that there is none; None if the numbers give out before either.

    Parameters
    ----------
    X : ndarray of shape (n, d)
    signs : ndarray of shape (n,)
        +1 or -1, both there.
    """
    n, d = X.shape
    best, waited, found = ENOUGH, 0, None
    with np.errstate(over="ignore", divide="ignore", invalid="ignore", under="ignore"):
        Z, D, size = scaled(X, signs)
        at = _InteriorPoint(np.zeros(d + 1), np.ones(n), np.ones(n))
        for _ in range(ITERATIONS):
            force, total = Z @ at.alpha, float(at.alpha.sum())
            if float(np.abs(force).max()) <= HINT * total and _hulls_meet(Z, at.alpha):
                return HardMarginSolution(True, np.zeros(d), 0.0, at.alpha)
            short, unbalanced = 1.0 - at.u @ Z + at.slack, D * at.u - force  # what the equations lack: (n,), (d + 1,)
            gap = gap_bound(float(at.alpha @ at.slack), total, at.u, D, short, unbalanced)
            waited = waited + 1 if found is not None and gap >= best else 0
            if gap < best:
                best, found = gap, at
            following = None if best <= GAP or waited > PATIENCE else _step(Z, D, at, short, unbalanced)
            if following is None:
                break
            at = following
    if found is None:
        return None
    alpha = np.where(found.alpha < found.slack * found.alpha.max(), 0.0, found.alpha)
    return HardMarginSolution(False, found.u[:d] / size, float(found.u[d]), alpha / float(size.max()) ** 2)


def scaled(X: np.ndarray, signs: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return Z, (d + 1, n), the diagonal of D in the unit of its least, (d + 1,), and each column's largest cell."""
    size = np.abs(X).max(axis=0)
    size[size == 0.0] = 1.0
    D = np.append(np.minimum((size.max() / size) ** 2, DEAREST), 0.0)
    return np.vstack([X.T / size[:, None], np.ones(len(X))]) * signs, D, size


def gap_bound(
    products: float, total: float, u: np.ndarray, D: np.ndarray, short: np.ndarray, unbalanced: np.ndarray
) -> float:
    """Return a bound on what the objective may still gain, relative to Σ α.

    Parameters
    ----------
    products : float
        Sum of multiplier times slack.
    total : float
        Σ α.
    u, D, unbalanced : ndarray of shape (d + 1,)
        The plane, and by how much Du exceeds Σ α_i z_i.
    short : ndarray of shape (n,)
        What the constraints lack; it costs α.
    """
    costs = np.abs(unbalanced * u)
    costs[:-1] += unbalanced[:-1] ** 2 / D[:-1]
    return float(products + total * np.abs(short).max() + costs.sum() + abs(unbalanced[-1])) / total


def _hulls_meet(Z: np.ndarray, alpha: np.ndarray) -> bool:
    """Whether some α ≥ 0 near the given one, with Σ α_i z_i = 0, proves it."""
    rows = np.flatnonzero(alpha >= HINT * alpha.max())
    terms = Z[:, rows] * (alpha[rows] / alpha.max())
    for _ in range(3):
        # The least change, relative to α, that makes the sums zero.
        change = np.linalg.lstsq(terms, -terms.sum(axis=1), rcond=None)[0]
        if not (np.abs(change) < 1.0).all():
            return False
        terms = terms * (1.0 + change)
    return bool((np.abs(terms.sum(axis=1)) <= MEETING * np.abs(terms).sum(axis=1)).all())


def balanced(Z: np.ndarray, theta: np.ndarray, D: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the matrix of Newton's step, Σ θ_i z_i z_iᵀ + D, (d + 1, d + 1), and its units, (d + 1,).

    Each unknown has a unit of its own, which makes the diagonal 1: or the dearest would cost the others their digits.
    """
    system = (Z * theta) @ Z.T
    diagonal = system.reshape(-1)[:: len(system) + 1]  # a view
    diagonal += D
    unit = 1.0 / np.sqrt(diagonal)
    system *= unit
    system *= unit[:, None]
    diagonal += RIDGE
    return system, unit


def _step(
    Z: np.ndarray, D: np.ndarray, at: _InteriorPoint, short: np.ndarray, unbalanced: np.ndarray
) -> _InteriorPoint | None:
    """Predict without a barrier, see how far that goes, and correct; None if the numbers give out."""
    system, unit = balanced(Z, at.alpha / at.slack, D)
    if not np.isfinite(system).all():
        return None

    def towards(product: np.ndarray) -> _InteriorPoint:
        """Newton's step to α·slack changed by the amounts given."""
        right = Z @ ((product + at.alpha * short) / at.slack) - unbalanced
        du = unit * np.linalg.solve(system, unit * right)
        rise = du @ Z - short
        return _InteriorPoint(du, (product - at.alpha * rise) / at.slack, rise)

    try:
        product = at.alpha * at.slack
        guess = towards(-product)
        reached = at.moved(guess)
        gap = float(product.sum())
        barrier = (float(reached.alpha @ reached.slack) / gap) ** 3 * gap / product.size
        following = at.moved(towards(barrier - product - guess.alpha * guess.slack))
        # Wedged into a corner (and not on the way to infinity): to the middle first.
        if np.abs(short).max() < NEARLY and float(following.alpha @ following.slack) > STUCK * gap:
            following = at.moved(towards(CENTRING * gap / product.size - product))
    except np.linalg.LinAlgError:
        return None
    inside = all(np.isfinite(part).all() for part in (following.u, following.alpha, following.slack))
    return following if inside else None
