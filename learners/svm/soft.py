"""The soft margin: some steps of the dual, the linear primal where that is not enough, and the dual to finish.

The linear primal of a kernel that is not linear is that of its `embedding`.
"""

from __future__ import annotations

import numpy as np

from learners.svm.dual import LARGEST_SET, WORKING_SET, DualPoint, solve_dual
from learners.svm.embedding import embedded, steps_worth_embedding
from learners.svm.kernels import Gram
from learners.svm.machine import Machine, machine_at
from learners.svm.primal import solve_primal
from learners.svm.quadratic import Box, multipliers, on_bounds

TAME = (1e-100, 1e12)
"""The prices of slack, for rows of length about 1, at which the interior point method keeps its digits."""


def soft_margin(
    gram: Gram,
    signs: np.ndarray,
    C: np.ndarray,
    tol: float,
    max_iter: int,
    X: np.ndarray | None = None,
    start: DualPoint | None = None,
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
    X : ndarray of shape (n, d), optional
        The rows, where the kernel is linear and the primal is to be solved.
    start : DualPoint, optional
        Where the solver begins; β = 0 if not given.
    """
    box = Box(np.minimum(0.0, C * signs), np.maximum(0.0, C * signs), [slice(0, signs.size)])
    point = DualPoint(np.zeros_like(signs), -signs) if start is None else start
    # Most problems are done before a primal would be: give the dual some steps, for about what that costs.
    worth = _steps_first(signs.size, X)
    if worth:
        solve_dual(gram, box, point, tol, min(max_iter, worth))
    tame = TAME[0] <= float(C.mean()) <= TAME[1]
    if tame and not point.converged and point.n_iter < max_iter:
        if X is None and worth:
            X = embedded(gram)
        if X is not None:
            beta = solve_primal(X, signs, C)
            held = np.flatnonzero(beta)
            point = DualPoint(beta, gram.product(held, beta[held]) - signs, point.n_iter)
    solve_dual(gram, box, point, tol, max_iter)
    point.beta = on_bounds(box, point.beta)
    return machine_at(gram, box, point, signs, C, -multipliers(box, point.beta, point.gradient)[0])


def _steps_first(n: int, X: np.ndarray | None) -> int:
    if X is None:
        return steps_worth_embedding(n) if n <= LARGEST_SET else 0
    return steps_worth_primal(*X.shape) if n <= WORKING_SET else 0


def steps_worth_primal(n: int, d: int) -> int:
    """The steps of a pair that take about half as long as the primal (measured)."""
    return int(64 + 0.03 * n + 1e-4 * n * d**2)
