"""k nearest neighbours: the prediction for a query is based on the k training rows nearest to it.

    1. compute the distances ‖x_i - q‖ of all training rows i = 1, …, n from the query q
    2. let N be the k rows with the smallest distances
    3. predict Average{y_i : i in N}  or  MajorityVote{y_i : i in N}

Nothing is learned before the first query (a lazy learner). Votes may be weighted by the distance d: by 1/d, in which
case only rows at distance 0 vote if there are any, or by the Gaussian exp(-d²/2h²) with a bandwidth h. Among rows at
equal distances, either the first in the table counts as the nearest, or all rows that are as near as the k-th vote. For
the latter, distances are equal if they differ by at most `TIE_PRECISION` of the distance plus the magnitude of the
query, which is its distance from the origin: .1 and .3 are equally far from .2.

Distances are the p-norm (Σ_j |x_j - q_j|^p)^(1/p) with p = 2 (Euclidean), p = 1 (Manhattan) or p = ∞ (the largest
difference), the fraction of features that differ (Hamming), or √((x-q)ᵀ V⁻¹ (x-q)) with the covariance V (Mahalanobis).

Cost: O(n d + n log n) for each query.

Reference: T. Cover and P. Hart, "Nearest neighbor pattern classification", IEEE Transactions on Information Theory 13,
1967.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from bakeoff.learners.definitions.local_regression import work_plane
from bakeoff.learners.definitions.majority_vote import majority_vote, work_prediction
from bakeoff.learners.definitions.steps import Neighbours, Problem, Step, bracket, tabulate, write_point

TIE_PRECISION = 2.0**-48


def minkowski(X: np.ndarray, q: np.ndarray, p: float = 2) -> np.ndarray:
    """Return the p-norm distances of rows X (n, d) from a query q (d,): shape (n,)."""
    differences = [abs(X[:, j] - q[j]) for j in range(X.shape[1])]
    if p == math.inf:
        return np.max(differences, axis=0)
    return np.asarray(sum(difference**p for difference in differences) ** (1 / p))


def hamming(X: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Return the fraction of features in which each of the rows X (n, d) differs from a query q (d,): shape (n,)."""
    return np.not_equal(X, q).mean(axis=1)


def mahalanobis(X: np.ndarray, q: np.ndarray, V: np.ndarray) -> np.ndarray:
    """Return the distances of rows X (n, d) from a query q (d,) in the metric of a covariance V (d, d): shape (n,)."""
    return np.array([math.sqrt((x - q) @ np.linalg.inv(V) @ (x - q)) for x in X])


def nearest(distance: np.ndarray, k: int, *, all_ties: bool = False, magnitude: float = 0.0) -> np.ndarray:
    """Return the k rows at the smallest distances (n,), nearest first, or all that are as near as the k-th.

    >>> nearest(abs(np.array([0.1, 0.3, 0.4]) - 0.2), 1, all_ties=True, magnitude=0.2)
    array([1, 0])
    """
    order = np.argsort(distance, kind="stable")  # equal distances keep the order of the table
    if all_ties:
        kth_distance = distance[order[k - 1]]
        return order[distance[order] <= kth_distance + TIE_PRECISION * (kth_distance + magnitude)]
    return order[:k]


def uniform(distance: np.ndarray) -> np.ndarray:
    """Return one vote for each neighbour: shape (k,)."""
    return np.ones(len(distance))


def inverse(distance: np.ndarray) -> np.ndarray:
    """Return votes 1/d for distances (k,); if there are exact matches, only they vote: shape (k,)."""
    if (distance == 0).any():
        return np.where(distance == 0, 1.0, 0.0)
    return 1 / distance


def gaussian(distance: np.ndarray, h: float = 1) -> np.ndarray:
    """Return votes exp(-d²/2h²) / √2π for distances (k,) and a bandwidth h: shape (k,)."""
    return np.exp(-(distance**2) / (2 * h**2)) / math.sqrt(2 * math.pi)


