"""Solve the dual: decomposition into working sets, SMO within them, and finally pivoting or a Newton step.

With few rows, the working set contains all of them. With more rows, it contains those that violate the optimality
conditions most. Their subproblem is solved with its own kernel matrix, and one product updates the gradient of all
rows: O(n q d) for a working set of q rows, with at most q² kernel values in memory.

*Sequential minimal optimization* (SMO) solves the dual two rows at a time. Each step raises β_i and lowers β_j of the
same group by the same amount, so that Σ β stays constant. Along this direction the objective is a parabola, whose
minimum is at

    step = (gradient_j - gradient_i) / (K_ii + K_jj - 2 K_ij)

unless one of the two rows reaches a bound first. In the notation of Fan, Chen and Lin, I_up contains the rows whose β
may increase, I_low those whose β may decrease, and gradient_t = y_t ∇f(α)_t. The working set {i, j} is chosen by one
of their two rules:

    WSS 1, first order (Keerthi et al.):   i = argmin of the gradient over I_up,   j = argmax of it over I_low
    WSS 3, second order (libsvm):          the same i,   j = argmax of b_ij² / a_ij over I_low, where b_ij > 0

with b_ij = gradient_j - gradient_i and the curvature a_ij = K_ii + K_jj - 2 K_ij. The first rule selects the pair
that violates the optimality conditions most, the second the j with which the objective decreases most.

`bakeoff.learners.definitions.svm` states the algorithm with the first rule. This implementation is faster because each
step updates the gradient with two rows of K instead of recomputing it.

The second rule doubles the cost of a step. Near the optimum of a smooth kernel it needs a tenth of the steps; far
from the optimum it needs nearly as many. A step costs O(n) once the kernel values are known. For small n, most of the
time is the overhead of function calls, so their number is kept small: SciPy's ``daxpy`` adds a multiple of a vector in
one call, whereas NumPy needs two.

References
----------
T. Joachims, "Making large-scale SVM learning practical", in Advances in Kernel Methods, 1999.
J. C. Platt, "Fast training of support vector machines using sequential minimal optimization", in Advances in Kernel
Methods, 1999.
S. S. Keerthi, S. K. Shevade, C. Bhattacharyya, K. R. K. Murthy, "Improvements to Platt's SMO algorithm for SVM
classifier design", Neural Computation 13, 2001.
R.-E. Fan, P.-H. Chen, C.-J. Lin, "Working set selection using second order information for training support vector
machines", Journal of Machine Learning Research 6, 2005.
"""

from __future__ import annotations

from typing import final

import numpy as np
from scipy.linalg.blas import daxpy

from bakeoff.learners.svm.gram import Gram, StoredGram
from bakeoff.learners.svm.newton import (
    BoxConstraints,
    DualPoint,
    find_free_rows,
    guess_free_rows,
    measure_violation,
    solve_by_pivoting,
    take_newton_step,
)

MIN_CURVATURE_RATIO = 1e-12
"""Smallest curvature along a step, relative to the largest kernel value: τ of WSS 3.

Repeated rows have curvature 0, and an indefinite kernel may have a negative one.
"""

MIN_CURVATURE = float(np.sqrt(np.finfo(float).tiny))
"""Smallest curvature if all kernel values are close to 0."""


def run_smo(
    K: np.ndarray,
    box: BoxConstraints,
    point: DualPoint,
    tol: float,
    max_steps: int,
    *,
    second_order: bool = False,
) -> int:
    """Take SMO steps, changing the point in place.

    Parameters
    ----------
    K : ndarray of shape (n, n)
        Kernel values.
    box : BoxConstraints
    point : DualPoint
    tol : float
        Stop when the largest violation is at most ``tol``.
    max_steps : int
        Maximum number of steps.
    second_order : bool, default=False
        Choose j by WSS 3 instead of WSS 1.

    Returns
    -------
    int
        The number of steps taken; less than ``max_steps`` if the tolerance was reached.
    """
    pairs = _PairOptimizer(K, box, point)
    selection = _SecondOrderSelection(K, pairs.min_curvature) if second_order else None
    step = 0
    for step in range(max_steps + 1):
        i, j, group = pairs.select_first_order()
        if step == max_steps or pairs.falling.item(j) - pairs.rising.item(i) <= tol:
            break
        if selection is not None:
            j = selection.choose_partner(i, pairs.rising.item(i), pairs.falling, group)
        pairs.optimize_pair(i, j)
    point.beta[:] = pairs.values
    for gradient in (pairs.rising, pairs.falling):
        np.copyto(point.gradient, gradient, where=np.isfinite(gradient))
    return step


