"""The calculation by hand of each learner of the registry, and the single steps that can be asked for by name.

A calculation follows a definition with the parameters of a learner. It has a rule for some of them and none for others,
so that each entry lists those which it follows; all others must have their default values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice, repeat
from typing import Any

import numpy as np

from bakeoff.learners.definitions.k_nearest_neighbors import work_distance, work_nearest, work_weight
from bakeoff.learners.definitions.majority_vote import work_average, work_vote
from bakeoff.learners.definitions.naive_bayes import work_density, work_naive_bayes, work_smoothing
from bakeoff.learners.definitions.perceptron import work_perceptron
from bakeoff.learners.definitions.scaling import work_scale
from bakeoff.learners.definitions.steps import Problem, Step

VOTE_TOLERANCE = 1e-12
SOLVER_TOLERANCE = 1e-5
"""The largest difference to a learner that solves iteratively until its own tolerance is reached."""


@dataclass(frozen=True)
class Calculation:
    """How the predictions of a learner are calculated by hand.

    Attributes
    ----------
    work : callable
        Takes a learner, fitted on the rows of a problem, and the problem; yields steps.
    response : {"predict", "predict_proba", "decision_function"}
        The method of the learner that returns the numbers of an answer.
    followed : tuple of str
        The parameters of the learner that the calculation follows, or that do not affect its numbers.
    restricted : mapping of str to tuple
        A parameter that it follows for some values only -> these values.
    is_nominal : bool
        Whether a random table for an exercise has nominal columns.
    tolerance : float
        The largest relative difference between numbers of the calculation and of the learner.
    """

    work: Callable[[Any, Problem], Iterator[Step]]
    response: str
    followed: tuple[str, ...] = ()
    restricted: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    is_nominal: bool = False
    tolerance: float = VOTE_TOLERANCE


def work_fitted_perceptron(learner: Any, problem: Problem) -> Iterator[Step]:
    """Yield the steps of a perceptron with its initial plane, learning rate and orders of the rows."""
    n, d = problem.X.shape
    w = np.broadcast_to(0.0 if learner.coef_init is None else learner.coef_init, (d,)).astype(float)
    b = float(learner.intercept_init or 0.0)
    orders = draw_orders(learner, n) if learner.shuffle else repeat(np.arange(n))
    orders = islice(orders, learner.max_iter)
    yield from work_perceptron(problem, w, b, learner.eta0, orders, pocket=learner.pocket)


def draw_orders(learner: Any, n: int) -> Iterator[np.ndarray]:
    """Yield the order of the n rows in each pass, as the learner draws it from its seed."""
    (seed,) = np.random.RandomState(learner.random_state).randint(2**31, size=1)
    random_state = np.random.RandomState(seed)
    while True:
        yield random_state.permutation(n)


def work_baseline(learner: Any, problem: Problem) -> Iterator[Step]:
    """Yield the vote or the mean of all rows for each query."""
    if hasattr(learner, "classes_"):
        step = work_vote(problem.y, None, learner.classes_, learner.class_order, problem.target)
    else:
        step = work_average(problem.y, target=problem.target)
    yield from repeat(step, len(problem.queries))


NEIGHBORS = Calculation(
    work_nearest,
    "predict_proba",
    (
        "n_neighbors",
        "bandwidth",
        "metric",
        "p",
        "metric_params",
        "class_order",
        "regression",
        "algorithm",
        "leaf_size",
        "missing",
        "random_state",
        "n_jobs",
    ),
    {"weights": ("uniform", "distance", "gaussian"), "ties": ("auto", "first", "all")},
)

CALCULATIONS: Mapping[str, Calculation] = {
    "knn": NEIGHBORS,
    "knn_regressor": replace(NEIGHBORS, response="predict"),
    "majority": Calculation(work_baseline, "predict_proba", ("class_order",)),
    "mean": Calculation(work_baseline, "predict"),
    "naive_bayes": Calculation(
        work_naive_bayes,
        "predict_proba",
        ("alpha", "smooth_prior", "var_smoothing", "ddof", "handle_unknown", "handle_missing"),
        is_nominal=True,
    ),
    "perceptron": Calculation(
        work_fitted_perceptron,
        "decision_function",
        ("eta0", "coef_init", "intercept_init", "max_iter", "shuffle", "pocket", "random_state"),
    ),
}
"""A learner's name in the registry -> its calculation."""

SINGLE_STEPS: Mapping[str, Callable[..., Step]] = {
    "density": work_density,
    "distance": work_distance,
    "scale": work_scale,
    "smoothing": work_smoothing,
    "vote": work_vote,
    "weight": work_weight,
}
"""The word of ``step=`` -> the function that calculates it; its parameters are the keys."""
