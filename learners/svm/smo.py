"""Sequential minimal optimisation: solve the dual two rows at a time.

Each step raises one β_i and lowers one β_j of the same group by the same amount, so that Σ β keeps its value, as far
as lowers the objective most or as the box allows:

    step = (gradient_j - gradient_i) / (K_ii + K_jj - 2 K_ij)

i is the row whose gradient is least; j, of the rows that gain with it, the one whose step gains most.  A step costs
O(n) once the kernel values are there.

Reference: R.-E. Fan, P.-H. Chen, C.-J. Lin, "Working set selection using second order information for training
support vector machines", JMLR 6, 2005 (the choice of i and j is theirs).
"""

from __future__ import annotations

import numpy as np

from learners.svm.quadratic import Box

FLAT = 1e-12
"""Least curvature along a step, relative to the largest kernel value: repeated rows, indefinite kernels."""


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
    half = 0.5 * K.diagonal()
    flat = 0.5 * flat_curvature(K.diagonal())
    # The gradient, and the gradient of those rows that may rise, and that may fall.
    slope = gradient.copy()
    rising, falling = np.where(beta < box.high, gradient, np.inf), np.where(beta > box.low, gradient, -np.inf)
    # Single numbers are read from lists: several times faster than from arrays.
    at, low, high = beta.tolist(), box.low.tolist(), box.high.tolist()
    bends: dict[int, np.ndarray] = {}  # the same few rows are raised again and again
    gap, gain, change = np.empty((3, beta.size))
    whole = len(box.groups) == 1
    group = slice(0, beta.size)
    step = 0
    for step in range(limit + 1):
        if not whole:
            group = _most_violated(rising, falling, box.groups)
        i = int((rising if whole else rising[group]).argmin()) + group.start
        np.subtract(falling, rising[i], gap)  # gradient_j - gradient_i: a gain where positive
        bend = bends.get(i)
        if bend is None:
            bend = half - K[i]
            bend += half[i]
            np.maximum(bend, flat, out=bend)  # half the curvature
            bends[i] = bend
        np.absolute(gap, gain)
        np.multiply(gain, gap, gain)
        np.divide(gain, bend, gain)  # four times what the objective loses
        j = int((gain if whole else gain[group]).argmax()) + group.start
        reach = gap.item(j)
        if step == limit or (reach <= tol and gap[group].max() <= tol):
            break
        above, below = high[i] - at[i], at[j] - low[j]
        length = min(0.5 * reach / bend.item(j), above, below)
        np.subtract(K[i], K[j], change)
        np.multiply(change, length, change)
        for kept in (slope, rising, falling):
            np.add(kept, change, kept)
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


def flat_curvature(diagonal: np.ndarray) -> float:
    """Return the least curvature that steps reckon with."""
    return max(FLAT * float(np.abs(diagonal).max()), float(np.sqrt(np.finfo(float).tiny)))


def _most_violated(rising: np.ndarray, falling: np.ndarray, groups: list[slice]) -> slice:
    """Return the group with the largest gradient that may fall above the least that may rise."""
    return max(groups, key=lambda rows: float(falling[rows].max(initial=-np.inf) - rising[rows].min(initial=np.inf)))
