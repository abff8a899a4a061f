"""The hard margin: the shortest vector between the convex hulls of the classes, or the linear primal.

`bakeoff.learners.definitions.svm_hard_margin` states the conditions and tries every set of support vectors. Here the
dual (see `dual.quadratic_program`) finds them for any kernel. For the linear kernel, a limited number of steps is
taken on the dual, and then the primal is solved: it remains precise when kernel values lose digits, and it can prove
that the hulls intersect.
"""

from __future__ import annotations

from dataclasses import replace
from typing import final

import numpy as np

from bakeoff.learners.svm.dual.quadratic_program import (
    BoxConstraints,
    DualPoint,
    estimate_multipliers,
    measure_violation,
)
from bakeoff.learners.svm.dual.solver import solve_dual
from bakeoff.learners.svm.hyperplane import Hyperplane
from bakeoff.learners.svm.kernel.gram import Gram
from bakeoff.learners.svm.primal.hard_margin import HullsMeet, solve_hard_margin_primal
from bakeoff.learners.svm.soft_margin import estimate_primal_cost

MIN_SQUARED_DISTANCE = 1e-12
"""Squared distance between the hulls, relative to the spread of the rows, that kernel values cannot tell from 0."""

RELIABLE_SQUARED_DISTANCE = 1e-8
"""Squared distance above which kernel values give it enough digits."""

MIN_VIOLATION_RATIO = 1e-15
"""Rounding error of kernel values, relative to the spread: no violation is measured finer."""

REQUIREMENT = "C=inf asks for a hyperplane that separates the classes, and"
CURE = "give a finite C, or another kernel."


def fit_hard_margin(gram: Gram, signs: np.ndarray, tol: float, max_iter: int, rows: np.ndarray | None) -> Hyperplane:
    """Find the hyperplane.

    Parameters
    ----------
    gram : Gram
        Kernel values between the n rows.
    signs : ndarray of shape (n,)
        +1 or -1; both occur, and all -1 come first.
    tol : float
    max_iter : int
    rows : ndarray of shape (n, d) or None
        The rows, if the kernel is linear and the primal may be solved.

    Raises
    ------
    ValueError
        No hyperplane separates the classes, or none was found.
    """
    hulls = _NearestHullPoints(gram, signs)
    if rows is not None:
        hulls.minimize_distance(tol, min(max_iter, estimate_primal_cost(*rows.shape)))
        is_solved = hulls.point.converged and hulls.measure_squared_distance() > RELIABLE_SQUARED_DISTANCE
        if not is_solved and hulls.point.n_iter < max_iter:
            solution = solve_hard_margin_primal(rows, signs)
            if isinstance(solution, HullsMeet):
                raise ValueError(f"{REQUIREMENT} none does (their convex hulls meet): {CURE}")
            if solution is not None:
                infinite_C = np.full_like(signs, np.inf)
                return Hyperplane.from_primal(solution, rows, signs, infinite_C, hulls.point.n_iter, tol)

    hulls.minimize_distance(tol, max_iter)
    squared_distance = hulls.measure_squared_distance()
    if squared_distance <= MIN_SQUARED_DISTANCE:
        distance = float(np.sqrt(max(squared_distance, 0.0)))
        apart = f"no further apart than {distance:.1g} of the rows' spread" if distance else "not apart"
        raise ValueError(f"{REQUIREMENT} their convex hulls are {apart}, as far as kernel values tell: {CURE}")
    return hulls.make_hyperplane(tol, max_iter)


@final
class _NearestHullPoints:
    """One point in the convex hull of each class, converging to the two points that are nearest to each other."""

    def __init__(self, gram: Gram, signs: np.ndarray) -> None:
        n_negative = int(np.count_nonzero(signs < 0))
        self._gram = gram
        self._signs = signs
        self._box = BoxConstraints(
            low=np.where(signs < 0, -np.inf, 0.0),
            high=np.where(signs > 0, np.inf, 0.0),
            groups=[slice(0, n_negative), slice(n_negative, signs.size)],
        )
        # Start at the first row of each class.
        first_rows = np.array([0, n_negative])
        gradient = gram.multiply_columns(first_rows, signs[first_rows])  # (n,)
        self.point = DualPoint(np.zeros_like(signs), gradient)
        self.point.beta[first_rows] = signs[first_rows]
        products = gram.multiply_columns(first_rows[:1], np.ones(1))  # (n,), with the first row
        squared_distances = gram.diagonal + gram.diagonal[0] - 2.0 * products
        self._spread = float(squared_distances.max())

    def measure_squared_distance(self) -> float:
        """Return the squared distance of the two points, relative to the spread of the rows."""
        if self._spread <= 0.0:
            return 0.0
        return float(self.point.beta @ self.point.gradient) / self._spread

    def minimize_distance(self, tol: float, max_iter: int) -> None:
        """Reduce the distance until it is minimal within ``tol``, the points almost coincide, or no steps are left."""
        point = self.point
        while (squared_distance := self.measure_squared_distance()) > MIN_SQUARED_DISTANCE:
            target = max(0.5 * tol * squared_distance, MIN_VIOLATION_RATIO) * self._spread
            point.converged = measure_violation(self._box, point) <= target
            if point.converged or point.n_iter >= max_iter:
                break
            solve_dual(self._gram, self._box, point, target, max_iter)

    def make_hyperplane(self, tol: float, max_iter: int) -> Hyperplane:
        """Return the canonical hyperplane halfway between the points.

        The points are scaled in place and must not be used afterwards.
        """
        point = self.point
        signs = self._signs
        below, above = estimate_multipliers(self._box, point)
        if above <= below:
            raise ValueError(f"{REQUIREMENT} none was found in max_iter={max_iter} steps: {CURE[:-1]}, or more steps.")
        # On the hulls the values of f are ±1, which determines the length of w.
        factor = 2.0 / (above - below)
        point.beta *= factor
        point.gradient *= factor
        point.gradient -= signs
        box = BoxConstraints(self._box.low, self._box.high, [slice(0, signs.size)])
        intercept = -0.5 * factor * (above + below)
        infinite_C = np.full_like(signs, np.inf)
        hyperplane = Hyperplane.from_dual(self._gram, box, point, signs, infinite_C, intercept)
        # Rounding may have stopped the steps before the tolerance was reached.
        return replace(hyperplane, converged=hyperplane.converged and hyperplane.residual <= tol)
