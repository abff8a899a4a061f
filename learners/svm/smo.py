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
    flat = max(FLAT * float(np.abs(half).max()), np.sqrt(np.finfo(float).tiny))
    # Rows that may not rise (fall) are put out of the running by an infinite handicap: cheaper than indexing.
    stuck_high = np.where(beta < box.high, 0.0, np.inf)
    stuck_low = np.where(beta > box.low, 0.0, np.inf)
    gap, gain, change = np.empty_like(beta), np.empty_like(beta), np.empty_like(beta)
    group = slice(0, beta.size)
    for step in range(limit):
        np.add(gradient, stuck_high, out=gap)
        if len(box.groups) > 1:
            group = _most_violated(gap, gradient - stuck_low, box.groups)
        i = int(gap[group].argmin()) + group.start
        # Row j gains gap² / curvature, with gap = gradient_j - gradient_i > 0 and curvature K_ii/2 + K_jj/2 - K_ij.
        np.subtract(gradient, stuck_low, out=gap)
        gap -= gradient[i]
        np.maximum(gap, 0.0, out=gap)
        np.subtract(half, K[i], out=change)
        change += half[i]
        np.maximum(change, flat, out=change)
        np.multiply(gap, gap, out=gain)
        gain /= change
        j = int(gain[group].argmax()) + group.start
        if gap[j] <= tol and gap[group].max() <= tol:
            return step
        above, below = box.high[i] - beta[i], beta[j] - box.low[j]
        length = min(0.5 * gap[j] / change[j], above, below)
        # On its bound a β is the bound itself, to the last bit: the next row asks for equality.
        beta[i] = box.high[i] if length == above else beta[i] + length
        beta[j] = box.low[j] if length == below else beta[j] - length
        stuck_high[i] = np.inf if beta[i] >= box.high[i] else 0.0
        stuck_low[j] = np.inf if beta[j] <= box.low[j] else 0.0
        stuck_low[i] = stuck_high[j] = 0.0
        np.subtract(K[i], K[j], out=change)
        change *= length
        gradient += change
    return limit


def _most_violated(rising: np.ndarray, falling: np.ndarray, groups: list[slice]) -> slice:
    """Return the group with the largest gradient that may fall above the least that may rise."""
    return max(groups, key=lambda rows: float(falling[rows].max(initial=-np.inf) - rising[rows].min(initial=np.inf)))
