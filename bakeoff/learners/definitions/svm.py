"""Support vector machine: the hyperplane that is farthest from the rows of both classes, with a hard or a soft margin.

*Kernels* are inner products K(x, z) = Φ(x)·Φ(z) in a space of features Φ that need not be computed:

    linear        x·z
    polynomial    (x·z + 1)^p
    Gaussian      exp(-‖x - z‖² / 2σ²)

A support vector machine uses the rows only in inner products. If these are replaced by a kernel, it finds a
hyperplane in the space of Φ, which is a curved boundary in the space of x.

*Hard margin*: no row may lie closer to the hyperplane than the nearest rows.

    minimise ½‖ω‖²   subject to   y_i (ω·x_i + b) >= 1 for all i

The geometric margin, the distance of the nearest rows, is then 1/‖ω‖. The solution is ω = Σ_i α_i y_i x_i with

    α_i >= 0,    Σ_i α_i y_i = 0,    y_i (ω·x_i + b) >= 1,    α_i (y_i (ω·x_i + b) - 1) = 0

(the Karush-Kuhn-Tucker conditions): only the support vectors, which lie on the margin, have α_i > 0. Given the set of
support vectors, the equations y_i (ω·x_i + b) = 1 for each of them and Σ α_i y_i = 0 form a linear system for α and
b. All sets of rows are tried, the smallest first, until the solution of the system satisfies all conditions. If no
set does, no hyperplane separates the classes. Cost: O(2^n n³) at worst, so better algorithms are needed in practice.

*Soft margin*: rows may violate the margin at a cost C, which bounds the multipliers of the dual problem:

    maximise  Σ_i α_i - ½ Σ_i Σ_j α_i α_j y_i y_j K(x_i, x_j)   subject to   0 <= α_i <= C,   Σ_i α_i y_i = 0

Because of the last condition, a single multiplier cannot change, but a pair can (sequential minimal optimisation). Let

    b_i = y_i - Σ_j α_j y_j K(x_i, x_j)

be the value of b for which row i lies on its margin. The objective increases if α_i y_i rises and α_j y_j falls while
b_i > b_j:

    1. among the rows whose α y may rise, let i be the one with the largest b_i
    2. among the rows whose α y may fall, let j be the one with the smallest b_j
    3. if b_i <= b_j, the Karush-Kuhn-Tucker conditions hold: stop
    4. move both by the best step (b_i - b_j) / (K_ii + K_jj - 2 K_ij), or as far as 0 <= α <= C allows; repeat

Decisions are made by f(x) = Σ_i α_i y_i K(x_i, x) + b, with b averaged over the support vectors with 0 < α_i < C.

Cost: O(n²) for the kernel values, O(n) for a step; the number of steps grows with n and with C.

References: B. E. Boser, I. M. Guyon, V. N. Vapnik, "A training algorithm for optimal margin classifiers", COLT 1992;
V. N. Vapnik, "The Nature of Statistical Learning Theory", 1995; J. C. Platt, "Fast training of support vector machines
using sequential minimal optimization", in Advances in Kernel Methods, 1999; for the choice of the pair, S. S. Keerthi
and others, "Improvements to Platt's SMO algorithm for SVM classifier design", Neural Computation 13, 2001.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np

from bakeoff.learners.definitions.steps import (
    Plane,
    Problem,
    Regions,
    Step,
    bracket,
    write_point,
    write_products,
    write_sum,
)


def linear(X: np.ndarray, Z: np.ndarray) -> np.ndarray:
    """Return x·z for each row x of X (n, d) and z of Z (m, d): shape (n, m)."""
    return X @ Z.T


def polynomial(X: np.ndarray, Z: np.ndarray, p: int, constant: float = 1.0) -> np.ndarray:
    """Return (x·z + 1)^p, or with another constant, for each row x of X (n, d) and z of Z (m, d): shape (n, m)."""
    return np.asarray((X @ Z.T + constant) ** p)


def gaussian(X: np.ndarray, Z: np.ndarray, sigma: float) -> np.ndarray:
    """Return exp(-‖x - z‖² / 2σ²) for each row x of X (n, d) and z of Z (m, d): shape (n, m)."""
    squared_distance = ((X[:, None, :] - Z[None, :, :]) ** 2).sum(axis=2)  # (n, m)
    return np.exp(-squared_distance / (2 * sigma**2))


ROUNDING = 1e-9
"""The largest violation of a condition by rounding, in units of the margin."""


def hard_margin(K: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, float] | None:
    """Return the multipliers α (n,) and b for kernel values K (n, n) and labels y (n,) of +1 and -1.

    Return None if no hyperplane separates the classes.

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
    """Solve for α and b as if these rows were the support vectors; return None if the equations are dependent."""
    s = len(support)
    equations = np.zeros((s + 1, s + 1))
    # On the margin: Σ_j α_j y_j K(x_i, x_j) + b = y_i for each support vector i.
    equations[:s, :s] = K[np.ix_(support, support)] * y[support]
    equations[:s, s] = 1
    # The last equation is Σ_j α_j y_j = 0.
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