@final
class _PairOptimizer:
    """The state of SMO: β, and the gradient over I_up and over I_low."""

    def __init__(self, K: np.ndarray, box: BoxConstraints, point: DualPoint) -> None:
        diagonal = K.diagonal()
        self.K = K
        self.min_curvature = max(MIN_CURVATURE_RATIO * float(np.abs(diagonal).max()), MIN_CURVATURE)
        # Rows outside I_up and I_low are marked by infinity, which finite changes do not affect.
        self.rising = np.where(point.beta < box.high, point.gradient, np.inf)  # (n,)
        self.falling = np.where(point.beta > box.low, point.gradient, -np.inf)  # (n,)
        # Reading single numbers is several times faster from lists than from arrays.
        self.values = point.beta.tolist()
        self._low = box.low.tolist()
        self._high = box.high.tolist()
        self._diagonal = diagonal.tolist()
        self._groups = box.groups
        self._unit_change = np.empty(point.beta.size)  # (n,), the change of the gradient by a step of length 1

    def select_first_order(self) -> tuple[int, int, slice]:
        """Return the maximal violating pair (WSS 1) and its group."""
        if len(self._groups) == 1:
            return int(self.rising.argmin()), int(self.falling.argmax()), self._groups[0]
        # Both rows must belong to the same group, whose sum stays constant.
        group = max(self._groups, key=self._measure_group)
        i = group.start + int(self.rising[group].argmin())
        j = group.start + int(self.falling[group].argmax())
        return i, j, group

    def optimize_pair(self, i: int, j: int) -> None:
        """Raise β_i and lower β_j to the minimum along this direction, or to the first bound on the way."""
        values = self.values
        rising = self.rising
        falling = self.falling
        # Newton step along the direction, clipped to the box (Platt).
        K_i = self.K[i]
        curvature = self._diagonal[i] + self._diagonal[j] - 2.0 * K_i.item(j)  # a_ij
        newton_length = (falling.item(j) - rising.item(i)) / max(curvature, self.min_curvature)
        room_above = self._high[i] - values[i]
        room_below = values[j] - self._low[j]
        length = min(newton_length, room_above, room_below)

        # The gradient is Kβ - p, so it changes by a multiple of the difference between two rows of K.
        unit_change = self._unit_change
        np.subtract(K_i, self.K[j], unit_change)
        # Names of arguments would cost as much time as the sums.
        for kept in (rising, falling):
            daxpy(unit_change, kept, len(values), length)  # kept += length * unit_change
        # β_i is now above its lower bound and β_j below its upper one: i enters I_low, and j enters I_up.
        falling[i] = rising[i]
        rising[j] = falling[j]

        # A β on its bound is set exactly to the bound, because later comparisons test for equality.
        if length == room_above:
            values[i] = self._high[i]
            rising[i] = np.inf
        else:
            values[i] += length
        if length == room_below:
            values[j] = self._low[j]
            falling[j] = -np.inf
        else:
            values[j] -= length

    def _measure_group(self, group: slice) -> float:
        """Return m(α) - M(α) over the rows of one group."""
        largest = self.falling[group].max(initial=-np.inf)
        least = self.rising[group].min(initial=np.inf)
        return float(largest - least)


