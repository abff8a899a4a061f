"""Support vector machine with a hard margin: the hyperplane that is farthest from the nearest rows of both classes.

    minimise ½‖ω‖²   subject to   y_i (ω·x_i + b) >= 1 for all i

The geometric margin, the distance of the nearest rows, is then 1/‖ω‖. The solution is ω = Σ_i α_i y_i x_i with

    α_i >= 0,    Σ_i α_i y_i = 0,    y_i (ω·x_i + b) >= 1,    α_i (y_i (ω·x_i + b) - 1) = 0

(the Karush-Kuhn-Tucker conditions): only the support vectors, which lie on the margin, have α_i > 0. Given the set of
support vectors, the equations y_i (ω·x_i + b) = 1 for each of them and Σ α_i y_i = 0 form a linear system for α and
b. All sets of rows are tried, the smallest first, until the solution of the system satisfies all conditions. If no
set does, no hyperplane separates the classes.

Cost: O(2^n n³) at worst, so better algorithms are needed in practice.

Reference: V. N. Vapnik, "The Nature of Statistical Learning Theory", 1995.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np

ROUNDING = 1e-9
"""By how much rounding may violate a condition, in units of the margin."""


def hard_margin(K: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, float] | None:
    """Return the multipliers α (n,) and b for kernel values K (n, n) and labels y (n,) of +1 and -1.

    None if no hyperplane separates the classes.

    >>> X, y = np.array([[0.0, 0.0], [0.0, 2.0], [2.0, 1.0]]), np.array([-1, -1, 1])
    >>> alpha, b = hard_margin(X @ X.T, y)
    >>> (alpha * y @ X).round(9).tolist(), round(b, 9)
    ([1.0, 0.0], -1.0)
    """
    rows = range(len(y))
    for size in range(2, len(y) + 1):
        for support in combinations(rows, size):
            found = solve_on_margin(K, y, list(support))
            if found is not None and fulfils_conditions(K, y, *found):
                return found
    return None


def solve_on_margin(K: np.ndarray, y: np.ndarray, support: list[int]) -> tuple[np.ndarray, float] | None:
    """Solve for α and b as if these rows were the support vectors; None if the equations are dependent."""
    s = len(support)
    equations = np.zeros((s + 1, s + 1))
    # On the margin: Σ_j α_j y_j K(x_i, x_j) + b = y_i for each support vector i.
    equations[:s, :s] = K[np.ix_(support, support)] * y[support]
    equations[:s, s] = 1
    # And Σ_j α_j y_j = 0.
    equations[s, :s] = y[support]
    if np.linalg.matrix_rank(equations) <= s:
        return None
    solution = np.linalg.solve(equations, [*y[support], 0])
    alpha = np.zeros(len(y))
    alpha[support] = solution[:s]
    return alpha, float(solution[s])


def fulfils_conditions(K: np.ndarray, y: np.ndarray, alpha: np.ndarray, b: float) -> bool:
    """Return whether no multiplier is negative and no row lies within the margin."""
    margin = y * (K @ (alpha * y) + b)  # (n,)
    return bool((alpha >= -ROUNDING * np.abs(alpha).max()).all() and (margin >= 1 - ROUNDING).all())
