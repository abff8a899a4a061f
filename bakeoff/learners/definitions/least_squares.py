"""Least squares: linear regression and ridge regression by the normal equations.

The prediction is ŷ = w·x + b. The learned weights minimise

    Σ_i (y_i - w·x_i - b)² + λ ‖w‖²          λ = 0: linear regression,   λ > 0: ridge regression

If a 1 is appended to each row for the intercept b, which is not penalised, the derivative vanishes for

    (XᵀX + λ I') w = Xᵀy          I' is the identity matrix with 0 in the place of b

Cost: O(n d² + d³).

Reference: T. Hastie, R. Tibshirani, J. Friedman, "The Elements of Statistical Learning", 2009, chapter 3.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from bakeoff.learners.definitions.steps import Problem, Regions, Step, bracket, write_point, write_products


def least_squares(X: np.ndarray, y: np.ndarray, penalty: float = 0.0) -> tuple[np.ndarray, float]:
    """Return the weights w (d,) and the intercept b for rows X (n, d) and targets y (n,).

    >>> w, b = least_squares(np.array([[0], [1], [2]]), np.array([1, 3, 5]))
    >>> w.round(9).tolist(), round(b, 9)
    ([2.0], 1.0)
    """
    d = X.shape[1]
    with_ones = append_ones(X)  # (n, d + 1)
    penalised = np.diag([1.0] * d + [0.0])  # all but the intercept
    solution = np.linalg.solve(with_ones.T @ with_ones + penalty * penalised, with_ones.T @ y)
    return solution[:-1], float(solution[-1])


def append_ones(X: np.ndarray) -> np.ndarray:
    """Return rows X (n, d) with a 1 at the end: shape (n, d + 1)."""
    return np.column_stack([X, np.ones(len(X))])


def require_one_solution(problem: Problem, penalty: float) -> None:
    """Raise ValueError if many weights fit equally well."""
    if penalty == 0 and np.linalg.matrix_rank(append_ones(problem.X)) <= len(problem.features):
        raise ValueError(
            "the columns are collinear, or the rows too few, so that many weights fit equally well; choose others with "
            "columns= or rows=, or set a penalty with learner=ridge or learner.C=1"
        )


def work_least_squares(learner: Any, problem: Problem) -> Iterator[Step]:
    """Yield the normal equations of `least_squares`, their solution, and the predictions."""
    penalty = getattr(learner, "alpha", 0.0)  # of ridge regression
    require_one_solution(problem, penalty)
    X = append_ones(problem.X)  # (n, d + 1)
    names = (*problem.features, "1")
    yield Step(
        "Append a 1 to each row for the intercept, and multiply the columns: XᵀX and Xᵀy.",
        table=(("XᵀX", *names, "Xᵀy"), *zip(names, *X.T @ X, X.T @ problem.y, strict=True)),
    )
    w, b = least_squares(problem.X, problem.y, penalty)
    yield Step(
        "Solve (XᵀX + λ I') (w, b) = Xᵀy, where I' is the identity matrix with 0 in the place of b.",
        f"λ = {penalty}, w = {write_point(w)}, b = {b}",
        values={"b": b, **dict(zip(problem.features, w, strict=True))},
        drawing=Regions(),
    )
    for query in problem.queries:
        answer = float(w @ query + b)
        yield Step(
            f"Predict {problem.target} for x = {write_point(query)}.",
            f"ŷ = w·x + b = {write_products(w, query)} + {bracket(b)} = {answer}",
            drawing=Regions(),
            answer=answer,
            response=(answer,),
        )