@final
class _SecondOrderSelection:
    """Chooses j by WSS 3, and stores the curvatures a_i of the rows i used so far."""

    def __init__(self, K: np.ndarray, min_curvature: float) -> None:
        self._K = K
        self._diagonal = K.diagonal()
        self._min_curvature = min_curvature
        self._curvatures: dict[int, np.ndarray] = {}  # the same few rows are selected repeatedly
        self._gap = np.empty(len(K))  # (n,), b_i
        self._gain = np.empty(len(K))  # (n,)

    def choose_partner(self, i: int, least: float, falling: np.ndarray, group: slice) -> int:
        """Return the row j of the group with the largest b_ij² / a_ij, given ``least``, the gradient of row i."""
        curvature = self._curvatures.get(i)
        if curvature is None:
            curvature = self._curvatures[i] = self._compute_curvature(i)
        gap = self._gap
        gain = self._gain
        np.subtract(falling, least, gap)
        # |b| b / a instead of b² / a: rows that would raise the objective get a negative gain.
        np.absolute(gap, gain)
        np.multiply(gain, gap, gain)
        np.divide(gain, curvature, gain)
        return group.start + int(gain[group].argmax())

    def _compute_curvature(self, i: int) -> np.ndarray:
        """Return a_ij for every row j, of shape (n,)."""
        curvature = self._K[i] * -2.0  # (n,)
        curvature += self._diagonal
        curvature += self._diagonal[i]
        np.maximum(curvature, self._min_curvature, out=curvature)
        return curvature


WORKING_SET_ROWS = 1024
"""Number of rows in a working set, and the largest number of training rows that are solved all at once.

Kernel values take most of the time, and most rows need none.
"""

MAX_WORKING_SET_ROWS = 2048
"""Largest working set for any number of support vectors: its kernel matrix takes 32 MB."""

SMO_STEPS_PER_CUBED_FREE_ROW = 4e-6
"""For f free rows, a linear system costs as much as this number times f³ SMO steps. Both get equal time."""

SMO_STEPS_BEFORE_LARGE_SYSTEM = 2000
"""Linear systems that cost more SMO steps than this must wait until that number of steps has been taken."""

MIN_SMO_STEPS = 48
"""Fewest SMO steps between two guesses of the active set."""

HARD_PROBLEM_SMO_STEPS = 256
"""A problem that takes more steps is a hard one: SMO switches to second-order selection, and a Newton step is tried."""

MAX_POLISHING_STEPS = 3
"""Maximum number of Newton steps after the tolerance is met, because rounding could prolong them indefinitely."""

EXTRA_GUESSED_ROWS = 16
"""Free rows that a guess may have in addition to twice the number at the current point."""

LOOSE_VIOLATION = 0.1
"""Violation, in units of the margin, below which the working set hardly changes any more."""

LOOSE_TOLERANCE_RATIO = 0.1
"""Tolerance within a working set, relative to the violation over all rows, while that exceeds `LOOSE_VIOLATION`."""


def solve_dual(gram: Gram, box: BoxConstraints, point: DualPoint, tol: float, max_iter: int) -> None:
    """Minimize from the given point, in place, until the violation is at most ``tol``.

    Parameters
    ----------
    gram : Gram
    box : BoxConstraints
    point : DualPoint
        Within the box; its ``gradient`` must be that of its ``beta``.
    tol : float
    max_iter : int
        If this number of steps is reached first, ``point.converged`` stays False.
    """
    n = point.beta.size
    while point.n_iter < max_iter:
        rows = _select_working_set(box, point)
        max_steps = max_iter - point.n_iter
        if rows.size == n:
            point.n_iter += _solve_working_set(gram, box, point, tol, max_steps)
        else:
            _improve_rows(gram, box, point, rows, tol, max_steps)
        if measure_violation(box, point) <= tol:
            point.converged = True
            return


def _improve_rows(
    gram: Gram, box: BoxConstraints, point: DualPoint, rows: np.ndarray, tol: float, max_steps: int
) -> None:
    """Solve for some rows while the others are fixed, and update the gradient of all rows."""
    # Far from the optimum, a working set need not be solved precisely.
    violation = measure_violation(box, point)
    working_tol = max(tol, LOOSE_TOLERANCE_RATIO * violation) if violation > LOOSE_VIOLATION else tol
    working_point = point.restrict_to(rows)
    working_gram = StoredGram(gram.take_block(rows), gram.offset[rows])
    working_box = box.restrict_to(rows)
    point.n_iter += _solve_working_set(working_gram, working_box, working_point, working_tol, max_steps)

    # Most rows of a working set keep their β; only the others change the gradient of all rows.
    change = working_point.beta - point.beta[rows]  # (q,)
    moved = np.flatnonzero(change)
    point.beta[rows] = working_point.beta
    point.gradient += gram.multiply_columns(rows[moved], change[moved])


