"""The quadratic program of both margins, and linear systems that yield the point which SMO steps approach slowly.

With β_i = y_i α_i, the dual in the lecture is

    minimize  ½ βᵀKβ - pᵀβ   subject to   low ≤ β ≤ high,   Σ β constant within each group of rows.

Soft margin: p = y, β_i between 0 and y_i C_i, and one group with Σ β = Σ α y = 0.
Hard margin: p = 0, β_i y_i ≥ 0, and two groups, the classes, with Σ β = ±1. The solution is the shortest vector
between the convex hulls of the classes. It always exists, and its length is 0 if the classes cannot be separated.

At the optimum the gradient Kβ - p equals a multiplier λ of the group on the free rows (low < β < high), is at least λ
on the rows at their lower bound, and at most λ on the rows at their upper bound. The intercept is b = -λ.

*The linear system*: let F be the free rows, and let the changes Δ of all other rows be fixed. The optimality conditions
are then

    K_FF Δ_F = λ - gradient_F,      Σ Δ given within each group,      λ one number per group,

where gradient_F includes the changes of the other rows. Cost: O(f³) for f free rows. The Cholesky factorization needs
half the operations of Gaussian elimination. NumPy provides it without a solver for triangular systems, so this step
uses LAPACK through SciPy.

*A Newton step* solves the system with the other rows on their bounds. A free row that the solution would move beyond
its bound is fixed on the bound, and the system for the remaining rows is solved again. This pays for hard margins with
a nonlinear kernel: without it, the margins of iris take 2 to 7 times as long, and the margin of the unscaled breast
cancer table is not found within the limit of steps (measured).

*Block principal pivoting* guesses the active set, which contains the rows on a bound, solves for the free rows, and
corrects the guess for all rows at once. The solution shows which rows are wrong in the guess:

    free rows that the solution puts on or beyond a bound belong to the active set;
    active rows whose gradient is on the wrong side of the multiplier λ are free.

If no row is wrong, the optimality conditions hold to rounding. From a point near the optimum, a few guesses replace
hundreds of SMO steps. Guesses may also cycle; in that case the point is left unchanged, and other steps have to come
closer to the optimum first. Cost: O(f³ + f n) for a guess with f free rows.

References
----------
K. P. Bennett, E. J. Bredensteiner, "Duality and geometry in SVM classifiers", ICML 2000.
K. Kunisch, F. Rendl, "An infeasible active set method for quadratic problems with simple bounds", SIAM Journal on
Optimization 14, 2003.
L. F. Portugal, J. J. Júdice, L. N. Vicente, "A comparison of block pivoting and interior-point algorithms for linear
least squares problems with nonnegative variables", Mathematics of Computation 63, 1994.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np
from scipy.linalg.lapack import dposv

from bakeoff.learners.svm.gram import Gram

ROUNDING_RATIO = 1e-14
"""Rounding error in sums of β, relative to the largest β."""


@final
@dataclass(frozen=True)
class BoxConstraints:
    """The constraints on β for n rows.

    Parameters
    ----------
    low, high : ndarray of shape (n,)
        Bounds on β.
    groups : list of slice
        Each group contains rows whose β have a constant sum; together the groups cover all rows.
    """

    low: np.ndarray
    high: np.ndarray
    groups: list[slice]

    def restrict_to(self, rows: np.ndarray) -> BoxConstraints:
        """Return the constraints on only the given rows (ascending)."""
        stops = np.searchsorted(rows, [group.stop for group in self.groups]).tolist()
        starts = [0, *stops[:-1]]
        groups = [slice(start, stop) for start, stop in zip(starts, stops, strict=True)]
        return BoxConstraints(self.low[rows], self.high[rows], groups)


@final
@dataclass
class DualPoint:
    """A point of the dual, changed in place by the solvers.

    Attributes
    ----------
    beta : ndarray of shape (n,)
        β_i = y_i α_i.
    gradient : ndarray of shape (n,)
        Kβ - p, which the solvers update whenever β changes.
    n_iter : int
        SMO steps and Newton steps taken.
    converged : bool
    """

    beta: np.ndarray
    gradient: np.ndarray
    n_iter: int = 0
    converged: bool = False

    def restrict_to(self, rows: np.ndarray) -> DualPoint:
        """Return a copy restricted to the given rows."""
        return DualPoint(self.beta[rows], self.gradient[rows])


def find_free_rows(box: BoxConstraints, point: DualPoint) -> np.ndarray:
    """Return which rows lie strictly between their bounds, (n,) bool."""
    return (point.beta > box.low) & (point.beta < box.high)


def snap_to_bounds(box: BoxConstraints, beta: np.ndarray) -> np.ndarray:
    """Return β with values that equal a bound up to rounding set to the bound, so that they do not count as free.

    Parameters
    ----------
    box : BoxConstraints
        Finite.
    beta : ndarray of shape (n,)
    """
    largest = np.abs(beta).max(initial=0.0)
    tolerance = ROUNDING_RATIO * np.minimum(box.high - box.low, largest)  # (n,)
    snapped_up = np.where(beta >= box.high - tolerance, box.high, beta)
    return np.where(beta <= box.low + tolerance, box.low, snapped_up)


def measure_violation(box: BoxConstraints, point: DualPoint) -> float:
    """Return the violation of the Karush-Kuhn-Tucker conditions: 0 at the optimum.

    Raising β_i and lowering β_j of the same group lowers the objective while gradient_i < gradient_j. At the optimum
    no β_i that may rise has a smaller gradient than a β_j that may fall.
    """
    rising = np.where(point.beta < box.high, point.gradient, np.inf)  # (n,)
    falling = np.where(point.beta > box.low, point.gradient, -np.inf)  # (n,)
    violations = [_measure_group(rising[group], falling[group]) for group in box.groups]
    return max(0.0, *violations)


def estimate_multipliers(box: BoxConstraints, point: DualPoint) -> list[float]:
    """Return λ of each group: the mean gradient of its free rows.

    If no row of the group is free, every value between the gradients of the two kinds of bounded rows is a multiplier,
    and the midpoint is returned.
    """
    return [
        _estimate_multiplier(box.low[group], box.high[group], point.beta[group], point.gradient[group])
        for group in box.groups
    ]


def _measure_group(rising: np.ndarray, falling: np.ndarray) -> float:
    if not rising.size:
        return 0.0
    return float(falling.max() - rising.min())


def _estimate_multiplier(low: np.ndarray, high: np.ndarray, beta: np.ndarray, gradient: np.ndarray) -> float:
    rising = beta < high
    falling = beta > low
    free = rising & falling
    if free.any():
        return float(gradient[free].mean())
    least = float(gradient[falling].max(initial=-np.inf))
    most = float(gradient[rising].min(initial=np.inf))
    # One end is infinite if all rows are at the same bound.
    finite_ends = [end for end in (least, most) if np.isfinite(end)]
    return sum(finite_ends) / max(len(finite_ends), 1)


MAX_ROUNDS = 8
"""Number of times that rows may be fixed on their bounds before the step is shortened instead."""

RIDGE_RATIOS = (1e-13, 1e-9)
"""Added to the diagonal, relative to its largest entry, because repeated rows make K_FF singular.

