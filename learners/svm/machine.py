"""One hyperplane between two classes: the soft margin, the hard margin, and what they come to.

Soft margin:  minimise ½‖w‖² + Σ C_i ξ_i,  with  y_i f(x_i) ≥ 1 - ξ_i,  ξ_i ≥ 0,  f(x) = w·Φ(x) + b.
Hard margin (C = ∞):  minimise ½‖w‖²,  with  y_i f(x_i) ≥ 1.

w = Σ α_i y_i Φ(x_i), and the geometric margin, the distance of the nearest row from f(x) = 0, is 1/‖w‖.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import final

import numpy as np

from learners.svm.dual import WORKING_SET, DualPoint, solve_dual
from learners.svm.kernels import Gram
from learners.svm.primal import solve_primal
from learners.svm.quadratic import Box, multipliers, on_bounds, violation

TOUCHING = 1e-12
"""Squared distance between the classes' hulls, relative to the spread of the rows, that counts as none."""

NOISE = 1e-15
"""Rounding in kernel values, relative to the spread: no violation is measured finer."""

TAME = (1e-100, 1e12)
"""The prices of slack, for rows of length about 1, at which the interior point method keeps its digits."""


@final
@dataclass(frozen=True)
class Machine:
    """A fitted hyperplane.

    Attributes
    ----------
    beta : ndarray of shape (n,)
        y_i α_i; zero where a row is no support vector.
    intercept : float
        b, averaged over the free support vectors.
    margin : float
        1 / ‖w‖.
    dual, primal : float
        The objectives; equal at the optimum.
    residual : float
        By how much y f(x) fails the Karush-Kuhn-Tucker conditions, in units of the margin.
    n_iter : int
    converged : bool
    """

    beta: np.ndarray
    intercept: float
    margin: float
    dual: float
    primal: float
    residual: float
    n_iter: int
    converged: bool

    def in_unit(self, length: float) -> Machine:
        """Return the same hyperplane for rows ``length`` times as long; f(x) does not change."""
        area = length**2
        return replace(
            self,
            beta=self.beta / area,
            margin=self.margin * length,
            dual=self.dual / area,
            primal=self.primal / area,
        )


def fit_machine(
    gram: Gram,
    signs: np.ndarray,
    C: np.ndarray,
    tol: float,
    max_iter: int,
    X: np.ndarray | None = None,
    start: DualPoint | None = None,
) -> Machine:
    """Find the hyperplane.

    Parameters
    ----------
    gram : Gram
        Kernel values between the n rows.
    signs : ndarray of shape (n,)
        +1 or -1, both there, all -1 first.
    C : ndarray of shape (n,)
        The price of one unit of slack for each row; all infinite for the hard margin.
    tol : float
    max_iter : int
    X : ndarray of shape (n, d), optional
        The rows, where the kernel is linear and the primal is to be solved.
    start : DualPoint, optional
        Where the soft margin's solver begins; β = 0 if not given.

    Raises
    ------
    ValueError
        Hard margin, and no hyperplane separates the classes.
    """
    if np.isinf(C).any():
        return _hard(gram, signs, tol, max_iter)
    box = Box(np.minimum(0.0, C * signs), np.maximum(0.0, C * signs), [slice(0, signs.size)])
    point = DualPoint(np.zeros_like(signs), -signs) if start is None else start
    if X is not None:
        # Easy problems are done before the primal would be: give the dual some steps, for less than that costs.
        if signs.size <= WORKING_SET:
            solve_dual(gram, box, point, tol, min(max_iter, _steps_worth_primal(*X.shape)))
        sane = TAME[0] <= float(C.mean()) <= TAME[1]
        if sane and not point.converged and point.n_iter < max_iter:
            beta = solve_primal(X, signs, C)
            point = DualPoint(beta, X @ (beta @ X) - signs, point.n_iter)
    solve_dual(gram, box, point, tol, max_iter)
    point.beta = on_bounds(box, point.beta)
    return _machine(gram, box, point, signs, C, -multipliers(box, point.beta, point.gradient)[0])


def _steps_worth_primal(n: int, d: int) -> int:
    """The steps of a pair that take about half as long as the primal (measured)."""
    return int(64 + 0.03 * n + 1e-4 * n * d**2)


def _hard(gram: Gram, signs: np.ndarray, tol: float, max_iter: int) -> Machine:
    """Find the shortest vector between the hulls of the classes, and from it the canonical hyperplane."""
    negatives = int(np.count_nonzero(signs < 0))
    low, high = np.where(signs < 0, -np.inf, 0.0), np.where(signs > 0, np.inf, 0.0)
    box = Box(low, high, [slice(0, negatives), slice(negatives, signs.size)])
    ends = np.array([0, negatives])
    point = DualPoint(np.zeros_like(signs), gram.product(ends, signs[ends]))
    point.beta[ends] = signs[ends]
    to_first = gram.product(ends[:1], np.ones(1))
    spread = float((gram.diagonal + gram.diagonal[0] - 2.0 * to_first).max())
    while True:
        squared_distance = float(point.beta @ point.gradient)
        if squared_distance <= TOUCHING * spread:
            raise ValueError(
                "C=inf asks for a hyperplane that separates the classes, and none does (the distance between their "
                "convex hulls is zero to rounding): give a finite C, or another kernel."
            )
        goal = max(0.5 * tol * squared_distance, NOISE * spread)
        point.converged = violation(box, point.beta, point.gradient) <= goal
        if point.converged or point.n_iter >= max_iter:
            break
        solve_dual(gram, box, point, goal, max_iter)
    below, above = multipliers(box, point.beta, point.gradient)
    if above <= below:
        raise ValueError(
            f"C=inf: no separating hyperplane was found in max_iter={max_iter} steps; give a finite C, another kernel, "
            "or more steps."
        )
    # On the hulls f takes the values ±1: that fixes the length of w.
    stretch = 2.0 / (above - below)
    point.beta *= stretch
    point.gradient *= stretch
    point.gradient -= signs
    box = Box(low, high, [slice(0, signs.size)])
    return _machine(gram, box, point, signs, np.full_like(signs, np.inf), -0.5 * stretch * (above + below))


def _machine(gram: Gram, box: Box, point: DualPoint, signs: np.ndarray, C: np.ndarray, intercept: float) -> Machine:
    values = point.gradient + signs  # w·Φ(x), (n,)
    squared_norm = max(0.0, float(point.beta @ values))
    slack = np.maximum(0.0, 1.0 - signs * (values + intercept))
    price = 0.0 if np.isinf(C).all() else float(C @ slack)
    return Machine(
        beta=point.beta,
        intercept=intercept - float(point.beta @ gram.level),
        margin=1.0 / np.sqrt(squared_norm) if squared_norm > 0 else np.inf,
        dual=float(point.beta @ signs) - 0.5 * squared_norm,
        primal=0.5 * squared_norm + price,
        residual=violation(box, point.beta, point.gradient),
        n_iter=point.n_iter,
        converged=point.converged,
    )