def _solve_working_set(gram: Gram, box: BoxConstraints, point: DualPoint, tol: float, max_steps: int) -> int:
    """Solve for all rows of ``gram``, changing the point in place; return the number of steps.

    SMO approaches the optimum, and a final pivoting or Newton step places the free rows on the margin up to rounding,
    for any tolerance.
    """
    K = gram.take_block(np.arange(point.beta.size))
    taken = 0
    polishing_steps = 0
    n_free = _count_free_rows(box, point)
    while taken < max_steps:
        # SMO comes first: its steps are cheap, and far from the optimum a guess of the active set would be wrong.
        planned = min(_plan_smo_steps(taken, n_free), max_steps - taken)
        steps = run_smo(K, box, point, tol, planned, second_order=taken >= HARD_PROBLEM_SMO_STEPS)
        taken += steps + 1
        is_hard = taken >= HARD_PROBLEM_SMO_STEPS
        is_within_tol = steps < planned
        n_free = _count_free_rows(box, point)

        # A linear system of many free rows is solved only after SMO steps with the same total cost.
        if SMO_STEPS_PER_CUBED_FREE_ROW * n_free**3 > SMO_STEPS_BEFORE_LARGE_SYSTEM + taken:
            if is_within_tol:
                break
            continue

        # A guess with many more free rows than the point has indicates a point far from the optimum.
        guess = guess_free_rows(box, point, 0.5 * tol)
        max_guessed = 2 * n_free + EXTRA_GUESSED_ROWS
        is_near = np.count_nonzero(guess) <= max_guessed
        if is_near and solve_by_pivoting(gram, box, point, guess, 0.5 * tol, 2 * max_guessed):
            break

        # At the tolerance, a Newton step removes the remaining error; before that, it saves SMO steps on hard problems.
        if is_within_tol or (is_near and is_hard):
            moved = take_newton_step(K, box, point)
            polishing_steps += is_within_tol
            is_polished = not moved or polishing_steps > MAX_POLISHING_STEPS
            if is_within_tol and (is_polished or measure_violation(box, point) <= tol):
                break
    return min(taken, max_steps)  # the last linear system is not counted beyond the limit


def _plan_smo_steps(taken: int, n_free: int) -> int:
    """Return the number of SMO steps before the next linear system, given the steps taken so far."""
    growing = min(taken // 2, HARD_PROBLEM_SMO_STEPS)
    cost_of_system = int(SMO_STEPS_PER_CUBED_FREE_ROW * n_free**3)
    return max(MIN_SMO_STEPS, growing, cost_of_system)


def _count_free_rows(box: BoxConstraints, point: DualPoint) -> int:
    return int(np.count_nonzero(find_free_rows(box, point)))


def _select_working_set(box: BoxConstraints, point: DualPoint) -> np.ndarray:
    """Return the rows with the smallest gradients that may rise, and those with the largest gradients that may fall."""
    n = point.beta.size
    size = _choose_working_set_size(point.beta)
    if n <= size:
        return np.arange(n)
    rising = np.where(point.beta < box.high, point.gradient, np.inf)  # (n,)
    falling = np.where(point.beta > box.low, -point.gradient, np.inf)  # (n,)
    rows_per_kind = size // (2 * len(box.groups))
    chosen = np.zeros(n, dtype=bool)
    # Take the same number of both kinds from every group, so that each group contains pairs that can be changed.
    for group in box.groups:
        for order in (rising[group], falling[group]):
            if order.size <= rows_per_kind:
                chosen[group] = True
                continue
            first = np.argpartition(order, rows_per_kind)[:rows_per_kind]
            movable = first[np.isfinite(order[first])]
            chosen[group.start + movable] = True
    return np.flatnonzero(chosen)


def _choose_working_set_size(beta: np.ndarray) -> int:
    """Return the size of the working set: all rows if there are few, else at least the current support vectors.

    Smaller working sets than a quarter of the rows are cheaper, but overlapping classes need more of them.
    """
    n = beta.size
    if n <= WORKING_SET_ROWS:
        return n
    quarter = min(n // 4, WORKING_SET_ROWS)
    n_support = int(np.count_nonzero(beta))
    return min(max(quarter, n_support), MAX_WORKING_SET_ROWS)
