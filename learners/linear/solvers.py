"""Three ways down a smooth convex hill: gradient descent, Newton's method, and L-BFGS between the two.

All step from θ to θ + t·direction until no component of the gradient exceeds ``tol``.  Gradient descent goes against
the gradient, by a fixed t.  Newton solves ∇²J · direction = -∇J, and halves t while J does not fall enough ("damped").
L-BFGS replaces ∇²J by a bound of it, corrected by the last few steps and the changes of the gradient met on them.

Reference: J. Nocedal and S. J. Wright, "Numerical Optimization", 2nd ed., 2006, chapters 3 and 7.
"""

from __future__ import annotations

from collections import deque

import numpy as np

from bakeoff.learners.linear.log_likelihood import Likelihood, Point

MEMORY = 10
"""How many steps L-BFGS remembers."""


def gradient_descent(objective: Likelihood, tol: float, max_iter: int) -> tuple[Point, int]:
    """Step against the gradient by 1/L, L the largest curvature there is: no step can lead uphill."""
    point = objective.start()
    step = 1.0 / np.linalg.eigvalsh(objective.bound())[-1]
    for iteration in range(max_iter):
        if reached(point, tol):
            return point, iteration
        point = objective.at(point.theta - step * point.gradient)
    return point, max_iter


def newton(objective: Likelihood, tol: float, max_iter: int) -> tuple[Point, int]:
    """Step to the bottom of the parabola that touches the hill, if need be half of the way, or a quarter."""
    point = objective.start()
    for iteration in range(max_iter):
        if reached(point, tol):
            return point, iteration
        lower = _descend(objective, point, newton_direction(objective, point))
        if lower is None:
            return point, iteration + 1
        point = lower
    return point, max_iter


def newton_direction(objective: Likelihood, point: Point) -> np.ndarray:
    """Solve ∇²J · direction = -∇J; where columns are collinear, with the shortest direction."""
    hessian, gradient = objective.hessian(point), point.gradient.ravel()
    faint = 1e-11 * np.diagonal(hessian).max()
    try:  # the factor exists if and only if every curvature is larger than faint
        np.linalg.cholesky(hessian - faint * np.eye(len(hessian)))
        direction = -np.linalg.solve(hessian, gradient)
    except np.linalg.LinAlgError:
        curvature, axes = np.linalg.eigh(hessian)
        axes, curvature = axes[:, curvature > faint], curvature[curvature > faint]
        direction = -axes @ (axes.T @ gradient / curvature)
    return direction.reshape(point.theta.shape)


def lbfgs(objective: Likelihood, tol: float, max_iter: int) -> tuple[Point, int]:
    """Newton's method with a curvature that is only learned on the way."""
    point = objective.start()
    bound = objective.bound()
    bound[np.diag_indices_from(bound)] += 1e-9 * np.diagonal(bound).max()  # regular, with collinear columns too
    inverse = np.linalg.inv(bound)  # (D, D)
    past: deque[tuple[np.ndarray, np.ndarray]] = deque(maxlen=MEMORY)
    for iteration in range(max_iter):
        if reached(point, tol):
            return point, iteration
        lower = _descend(objective, point, -_corrected(point.gradient, inverse, past))
        if lower is None:
            return point, iteration + 1
        step, change = lower.theta - point.theta, lower.gradient - point.gradient
        if np.vdot(step, change) > 0:
            past.append((step, change))
        point = lower
    return point, max_iter


def _corrected(gradient: np.ndarray, inverse: np.ndarray, past: deque[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
    """Multiply the gradient by the learned inverse of the curvature (the two-loop recursion, algorithm 7.4)."""
    q, shares = gradient, []
    for step, change in reversed(past):
        share = np.vdot(step, q) / np.vdot(step, change)
        q = q - share * change
        shares.append(share)
    r = q @ inverse
    if past:
        step, change = past[-1]
        r = r * (np.vdot(step, change) / np.vdot(change, change @ inverse))
    for (step, change), share in zip(past, reversed(shares), strict=True):
        r = r + (share - np.vdot(change, r) / np.vdot(step, change)) * step
    return r


def _descend(objective: Likelihood, point: Point, direction: np.ndarray) -> Point | None:
    """Go along the direction by 1, ½, ¼ … until J falls by a fair part of what its slope promises; None if never."""
    slope = np.vdot(point.gradient, direction)
    rounding = 1e-15 * point.magnitude
    t = 1.0
    while slope < 0 and t > 1e-10:
        lower = objective.at(point.theta + t * direction)
        if lower.value <= point.value + 1e-4 * t * slope + rounding:
            return lower
        t /= 2
    return None


def reached(point: Point, tol: float) -> bool:
    """Return whether the gradient is nearly zero."""
    return bool(np.abs(point.gradient).max() <= tol)