FLAT = 1e-12
"""The minimum curvature of a step, because it is 0 for two equal rows."""


def soft_margin(
    K: np.ndarray, y: np.ndarray, C: float, tol: float = 1e-10, max_steps: int = 100_000
) -> tuple[np.ndarray, float]:
    """Return the multipliers α (n,) and b for kernel values K (n, n) and labels y (n,) of +1 and -1.

    >>> X, y = np.array([[0.0, 0.0], [0.0, 2.0], [2.0, 1.0]]), np.array([-1, -1, 1])
    >>> alpha, b = soft_margin(X @ X.T, y, C=10.0)
    >>> (alpha * y @ X).round(6).tolist(), round(b, 6)
    ([1.0, -0.0], -1.0)
    """
    alpha = np.zeros(len(y))
    for _ in range(max_steps):
        wanted = y - K @ (alpha * y)  # (n,), the b_i
        # How far α y may rise and fall, from the bounds of α.
        rise = np.where(y > 0, C - alpha, alpha)  # (n,)
        fall = np.where(y > 0, alpha, C - alpha)  # (n,)
        i = int(np.argmax(np.where(rise > 0, wanted, -np.inf)))
        j = int(np.argmin(np.where(fall > 0, wanted, np.inf)))
        if wanted[i] - wanted[j] <= tol:
            break
        step = (wanted[i] - wanted[j]) / max(K[i, i] + K[j, j] - 2 * K[i, j], FLAT)
        step = min(step, rise[i], fall[j])
        alpha[i] += y[i] * step
        alpha[j] -= y[j] * step
        alpha = np.clip(alpha, 0, C)  # remove rounding errors
    free = (alpha > 0) & (alpha < C)
    # Without free support vectors, b is any number between these two.
    b = wanted[free].mean() if free.any() else (wanted[i] + wanted[j]) / 2
    return alpha, float(b)


def decision_function(K: np.ndarray, y: np.ndarray, alpha: np.ndarray, b: float) -> np.ndarray:
    """Return f(x) for m queries, given their kernel values K (m, n) with the training rows: shape (m,)."""
    return np.asarray(K @ (alpha * y) + b)


CONDITION_ROUNDING = 1e-6
"""The largest violation of a condition by multipliers that are not yet exact."""


def choose_kernel(learner: Any, X: np.ndarray) -> tuple[Callable[..., np.ndarray], str]:
    """Return the kernel of a learner that is fitted on rows X (n, d), and its formula; γ is 1/2σ²."""
    if learner.kernel == "linear":
        return linear, "x·z"
    d = X.shape[1]
    by_name = {"auto": 1 / d, "scale": 1 / (d * X.var() or 1)}
    gamma = by_name.get(learner.gamma, learner.gamma)
    if learner.kernel == "rbf":
        return partial(gaussian, sigma=np.sqrt(0.5 / gamma)), f"exp(-γ ‖x - z‖²), γ = {gamma}"
    r = learner.coef0
    p = learner.degree
    return lambda X, Z: polynomial(gamma * X, Z, p, r), f"(γ x·z + {r})^{p}, γ = {gamma}"


