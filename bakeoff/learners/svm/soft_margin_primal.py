"""The soft margin of a linear kernel by an interior point method, with d + 1 unknowns for any number of rows.

    minimize  ½‖w‖² + Σ C_i ξ_i   subject to   y_i (w·x_i + b) ≥ 1 - ξ_i,  ξ_i ≥ 0

The Newton system (see `hard_margin_primal`) has 1 / Θ = diag(ξ_i / η_i + slack_i / α_i), where η_i = C_i - α_i is the
multiplier of ξ_i ≥ 0, and slack_i is the amount by which y_i (w·x_i + b) exceeds 1 - ξ_i.

The positive numbers of a point are α, η, slack and ξ.

Cost: O(n d²) for an iteration; there are about 10 to 40, nearly independent of n.

References
----------
M. C. Ferris, T. S. Munson, "Interior-point methods for massive support vector machines", SIAM Journal on Optimization
13, 2002.
"""

from __future__ import annotations

import numpy as np

from bakeoff.learners.svm.hard_margin_primal import (
    InteriorPoint,
    NewtonSystem,
    PrimalSolution,
    Residuals,
    ScaledRows,
    bound_gap,
    scale_rows,
)

MAX_ITERATIONS = 60

TARGET_GAP = 1e-12
"""Stop at this relative gap between the objectives."""

MAX_STALLED_ITERATIONS = 4
"""Number of iterations without a smaller gap after which rounding is assumed to prevent any further decrease."""


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
    best: InteriorPoint | None = None
    best_gap = np.inf
    stalled = 0
    with np.errstate(over="ignore", divide="ignore", invalid="ignore", under="ignore"):
        rows = scale_rows(X, signs)
        # If rows are measured in the unit of the largest column, this is the upper bound on the multipliers.
        scaled_C = C * float(rows.scale.max()) ** 2  # (n,)
        point = _start_inside(d, scaled_C)
        for _ in range(MAX_ITERATIONS):
            alpha, _, slack, xi = point.positive
            residuals = Residuals(
                primal=1.0 - point.u @ rows.Z - xi + slack,
                dual=rows.D * point.u - rows.Z @ alpha,
            )
            gap = bound_gap(_sum_products(point), alpha.sum(), point.u, rows.D, residuals)
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


def _start_inside(d: int, scaled_C: np.ndarray) -> InteriorPoint:
    """Return a point in the middle of the box."""
    half_C = scaled_C / 2
    slack = np.ones(scaled_C.size)
    return InteriorPoint(np.zeros(d + 1), np.array([half_C, half_C, slack, 2.0 * slack]))


def _sum_products(point: InteriorPoint) -> float:
    """Return Σ α·slack + Σ η·ξ, which is 0 at the optimum."""
    alpha, eta, slack, xi = point.positive
    return float(alpha @ slack + eta @ xi)


def _take_step(rows: ScaledRows, point: InteriorPoint, residuals: Residuals) -> InteriorPoint | None:
    """Take one predictor-corrector step (Mehrotra); None if rounding prevents it."""
    alpha, eta, slack, xi = point.positive
    theta = 1.0 / (xi / eta + slack / alpha)  # (n,)
    system = NewtonSystem(rows, theta)
    if not system.is_finite():
        return None
    slack_product = -alpha * slack  # (n,), the change that makes α·slack 0
    xi_product = -eta * xi  # (n,), the change that makes η·ξ 0
    gap = _sum_products(point)
    try:
        # Predict: the step to products of 0, without a barrier, shows how far the constraints allow a move.
        predictor = _find_direction(rows, system, theta, point, residuals, slack_product, xi_product)
        predicted_gap = _sum_products(point.move_along(predictor))
        alpha_change, eta_change, slack_change, xi_change = predictor.positive

        # Correct: the longer the predicted step, the smaller the barrier; add the second-order terms of the
        # prediction.
        barrier = (predicted_gap / gap) ** 3 * gap / (2 * theta.size)
        corrector = _find_direction(
            rows,
            system,
            theta,
            point,
            residuals,
            barrier + slack_product - alpha_change * slack_change,
            barrier + xi_product - eta_change * xi_change,
        )
    except np.linalg.LinAlgError:
        return None
    next_point = point.move_along(corrector)
    return next_point if next_point.is_finite() else None


def _find_direction(
    rows: ScaledRows,
    system: NewtonSystem,
    theta: np.ndarray,
    point: InteriorPoint,
    residuals: Residuals,
    slack_product: np.ndarray,
    xi_product: np.ndarray,
) -> InteriorPoint:
    """Return the Newton step that removes the residuals and changes α·slack and η·ξ by the given amounts (n,)."""
    alpha, eta, slack, xi = point.positive
    right_side = residuals.primal - xi_product / eta + slack_product / alpha  # (n,)
    u = system.solve(rows.Z @ (theta * right_side) - residuals.dual)
    change = theta * (right_side - u @ rows.Z)  # (n,), of α
    slack_change = (slack_product - slack * change) / alpha
    xi_change = (xi_product + xi * change) / eta
    return InteriorPoint(u, np.array([change, -change, slack_change, xi_change]))


def _snap_to_bounds(point: InteriorPoint, scaled_C: np.ndarray, C: np.ndarray) -> np.ndarray:
    """Return α (n,), where each multiplier that is smaller than its slack is set to its bound."""
    scaled_alpha, eta, slack, xi = point.positive
    alpha = np.clip(scaled_alpha / scaled_C, 0.0, 1.0) * C
    is_zero = scaled_alpha < scaled_C * slack
    alpha[is_zero] = 0.0
    is_at_C = eta < scaled_C * xi
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
