"""The first steps of many small problems, all taken abreast.

One against one, c classes make c (c - 1) / 2 problems of few rows each, for which a step of `smo` is more Python than
arithmetic.  Here each step is taken in every problem at once, on arrays with a line per problem.  Not many steps are
taken: lines that are done wait for the others, and pivoting is near.

The mathematics is that of `smo`, for the soft margin.
"""

from __future__ import annotations

import numpy as np

from learners.svm.dual import DualPoint
from learners.svm.smo import flat_curvature

ENOUGH = 6
"""From so many problems on, steps abreast are cheaper."""

STEPS = 48
"""How many are taken."""


def first_steps(
    K: np.ndarray, problems: list[tuple[np.ndarray, np.ndarray]], prices: np.ndarray, tol: float
) -> list[DualPoint]:
    """Return a point for each problem from which its solver may go on.

    Parameters
    ----------
    K : ndarray of shape (n, n)
    problems : list of (rows, signs)
        As from `binary_problems`.
    prices : ndarray of shape (n,)
        C of each row, finite.
    tol : float
    """
    front = _Front(K, problems, prices)
    taken = 1
    while front.step() > tol and taken < STEPS:
        taken += 1
    sizes = [rows.size for rows, _ in problems]
    lines = zip(front.beta, front.slope, sizes, strict=True)
    return [DualPoint(beta[:size].copy(), slope[:size].copy(), taken) for beta, slope, size in lines]


class _Front:
    """Where p problems stand: arrays of shape (p, q), q being the rows of the largest; shorter lines are filled up."""

    def __init__(self, K: np.ndarray, problems: list[tuple[np.ndarray, np.ndarray]], prices: np.ndarray) -> None:
        p, q = len(problems), max(rows.size for rows, _ in problems)
        self._K, self._lines = K, np.arange(p)
        self._rows = np.zeros((p, q), dtype=np.intp)
        signs = np.zeros((p, q))  # 0 where filled up: such a row may neither rise nor fall
        for line, (rows, labels) in enumerate(problems):
            self._rows[line, : rows.size], signs[line, : rows.size] = rows, labels
        limit = signs * prices[self._rows]
        self._low, self._high = np.minimum(limit, 0.0), np.maximum(limit, 0.0)
        self._diagonal = K.diagonal()[self._rows]
        self._flat = flat_curvature(K.diagonal())
        self.beta = np.zeros((p, q))
        # The gradient, and the gradient of those rows that may rise, and that may fall.
        self._state = np.stack([-signs, np.where(signs > 0, -1.0, np.inf), np.where(signs < 0, 1.0, -np.inf)])
        self.slope, self._rising, self._falling = self._state

    def step(self) -> float:
        """Take a step in each problem, and return the largest violation there was."""
        i = self._lines, self._rising.argmin(axis=1)
        gap = self._falling - self._rising[i][:, None]
        np.maximum(gap, 0.0, out=gap)
        from_i = self._kernel_rows(i)
        curvature = from_i * -2.0
        curvature += self._diagonal
        curvature += self._diagonal[i][:, None]
        np.maximum(curvature, self._flat, out=curvature)
        gain = gap * gap
        gain /= curvature
        j = self._lines, gain.argmax(axis=1)
        above, below = self._high[i] - self.beta[i], self.beta[j] - self._low[j]
        length = np.minimum(gap[j] / curvature[j], np.minimum(above, below))  # (p,)
        from_i -= self._kernel_rows(j)
        from_i *= length[:, None]
        self._state += from_i
        # On its bound a β is the bound itself, to the last bit: the next step asks for equality.
        self.beta[i] = np.where(length == above, self._high[i], self.beta[i] + length)
        self.beta[j] = np.where(length == below, self._low[j], self.beta[j] - length)
        for k in (i, j):
            self._rising[k] = np.where(self.beta[k] < self._high[k], self.slope[k], np.inf)
            self._falling[k] = np.where(self.beta[k] > self._low[k], self.slope[k], -np.inf)
        return float(gap.max())

    def _kernel_rows(self, chosen: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
        """Return the kernel values of each problem's rows with its chosen row, of shape (p, q)."""
        start = self._rows[chosen] * self._K.shape[0]
        return self._K.take(self._rows + start[:, None])