def find_neighbours(
    X: np.ndarray,
    q: np.ndarray,
    k: int,
    distances: Callable[[np.ndarray, np.ndarray], np.ndarray] = minkowski,
    *,
    all_ties: bool = False,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows of X (n, d) nearest to a query q (d,), as `nearest` does, and their distances."""
    distance = distances(X, q)
    (magnitude,) = distances(np.zeros((1, len(q))), q)
    rows = nearest(distance, k, all_ties=all_ties, magnitude=magnitude)
    return rows, distance[rows]


def predict_row(
    X: np.ndarray,
    y: np.ndarray,
    q: np.ndarray,
    k: int,
    *,
    combine: Callable[[np.ndarray, np.ndarray], Any] = majority_vote,
    weights: Callable[[np.ndarray], np.ndarray] = uniform,
    distances: Callable[[np.ndarray, np.ndarray], np.ndarray] = minkowski,
    all_ties: bool = False,
) -> Any:
    """Combine the targets y (n,) of the k rows of X (n, d) nearest to a query q (d,) by majority vote or average.

    >>> X, y = np.array([[-1, 3], [2, 1], [-2, 2], [-1, 2], [-1, 0], [1, 1]]), np.array([*"RBRBBR"])
    >>> [str(predict_row(X, y, np.array([1, 2]), k)) for k in (1, 3, 5)]
    ['R', 'B', 'B']
    """
    rows, distance = find_neighbours(X, q, k, distances, all_ties=all_ties)
    return combine(y[rows], weights(distance))


FORMULAS = {
    "euclidean": ("√(Σ (x-q)²)", "({}-{})²", " + ", "√({}) = √{:.12g}"),
    "manhattan": ("Σ |x-q|", "|{}-{}|", " + ", "{}"),
    "chebyshev": ("max |x-q|", "|{}-{}|", ", ", "max({})"),
    "minkowski": ("(Σ |x-q|^p)^(1/p), p = {}", "|{}-{}|^p", " + ", "({})^(1/p)"),
    "hamming": ("mean [x≠q], where [x≠q] is 1 for different values", "[{}≠{}]", ", ", "mean({})"),
    "mahalanobis": ("‖x-q‖ = √((x-q)ᵀ V⁻¹ (x-q))", "{}-{}", ", ", "‖({})‖"),
}
"""Metric -> its formula, the term of a feature, what is between terms, and what is around them."""


POWERS = {"manhattan": 1, "euclidean": 2, "chebyshev": math.inf}


def measure(X: np.ndarray, q: np.ndarray, metric: str, p: float, V: Any) -> np.ndarray:
    """Return distances (n,), with the power p of minkowski or the covariance V (d, d) of mahalanobis."""
    if metric == "hamming":
        return hamming(X, q)
    if metric == "mahalanobis":
        return mahalanobis(X, q, V)
    return minkowski(X, q, POWERS.get(metric, p))


def work_distance(
    a: Any, b: Any, metric: str = "euclidean", p: float = 2, V: Any = None, rows: Sequence[int] = ()
) -> Step:
    """Return the step of the distances of rows a (n, d), or of one row (d,), from a query b (d,)."""
    X, q = np.atleast_2d(a), np.array(b)
    if metric not in FORMULAS:
        raise ValueError(f"metric={metric} cannot be calculated by hand; it must be one of {', '.join(FORMULAS)}")
    if X.shape[1:] != q.shape:
        raise ValueError("a and b need the same number of features")
    formula, term, join, whole = FORMULAS[metric]
    distance = measure(X, q, metric, p, V)
    sums = [join.join(map(term.format, x, map(bracket, q))) for x in X]
    return Step(
        "Compute the distance d of each row x from the query q.",
        f"d = {formula.format(p)}, q = {write_point(q)}",
        **tabulate("row", "d", map(whole.format, sums, distance**2), distance, rows),
        drawing=Neighbours(tuple(q), tuple(rows), tuple(distance)),
    )


def work_weight(distance: Any, weights: str = "distance", bandwidth: float = 1, rows: Sequence[int] = ()) -> Step:
    """Return the step of the votes of rows at distances (k,): "distance" for `inverse`, or "gaussian"."""
    d = np.atleast_1d(distance)  # (k,)
    if weights == "gaussian":
        formula, term = f"exp(-d²/2h²)/√(2π), h = {bandwidth}", f"exp(-{{}}²/(2·{bandwidth}²))/√(2π)"
        weight = gaussian(d, bandwidth)
    elif weights != "distance":
        raise ValueError(f"weights={weights} must be distance or gaussian")
    else:
        formula, term = "1/d, or [d=0] if a row is at distance 0", "1/{}" if d.all() else "[{}=0]"
        weight = inverse(d)
    if not weight.any():
        raise ValueError("all votes are 0; give a larger bandwidth, or preprocessing=min_max")
    return Step("Weight the votes.", f"w = {formula}", **tabulate("row", "w", map(term.format, d), weight, rows))


def work_nearest(learner: Any, problem: Problem) -> Iterator[Step]:
    """Yield the steps of `predict_row` for each query, with the parameters of a fitted learner."""
    metric, given = learner.effective_metric_, learner.metric_params or {}
    if problem.nominal and metric != "hamming":
        raise ValueError(
            f"metric={metric} has no rule for nominal columns; set learner.metric=hamming or preprocessing=one_hot"
        )
    if set(given) - {"V"}:
        raise ValueError(f"metric_params={given} cannot be calculated by hand; give p=, or V for metric=mahalanobis")
    V = given.get("V")
    if metric == "mahalanobis":
        V = np.atleast_2d(np.cov(problem.X.T) if V is None else V)  # (d, d)
        lines = [(name, *line) for name, matrix in (("V", V), ("V⁻¹", np.linalg.inv(V))) for line in matrix]
        yield Step(
            "Invert the covariance V, which is that of the training rows unless it is given.",
            table=(("", *problem.features), *lines),
        )
    for number, q in enumerate(problem.queries, start=1):
        for step in work_query(learner, problem, q, (metric, learner.p, V)):
            yield replace(step, place=f"query {number}")


def work_query(learner: Any, problem: Problem, q: np.ndarray, metric: tuple[str, float, Any]) -> Iterator[Step]:
    """Yield the distances from a query (d,) by `measure`, the nearest rows, their votes, and the prediction."""
    yield work_distance(problem.X, q, *metric, problem.number_rows(range(len(problem.X))))
    k, all_ties = learner.n_neighbors, learner.ties_ == "all"
    chosen, distance = find_neighbours(problem.X, q, k, lambda X, q: measure(X, q, *metric), all_ties=all_ties)
    rows, y = problem.number_rows(chosen), problem.y[chosen]
    rule = "and all that are as near as the last of them" if all_ties else "of equally near ones the first in the table"
    yield Step(
        f"Take the {k} nearest rows, {rule}.",
        chosen=f"rows {', '.join(map(str, rows))}",
        table=(("row", "d", problem.target), *zip(rows, distance, y, strict=True)),
        rows=rows,
        drawing=Neighbours(tuple(q), rows, tuple(distance)),
    )
    weight = None
    if learner.weights != "uniform":
        yield (step := work_weight(distance, learner.weights, learner.bandwidth, rows))
        weight = np.array([*step.values.values()])  # (k,)
    if getattr(learner, "regression", "mean") == "linear":
        *first, step = work_plane(problem.X[chosen], y, weight, q, problem)
        yield from first
    else:
        step = work_prediction(problem, y, weight, getattr(learner, "class_order", None))
    yield replace(step, rows=rows)