def work_svm(learner: Any, problem: Problem) -> Iterator[Step]:
    """Yield kernel values, the multipliers of `soft_margin` with their conditions, and the predictions.

    The class that is sorted last is +1. An infinite C is the hard margin.
    """
    X = problem.X
    classes = learner.classes_
    if len(classes) > 2:
        raise ValueError(f"{len(classes)} classes need several planes; choose rows of two classes with rows=")
    kernel, formula = choose_kernel(learner, X)
    K = kernel(X, X)  # (n, n)
    numbers = problem.number_rows(range(len(X)))
    yield Step(
        "Compute the kernel value K(x, z) of each pair of rows.",
        f"K(x, z) = {formula}",
        table=(("K", *numbers), *zip(numbers, *K, strict=True)),
    )
    y = np.where(problem.y == classes[1], 1, -1)  # (n,)
    alpha, b = yield from work_multipliers(problem, K, y, learner.C, learner.intercept_[0])
    support = np.flatnonzero(alpha)
    weights = (alpha * y)[support]  # (s,)
    drawing: Plane | Regions = Regions()
    if kernel is linear:
        w = weights @ X[support]  # (d,)
        drawing = Plane(tuple(w), b, has_margin=True, marked=problem.number_rows(support))
        terms = write_sum(f"{bracket(each)}·{write_point(x)}" for each, x in zip(weights, X[support], strict=True))
        yield Step("Add up the support vectors.", f"ω = Σ α y x = {terms} = {write_point(w)}", rows=drawing.marked)
    squares = weights @ K[np.ix_(support, support)] @ weights
    # ω is 0 if the classes do not differ.
    if squares > ROUNDING * alpha.sum():
        yield Step(
            "Compute the geometric margin, the distance of the plane from the rows with y f(x) = 1.",
            f"1/‖ω‖ = 1/√(Σ Σ α α y y K(x, z)) = 1/√({squares}) = {squares**-0.5}",
            rows=problem.number_rows(support),
            drawing=drawing,
        )
    for query in problem.queries:
        K_query = kernel(query[None, :], X[support])  # (1, s)
        (decision,) = K_query @ weights + b
        answer = classes[int(decision > 0)]
        yield Step(
            f"On which side of the plane is x = {write_point(query)}?",
            f"f(x) = Σ α y K(x_i, x) + b = {write_products(weights, K_query[0])} + {bracket(b)} = {decision}",
            chosen=f"{problem.target} = {answer}",
            values={"f": decision},
            drawing=drawing,
            answer=answer,
            response=(decision,),
        )


def work_multipliers(
    problem: Problem, K: np.ndarray, y: np.ndarray, C: float, other_b: float
) -> Generator[Step, None, tuple[np.ndarray, float]]:
    """Yield the multipliers with the condition of each row; return α (n,) and b.

    If no row lies on the margin, b may be any number of an interval, and ``other_b`` is taken.
    """
    alpha, b = soft_margin(K, y, C)
    # The last step may leave a rounding error of a multiplier that is 0 or C.
    alpha[alpha <= ROUNDING * alpha.max()] = 0
    alpha[C - alpha < ROUNDING * C] = C
    free = np.flatnonzero((alpha > 0) & (alpha < C))
    if not free.size:
        b = other_b
    margins = y * decision_function(K, y, alpha, b)  # (n,)
    # If all conditions hold, a step along the gradient 1 - y f(x) ends at a bound or has length 0.
    if np.abs(np.clip(alpha + 1 - margins, 0, C) - alpha).max() > CONDITION_ROUNDING:
        raise ValueError(
            "the conditions of the multipliers cannot be fulfilled; set preprocessing=standardize, or learner.C=1"
        )
    conditions = np.select([alpha == 0, alpha == C], ["α = 0, y f(x) ≥ 1", "α = C, y f(x) ≤ 1"], "α < C, y f(x) = 1")
    cells = zip(problem.numbers, y, alpha, margins.round(9), conditions, strict=False)
    yield Step(
        "Find α and b so that each row fulfils a condition, and Σ α y = 0. Try sets of rows with 0 < α < C: they lie "
        "on the margin, so that their α and b solve the equations f(x) = Σ α y K(x_i, x) + b = y, and Σ α y = 0. "
        "Without such a row, b is any number of an interval, from which the learner has taken one.",
        f"Σ α y = {write_products(alpha, y)} = {abs(round(alpha @ y, 9))}",
        chosen=f"b = {b}",
        table=(("row", "y", "α", "y f(x)", "condition"), *cells),
        rows=problem.number_rows(free),
        values={"b": b},
    )
    return alpha, b
