"""Logistic regression: the weights that maximise the likelihood of the training labels.

With a 1 appended to each row x for the intercept, and weights ω_k for all classes but the last,

    P(Y = k | x) = exp(ω_k·x) / (1 + Σ_l exp(ω_l·x)),  k = 1, …, c - 1        P(Y = c | x) = 1 / (1 + Σ_l exp(ω_l·x))

For two classes this is P(Y = 1 | x) = exp(ω·x) / (1 + exp(ω·x)). The learned weights maximise the

    log-likelihood   L(ω)     = Σ_i log P(y_i | x_i) - λ/2 ‖ω‖²          λ = 0 in the lecture; intercepts are not
    penalised with gradient    ∂L/∂ω_k  = Σ_i ([y_i = k] - P(k | x_i)) x_i - λ ω_k

by gradient ascent, which steps along the gradient, or by Newton's method, which steps to the maximum of the quadratic
approximation of L at ω. L is concave, so both methods find the global maximum if there is one. There is none if a
hyperplane separates the classes and λ = 0, because larger weights then always have a higher likelihood.

Cost: O(n d c) for a gradient, O(n (d c)² + (d c)³) for a Newton step.

Reference: T. Hastie, R. Tibshirani, J. Friedman, "The Elements of Statistical Learning", 2009, section 4.4.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import Any

import numpy as np

from bakeoff.learners.definitions.least_squares import append_ones, require_one_solution
from bakeoff.learners.definitions.steps import Problem, Regions, Step, write_point, write_products

ROUNDING = 1e-10
"""The rounding error of a gradient that is 0, and of a difference of likelihoods."""


def probabilities(X: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Return P(Y = k | x) for rows X (n, D), the last column being 1, and weights w (c - 1, D): shape (n, c)."""
    odds = np.exp(X @ w.T)  # (n, c - 1), relative to the last class
    last = 1 / (1 + odds.sum(axis=1))  # (n,)
    return np.column_stack([odds * last[:, None], last])


def log_likelihood(X: np.ndarray, y: np.ndarray, w: np.ndarray, penalty: float = 0.0) -> float:
    """Return L for rows X (n, D), class codes y (n,) from 0 to c - 1, and weights w (c - 1, D)."""
    own = probabilities(X, w)[np.arange(len(y)), y]  # (n,)
    return float(np.log(own).sum() - penalty / 2 * (w[:, :-1] ** 2).sum())


def gradient(X: np.ndarray, y: np.ndarray, w: np.ndarray, penalty: float = 0.0) -> np.ndarray:
    """Return the gradient of L, with the shape of w (c - 1, D)."""
    is_class = y[:, None] == np.arange(len(w))  # (n, c - 1)
    slope = (is_class - probabilities(X, w)[:, :-1]).T @ X
    slope[:, :-1] -= penalty * w[:, :-1]
    return np.asarray(slope)


def curvature(X: np.ndarray, w: np.ndarray, penalty: float = 0.0) -> np.ndarray:
    """Return minus the second derivatives of L, of shape ((c - 1) D, (c - 1) D)."""
    penalised = np.ones(w.shape)  # all but the intercepts
    penalised[:, -1] = 0
    bend = np.diag(penalty * penalised.ravel())
    for x, p in zip(X, probabilities(X, w)[:, :-1], strict=True):
        bend += np.kron(np.diag(p) - np.outer(p, p), np.outer(x, x))
    return bend


def gradient_ascent(
    X: np.ndarray, y: np.ndarray, w: np.ndarray, rate: float, steps: int, penalty: float = 0.0
) -> np.ndarray:
    """Return the weights (c - 1, D) after the given number of steps from w along the gradient."""
    for _ in range(steps):
        w = w + rate * gradient(X, y, w, penalty)
    return w


def newton(X: np.ndarray, y: np.ndarray, w: np.ndarray, penalty: float = 0.0, max_steps: int = 50) -> np.ndarray:
    """Return the weights (c - 1, D) after Newton steps from w, each halved until it increases L.

    >>> X, y = np.array([[0, 1], [0, 1], [0, 1], [1, 1], [1, 1], [1, 1]]), np.array([0, 0, 1, 0, 1, 1])
    >>> probabilities(X, newton(X, y, np.zeros((1, 2))))[-1].round(6).tolist()
    [0.333333, 0.666667]
    """
    for _ in range(max_steps):
        if np.abs(gradient(X, y, w, penalty)).max() <= ROUNDING:
            break
        w = w + newton_step(X, y, w, penalty)
    return w


def newton_step(X: np.ndarray, y: np.ndarray, w: np.ndarray, penalty: float = 0.0) -> np.ndarray:
    """Return the step from w (c - 1, D) to the maximum of the approximation, halved until it increases L."""
    slope = gradient(X, y, w, penalty)
    step = np.linalg.solve(curvature(X, w, penalty), slope.ravel()).reshape(w.shape)
    while log_likelihood(X, y, w + step, penalty) < log_likelihood(X, y, w, penalty) - ROUNDING:
        step = step / 2
    return step


