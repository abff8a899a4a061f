"""Naive Bayes: predict the most probable class, assuming that the features are independent within each class.

    P(class | x)  ∝  P(class) Π_j P(x_j | class)

Probabilities are estimated from counts of the training rows, with a pseudo-count α added to each count (Laplace
smoothing), so that a value that is missing in a small sample does not get probability 0:

    P(x_j = v | class) = (count(v, class) + α) / Σ_v' (count(v', class) + α)      over the values v' of the feature
    P(class)           = (count(class) + α) / Σ_class' (count(class') + α),       or without α

A numeric feature has a normal distribution within each class, with the mean and the variance of the class's rows. A
small fraction of the variance of all rows is added to that variance, so that it is not 0 if the feature is constant in
the class. A feature that is constant in all rows is left out. Probabilities therefore do not depend on units.

A value that does not occur in training is ignored. For a row that is impossible in every class, the prior probabilities
are returned.

Cost: O(n d) to learn, O(d c) for each query.

References: T. M. Mitchell, "Machine Learning", 1997, chapter 6; R. O. Duda and P. E. Hart, "Pattern Classification and
Scene Analysis", 1973.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Generator, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from bakeoff.learners.definitions.majority_vote import majority_vote
from bakeoff.learners.definitions.steps import Problem, Step, bracket, tabulate, write_sum


def class_probabilities(
    X: np.ndarray,
    y: np.ndarray,
    x: np.ndarray,
    alpha: float = 1.0,
    *,
    smooth_prior: bool = True,
    numeric: Collection[int] = (),
    ddof: int = 0,
) -> np.ndarray:
    """Return P(class | x) of a query x (d,) for each class in sorted order, from rows X (n, d) and labels y (n,).

    The lecture's mortgage of a client with a job, a high deposit and children, to be approved or rejected:

    >>> clients = "tls tlc tls ths fhc tlc flc tlk fls fhk"  # job, deposit, family: the first letters, k for children
    >>> X = np.array([[*client] for client in clients.split()])
    >>> y = np.repeat(["Approve", "Reject"], 5)
    >>> class_probabilities(X, y, np.array(["t", "h", "k"])) * 11
    array([5., 6.])
    """
    classes, counts = np.unique(y, return_counts=True)
    prior = smoothed_fractions(counts, alpha if smooth_prior else 0.0)
    joint = prior.copy()  # (c,), P(class) times P(x | class)
    for k, label in enumerate(classes):
        for j, cell in enumerate(x):
            if j in numeric:
                joint[k] *= normal_density(X[:, j], y == label, cell, ddof)
            else:
                joint[k] *= value_probability(X[y == label, j], np.unique(X[:, j]), cell, alpha)
    return divide_by_sum(joint, prior)


def divide_by_sum(joint: np.ndarray, prior: np.ndarray) -> np.ndarray:
    """Return joint probabilities (c,) divided by their sum, or the prior probabilities if all are 0."""
    return joint / joint.sum() if joint.any() else prior


def smoothed_fractions(counts: np.ndarray, alpha: float) -> np.ndarray:
    """Add the pseudo-count to each of the counts (k,), and divide by the total."""
    smoothed = counts + alpha
    return np.asarray(smoothed / smoothed.sum())


def value_probability(cells: np.ndarray, domain: np.ndarray, value: object, alpha: Any) -> Any:
    """Return P(value | class), given the cells of the class in a nominal column, and the column's values (k,)."""
    if value not in domain:
        return 1.0
    return smoothed_fractions(count_values(cells, domain), alpha)[domain == value][0]


def count_values(cells: np.ndarray, domain: Any) -> np.ndarray:
    """Return the number of cells with each value of the domain: shape (k,)."""
    return np.array([np.count_nonzero(cells == value) for value in domain])


def normal_density(column: np.ndarray, in_class: np.ndarray, value: float, ddof: int) -> float:
    """Return the normal density of a value, given a numeric column (n,) and the mask (n,) of the class's rows.

    It is 1 in every class if the column is constant.
    """
    return normal(value, *estimate_normal(column, in_class, ddof)) if np.ptp(column) else 1.0


def estimate_normal(column: np.ndarray, in_class: np.ndarray, ddof: int, smoothing: float = 0.0) -> tuple[float, float]:
    """Return the mean and the smoothed variance of a numeric column (n,) in the class's rows, given by a mask (n,).

    The divisor of the variance is the number of rows of the class minus ``ddof``; if this is 0, the variance of
    all rows is used. The fraction ``smoothing`` of the variance of all rows is added.
    """
    cells = column[in_class]
    mean = float(np.mean(cells))
    divisor = len(cells) - ddof
    overall = np.var(column)
    variance = np.sum((cells - mean) ** 2) / divisor if divisor else overall
    return mean, variance + smoothing * overall


def normal(x: float, mean: float, variance: float) -> float:
    """Return the density of the normal distribution at x."""
    return math.exp(-((x - mean) ** 2) / (2 * variance)) / math.sqrt(2 * math.pi * variance)


