"""The fit of one hyperplane between two classes, with a hard or a soft margin.

    soft margin            minimize ½‖w‖² + Σ C_i ξ_i,  with  y_i f(x_i) ≥ 1 - ξ_i,  ξ_i ≥ 0,  f(x) = w·Φ(x) + b
    hard margin (C = ∞)    minimize ½‖w‖²,  with  y_i f(x_i) ≥ 1

w = Σ α_i y_i Φ(x_i). The geometric margin, which is the distance from f(x) = 0 to the nearest row, is 1/‖w‖. The cost C
of a row is the learner's C times the weights of the row and of its class.

`bakeoff.learners.definitions.svm` states the conditions and tries every set of support vectors. Here methods are tried
in turn, and the first one that proves its hyperplane decides:

*Hard margin*: the dual finds the shortest vector between the convex hulls of the classes, for any kernel. For the
linear kernel, it takes a limited number of steps, and then the primal is solved: it remains precise when kernel values
lose digits, and can prove that the hulls intersect.

*Soft margin*: if C is too large for the precision of kernel values, the linear primals are solved. Then the dual takes
a limited number of steps; if they do not suffice, the primal is solved, for a nonlinear kernel on its feature map; and
the dual continues from its solution.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np

from bakeoff.learners.svm.dual_solver import MAX_WORKING_SET_ROWS, WORKING_SET_ROWS, solve_dual
from bakeoff.learners.svm.gram import Gram, compute_feature_map, estimate_feature_map_cost
from bakeoff.learners.svm.hard_margin_primal import MAX_GAP, HullsMeet, PrimalSolution, solve_hard_margin_primal
from bakeoff.learners.svm.newton import (
    BoxConstraints,
    DualPoint,
    estimate_multipliers,
    measure_violation,
    snap_to_bounds,
)
from bakeoff.learners.svm.soft_margin_primal import solve_soft_margin_primal


@final
@dataclass(frozen=True)
class Hyperplane:
    """A fitted hyperplane.

    Attributes
    ----------
    beta : ndarray of shape (n,)
        y_i α_i; 0 for every row that is not a support vector.
    intercept : float
        b, averaged over the free support vectors.
    margin : float
        1 / ‖w‖.
    dual, primal : float
        The objectives, which are equal at the optimum.
    residual : float
        Violation of the Karush-Kuhn-Tucker conditions, measured by y f(x) in units of the margin.
    n_iter : int
        Steps of the dual solver.
    converged : bool
    normal : ndarray of shape (d,) or None
        w, if it is known more precisely than from β.
    """

    beta: np.ndarray
    intercept: float
    margin: float
    dual: float
    primal: float
    residual: float
    n_iter: int
    converged: bool
    normal: np.ndarray | None = None

    @classmethod
    def from_dual(
        cls, gram: Gram, box: BoxConstraints, point: DualPoint, signs: np.ndarray, C: np.ndarray, intercept: float
    ) -> Hyperplane:
        """Return the hyperplane of a point of the dual.

        Parameters
        ----------
        gram : Gram
        box : BoxConstraints
            Its only group contains all rows.
        point : DualPoint
            Its gradient is Kβ - y.
        signs : ndarray of shape (n,)
        C : ndarray of shape (n,)
            All infinite for the hard margin.
        intercept : float
            b, without the offsets of the Gram matrix.
        """
        products = point.gradient + signs  # (n,), w·Φ(x)
        squared_norm = max(0.0, float(point.beta @ products))
        slack = np.maximum(0.0, 1.0 - signs * (products + intercept))  # (n,), ξ
        return cls(
            beta=point.beta,
            intercept=intercept - float(point.beta @ gram.offset),
            margin=1.0 / np.sqrt(squared_norm) if squared_norm > 0 else np.inf,
            dual=float(point.beta @ signs) - 0.5 * squared_norm,
            primal=0.5 * squared_norm + _sum_slack_costs(C, slack),
            residual=measure_violation(box, point),
            n_iter=point.n_iter,
            converged=point.converged,
        )

    @classmethod
    def from_primal(
        cls, solution: PrimalSolution, X: np.ndarray, signs: np.ndarray, C: np.ndarray, n_iter: int, tol: float
    ) -> Hyperplane:
        """Return the hyperplane of a solution of the linear primal.

        Parameters
        ----------
        solution : PrimalSolution
        X : ndarray of shape (n, d)
        signs : ndarray of shape (n,)
        C : ndarray of shape (n,)
            All infinite for the hard margin.
        n_iter : int
            Number of steps already taken by the dual solver.
        tol : float
        """
        excess = signs * (X @ solution.normal + solution.intercept) - 1.0  # (n,)
        # If α may increase, the row must not lie inside the margin; if α may decrease, it must not lie outside.
        lack = float((-excess[solution.alpha < C]).max(initial=0.0))
        surplus = float(excess[solution.alpha > 0].max(initial=0.0))
        residual = max(0.0, lack, surplus)
        squared_norm = float(solution.normal @ solution.normal)
        return cls(
            beta=signs * solution.alpha,
            intercept=solution.intercept,
            margin=1.0 / np.sqrt(squared_norm),
            dual=float(solution.alpha.sum()) - 0.5 * squared_norm,
            primal=0.5 * squared_norm + _sum_slack_costs(C, np.maximum(0.0, -excess)),
            residual=residual,
            n_iter=n_iter,
            converged=residual <= tol,
            normal=solution.normal,
        )

    def in_length_unit(self, unit: float) -> Hyperplane:
        """Return the same hyperplane for rows ``unit`` times as long; f(x) stays the same."""
        squared_unit = unit**2
        return replace(
            self,
            beta=self.beta / squared_unit,
            margin=self.margin * unit,
            dual=self.dual / squared_unit,
            primal=self.primal / squared_unit,
            normal=None if self.normal is None else self.normal / unit,
        )


def _sum_slack_costs(C: np.ndarray, slack: np.ndarray) -> float:
    """Return Σ C_i ξ_i; 0 for the hard margin, where slack is only rounding error."""
    if np.isinf(C).all():
        return 0.0
    return float(C @ slack)


MIN_SQUARED_DISTANCE = 1e-12
"""Squared distance of the hulls, relative to the spread of the rows, that kernel values cannot distinguish from 0."""

RELIABLE_SQUARED_DISTANCE = 1e-8
"""Squared distance above which kernel values determine it with enough digits."""

MIN_VIOLATION_RATIO = 1e-15
"""Rounding error of kernel values, relative to the spread; no violation is measured more precisely."""

REQUIREMENT = "C=inf requires a hyperplane that separates the classes, but"
CURE = "use a finite C or another kernel."


def fit_hard_margin(gram: Gram, signs: np.ndarray, tol: float, max_iter: int, rows: np.ndarray | None) -> Hyperplane:
    """Find the hyperplane.

    Parameters
    ----------
    gram : Gram
        Kernel values between the n rows.
    signs : ndarray of shape (n,)
        +1 or -1, with at least one of each; all -1 come first.
    tol : float
    max_iter : int
    rows : ndarray of shape (n, d) or None
        The rows, if the kernel is linear and the primal may be solved.

    Raises
    ------
    ValueError
        If no hyperplane separates the classes, or none is found.
    """
    hulls = _NearestHullPoints(gram, signs)
    if rows is not None:
        hulls.minimize_distance(tol, min(max_iter, estimate_primal_cost(*rows.shape)))
        is_solved = hulls.point.converged and hulls.measure_squared_distance() > RELIABLE_SQUARED_DISTANCE
        if not is_solved and hulls.point.n_iter < max_iter:
            solution = solve_hard_margin_primal(rows, signs)
            if isinstance(solution, HullsMeet):
                raise ValueError(f"{REQUIREMENT} none exists (their convex hulls intersect): {CURE}")
            if solution is not None:
                infinite_C = np.full_like(signs, np.inf)
                return Hyperplane.from_primal(solution, rows, signs, infinite_C, hulls.point.n_iter, tol)

    hulls.minimize_distance(tol, max_iter)
    squared_distance = hulls.measure_squared_distance()
    if squared_distance <= MIN_SQUARED_DISTANCE:
        distance = float(np.sqrt(max(squared_distance, 0.0)))
        apart = f"at most {distance:.1g} of the spread of the rows apart" if distance else "not apart"
        raise ValueError(f"{REQUIREMENT} their convex hulls are {apart}, as far as the kernel values show: {CURE}")
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


MIN_C_OF_PRIMAL = 1e-100
"""Smallest mean C, for rows of length about 1, at which the interior point method keeps its digits."""

MAX_C = 1e10
"""Largest C, for rows of length about 1, at which Kβ keeps the digits that the tolerance requires."""

MAX_PROOF_GAP = 1e-6
"""Largest relative gap between the objectives after multipliers were snapped to their bounds."""


def fit_soft_margin(
    gram: Gram,
    signs: np.ndarray,
    C: np.ndarray,
    tol: float,
    max_iter: int,
    rows: np.ndarray | None = None,
) -> Hyperplane:
    """Find the hyperplane.

    Parameters
    ----------
    gram : Gram
        Kernel values between the n rows.
    signs : ndarray of shape (n,)
        +1 or -1, with at least one of each; all -1 come first.
    C : ndarray of shape (n,)
        Finite cost of one unit of slack for each row.
    tol : float
    max_iter : int
    rows : ndarray of shape (n, d), optional
        The rows, if the kernel is linear and the primal may be solved.
    """
    attempts = _attempt_soft_margin(gram, signs, C, tol, max_iter, rows)
    return next(hyperplane for hyperplane in attempts if hyperplane is not None)


def _attempt_soft_margin(
    gram: Gram, signs: np.ndarray, C: np.ndarray, tol: float, max_iter: int, rows: np.ndarray | None
) -> Iterator[Hyperplane | None]:
    """Yield what each method finds, in the order in which they are tried; None if it does not prove its hyperplane.

    The last one always yields a hyperplane, converged or not.
    """
    clipped_C = _clip_C(gram, C)
    if clipped_C is not C and rows is not None:
        # This C is too large for the precision of kernel values, but not for that of the rows.
        yield _try_hard_margin(rows, signs, C, tol)
        yield _accept_primal(solve_soft_margin_primal(rows, signs, C), rows, signs, C, 0, tol)

    # The dual is faster than the primal for most problems, so it may take steps until they cost as much as the primal.
    box = _make_box(clipped_C, signs)
    point = DualPoint(np.zeros_like(signs), -signs)
    first_steps = _count_first_steps(signs.size, rows)
    if first_steps:
        solve_dual(gram, box, point, tol, min(max_iter, first_steps))
    if point.converged or point.n_iter >= max_iter:
        yield _read_dual(gram, box, point, signs, C, clipped_C, tol)

    solution = None
    if float(clipped_C.mean()) >= MIN_C_OF_PRIMAL:
        features = compute_feature_map(gram) if rows is None and first_steps else rows
        solution = None if features is None else solve_soft_margin_primal(features, signs, clipped_C)
    if rows is not None:
        yield _accept_primal(solution, rows, signs, clipped_C, point.n_iter, tol)

    if solution is not None:
        point = _make_dual_point(gram, signs, solution, point.n_iter)
    solve_dual(gram, box, point, tol, max_iter)
    yield _read_dual(gram, box, point, signs, C, clipped_C, tol)


def estimate_primal_cost(n: int, d: int) -> int:
    """Return the number of SMO steps that take about half as long as the linear primal (measured)."""
    return int(64 + 0.03 * n + 1e-4 * n * d**2)


def _clip_C(gram: Gram, C: np.ndarray) -> np.ndarray:
    """Return C with no value above `MAX_C`; if all are above, they are scaled down in proportion."""
    mean_diagonal = float(np.abs(gram.diagonal).mean()) or 1.0
    max_C = min(MAX_C / mean_diagonal, np.finfo(float).max)
    if C.max() <= max_C:
        return C
    if C.min() > max_C:
        return C / C.max() * max_C
    return np.minimum(C, max_C)


def _try_hard_margin(rows: np.ndarray, signs: np.ndarray, C: np.ndarray, tol: float) -> Hyperplane | None:
    """Return the hard margin if it exists and no multiplier exceeds C, since it is then also the soft margin."""
    solution = solve_hard_margin_primal(rows, signs)
    if not isinstance(solution, PrimalSolution) or (solution.alpha > C).any():
        return None
    return Hyperplane.from_primal(solution, rows, signs, C, 0, tol)


def _accept_primal(
    solution: PrimalSolution | None, rows: np.ndarray, signs: np.ndarray, C: np.ndarray, n_iter: int, tol: float
) -> Hyperplane | None:
    """Return the hyperplane of the primal's solution; None if there is none or it misses the tolerance.

    For columns with very different units and a large C, this preserves digits that sums of kernel values lose.
    """
    if solution is None or solution.gap > MAX_GAP:
        return None
    hyperplane = Hyperplane.from_primal(solution, rows, signs, C, n_iter, tol)
    # The multipliers must still prove optimality after some of them were set to their bounds.
    normal = hyperplane.beta @ rows  # (d,)
    dual = float(solution.alpha.sum()) - 0.5 * float(normal @ normal)
    is_proven = dual >= (1.0 - MAX_PROOF_GAP) * hyperplane.primal
    return hyperplane if hyperplane.converged and is_proven else None


def _read_dual(
    gram: Gram,
    box: BoxConstraints,
    point: DualPoint,
    signs: np.ndarray,
    C: np.ndarray,
    clipped_C: np.ndarray,
    tol: float,
) -> Hyperplane:
    """Return the hyperplane of the point at which the dual has arrived, with the box of the clipped C."""
    point.beta = snap_to_bounds(box, point.beta)
    intercept = -estimate_multipliers(box, point)[0]
    if clipped_C is C:
        return Hyperplane.from_dual(gram, box, point, signs, C, intercept)
    # Rows whose multiplier equals the clipped C may violate the conditions for the original C.
    hyperplane = Hyperplane.from_dual(gram, _make_box(C, signs), point, signs, C, intercept)
    return hyperplane if hyperplane.residual <= tol else replace(hyperplane, converged=False)


def _make_dual_point(gram: Gram, signs: np.ndarray, solution: PrimalSolution, n_iter: int) -> DualPoint:
    beta = signs * solution.alpha
    support = np.flatnonzero(beta)
    return DualPoint(beta, gram.multiply_columns(support, beta[support]) - signs, n_iter)


def _make_box(C: np.ndarray, signs: np.ndarray) -> BoxConstraints:
    signed_C = C * signs
    return BoxConstraints(np.minimum(0.0, signed_C), np.maximum(0.0, signed_C), [slice(0, signs.size)])


def _count_first_steps(n: int, rows: np.ndarray | None) -> int:
    """Return the number of dual steps before the primal is solved; 0 if the rows do not fit into one working set."""
    if rows is None:
        return estimate_feature_map_cost(n) if n <= MAX_WORKING_SET_ROWS else 0
    return estimate_primal_cost(*rows.shape) if n <= WORKING_SET_ROWS else 0


MAX_FINITE_C = 1e200
"""Largest C that is not infinite, in the unit of length of the rows."""


def find_weighted_rows(sample_weight: Any, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the positions in ``fit``'s input, and the weights, of the n rows whose weight is positive: both (n,)."""
    weight = np.asarray(1.0 if sample_weight is None else sample_weight, dtype=np.float64)
    if weight.ndim == 0:
        return np.arange(n), np.ones(n)
    positive = np.flatnonzero(weight > 0)
    return positive, weight[positive]


def scale_C(C: float, weight: np.ndarray, length_unit: float) -> np.ndarray:
    """Return C of each row in the given unit of length; values too large for a float are scaled down in proportion."""
    largest_weight = float(weight.max())
    with np.errstate(over="ignore", under="ignore"):
        largest_C = C * np.float64(length_unit) ** 2 * largest_weight
        if np.isinf(C) or largest_C <= MAX_FINITE_C:
            return C * weight * length_unit**2
        return np.asarray(weight / largest_weight * MAX_FINITE_C)
