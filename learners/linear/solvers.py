"""Solvers of a smooth convex objective: gradient descent, Newton's method, and L-BFGS.

All of them step from θ to θ + t·direction until no component of the gradient exceeds ``tol``. Gradient descent steps
against the gradient with a fixed t. Newton's method solves ∇²J · direction = -∇J, and halves t until J decreases
sufficiently (damping). L-BFGS replaces ∇²J by a bound, which is corrected with the last steps and the corresponding
changes of the gradient.

Reference: J. Nocedal and S. J. Wright, "Numerical Optimization", 2nd ed., 2006, chapters 3 and 7.
"""

from __future__ import annotations

from collections import deque

import numpy as np

from bakeoff.learners.linear.log_likelihood import Evaluation, LogLikelihood

N_REMEMBERED_STEPS = 10
"""Steps that L-BFGS uses to correct its Hessian."""

MIN_STEP_LENGTH = 1e-10
"""The line search gives up below this part of a direction."""

SUFFICIENT_DECREASE = 1e-4
"""The line search accepts this part of the decrease that the slope promises (the Armijo condition)."""

RELATIVE_ROUNDING = 1e-15

MIN_RELATIVE_CURVATURE = 1e-11
"""Curvatures below this fraction of the largest are treated as zero: columns are collinear there."""


def minimize_by_gradient_descent(objective: LogLikelihood, tol: float, max_iter: int) -> tuple[Evaluation, int]:
    """Step against the gradient by 1/L, where L is the largest curvature anywhere: no step increases J."""
    point = objective.evaluate_initial()
    largest_curvature = np.linalg.eigvalsh(objective.bound_curvature())[-1]
    step_length = 1.0 / largest_curvature
    for iteration in range(max_iter):
        if has_converged(point, tol):
            return point, iteration
        point = objective.evaluate(point.theta - step_length * point.gradient)
    return point, max_iter


def minimize_by_newton(objective: LogLikelihood, tol: float, max_iter: int) -> tuple[Evaluation, int]:
    """Step to the minimum of the quadratic approximation of J, with a line search."""
    point = objective.evaluate_initial()
    for iteration in range(max_iter):
        if has_converged(point, tol):
            return point, iteration
        next_point = _search_line(objective, point, solve_newton_direction(objective, point))
        if next_point is None:
            return point, iteration + 1
        point = next_point
    return point, max_iter


def solve_newton_direction(objective: LogLikelihood, point: Evaluation) -> np.ndarray:
    """Solve ∇²J · direction = -∇J; if columns are collinear, return the shortest direction, of shape (K, D)."""
    hessian = objective.compute_hessian(point)
    gradient = point.gradient.ravel()  # (K D,)
    min_curvature = MIN_RELATIVE_CURVATURE * np.diagonal(hessian).max()
    try:
        # This factor exists if and only if every curvature is larger than the minimum.
        np.linalg.cholesky(hessian - min_curvature * np.eye(len(hessian)))
        direction = -np.linalg.solve(hessian, gradient)
    except np.linalg.LinAlgError:
        curvature, axes = np.linalg.eigh(hessian)
        is_curved = curvature > min_curvature
        axes = axes[:, is_curved]
        direction = -axes @ (axes.T @ gradient / curvature[is_curved])
    return direction.reshape(point.theta.shape)


def minimize_by_lbfgs(objective: LogLikelihood, tol: float, max_iter: int) -> tuple[Evaluation, int]:
    """Approximate Newton's method with a Hessian that is estimated from the last steps."""
    point = objective.evaluate_initial()
    bound = objective.bound_curvature()  # (D, D)
    # Collinear columns would make the bound singular.
    bound[np.diag_indices_from(bound)] += 1e-9 * np.diagonal(bound).max()
    inverse_bound = np.linalg.inv(bound)
    history: deque[tuple[np.ndarray, np.ndarray]] = deque(maxlen=N_REMEMBERED_STEPS)
    for iteration in range(max_iter):
        if has_converged(point, tol):
            return point, iteration
        direction = -_multiply_inverse_hessian(point.gradient, inverse_bound, history)
        next_point = _search_line(objective, point, direction)
        if next_point is None:
            return point, iteration + 1
        step = next_point.theta - point.theta
        gradient_change = next_point.gradient - point.gradient
        if np.vdot(step, gradient_change) > 0:
            history.append((step, gradient_change))
        point = next_point
    return point, max_iter


def _multiply_inverse_hessian(
    gradient: np.ndarray, inverse_bound: np.ndarray, history: deque[tuple[np.ndarray, np.ndarray]]
) -> np.ndarray:
    """Multiply the gradient by the estimated inverse Hessian (two-loop recursion: Nocedal and Wright, alg. 7.4)."""
    q = gradient
    alphas = []
    for step, change in reversed(history):
        alpha = np.vdot(step, q) / np.vdot(step, change)
        q = q - alpha * change
        alphas.append(alpha)
    r = q @ inverse_bound
    if history:
        # The last step shows by how much the bound exceeds the curvature.
        step, change = history[-1]
        r = r * (np.vdot(step, change) / np.vdot(change, change @ inverse_bound))
    for (step, change), alpha in zip(history, reversed(alphas), strict=True):
        beta = np.vdot(change, r) / np.vdot(step, change)
        r = r + (alpha - beta) * step
    return r


def _search_line(objective: LogLikelihood, point: Evaluation, direction: np.ndarray) -> Evaluation | None:
    """Step along the direction by 1, ½, ¼ … until J decreases sufficiently; None if it never does."""
    slope = np.vdot(point.gradient, direction)
    rounding = RELATIVE_ROUNDING * point.magnitude
    t = 1.0
    while slope < 0 and t > MIN_STEP_LENGTH:
        candidate = objective.evaluate(point.theta + t * direction)
        if candidate.value <= point.value + SUFFICIENT_DECREASE * t * slope + rounding:
            return candidate
        t /= 2
    return None


def has_converged(point: Evaluation, tol: float) -> bool:
    """Return whether no component of the gradient exceeds ``tol``."""
    return bool(np.abs(point.gradient).max() <= tol)


SOLVERS = {
    "newton": minimize_by_newton,
    "newton-cg": minimize_by_newton,
    "newton-cholesky": minimize_by_newton,
    "lbfgs": minimize_by_lbfgs,
    "sag": minimize_by_lbfgs,
    "saga": minimize_by_lbfgs,
    "gradient_descent": minimize_by_gradient_descent,
}
"""The method of each name. The optimum is the same, so that scikit-learn's other names need no methods of their own."""

FAILURE_BY_SOLVER = {
    "newton": "Newton solver did not converge",
    "newton-cholesky": "Newton solver did not converge",
    "sag": "The max_iter was reached which means the coef_ did not converge",
    "saga": "The max_iter was reached which means the coef_ did not converge",
}
"""How scikit-learn's warnings begin; otherwise with the name of the solver."""