def work_naive_bayes(learner: Any, problem: Problem) -> Iterator[Step]:
    """Yield the tables of `class_probabilities`, and the products for each query, with a learner's parameters."""
    X, target, classes = problem.X, problem.target, learner.classes_
    masks = [problem.y == label for label in classes]
    alpha = Fraction(str(learner.alpha))  # so that fractions remain fractions
    prior_alpha = alpha * learner.smooth_prior
    counts = count_values(problem.y, classes)
    yield work_smoothing(counts, prior_alpha, target, classes, [f"P({target})"])
    for j in problem.nominal:
        name, domain = problem.features[j], learner.categories_[j]
        counted = [count_values(X[mask, j], domain) for mask in masks]
        yield work_smoothing(counted, alpha, name, domain, [f"P({name} | {label})" for label in classes])
    numeric = learner.numeric_features_
    names, normals = yield from work_normals(learner, problem, masks)
    for number, q in enumerate(problem.queries, start=1):
        factors: list[Any] = [smoothed_fractions(counts, prior_alpha)]  # of each class
        for j in problem.nominal:
            factors.append([value_probability(X[mask, j], learner.categories_[j], q[j], alpha) for mask in masks])
        if numeric.size:
            step = work_density(np.repeat(q[numeric], len(classes)), *normals, names=names)
            yield replace(step, place=f"query {number}")
            factors.extend(np.reshape([*step.values.values()], (-1, len(classes))))
        yield replace(work_products(classes, factors, target), place=f"query {number}")


def work_normals(
    learner: Any, problem: Problem, masks: Sequence[np.ndarray]
) -> Generator[Step, None, tuple[list[str], np.ndarray]]:
    """Yield the means and variances of the numeric columns in each class; return their names and both (2, k)."""
    numeric = learner.numeric_features_
    constant = sorted(set(range(problem.X.shape[1])).difference(problem.nominal, numeric))
    if constant:
        left_out = ", ".join(problem.features[j] for j in constant)
        yield Step(f"Leave out constant columns, which do not distinguish the classes: {left_out}.")
    names = [f"{problem.features[j]} | {label}" for j in numeric for label in learner.classes_]
    normals = np.transpose(
        [estimate_normal(problem.X[:, j], mask, learner.ddof, learner.var_smoothing) for j in numeric for mask in masks]
    )
    if names:
        yield Step(
            "Compute the mean μ and the variance v of each numeric column in each class; V is its variance in all "
            "rows.",
            f"μ = Σ x / n, v = Σ (x-μ)² / {'(n-1)' if learner.ddof else 'n'} + {learner.var_smoothing}·V",
            table=(("column", "μ", "v"), *zip(names, *normals, strict=True)),
        )
    return names, normals


def work_smoothing(
    counts: Any, alpha: Any = 1, name: str = "value", domain: Any = None, headings: Sequence[str] = ("P",)
) -> Step:
    """Return the step from counts of the values of a domain (k,), or from c rows of them (c, k), to probabilities."""
    rows = np.reshape(counts, (len(headings), -1))  # (c, k)
    k = rows.shape[1]
    a = float(alpha)
    cells = [
        [f"({count}+{a:g})/({sum(row)}+{k}·{a:g}) = {count + a:g}/{sum(row) + k * a:g}" for count in row]
        for row in rows
    ]
    return Step(
        f"Count the rows with each {name}, add α to each count, and divide by the sum.",
        "P = (count + α)/Σ (count + α)",
        table=((name, *headings), *zip(range(1, k + 1) if domain is None else domain, *cells, strict=True)),
    )


def work_density(value: Any, mean: Any, variance: Any, *, names: Sequence[str] = ("x",)) -> Step:
    """Return the step of the density of a value in a normal distribution, or of several (k,) in one each."""
    normals = np.column_stack([value, mean, variance])  # (k, 3)
    terms = [f"exp(-({x}-{bracket(m)})²/(2·{v}))/√(2π·{v})" for x, m, v in normals]
    densities = [normal(x, m, v) for x, m, v in normals]
    return Step(
        "Compute the normal density p of each numeric cell, in each class.",
        "p = exp(-(x-μ)²/(2v))/√(2πv)",
        **tabulate("cell", "p", terms, densities, names),
    )


def work_products(classes: np.ndarray, factors_by_cell: Any, target: str) -> Step:
    """Return the step from P(class) and P(cell | class) of each cell, in each class (c,), to the probabilities."""
    factors = np.transpose(factors_by_cell)  # (c, 1 + d)
    joint = factors.prod(axis=1)  # (c,)
    if not joint.any() and isinstance(joint[0], float):
        raise ValueError("a query is too far from the training rows, as its densities are 0; choose another query")
    posterior = divide_by_sum(joint, factors[:, 0])
    products = [write_product(own) for own in factors]
    terms = [f"{'·'.join(map(str, own))} = {product}" for own, product in zip(factors, products, strict=True)]
    shares = [write_product([share]) for share in posterior]
    response = tuple(map(float, posterior))
    answer = majority_vote(classes, posterior)
    return Step(
        "Multiply P(class) by the probabilities of the cells, and divide by the sum; if that is 0, P(class) remains.",
        f"P(class | x) = P(class)·Π P(cell | class) / Σ, Σ = {write_sum(each.split(' = ')[0] for each in products)}",
        chosen=f"{target} = {answer}",
        table=((target, "product", "P(class | x)"), *zip(classes, terms, shares, strict=True)),
        values={f"P({label} | x)": share for label, share in zip(classes, response, strict=True)},
        answer=answer,
        response=response,
    )


def write_product(factors: Sequence[Any]) -> str:
    """Return the result of a product; fractions are not reduced, so that their factors remain visible.

    >>> write_product([Fraction(1, 2), Fraction(2, 8)])
    '1/8 = 0.125'
    """
    product = float(math.prod(factors))
    if not all(isinstance(factor, Fraction) for factor in factors):
        return f"{product}"
    numerator = math.prod(factor.numerator for factor in factors)
    return f"{numerator}/{math.prod(factor.denominator for factor in factors)} = {product}"
