"""Naive Bayes: predict the most probable class, assuming that the features are independent within each class.

    P(class | x)  ∝  P(class) Π_j P(x_j | class)

Probabilities are estimated from counts of the training rows, with a pseudo-count α added to each count (Laplace
smoothing), so that a value that is missing in a small sample does not get probability 0:

    P(x_j = v | class) = (count(v, class) + α) / Σ_v' (count(v', class) + α)      over the values v' of the feature
    P(class)           = (count(class) + α) / Σ_class' (count(class') + α),       or without α

A numeric feature has a normal distribution within each class, with the mean and the variance of the class's rows.
Alternatively, it has a kernel density, the mean of normal densities of width h around each of the n cells of the class,
which makes no assumption about its shape:

    p(x | class) = 1/n Σ_i N(x; x_i, h²),      h = (max_i x_i - min_i x_i) / √n

where h is at least a sixth of the mean gap between neighbouring values of the column.
A value that does not occur in training is ignored. For a row that is impossible in every class, the prior probabilities
are returned.

Cost: O(n d) to learn, O(d c) for each query.

References: T. M. Mitchell, "Machine Learning", 1997, chapter 6; R. O. Duda and P. E. Hart, "Pattern Classification and
Scene Analysis", 1973; G. H. John, P. Langley, "Estimating continuous distributions in Bayesian classifiers", 1995.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Sequence
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
    density: Callable[[np.ndarray, np.ndarray, float], float] | None = None,
) -> np.ndarray:
    """Return P(class | x) of a query x (d,) for each class in sorted order, from rows X (n, d) and labels y (n,).

    Numeric features have a normal density unless another density is given.

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
                joint[k] *= (density or normal_density)(X[:, j], y == label, cell)
            else:
                joint[k] *= value_probability(X[:, j], y == label, cell, alpha)
    if not joint.any():
        return prior
    return joint / joint.sum()


def smoothed_fractions(counts: np.ndarray, alpha: float) -> np.ndarray:
    """Add the pseudo-count to each of the counts (k,), and divide by the total."""
    smoothed = counts + alpha
    return np.asarray(smoothed / smoothed.sum())


def value_probability(column: np.ndarray, in_class: np.ndarray, value: object, alpha: float) -> float:
    """Return P(value | class), given a nominal column (n,) and the mask (n,) of the class's rows."""
    domain = np.unique(column)
    if value not in domain:
        return 1.0
    counts = count_values(column[in_class], domain)
    return float(smoothed_fractions(counts, alpha)[domain == value][0])


def count_values(cells: np.ndarray, domain: Any) -> np.ndarray:
    """Return the number of cells with each value of the domain: shape (k,)."""
    return np.array([np.count_nonzero(cells == value) for value in domain])


def normal_density(
    column: np.ndarray, in_class: np.ndarray, value: float, ddof: int = 0, epsilon: float = 0.0
) -> float:
    """Return the normal density of a value, given a numeric column (n,) and the mask (n,) of the class's rows."""
    return normal(value, *estimate_normal(column, in_class, ddof, epsilon))


def estimate_normal(column: np.ndarray, in_class: np.ndarray, ddof: int, epsilon: float) -> tuple[float, float]:
    """Return the mean of a numeric column (n,) in the class's rows, given by a mask (n,), and its variance plus ε.

    The divisor of the variance is the number of rows of the class minus ``ddof``; if none are left, the variance is
    that of all rows.
    """
    cells = column[in_class]
    mean = float(np.mean(cells))
    divisor = len(cells) - ddof
    variance = np.sum((cells - mean) ** 2) / divisor if divisor else np.var(column)
    return mean, float(variance) + epsilon


def normal(x: float, mean: float, variance: float) -> float:
    """Return the density of the normal distribution at x."""
    return math.exp(-((x - mean) ** 2) / (2 * variance)) / math.sqrt(2 * math.pi * variance)


def divide_counts(counts: np.ndarray, alpha: float) -> list[Any]:
    """Return `smoothed_fractions`, as fractions of whole numbers if the pseudo-count is whole."""
    if alpha % 1:
        return list(smoothed_fractions(counts, alpha))
    total = int(counts.sum() + alpha * len(counts))
    return [Fraction(int(count + alpha), total) for count in counts]