The second is tried if the first fails: rounding hides the small eigenvalues of some kernels. It improves the precision
of about one fit in a hundred, from 1e-8 to 1e-14 (measured).
"""


def take_newton_step(K: np.ndarray, box: BoxConstraints, point: DualPoint) -> bool:
    """Minimize over the free rows, changing the point in place; the objective never increases.

    Parameters
    ----------
    K : ndarray of shape (n, n)
    box : BoxConstraints
    point : DualPoint

    Returns
    -------
    bool
        Whether β changed.
    """
    return any(_take_regularized_step(K, box, point, ridge) for ridge in RIDGE_RATIOS)


def _take_regularized_step(K: np.ndarray, box: BoxConstraints, point: DualPoint, ridge: float) -> bool:
    free = find_free_rows(box, point)  # (n,)
    change = np.zeros_like(point.beta)  # (n,)
    first_change: np.ndarray | None = None
    for _ in range(MAX_ROUNDS):
        free_rows = np.flatnonzero(free)
        if not free_rows.size or not _solve_free_rows(K, box, change, point.gradient, free_rows, ridge):
            break
        if first_change is None:
            first_change = change.copy()
        target = point.beta + change
        outside = free & ((target <= box.low) | (target >= box.high))
        if not outside.any():
            if _apply_descent(K, point, change):
                return True
            break
        # Fix the rows that would leave the box at their bounds, and solve for the others again.
        nearest_bound = np.clip(target[outside], box.low[outside], box.high[outside])
        change[outside] = nearest_bound - point.beta[outside]
        free &= ~outside
    # Too many rows would leave the box, or the objective would increase: move part of the way to the first solution.
    return first_change is not None and _take_shortened_step(K, box, point, first_change)


def _solve_free_rows(
    K: np.ndarray, box: BoxConstraints, change: np.ndarray, gradient: np.ndarray, free_rows: np.ndarray, ridge: float
) -> bool:
    """Write the minimizer for fixed other changes into ``change[free_rows]``; return False if there is none."""
    change[free_rows] = 0.0
    K_free = K.take(free_rows, axis=0)  # (f, n)
    slope = gradient[free_rows]  # (f,)
    fixed = change.nonzero()[0]
    if fixed.size:
        slope += K_free.take(fixed, axis=1) @ change[fixed]
    groups, spans = locate_groups(box, free_rows)
    totals = [-float(change[group].sum()) for group in groups]
    solution = solve_kkt_system(K_free.take(free_rows, axis=1), spans, slope, totals, ridge)
    if solution is None:
        return False
    change[free_rows] = solution[0]
    return True


def _apply_descent(K: np.ndarray, point: DualPoint, change: np.ndarray) -> bool:
    """Make the change if it lowers the objective; return whether it did."""
    moved = change.nonzero()[0]
    slope = change[moved] @ K.take(moved, axis=0)  # (n,), the change of the gradient
    if float(point.gradient @ change + 0.5 * (slope @ change)) >= 0.0:
        return False
    point.beta += change
    point.gradient += slope
    return True


def _take_shortened_step(K: np.ndarray, box: BoxConstraints, point: DualPoint, change: np.ndarray) -> bool:
    """Move along the change to the minimum, or to the first bound on the way; return whether β changed."""
    beta = point.beta
    rising = change > 0.0
    falling = change < 0.0
    room = np.full_like(beta, np.inf)  # (n,), the fraction of the change that reaches the row's bound
    with np.errstate(over="ignore"):  # bounds may be infinite
        room[rising] = (box.high[rising] - beta[rising]) / change[rising]
        room[falling] = (box.low[falling] - beta[falling]) / change[falling]
    blocking = int(room.argmin())
    share = float(room[blocking])
    curvature = _measure_curvature(K, change)
    if curvature > 0.0:
        share = min(share, -float(point.gradient @ change) / curvature)
    if not 0.0 < share < np.inf or not _apply_descent(K, point, share * change):
        return False

    # A β on its bound is exactly equal to the bound.
    np.clip(beta, box.low, box.high, out=beta)
    if share == room[blocking]:
        beta[blocking] = box.high[blocking] if rising[blocking] else box.low[blocking]
    return True


def _measure_curvature(K: np.ndarray, change: np.ndarray) -> float:
    """Return ΔᵀKΔ."""
    moved = change.nonzero()[0]
    K_moved = K.take(moved, axis=0).take(moved, axis=1)
    return float(change[moved] @ K_moved @ change[moved])


def locate_groups(box: BoxConstraints, rows: np.ndarray) -> tuple[list[slice], list[slice]]:
    """Return the groups that contain any of the rows (ascending), and the positions of each group in ``rows``."""
    if len(box.groups) == 1:
        return box.groups, [slice(0, rows.size)]
    stops = np.searchsorted(rows, [group.stop for group in box.groups]).tolist()
    starts = [0, *stops[:-1]]
    groups = []
    spans = []
    for group, start, stop in zip(box.groups, starts, stops, strict=True):
        if start < stop:
            groups.append(group)
            spans.append(slice(start, stop))
    return groups, spans


def solve_kkt_system(
    K: np.ndarray, spans: list[slice], gradient: np.ndarray, totals: list[float], ridge: float
) -> tuple[np.ndarray, list[float]] | None:
    """Solve the system of the free rows.

    Parameters
    ----------
    K : ndarray of shape (f, f)
        Kernel values between the free rows, in ascending order.
    spans : list of slice
        The free rows of each group that has at least one.
    gradient : ndarray of shape (f,)
        Their gradient, including the changes of the other rows.
    totals : list of float
        Σ Δ over each span.
    ridge : float
        Added to the diagonal of K, relative to its largest entry.

    Returns
    -------
    change : ndarray of shape (f,)
        Δ of the free rows.
    multipliers : list of float
        λ of each span. If there is no solution, None is returned instead of both.
    """
    # In this unit, the coefficients of the sums are as large as the kernel values.
    unit = float(np.abs(K.diagonal()).max()) or 1.0
    if len(spans) == 1:
        solution = _solve_by_cholesky(K, gradient, totals[0], unit, ridge)
        if solution is not None:
            return solution
    return _solve_by_elimination(K, spans, gradient, totals, unit, ridge)


def _solve_by_elimination(
    K: np.ndarray, spans: list[slice], gradient: np.ndarray, totals: list[float], unit: float, ridge: float
) -> tuple[np.ndarray, list[float]] | None:
    """Solve for all groups; return None if the system is singular.

    The sums remain in the system instead of being eliminated first, because K_FF may be singular even if the whole
    system is not.
    """
    f = gradient.size
    size = f + len(spans)
    system = np.zeros((size, size))
    system[:f, :f] = K
    diagonal = system.reshape(-1)[: f * size : size + 1]  # (f,), a view
    diagonal += ridge * unit
    # Each group has one more row and column, for its sum and its multiplier.
    for row, span in enumerate(spans, start=f):
        system[row, span] = unit
        system[span, row] = unit
    right_side = np.append(-gradient, [unit * total for total in totals])  # (f + groups,)
    try:
        solution = np.linalg.solve(system, right_side)  # (f + groups,)
    except np.linalg.LinAlgError:
        return None
    if not np.isfinite(solution).all():
        return None
    return solution[:f], (-unit * solution[f:]).tolist()


def _solve_by_cholesky(
    K: np.ndarray, gradient: np.ndarray, total: float, unit: float, ridge: float
) -> tuple[np.ndarray, list[float]] | None:
    """Solve for one group, in half the time of elimination; return None if K is numerically not positive definite.

    Since Σ Δ is fixed, adding a constant to K changes only λ. It makes K positive definite in the direction of
    constant β, in which a centered K is singular.
    """
    system = K + unit  # (f, f)
    system.reshape(-1)[:: gradient.size + 1] += ridge * unit
    right_sides = np.ones((2, gradient.size))
    np.negative(gradient, right_sides[0])
    _, solutions, failed = dposv(system.T, right_sides.T, overwrite_a=True, overwrite_b=True)
    if failed or not 0.0 < float(solutions[:, 1].sum()) < np.inf:
        return None
    unconstrained, per_multiplier = solutions.T  # (f,) each: Δ for λ = 0, and its change per unit of λ
    multiplier = (total - float(unconstrained.sum())) / float(per_multiplier.sum())
    change = unconstrained + multiplier * per_multiplier
    if not np.isfinite(change).all():
        return None
    return change, [multiplier - unit * total]


MAX_STALLED_GUESSES = 3
"""Number of consecutive guesses without fewer wrong rows than the best one, after which they are assumed to cycle."""

RIDGE_RATIO = 1e-13
"""Added to the diagonal, relative to its largest entry, as in `newton`."""


def guess_free_rows(box: BoxConstraints, point: DualPoint, tol: float) -> np.ndarray:
    """Guess the free rows at the optimum from a point near it.

    Parameters
    ----------
    box : BoxConstraints
    point : DualPoint
    tol : float
        A row on a bound counts as free if its violation is larger than this.

    Returns
    -------
    ndarray of shape (n,), bool
        The rows between their bounds, and the rows on a bound that should leave it.
    """
    multiplier = _repeat_per_row(box, estimate_multipliers(box, point))
    should_rise = (point.beta < box.high) & (point.gradient < multiplier - tol)
    should_fall = (point.beta > box.low) & (point.gradient > multiplier + tol)
    return find_free_rows(box, point) | should_rise | should_fall


@final
@dataclass(frozen=True)
class _GuessSolution:
    """The solution of the linear system for one guess of the free rows.

    Attributes
    ----------
    bound : ndarray of shape (n,)
        The bound of each row that is not free.
    change : ndarray of shape (n,)
        Δ, from the starting point.
    gradient : ndarray of shape (n,)
        The gradient after this change.
    multipliers : list of float
        λ of each group.
    """

    bound: np.ndarray
    change: np.ndarray
    gradient: np.ndarray
    multipliers: list[float]


def solve_by_pivoting(
    gram: Gram,
    box: BoxConstraints,
    point: DualPoint,
    free: np.ndarray,
    tol: float,
    max_free: int,
) -> bool:
    """Solve the program from a guess, changing the point in place; if it fails, the point is left unchanged.

    Parameters
    ----------
    gram : Gram
    box : BoxConstraints
    point : DualPoint
    free : ndarray of shape (n,), bool
        The guess.
    tol : float
        Largest violation of the rows in the active set.
    max_free : int
        Largest number of free rows in a guess.

    Returns
    -------
    bool
        Whether the program was solved.
    """
    at_high = point.beta >= box.high  # (n,), the bound of each active row
    fewest_wrong = point.beta.size + 1
    stalled = 0
    while stalled < MAX_STALLED_GUESSES and 0 < np.count_nonzero(free) <= max_free:
        solution = _solve_guess(gram, box, point, free, at_high)
        if solution is None:
            return False

        # Find the rows that are in the wrong set according to the solution.
        target = point.beta + solution.change
        above = free & (target >= box.high)
        below = free & (target <= box.low)
        excess = solution.gradient - _repeat_per_row(box, solution.multipliers)
        leaving = ~free & (np.where(at_high, excess, -excess) > tol)
        wrong = int(np.count_nonzero(above | below | leaving))
        if not wrong:
            # Twice the change of the objective: an indefinite K may lead to a maximum.
            if float((point.gradient + solution.gradient) @ solution.change) >= 0.0:
                return False
            point.beta[:] = np.where(free, target, solution.bound)
            point.gradient[:] = solution.gradient
            return True

        # If more rows are wrong than free, the start was too far from the optimum.
        if wrong > np.count_nonzero(free):
            return False
        # Exchange all wrong rows at once, unless the guesses have begun to cycle.
        if wrong < fewest_wrong:
            fewest_wrong = wrong
            stalled = 0
        else:
            stalled += 1
        free = (free & ~above & ~below) | leaving
        at_high = (at_high | above) & ~below
    return False


def _solve_guess(
    gram: Gram, box: BoxConstraints, point: DualPoint, free: np.ndarray, at_high: np.ndarray
) -> _GuessSolution | None:
    """Put the active rows on their bounds and solve for the free rows; return None if there is no solution.

    Every group needs a free row, which determines its multiplier.
    """
    free_rows = free.nonzero()[0]  # (f,)
    groups, spans = locate_groups(box, free_rows)
    if len(groups) < len(box.groups):
        return None

    bound = np.where(at_high, box.high, box.low)  # (n,)
    change = np.where(free, 0.0, bound - point.beta)  # (n,)
    # Moving the active rows to their bounds changes the gradient of the free rows.
    moved = change.nonzero()[0]
    gradient = point.gradient
    if moved.size:
        gradient = gradient + change[moved] @ gram.take_rows(moved)

    K_free = gram.take_rows(free_rows)  # (f, n)
    totals = [-float(change[group].sum()) for group in groups]
    solution = solve_kkt_system(K_free.take(free_rows, axis=1), spans, gradient[free_rows], totals, RIDGE_RATIO)
    if solution is None:
        return None
    free_change, multipliers = solution
    change[free_rows] = free_change
    return _GuessSolution(bound, change, gradient + free_change @ K_free, multipliers)


def _repeat_per_row(box: BoxConstraints, per_group: list[float]) -> np.ndarray | float:
    """Return, for each row, the number given for its group: shape (n,), or a single number if there is one group."""
    if len(per_group) == 1:
        return per_group[0]
    sizes = [group.stop - group.start for group in box.groups]
    return np.repeat(per_group, sizes)
