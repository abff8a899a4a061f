"""Sequential minimal optimization (SMO): solve the dual two rows at a time.

Each step raises β_i and lowers β_j of the same group by the same amount, so that Σ β stays constant. Along this
direction the objective is a parabola, whose minimum is at

    step = (gradient_j - gradient_i) / (K_ii + K_jj - 2 K_ij)

unless one of the two rows reaches a bound first. In the notation of Fan, Chen and Lin, I_up contains the rows whose β
may increase, I_low those whose β may decrease, and gradient_t = y_t ∇f(α)_t. The working set {i, j} is chosen by one
of their two rules:

    WSS 1, first order (Keerthi et al.):   i = argmin of the gradient over I_up,   j = argmax of it over I_low
    WSS 3, second order (libsvm):          the same i,   j = argmax of b_ij² / a_ij over I_low, where b_ij > 0

with b_ij = gradient_j - gradient_i and the curvature a_ij = K_ii + K_jj - 2 K_ij. The first rule selects the pair
that violates the optimality conditions most, the second the j with which the objective decreases most.

`bakeoff.learners.definitions.svm` states the algorithm with the first rule. This one is faster because each step
updates the gradient by two rows of K instead of computing it anew.

The second rule doubles the cost of a step. Near the optimum of a smooth kernel it needs a tenth of the steps; far
from the optimum it needs nearly as many. A step costs O(n) once the kernel values are known. For small n, most of the
time is the overhead of function calls, so their number is kept small: SciPy's ``daxpy`` adds a multiple of a vector
in one call, NumPy needs two.

References
----------
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

from bakeoff.learners.svm.quadratic_program import BoxConstraints, DualPoint

MIN_CURVATURE_RATIO = 1e-12
"""Smallest curvature along a step, relative to the largest kernel value: τ of WSS 3.

Repeated rows have curvature 0, and an indefinite kernel may have a negative one.
"""

MIN_CURVATURE = float(np.sqrt(np.finfo(float).tiny))
"""Smallest curvature where all kernel values are close to 0."""


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
        Take at most this number of steps.
    second_order : bool, default=False
        Choose j by WSS 3 instead of WSS 1.

    Returns
    -------
    int
        The number of steps; less than ``max_steps`` if the tolerance was reached.
    """
    pairs = _PairOptimizer(K, box, point)
    selection = _SecondOrderSelection(K, pairs.min_curvature) if second_order else None
    step = 0
    for step in range(max_steps + 1):
        i, j, group = pairs.select_first_order()
        if step == max_steps or pairs.measure_violation(i, j) <= tol:
            break
        if selection is not None:
            j = selection.choose_partner(i, pairs.rising.item(i), pairs.falling, group)
        pairs.optimize_pair(i, j)
    point.beta[:] = pairs.values
    point.gradient[:] = pairs.gradient
    return step


@final
class _PairOptimizer:
    """The state of SMO: β, the gradient, and the gradient over I_up and over I_low."""

    def __init__(self, K: np.ndarray, box: BoxConstraints, point: DualPoint) -> None:
        diagonal = K.diagonal()
        self.K = K
        self.min_curvature = max(MIN_CURVATURE_RATIO * float(np.abs(diagonal).max()), MIN_CURVATURE)
        self.gradient = point.gradient.copy()  # (n,)
        # Rows outside I_up and I_low are marked by infinity, which finite changes do not affect.
        self.rising = np.where(point.beta < box.high, point.gradient, np.inf)  # (n,)
        self.falling = np.where(point.beta > box.low, point.gradient, -np.inf)  # (n,)
        # Reading single numbers from lists is several times faster than from arrays.
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

    def measure_violation(self, i: int, j: int) -> float:
        """Return gradient_j - gradient_i: m(α) - M(α) for the maximal violating pair, b_ij for any other."""
        return self.falling.item(j) - self.rising.item(i)

    def optimize_pair(self, i: int, j: int) -> None:
        """Raise β_i and lower β_j to the minimum along this direction, or to the first bound on the way."""
        # Newton step along the direction, clipped to the box (Platt).
        K_i = self.K[i]
        curvature = self._diagonal[i] + self._diagonal[j] - 2.0 * K_i.item(j)  # a_ij
        newton_length = self.measure_violation(i, j) / max(curvature, self.min_curvature)
        room_above = self._high[i] - self.values[i]
        room_below = self.values[j] - self._low[j]
        length = min(newton_length, room_above, room_below)

        # The gradient is Kβ - p, so it changes by a multiple of the difference between two rows of K.
        unit_change = self._unit_change
        np.subtract(K_i, self.K[j], unit_change)
        for kept in (self.gradient, self.rising, self.falling):
            daxpy(unit_change, kept, a=length)  # kept += length * unit_change
        # β_i is now above its lower bound and β_j below its upper one: i enters I_low, and j enters I_up.
        self.falling[i] = self.gradient[i]
        self.rising[j] = self.gradient[j]

        # A β on its bound is set exactly to the bound, because later comparisons test for equality.
        if length == room_above:
            self.values[i] = self._high[i]
            self.rising[i] = np.inf
        else:
            self.values[i] += length
        if length == room_below:
            self.values[j] = self._low[j]
            self.falling[j] = -np.inf
        else:
            self.values[j] -= length

    def _measure_group(self, group: slice) -> float:
        """Return m(α) - M(α) over the rows of one group."""
        largest = self.falling[group].max(initial=-np.inf)
        least = self.rising[group].min(initial=np.inf)
        return float(largest - least)


@final
class _SecondOrderSelection:
    """The choice of j by WSS 3, with the curvatures a_i of the rows i used so far."""

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
