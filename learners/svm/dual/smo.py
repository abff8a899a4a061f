"""Sequential minimal optimisation: solve the dual two rows at a time.

Each step raises one β_i and lowers one β_j of the same group by the same amount, so that Σ β keeps its value, as far
as lowers the objective most or as the box allows:

    step = (gradient_j - gradient_i) / (K_ii + K_jj - 2 K_ij)

i is the row whose gradient is least of those that may rise.  j is the row whose gradient is greatest of those that may
fall, so that the two violate the optimality conditions most; or the row with which the objective loses most:

    gain = (gradient_j - gradient_i)² / (K_ii + K_jj - 2 K_ij)

Choosing by gain makes a step twice as dear.  Near the optimum of a smooth kernel it takes a tenth of the steps, far
from any optimum nearly as many.  A step costs O(n) once the kernel values are there; nearly all of its time are the
calls, so there are few: SciPy's ``daxpy`` adds a multiple in one, for which NumPy takes two.

Reference: J. C. Platt, "Fast training of support vector machines using sequential minimal optimization", in Advances
in Kernel Methods, 1999; S. S. Keerthi and others, "Improvements to Platt's SMO algorithm for SVM classifier design",
Neural Computation 13, 2001 (i and j by violation); R.-E. Fan, P.-H. Chen, C.-J. Lin, "Working set selection using
second order information for training support vector machines", JMLR 6, 2005 (j by gain).
"""

from __future__ import annotations

from typing import final

import numpy as np
from scipy.linalg.blas import daxpy

from bakeoff.learners.svm.dual.box_constraints import BoxConstraints

FLAT = 1e-12
"""Least curvature along a step, relative to the largest kernel value: repeated rows, indefinite kernels."""

LEAST = float(np.sqrt(np.finfo(float).tiny))
"""Least curvature, where all kernel values are next to nothing."""


def run_smo(
    K: np.ndarray,
    box: BoxConstraints,
    beta: np.ndarray,
    gradient: np.ndarray,
    tol: float,
    limit: int,
    *,
    second_order: bool = False,
) -> int:
    """Take steps, changing ``beta`` and ``gradient`` in place.

    Parameters
    ----------
    K : ndarray of shape (n, n)
    box : BoxConstraints
    beta, gradient : ndarray of shape (n,)
    tol : float
        Stop when the largest violation is no more than this.
    limit : int
        Stop after so many steps.
    second_order : bool
        How j is chosen.

    Returns
    -------
    int
        The number of steps; less than ``limit`` if the tolerance was met.
    """
    diagonal = K.diagonal()
    flat = max(FLAT * float(np.abs(diagonal).max()), LEAST)
    # The gradient, and the gradient of those rows that may rise, and that may fall.
    slope = gradient.copy()
    rising, falling = np.where(beta < box.high, gradient, np.inf), np.where(beta > box.low, gradient, -np.inf)
    # Single numbers are read from lists: several times faster than from arrays.
    at, low, high, own = beta.tolist(), box.low.tolist(), box.high.tolist(), diagonal.tolist()
    change = np.empty(beta.size)
    choose = _Gain(K, diagonal, flat) if second_order else None
    whole = len(box.groups) == 1
    step = 0
    for step in range(limit + 1):
        group = slice(None) if whole else _most_violated(rising, falling, box.groups)
        i, j = int(rising[group].argmin()), int(falling[group].argmax())
        if not whole:
            i, j = i + group.start, j + group.start
        if step == limit or falling.item(j) - rising.item(i) <= tol:
            break
        if choose is not None:
            j = choose(i, rising.item(i), falling, group)
        from_i = K[i]
        above, below = high[i] - at[i], at[j] - low[j]
        bend = max(own[i] + own[j] - 2.0 * from_i.item(j), flat)
        length = min((falling.item(j) - rising.item(i)) / bend, above, below)
        np.subtract(from_i, K[j], change)
        for kept in (slope, rising, falling):
            daxpy(change, kept, a=length)  # kept += length * change
        falling[i], rising[j] = slope[i], slope[j]
        # On its bound a β is the bound itself, to the last bit: the next row asks for equality.
        if length == above:
            at[i], rising[i] = high[i], np.inf
        else:
            at[i] += length
        if length == below:
            at[j], falling[j] = low[j], -np.inf
        else:
            at[j] -= length
    beta[:], gradient[:] = at, slope
    return step


@final
class _Gain:
    """The choice of j by gain."""

    def __init__(self, K: np.ndarray, diagonal: np.ndarray, flat: float) -> None:
        self._K, self._diagonal, self._flat = K, diagonal, flat
        self._bends: dict[int, np.ndarray] = {}  # the same few rows are raised again and again
        self._gap, self._gain = np.empty((2, diagonal.size))

    def __call__(self, i: int, least: float, falling: np.ndarray, group: slice) -> int:
        gap, gain, bend = self._gap, self._gain, self._bends.get(i)
        if bend is None:
            bend = self._bends[i] = self._K[i] * -2.0
            bend += self._diagonal
            bend += self._diagonal[i]
            np.maximum(bend, self._flat, out=bend)
        np.subtract(falling, least, gap)
        np.absolute(gap, gain)
        np.multiply(gain, gap, gain)  # a loss where negative
        np.divide(gain, bend, gain)
        return int(gain[group].argmax()) + (group.start or 0)


def _most_violated(rising: np.ndarray, falling: np.ndarray, groups: list[slice]) -> slice:
    """Return the group with the largest gradient that may fall above the least that may rise."""
    return max(groups, key=lambda rows: float(falling[rows].max(initial=-np.inf) - rising[rows].min(initial=np.inf)))