def work_naive_bayes(learner: Any, problem: Problem) -> Iterator[Step]:
    """Yield the tables of `class_probabilities`, and the products for each query, with a learner's parameters."""
    target, classes, alpha, ddof = problem.target, learner.classes_, learner.alpha, learner.ddof
    masks = [problem.y == label for label in classes]
    counts = count_values(problem.y, classes)
    prior_alpha = alpha if learner.smooth_prior else 0
    yield work_smoothing(counts, prior_alpha, target, classes, [f"P({target})"])
    numbers = {j: column.astype(float) for j, column in enumerate(problem.X.T) if j not in problem.nominal}
    epsilon = learner.var_smoothing * max(map(np.var, numbers.values()), default=0.0)
    normals = {}  # of a numeric feature: mean and variance in each class
    shares = {}  # of a nominal feature: value -> P(value | class), in each class
    given = [[f"{name} | {label}" for label in classes] for name in problem.features]
    for j, names in enumerate(given):
        if j in numbers:
            normals[j] = [estimate_normal(numbers[j], mask, ddof, epsilon) for mask in masks]
            yield Step(
                "Compute the mean μ and the variance v of the column in each class.",
                f"μ = Σ x / n, v = Σ (x-μ)² / {'(n-1)' if ddof else 'n'} + {epsilon}",
                table=(("column", "μ", "v"), *((name, *own) for name, own in zip(names, normals[j], strict=True))),
            )
        else:
            domain = learner.categories_[j]
            counted = [count_values(problem.X[mask, j], domain) for mask in masks]
            yield work_smoothing(counted, alpha, problem.features[j], domain, [f"P({name})" for name in names])
            shares[j] = [dict(zip(domain, divide_counts(each, alpha), strict=True)) for each in counted]
    for number, q in enumerate(problem.queries, start=1):
        place = f"query {number}"
        factors = [divide_counts(counts, prior_alpha)]
        for j, cell in enumerate(q):
            if j in shares:
                factors.append([share[cell] for share in shares[j]])
            else:
                step = work_density(cell, *np.transpose(normals[j]), names=given[j])
                factors.append([*step.values.values()])
                yield replace(step, place=place)
        yield replace(work_products(classes, list(zip(*factors, strict=True)), target), place=place)


def work_smoothing(
    counts: Any, alpha: float = 1, name: str = "value", domain: Any = None, headings: Sequence[str] = ("P",)
) -> Step:
    """Return the step from counts of the values of a domain (k,), or from c rows of them (c, k), to probabilities."""
    rows = np.reshape(counts, (len(headings), -1))  # (c, k)
    k = rows.shape[1]
    cells = [
        [
            f"({count}+{alpha:g})/({sum(row)}+{k}·{alpha:g}) = {count + alpha:g}/{sum(row) + k * alpha:g}"
            for count in row
        ]
        for row in rows
    ]
    return Step(
        f"Count the rows with each {name}, add α to each count, and divide by the sum.",
        "P = (count + α)/Σ (count + α)",
        table=((name, *headings), *zip(range(1, k + 1) if domain is None else domain, *cells, strict=True)),
    )


def work_density(value: float, mean: Any, variance: Any, *, names: Sequence[str] = ("x",)) -> Step:
    """Return the step of the density of a value in one normal distribution, or in several (c,)."""
    normals = list(zip(np.atleast_1d(mean), np.atleast_1d(variance), strict=True))
    terms = [f"exp(-({value}-{bracket(m)})²/(2·{v}))/√(2π·{v})" for m, v in normals]
    densities = [normal(value, m, v) for m, v in normals]
    return Step(
        "Compute the normal density p of the cell.",
        "p = exp(-(x-μ)²/(2v))/√(2πv)",
        **tabulate("cell", "p", names, terms, densities),
    )


def work_products(classes: Sequence[Any], factors: Sequence[Sequence[Any]], target: str) -> Step:
    """Return the step from the factors of each class, the first of which is P(class), to its probability."""
    products = [math.prod(own) for own in factors]
    total = sum(products)
    if isinstance(total, float) and not total:
        raise ValueError("a query is too far from the training rows, as its densities are 0; choose another query")
    written = [write_product(own) for own in factors]
    terms = [each.split(" = ")[0] for each in written]
    # A query that is impossible in every class leaves the prior.
    posterior = [product / total if total else own[0] for product, own in zip(products, factors, strict=True)]
    response = tuple(map(float, posterior))
    answer = majority_vote(np.array(classes), np.array(response))
    quotients = [f"{term}/({write_sum(terms)})" if total else "P(class)" for term in terms]
    lines = [
        (label, f"{'·'.join(map(str, own))} = {product}", f"{quotient} = {write_product([share])}")
        for label, own, product, quotient, share in zip(classes, factors, written, quotients, posterior, strict=True)
    ]
    return Step(
        "Multiply P(class) by the probabilities of the cells, and divide by the sum; if that is 0, P(class) remains.",
        "P(class | x) = P(class)·Π P(cell | class) / Σ",
        chosen=f"{target} = {answer}",
        table=((target, "product", "P(class | x)"), *lines),
        values={f"P({label} | x)": share for label, share in zip(classes, response, strict=True)},
        answer=answer,
        response=response,
    )


def write_product(factors: Sequence[Any]) -> str:
    """Return the result of a product; that of fractions is not reduced, so that its factors remain visible.

    >>> write_product([Fraction(1, 2), Fraction(2, 8)])
    '1/8 = 0.125'
    """
    product = float(math.prod(factors))
    if not all(isinstance(factor, Fraction) for factor in factors):
        return f"{product}"
    numerator = math.prod(factor.numerator for factor in factors)
    return f"{numerator}/{math.prod(factor.denominator for factor in factors)} = {product}"