SHOWN_STEPS = 8
"""The steps that are shown. Newton's method seldom takes more, gradient ascent many."""


def work_logistic_regression(learner: Any, problem: Problem) -> Iterator[Step]:
    """Yield the steps of `newton`, or of `gradient_ascent` on centred columns, and the predictions.

    Of two classes, the first one is the reference; of more, the last.
    """
    penalty = 0.0 if learner.penalty is None else 1 / learner.C
    require_one_solution(problem, penalty)
    is_ascent = learner.solver == "gradient_descent"
    classes = learner.classes_
    if len(classes) == 2:
        classes = classes[::-1]
    elif learner.form == "softmax" and (penalty or is_ascent):
        raise ValueError("more than two classes are calculated with a reference class; set learner.form=reference")
    means = problem.X.mean(axis=0) * is_ascent  # (d,)
    X = append_ones(problem.X - means)  # (n, D)
    rates = None
    if is_ascent:
        rates = choose_rates(X, len(classes), penalty)
        yield Step(
            "Subtract the mean of each column. The rate of a weight is 1 / (K u²), with the column's u² = variance + "
            "λ/n, and K a bound of the curvature of L in these units, so that no step lowers L.",
            f"means = {write_point(means)}, rates = {write_point(rates)}",
        )
    w = yield from work_ascent(X, problem, classes, penalty, learner.n_iter_[0], rates)
    order = np.argsort(classes)
    for query in problem.queries:
        x = append_ones(query[None, :] - means)  # (1, D)
        (P,) = probabilities(x, w)  # (c,)
        answer = classes[order][np.argmax(P[order])]
        odds = [f"exp({write_products(weights, x[0])}) = {np.exp(weights @ x[0])}" for weights in w]
        yield Step(
            f"Compute the probability of each class for x = {write_point(query)}, its share of the sum of exp(ω·x).",
            table=(("class", "exp(ω·x)", "P"), *zip(classes, [*odds, "1"], P, strict=True)),
            chosen=f"{problem.target} = {answer}",
            drawing=Regions(),
            answer=answer,
            response=tuple(P[order]),
        )


def choose_rates(X: np.ndarray, c: int, penalty: float) -> np.ndarray:
    """Return the rate of each weight for centred rows X (n, D) of c classes: shape (D,)."""
    gram = X.T @ X  # (D, D)
    penalties = np.full(len(gram), penalty)
    penalties[-1] = 0  # of the intercept
    squares = (np.diag(gram) + penalties) / len(X)  # the u²
    bound = (0.25 if c == 2 else 0.5) * gram + np.diag(penalties)
    largest = np.linalg.eigvalsh(bound / np.sqrt(np.outer(squares, squares)))[-1]
    return np.asarray(1 / (largest * squares))


def work_ascent(
    X: np.ndarray, problem: Problem, classes: np.ndarray, penalty: float, max_steps: int, rates: np.ndarray | None
) -> Generator[Step, None, np.ndarray]:
    """Yield the steps to the weights (c - 1, D) for rows X (n, D), with rates (D,) or Newton's; return the weights.

    Of the classes (c,), the last is the reference.
    """
    y = np.argmax(problem.y[:, None] == classes, axis=1)  # (n,)
    w = np.zeros((len(classes) - 1, X.shape[1]))
    names = [f"{name}, {label}" for label in classes[:-1] for name in (*problem.features, "1")]
    for number in range(max_steps + 1):
        slope = gradient(X, y, w, penalty)
        is_last = number == max_steps or np.abs(slope).max() <= ROUNDING
        if number < SHOWN_STEPS or is_last:
            likelihood = log_likelihood(X, y, w, penalty)
            yield Step(
                "Compute the probability of each class for each row, and the log-likelihood L of the rows' classes.",
                f"L = Σ ln P(y | x) - λ/2 ‖ω‖² = {likelihood}",
                table=(("row", "y", *classes), *zip(problem.numbers, problem.y, *probabilities(X, w).T, strict=False)),
                place=f"after {number} steps",
                values={"L": likelihood},
            )
        if is_last:
            break
        if rates is None:
            step = newton_step(X, y, w, penalty)
            factors = dict(zip(names, curvature(X, w, penalty), strict=True))
        else:
            step = rates * slope
            factors = {"rate": np.tile(rates, len(w))}
        if number < SHOWN_STEPS:
            columns = {"ω": w.ravel(), "gradient": slope.ravel(), **factors, "step": step.ravel()}
            yield Step(
                "Compute the gradient of L, Σ ([y = k] - P(k | x)) x - λ ω. The step is rate · gradient, or solves "
                f"curvature · step = gradient in Newton's method. (The first {SHOWN_STEPS} steps are shown.)",
                table=(("weight of", *columns), *zip(names, *columns.values(), strict=True)),
                place=f"step {number + 1}",
            )
        w = w + step
    return w
