"""Sequential minimal optimisation: solve the dual two rows at a time.

Each step raises one β_i and lowers one β_j of the same group by the same amount, so that Σ β keeps its value, as far
as lowers the objective most or as the box allows:

    step = (gradient_j - gradient_i) / (K_ii + K_jj - 2 K_ij)

i is the row whose gradient is least of those that may rise, j the row whose gradient is greatest of those that may
fall: the two that violate the optimality conditions most.  A step costs O(n) once the kernel values are there.

To choose j by what the objective gains takes fewer steps, each of twice the work: with pivoting to finish it does not
pay.  Nearly all of a step's time are the calls, so there are few: SciPy's ``daxpy`` adds a multiple in one, for which
NumPy takes two.

Reference: J. C. Platt, "Fast training of support vector machines using sequential minimal optimization", in Advances
in Kernel Methods, 1999; S. S. Keerthi and others, "Improvements to Platt's SMO algorithm for SVM classifier design",
Neural Computation 13, 2001 (the choice of i and j is theirs).
"""

from __future__ import annotations

import numpy as np
from scipy.linalg.blas import daxpy

from learners.svm.quadratic import Box

FLAT = 1e-12
"""Least curvature along a step, relative to the largest kernel value: repeated rows, indefinite kernels."""

LEAST = float(np.sqrt(np.finfo(float).tiny))
"""Least curvature, where all kernel values are next to nothing."""


def pair_steps(K: np.ndarray, box: Box, beta: np.ndarray, gradient: np.ndarray, tol: float, limit: int) -> int:
    """Take steps, changing ``beta`` and ``gradient`` in place.

    Parameters
    ----------
    K : ndarray of shape (n, n)
    box : Box
    beta, gradient : ndarray of shape (n,)
    tol : float
        Stop when the largest violation is no more than this.
    limit : int
        Stop after so many steps.

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
    whole = len(box.groups) == 1
    step = 0
    for step in range(limit + 1):
        group = slice(None) if whole else _most_violated(rising, falling, box.groups)
        i, j = int(rising[group].argmin()), int(falling[group].argmax())
        if not whole:
            i, j = i + group.start, j + group.start
        gap = falling.item(j) - rising.item(i)
        if step == limit or gap <= tol:
            break
        from_i = K[i]
        above, below = high[i] - at[i], at[j] - low[j]
        length = min(gap / max(own[i] + own[j] - 2.0 * from_i.item(j), flat), above, below)
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


def _most_violated(rising: np.ndarray, falling: np.ndarray, groups: list[slice]) -> slice:
    """Return the group with the largest gradient that may fall above the least that may rise."""
    return max(groups, key=lambda rows: float(falling[rows].max(initial=-np.inf) - rising[rows].min(initial=np.inf)))
