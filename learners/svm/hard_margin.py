"""The hard margin: the shortest vector between the convex hulls of the classes, or the linear primal.

The dual of the hulls (see `quadratic`) takes any kernel.  For the linear one it is given some steps, and then
`separation` has the word: it keeps its digits where kernel values lose them, and can prove that the hulls meet.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from bakeoff.learners.svm.dual.box_constraints import BoxConstraints, estimate_multipliers, measure_violation
from bakeoff.learners.svm.dual.solver import DualPoint, solve_dual
from bakeoff.learners.svm.hyperplane import Hyperplane, hyperplane_from_dual, hyperplane_from_primal
from bakeoff.learners.svm.kernel.gram import Gram
from bakeoff.learners.svm.primal.hard_margin import solve_hard_margin_primal
from bakeoff.learners.svm.soft_margin import estimate_primal_cost

TOUCHING = 1e-12
"""Squared distance between the hulls, relative to the spread of the rows, that kernel values do not tell from none."""

CLEAR = 1e-8
"""From such a squared distance on, they give it enough digits."""

NOISE = 1e-15
"""Rounding in kernel values, relative to the spread: no violation is measured finer."""

ASKED = "C=inf asks for a hyperplane that separates the classes, and"
CURE = "give a finite C, or another kernel."


def fit_hard_margin(gram: Gram, signs: np.ndarray, tol: float, max_iter: int, X: np.ndarray | None) -> Hyperplane:
    """Find the hyperplane.

    Parameters
    ----------
    gram : Gram
        Kernel values between the n rows.
    signs : ndarray of shape (n,)
        +1 or -1, both there, all -1 first.
    tol : float
    max_iter : int
    X : ndarray of shape (n, d) or None
        The rows, where the kernel is linear and the primal may be solved.

    Raises
    ------
    ValueError
        No hyperplane separates the classes, or none was found.
    """
    hulls = _Hulls(gram, signs)
    if X is not None:
        hulls.approach(tol, min(max_iter, estimate_primal_cost(*X.shape)))
        if not (hulls.point.converged and hulls.nearness > CLEAR) and hulls.point.n_iter < max_iter:
            found = solve_hard_margin_primal(X, signs)
            if found is not None and found.meet:
                raise ValueError(f"{ASKED} none does (their convex hulls meet): {CURE}")
            if found is not None:
                return hyperplane_from_primal(found, X, signs, np.full_like(signs, np.inf), hulls.point.n_iter, tol)
    hulls.approach(tol, max_iter)
    if hulls.nearness <= TOUCHING:
        distance = float(np.sqrt(max(hulls.nearness, 0.0)))
        apart = f"no further apart than {distance:.1g} of the rows' spread" if distance else "not apart"
        raise ValueError(f"{ASKED} their convex hulls are {apart}, so far as kernel values tell: {CURE}")
    return hulls.machine(tol, max_iter)


class _Hulls:
    """Two points, one in the hull of each class, on the way to the two that are nearest to each other."""

    def __init__(self, gram: Gram, signs: np.ndarray) -> None:
        negatives = int(np.count_nonzero(signs < 0))
        low, high = np.where(signs < 0, -np.inf, 0.0), np.where(signs > 0, np.inf, 0.0)
        self._gram, self._signs = gram, signs
        self._box = BoxConstraints(low, high, [slice(0, negatives), slice(negatives, signs.size)])
        ends = np.array([0, negatives])
        self.point = DualPoint(np.zeros_like(signs), gram.multiply_columns(ends, signs[ends]))
        self.point.beta[ends] = signs[ends]
        to_first = gram.multiply_columns(ends[:1], np.ones(1))
        self._spread = float((gram.diagonal + gram.diagonal[0] - 2.0 * to_first).max())

    @property
    def nearness(self) -> float:
        """Their squared distance, relative to the spread of the rows."""
        return float(self.point.beta @ self.point.gradient) / self._spread if self._spread > 0.0 else 0.0

    def approach(self, tol: float, max_iter: int) -> None:
        """Bring them nearer, until they are nearest to ``tol``, or as good as the same, or steps are used up."""
        point, box = self.point, self._box
        while (nearness := self.nearness) > TOUCHING:
            goal = max(0.5 * tol * nearness, NOISE) * self._spread
            point.converged = measure_violation(box, point.beta, point.gradient) <= goal
            if point.converged or point.n_iter >= max_iter:
                break
            solve_dual(self._gram, box, point, goal, max_iter)

    def machine(self, tol: float, max_iter: int) -> Hyperplane:
        """Return the canonical hyperplane half-way between them; ends the use of the points."""
        point, signs = self.point, self._signs
        below, above = estimate_multipliers(self._box, point.beta, point.gradient)
        if above <= below:
            raise ValueError(f"{ASKED} none was found in max_iter={max_iter} steps: {CURE[:-1]}, or more steps.")
        # On the hulls f takes the values ±1: that fixes the length of w.
        stretch = 2.0 / (above - below)
        point.beta *= stretch
        point.gradient *= stretch
        point.gradient -= signs
        box = BoxConstraints(self._box.low, self._box.high, [slice(0, signs.size)])
        intercept = -0.5 * stretch * (above + below)
        machine = hyperplane_from_dual(self._gram, box, point, signs, np.full_like(signs, np.inf), intercept)
        return replace(machine, converged=machine.converged and machine.residual <= tol)  # or rounding came before
