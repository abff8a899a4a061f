"""The hard margin of a linear kernel by an interior point method, and what it shares with the soft margin's.

    minimize  ½‖w‖²   subject to   y_i (w·x_i + b) ≥ 1

Newton's method moves through the interior of the feasible region, with a barrier at each constraint that decreases over
the iterations. Slacks and multipliers are eliminated row by row, so that each iteration solves one system of d + 1
unknowns,

    (D + Z Θ Zᵀ) Δu = …,      z_i = y_i (x_i / s, 1),   u = (w s, b),   D = diag(1 / s_j², 0),   Θ diagonal,

here with Θ = diag(α_i / slack_i). By Woodbury's identity, it is equivalent to the dual's system of n unknowns. Every
column j is divided by its largest absolute value s_j. The system is computed from individual rows, never from products
between rows: if columns have very different units, as in a table that is not standardized, kernel values lose the
digits that separate the classes, whereas the rows retain them.

If no hyperplane separates the classes, the multipliers grow without bound, in the direction of a certificate of
infeasibility (Farkas' lemma):

    Σ α_i y_i x_i = 0,   Σ α_i y_i = 0,   α ≥ 0, not all 0:      the convex hulls of the classes intersect.

Cost: O(n d²) for an iteration; there are about 10 to 40.

References
----------
S. Mehrotra, "On the implementation of a primal-dual interior point method", SIAM Journal on Optimization 2, 1992.
M. C. Ferris, T. S. Munson, "Interior-point methods for massive support vector machines", SIAM Journal on Optimization
13, 2002.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

MAX_ITERATIONS = 100

TARGET_GAP = 1e-13
"""Stop at this relative gap between the objectives."""

MAX_STALLED_ITERATIONS = 5
"""Number of iterations without a smaller gap after which rounding is assumed to prevent any further decrease."""

PROOF_CANDIDATE_RATIO = 1e-6
"""If Σ α_i z_i is smaller than this, relative to Σ α_i, a proof that the hulls intersect is attempted."""

PROOF_RATIO = 1e-13
"""Largest Σ α_i z_i of a proof, relative to the sum of the absolute terms: 0 to rounding, in every column."""

MAX_PROOF_CORRECTIONS = 3

MIN_ROW_SHARE = 1e-6
"""Smallest α_i of a row in a proof, relative to the largest."""

STALLED_STEP_RATIO = 0.9
"""A step that leaves more than this share of Σ α·slack has run into a corner, and one towards the center is better."""

CENTERED_STEP_RATIO = 0.3
"""Share of Σ α·slack at which the step towards the center aims."""

MAX_PRIMAL_RESIDUAL_IN_CORNER = 0.1
"""Largest primal residual at which steps are checked for corners: without a hyperplane, multipliers go to infinity."""


@final
@dataclass(frozen=True)
class HullsMeet:
    """A proof that no hyperplane separates the classes: their convex hulls intersect.

    Attributes
    ----------
    alpha : ndarray of shape (n,)
        Multipliers close to those of the proof.
    """

    alpha: np.ndarray


def solve_hard_margin_primal(X: np.ndarray, signs: np.ndarray) -> PrimalSolution | HullsMeet | None:
    """Find the widest margin, or a proof that there is none.

    Parameters
    ----------
    X : ndarray of shape (n, d)
    signs : ndarray of shape (n,)
        +1 or -1, with at least one of each.

    Returns
    -------
    PrimalSolution or HullsMeet; None if rounding stops the iteration before either is reached.
    """
    n, d = X.shape
    best: InteriorPoint | None = None
    best_gap = MAX_GAP
    stalled = 0
    with np.errstate(over="ignore", divide="ignore", invalid="ignore", under="ignore"):
        rows = scale_rows(X, signs)
        point = InteriorPoint(np.zeros(d + 1), np.ones((2, n)))
        for _ in range(MAX_ITERATIONS):
            alpha, slack = point.positive
            alpha_sum = float(alpha.sum())
            weighted_rows = rows.Z @ alpha  # (d + 1,), Σ α_i z_i
            is_candidate = float(np.abs(weighted_rows).max()) <= PROOF_CANDIDATE_RATIO * alpha_sum
            if is_candidate and _prove_that_hulls_meet(rows.Z, alpha):
                return HullsMeet(alpha)

            residuals = Residuals(
                primal=1.0 - point.u @ rows.Z + slack,
                dual=rows.D * point.u - weighted_rows,
            )
            gap = bound_gap(float(alpha @ slack), alpha_sum, point.u, rows.D, residuals)
            stalled = stalled + 1 if best is not None and gap >= best_gap else 0
            if gap < best_gap:
                best_gap = gap
                best = point
            if best_gap <= TARGET_GAP or stalled > MAX_STALLED_ITERATIONS:
                break
            next_point = _take_step(rows, point, residuals)
            if next_point is None:
                break
            point = next_point
    if best is None:
        return None
    return _make_solution(best, best_gap, rows.scale)


def _take_step(rows: ScaledRows, point: InteriorPoint, residuals: Residuals) -> InteriorPoint | None:
    """Take one predictor-corrector step (Mehrotra); None if rounding prevents it."""
    alpha, slack = point.positive
    system = NewtonSystem(rows, alpha / slack)
    if not system.is_finite():
        return None
    product = alpha * slack  # (n,)
    gap = float(product.sum())
    n = product.size
    try:
        # Predict: the step to products of 0, without a barrier, shows how far the constraints allow a move.
        predictor = _find_direction(rows, system, point, residuals, -product)
        predicted_gap = _sum_products(point.move_along(predictor))
        alpha_change, slack_change = predictor.positive

        # Correct: the longer the predicted step, the smaller the barrier; add the second-order term of the prediction.
        barrier = (predicted_gap / gap) ** 3 * gap / n
        corrector = _find_direction(rows, system, point, residuals, barrier - product - alpha_change * slack_change)
        next_point = point.move_along(corrector)

        # In a corner, but not during divergence to infinity, move towards the center first.
        is_nearly_feasible = np.abs(residuals.primal).max() < MAX_PRIMAL_RESIDUAL_IN_CORNER
        if is_nearly_feasible and _sum_products(next_point) > STALLED_STEP_RATIO * gap:
            centering = _find_direction(rows, system, point, residuals, CENTERED_STEP_RATIO * gap / n - product)
            next_point = point.move_along(centering)
    except np.linalg.LinAlgError:
        return None
    return next_point if next_point.is_finite() else None


def _find_direction(
    rows: ScaledRows,
    system: NewtonSystem,
    point: InteriorPoint,
    residuals: Residuals,
    product_change: np.ndarray,
) -> InteriorPoint:
    """Return the Newton step that removes the residuals and changes α·slack by the given amounts (n,)."""
    alpha, slack = point.positive
    right_side = rows.Z @ ((product_change + alpha * residuals.primal) / slack) - residuals.dual
    u = system.solve(right_side)
    slack_change = u @ rows.Z - residuals.primal
    alpha_change = (product_change - alpha * slack_change) / slack
    return InteriorPoint(u, np.array([alpha_change, slack_change]))


def _sum_products(point: InteriorPoint) -> float:
    """Return Σ α·slack, which is 0 at the optimum."""
    alpha, slack = point.positive
    return float(alpha @ slack)


def _make_solution(point: InteriorPoint, gap: float, scale: np.ndarray) -> PrimalSolution:
    """Return the solution in the units of the columns; multipliers that go to 0 are set to 0."""
    d = scale.size
    alpha, slack = point.positive
    # In each pair of multiplier and slack, one converges to 0: the smaller one.
    is_zero = alpha < slack * alpha.max()
    alpha = np.where(is_zero, 0.0, alpha)
    return PrimalSolution(
        normal=point.u[:d] / scale,
        intercept=float(point.u[d]),
        alpha=alpha / float(scale.max()) ** 2,
        gap=gap,
    )


def _prove_that_hulls_meet(Z: np.ndarray, alpha: np.ndarray) -> bool:
    """Return whether some α ≥ 0 near the given one has Σ α_i z_i = 0, which proves that the hulls intersect."""
    largest = alpha.max()
    support = np.flatnonzero(alpha >= MIN_ROW_SHARE * largest)
    terms = Z[:, support] * (alpha[support] / largest)  # (d + 1, s)
    for _ in range(MAX_PROOF_CORRECTIONS):
        # This is the smallest change, relative to α, that makes the sums 0.
        change = np.linalg.lstsq(terms, -terms.sum(axis=1), rcond=None)[0]  # (s,)
        if not (np.abs(change) < 1.0).all():
            return False
        terms = terms * (1.0 + change)
    sums = np.abs(terms.sum(axis=1))  # (d + 1,)
    magnitudes = np.abs(terms).sum(axis=1)
    return bool((sums <= PROOF_RATIO * magnitudes).all())


FRACTION_TO_BOUNDARY = 0.995
"""Maximum fraction of the way to the nearest constraint for a step."""

MAX_GAP = 1e-8
"""Largest relative gap between the objectives of an accepted solution if rounding does not allow a smaller one."""

MAX_COLUMN_RATIO = 1e300
"""Largest entry of D, relative to the smallest."""

RIDGE = 1e-15
"""Added to the diagonal of the Newton system, which is 1: collinear columns make the system singular."""


@final
@dataclass(frozen=True)
class PrimalSolution:
    """A hyperplane, and the multipliers that prove it optimal.

    Attributes
    ----------
    normal : ndarray of shape (d,)
        w.
    intercept : float
        b.
    alpha : ndarray of shape (n,)
        Multipliers; 0 except for support vectors.
    gap : float
        Upper bound on the relative distance of the objective from its minimum.
    """

    normal: np.ndarray
    intercept: float
    alpha: np.ndarray
    gap: float


@final
@dataclass(frozen=True)
class ScaledRows:
    """Training rows with every column divided by its largest absolute value.

    Attributes
    ----------
    Z : ndarray of shape (d + 1, n)
        Column i is z_i = y_i (x_i / s, 1).
    D : ndarray of shape (d + 1,)
        Diagonal of the quadratic form ‖w‖² in u, relative to its smallest entry; 0 for the intercept.
    scale : ndarray of shape (d,)
        s.
    """

    Z: np.ndarray
    D: np.ndarray
    scale: np.ndarray


def scale_rows(X: np.ndarray, signs: np.ndarray) -> ScaledRows:
    """Scale the rows X (n, d) with the signs y (n,)."""
    scale = np.abs(X).max(axis=0)  # (d,)
    scale[scale == 0.0] = 1.0
    quadratic = np.minimum((scale.max() / scale) ** 2, MAX_COLUMN_RATIO)
    rows = np.vstack([X.T / scale[:, None], np.ones(len(X))])  # (d + 1, n)
    return ScaledRows(rows * signs, np.append(quadratic, 0.0), scale)


@final
@dataclass(frozen=True)
class Residuals:
    """The residuals of the optimality conditions at a point.

    Attributes
    ----------
    primal : ndarray of shape (n,)
        The residuals of the margin constraints.
    dual : ndarray of shape (d + 1,)
        Du - Σ α_i z_i.
    """

    primal: np.ndarray
    dual: np.ndarray


def bound_gap(complementarity: float, alpha_sum: float, u: np.ndarray, D: np.ndarray, residuals: Residuals) -> float:
    """Return an upper bound on the possible decrease of the objective, relative to Σ α.

    Parameters
    ----------
    complementarity : float
        The sum of multiplier times slack over the constraints.
    alpha_sum : float
        Σ α.
    u, D : ndarray of shape (d + 1,)
    residuals : Residuals
    """
    imbalance = residuals.dual
    # Restoring the primal constraints costs Σ α times the largest residual; for the dual constraints, see below.
    costs = np.abs(imbalance * u)
    costs[:-1] += imbalance[:-1] ** 2 / D[:-1]
    bound = complementarity + alpha_sum * np.abs(residuals.primal).max() + costs.sum() + abs(imbalance[-1])
    return float(bound) / alpha_sum


@final
@dataclass(frozen=True)
class InteriorPoint:
    """A point strictly inside the constraints, or a step from one.

    Attributes
    ----------
    u : ndarray of shape (d + 1,)
    positive : ndarray of shape (p, n)
        The p numbers of each row that the constraints keep above 0: its multipliers and slacks.
    """

    u: np.ndarray
    positive: np.ndarray

    def move_along(self, step: InteriorPoint) -> InteriorPoint:
        """Move along the step, at most to its end, and only as far as all constraints still hold strictly."""
        length = _limit_step(float((-step.positive / self.positive).max()))
        return InteriorPoint(self.u + length * step.u, self.positive + length * step.positive)

    def is_finite(self) -> bool:
        """Whether all values are finite."""
        return bool(np.isfinite(self.u).all() and np.isfinite(self.positive).all())


def _limit_step(worst_ratio: float) -> float:
    """Return the length, at most 1, of a step that stays inside, where ``worst_ratio`` is the largest -step / value."""
    if worst_ratio <= 0.0:
        return 1.0
    return min(1.0, FRACTION_TO_BOUNDARY / worst_ratio)


@final
class NewtonSystem:
    """The system D + Z Θ Zᵀ of one iteration.

    Every unknown has its own unit, chosen so that the diagonal is 1: otherwise the largest entries would impair the
    precision of the others.

    Parameters
    ----------
    rows : ScaledRows
    theta : ndarray of shape (n,)
        Diagonal of Θ.
    """

    def __init__(self, rows: ScaledRows, theta: np.ndarray) -> None:
        matrix = (rows.Z * theta) @ rows.Z.T  # (d + 1, d + 1)
        diagonal = matrix.reshape(-1)[:: len(matrix) + 1]  # (d + 1,), a view
        diagonal += rows.D
        unit = 1.0 / np.sqrt(diagonal)  # (d + 1,)
        matrix *= unit
        matrix *= unit[:, None]
        diagonal += RIDGE
        self._matrix = matrix
        self._unit = unit

    def is_finite(self) -> bool:
        """Whether all values are finite."""
        return bool(np.isfinite(self._matrix).all())

    def solve(self, right_side: np.ndarray) -> np.ndarray:
        """Return Δu, of shape (d + 1,); raises LinAlgError if the system is singular."""
        return self._unit * np.linalg.solve(self._matrix, self._unit * right_side)
