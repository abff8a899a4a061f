"""The soft margin of a linear kernel by an interior point method, with d + 1 unknowns for any number of rows.

    minimize  ½‖w‖² + Σ C_i ξ_i   subject to   y_i (w·x_i + b) ≥ 1 - ξ_i,  ξ_i ≥ 0

The Newton system (see `hard_margin_primal`) has 1 / Θ = diag(ξ_i / η_i + slack_i / α_i), where η_i = C_i - α_i is the
multiplier of ξ_i ≥ 0, and slack_i is the amount by which y_i (w·x_i + b) exceeds 1 - ξ_i.

Cost: O(n d²) for an iteration; there are about 10 to 40, nearly independent of n.

References
----------
M. C. Ferris, T. S. Munson, "Interior-point methods for massive support vector machines", SIAM Journal on Optimization
13, 2002.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from bakeoff.learners.svm.hard_margin_primal import (
    NewtonSystem,
    PrimalSolution,
    Residuals,
    ScaledRows,
    bound_gap,
    limit_step,
    scale_rows,
)

MAX_ITERATIONS = 60

TARGET_GAP = 1e-12
"""Stop at this relative gap between the objectives."""

MAX_STALLED_ITERATIONS = 4
"""Number of iterations without a smaller gap after which rounding is assumed to prevent any further decrease."""


@final
@dataclass(frozen=True)
class _InteriorPoint:
    """A point strictly inside the constraints, or a step from one: u of shape (d + 1,), the others (n,)."""

    u: np.ndarray
    alpha: np.ndarray
    eta: np.ndarray  # C - α, the multiplier of ξ ≥ 0
    slack: np.ndarray  # the amount by which y (w·x + b) exceeds 1 - ξ
    xi: np.ndarray

    def sum_products(self) -> float:
        """Return Σ α·slack + Σ η·ξ, which is 0 at the optimum."""
        return float(self.alpha @ self.slack + self.eta @ self.xi)

    def move_along(self, step: _InteriorPoint) -> _InteriorPoint:
        """Move along the step, at most to its end, and only as far as all constraints still hold strictly."""
        worst_ratio = max(
            float((-step.alpha / self.alpha).max()),
            float((-step.eta / self.eta).max()),
            float((-step.slack / self.slack).max()),
            float((-step.xi / self.xi).max()),
        )
        length = limit_step(worst_ratio)
        return _InteriorPoint(
            u=self.u + length * step.u,
            alpha=self.alpha + length * step.alpha,
            eta=self.eta + length * step.eta,
            slack=self.slack + length * step.slack,
            xi=self.xi + length * step.xi,
        )

    def is_finite(self) -> bool:
        return all(np.isfinite(part).all() for part in (self.u, self.alpha, self.eta, self.slack, self.xi))


def solve_soft_margin_primal(X: np.ndarray, signs: np.ndarray, C: np.ndarray) -> PrimalSolution | None:
    """Return the hyperplane, as close to the optimum as rounding allows; None if rounding prevents the first step.

    Parameters
    ----------
    X : ndarray of shape (n, d)
    signs : ndarray of shape (n,)
        +1 or -1.
    C : ndarray of shape (n,)
        Finite and positive.
    """
    d = X.shape[1]
    best: _InteriorPoint | None = None
    best_gap = np.inf
    stalled = 0
    with np.errstate(over="ignore", divide="ignore", invalid="ignore", under="ignore"):
        rows = scale_rows(X, signs)
        # If rows are measured in the unit of the largest column, this is the upper bound on the multipliers.
        scaled_C = C * float(rows.scale.max()) ** 2  # (n,)
        point = _start_inside(d, scaled_C)
        for _ in range(MAX_ITERATIONS):
            residuals = Residuals(
                primal=1.0 - point.u @ rows.Z - point.xi + point.slack,
                dual=rows.D * point.u - rows.Z @ point.alpha,
            )
            gap = bound_gap(point.sum_products(), point.alpha.sum(), point.u, rows.D, residuals)
            if gap < best_gap:
                best_gap = gap
                best = point
                stalled = 0
            else:
                stalled += 1
            if best_gap <= TARGET_GAP or stalled > MAX_STALLED_ITERATIONS:
                break
            next_point = _take_step(rows, point, residuals)
            if next_point is None:
                break
            point = next_point
    if best is None:
        return None
    return PrimalSolution(
        normal=best.u[:d] / rows.scale,
        intercept=float(best.u[d]),
        alpha=_balance(_snap_to_bounds(best, scaled_C, C), signs, C),
        gap=best_gap,
    )


def _start_inside(d: int, scaled_C: np.ndarray) -> _InteriorPoint:
    """Return a point in the middle of the box."""
    n = scaled_C.size
    return _InteriorPoint(
        u=np.zeros(d + 1),
        alpha=scaled_C / 2,
        eta=scaled_C / 2,
        slack=np.ones(n),
        xi=np.full(n, 2.0),
    )


def _take_step(rows: ScaledRows, point: _InteriorPoint, residuals: Residuals) -> _InteriorPoint | None:
    """Take one predictor-corrector step (Mehrotra); None if rounding prevents it."""
    theta = 1.0 / (point.xi / point.eta + point.slack / point.alpha)  # (n,)
    system = NewtonSystem(rows, theta)
    if not system.is_finite():
        return None
    slack_product = -point.alpha * point.slack  # (n,), the change that makes α·slack 0
    xi_product = -point.eta * point.xi  # (n,), the change that makes η·ξ 0
    gap = point.sum_products()
    try:
        # Predict: the step to products of 0, without a barrier, shows how far the constraints allow a move.
        predictor = _find_direction(rows, system, theta, point, residuals, slack_product, xi_product)
        predicted_gap = point.move_along(predictor).sum_products()

        # Correct: the longer the predicted step, the smaller the barrier; add the second-order terms of the
        # prediction.
        barrier = (predicted_gap / gap) ** 3 * gap / (2 * theta.size)
        corrector = _find_direction(
            rows,
            system,
            theta,
            point,
            residuals,
            barrier + slack_product - predictor.alpha * predictor.slack,
            barrier + xi_product - predictor.eta * predictor.xi,
        )
    except np.linalg.LinAlgError:
        return None
    next_point = point.move_along(corrector)
    return next_point if next_point.is_finite() else None


def _find_direction(
    rows: ScaledRows,
    system: NewtonSystem,
    theta: np.ndarray,
    point: _InteriorPoint,
    residuals: Residuals,
    slack_product: np.ndarray,
    xi_product: np.ndarray,
) -> _InteriorPoint:
    """Return the Newton step that removes the residuals and changes α·slack and η·ξ by the given amounts (n,)."""
    right_side = residuals.primal - xi_product / point.eta + slack_product / point.alpha  # (n,)
    u = system.solve(rows.Z @ (theta * right_side) - residuals.dual)
    alpha = theta * (right_side - u @ rows.Z)
    slack = (slack_product - point.slack * alpha) / point.alpha
    xi = (xi_product + point.xi * alpha) / point.eta
    return _InteriorPoint(u, alpha, -alpha, slack, xi)


def _snap_to_bounds(point: _InteriorPoint, scaled_C: np.ndarray, C: np.ndarray) -> np.ndarray:
    """Return α (n,), where each multiplier that is smaller than its slack is set to its bound."""
    alpha = np.clip(point.alpha / scaled_C, 0.0, 1.0) * C
    is_zero = point.alpha < scaled_C * point.slack
    alpha[is_zero] = 0.0
    is_at_C = point.eta < scaled_C * point.xi
    alpha[is_at_C] = C[is_at_C]
    return alpha


def _balance(alpha: np.ndarray, signs: np.ndarray, C: np.ndarray) -> np.ndarray:
    """Return α (n,) with Σ α y = 0: the excess is first taken from the rows farthest from their bounds."""
    beta = signs * alpha
    excess = float(beta.sum())
    room_up = np.where(signs > 0, C - alpha, alpha)
    room_down = np.where(signs > 0, alpha, C - alpha)
    room = room_down if excess > 0 else room_up
    order = np.argsort(-np.minimum(room_up, room_down), kind="stable")
    taken_before = np.concatenate([[0.0], np.cumsum(room[order])[:-1]])
    taken = np.clip(abs(excess) - taken_before, 0.0, room[order])
    beta[order] -= np.sign(excess) * taken
    return np.asarray(signs * beta)
