"""The soft margin: some steps of the dual, the linear primal where that is not enough, and the dual to finish.

The linear primal of a kernel that is not linear is that of its `embedding`.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from learners.svm.dual import LARGEST_SET, WORKING_SET, DualPoint, solve_dual
from learners.svm.embedding import embedded, steps_worth_embedding
from learners.svm.grams import Gram
from learners.svm.machine import Machine, machine_at, machine_of
from learners.svm.primal import solve_primal
from learners.svm.quadratic import Box, multipliers, on_bounds
from learners.svm.separation import separate

CHEAPEST = 1e-100
"""The least price of slack, for rows of length about 1, at which the interior point method keeps its digits."""

DEAREST = 1e10
"""The largest price for such rows: Kβ keeps the digits that the tolerance asks for."""


def soft_margin(
    gram: Gram,
    signs: np.ndarray,
    C: np.ndarray,
    tol: float,
    max_iter: int,
    rows: np.ndarray | None = None,
) -> Machine:
    """Find the hyperplane.

    Parameters
    ----------
    gram : Gram
        Kernel values between the n rows.
    signs : ndarray of shape (n,)
        +1 or -1, both there, all -1 first.
    C : ndarray of shape (n,)
        The price of one unit of slack for each row, finite.
    tol : float
    max_iter : int
    rows : ndarray of shape (n, d), optional
        The rows, where the kernel is linear and the primal is to be solved.
    """
    asked, C = C, _bearable(gram, C)
    box = _box(C, signs)
    point = DualPoint(np.zeros_like(signs), -signs)
    # Most problems are done before a primal would be: give the dual some steps, for about what that costs.
    worth = _steps_first(signs.size, rows)
    if worth:
        solve_dual(gram, box, point, tol, min(max_iter, worth))
    if float(C.mean()) >= CHEAPEST and not point.converged and point.n_iter < max_iter:
        X = embedded(gram) if rows is None and worth else rows
        if X is not None:
            beta = solve_primal(X, signs, C)
            held = np.flatnonzero(beta)
            point = DualPoint(beta, gram.product(held, beta[held]) - signs, point.n_iter)
    if not point.converged:
        solve_dual(gram, box, point, tol, max_iter)
    point.beta = on_bounds(box, point.beta)
    intercept = -multipliers(box, point.beta, point.gradient)[0]
    machine = machine_at(gram, _box(asked, signs), point, signs, asked, intercept)
    if machine.residual <= tol or C is asked:
        return machine
    # Some rows pay the most that is bearable, and would pay more.
    found = None if rows is None else separate(rows, signs)
    if rows is None or found is None or found.meet or (found.alpha > asked).any():
        return replace(machine, converged=False)
    return machine_of(found, rows, signs, point.n_iter, tol)


def _box(C: np.ndarray, signs: np.ndarray) -> Box:
    return Box(np.minimum(0.0, C * signs), np.maximum(0.0, C * signs), [slice(0, signs.size)])


def _bearable(gram: Gram, C: np.ndarray) -> np.ndarray:
    """Return the prices, none beyond `DEAREST`; where all are, in proportion."""
    size = float(np.abs(gram.diagonal).mean()) or 1.0
    with np.errstate(over="ignore", under="ignore"):
        most = min(DEAREST / size, np.finfo(float).max)
    if C.max() <= most:
        return C
    return C / C.max() * most if C.min() > most else np.minimum(C, most)


def _steps_first(n: int, X: np.ndarray | None) -> int:
    if X is None:
        return steps_worth_embedding(n) if n <= LARGEST_SET else 0
    return steps_worth_primal(*X.shape) if n <= WORKING_SET else 0


def steps_worth_primal(n: int, d: int) -> int:
    """The steps of a pair that take about half as long as the primal (measured)."""
    return int(64 + 0.03 * n + 1e-4 * n * d**2)
