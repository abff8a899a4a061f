"""The calculation by hand of each learner of the registry, and the single steps that can be asked for by name.

A calculation follows a definition with the parameters of a learner. It has a rule for some of them and none for others,
so that each entry lists those which it follows; all others must have their default values.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import repeat
from typing import Any

from bakeoff.learners.definitions.decision_tree import grow_tree, work_growth, work_queries
from bakeoff.learners.definitions.k_nearest_neighbors import work_distance, work_nearest, work_weight
from bakeoff.learners.definitions.least_squares import work_least_squares
from bakeoff.learners.definitions.logistic_regression import work_logistic_regression
from bakeoff.learners.definitions.majority_vote import work_prediction, work_vote
from bakeoff.learners.definitions.mlp import work_network
from bakeoff.learners.definitions.naive_bayes import work_density, work_naive_bayes, work_smoothing
from bakeoff.learners.definitions.perceptron import work_perceptron, work_update
from bakeoff.learners.definitions.pruning import work_accuracy, work_pruning
from bakeoff.learners.definitions.random_forest import work_forest
from bakeoff.learners.definitions.scaling import work_scale
from bakeoff.learners.definitions.splits import (
    IMPURITIES,
    entropy,
    gini,
    misclassification,
    squared_error,
    work_cost,
    work_counts,
    work_gain,
    work_impurity,
    work_information,
    work_question,
)
from bakeoff.learners.definitions.steps import Problem, Step
from bakeoff.learners.definitions.svm import work_svm

VOTE_TOLERANCE = 1e-12
PLANE_TOLERANCE = 1e-9
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
    followed : tuple of str or None
        The parameters of the learner that the calculation follows, or that do not affect its numbers; None for all.
    restricted : mapping of str to tuple
        A parameter that it follows for some values only -> these values.
    is_nominal : bool
        Whether a random table for an exercise has nominal columns.
    tolerance : float
        The largest relative difference between numbers of the calculation and of the learner.
    """

    work: Callable[[Any, Problem], Iterator[Step]]
    response: str
    followed: tuple[str, ...] | None = ()
    restricted: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    is_nominal: bool = False
    tolerance: float = VOTE_TOLERANCE

    def tolerance_of(self, learner: Any) -> float:
        """Return the tolerance for a learner: planes through nearly collinear neighbours need a larger one."""
        return PLANE_TOLERANCE if getattr(learner, "regression", "mean") == "linear" else self.tolerance


def work_fitted_tree(learner: Any, problem: Problem) -> Iterator[Step]:
    """Yield the steps of a decision tree with its criterion and limits, and of its pruning on validation rows."""
    if problem.pruning == "pessimistic":
        raise ValueError("pruning=pessimistic has no calculation by hand; set pruning=best_first, bottom_up or none.")
    X = problem.X
    criterion = learner.criterion
    impurity = IMPURITIES[criterion]
    max_depth = learner.max_depth or math.inf
    min_rows = learner.min_samples_split
    if isinstance(min_rows, float):
        min_rows = max(2, math.ceil(min_rows * len(X)))
    tree = grow_tree(X, problem.y, impurity, criterion == "gain_ratio", problem.nominal, max_depth, min_rows)
    yield from work_growth(problem, tree, criterion, lambda node: range(X.shape[1]))
    if problem.pruning != "none":
        yield from work_pruning(problem, tree)
    yield from work_queries(problem, tree)


def work_baseline(learner: Any, problem: Problem) -> Iterator[Step]:
    """Yield the vote or the mean of all rows for each query."""
    step = work_prediction(problem, problem.y, order=getattr(learner, "class_order", None))
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

TREE = ("criterion", "max_depth", "min_samples_split", "random_state")
FEW_TREES = {"n_estimators": tuple(range(1, 11))}
"""A query descends all trees of a forest."""

FEW_UNITS = {"hidden_layer_sizes": tuple(range(1, 9))}
"""The sums of all units are written out."""

FOREST_CRITERIA = {"criterion": ("gini", "entropy", "log_loss", "misclassification")}
FOREST_TREES = ("max_depth", "max_features", "feature_subset", "bootstrap", "max_samples")
FOREST = (*FOREST_TREES, "voting", "oob_score", "n_jobs", "random_state")

CALCULATIONS: Mapping[str, Calculation] = {
    "decision_tree": Calculation(work_fitted_tree, "predict_proba", TREE, is_nominal=True),
    "decision_tree_regressor": Calculation(work_fitted_tree, "predict", TREE, is_nominal=True),
    "knn": NEIGHBORS,
    "knn_regressor": replace(NEIGHBORS, response="predict"),
    "linear_regression": Calculation(work_least_squares, "predict", tolerance=SOLVER_TOLERANCE),
    "logistic_regression": Calculation(
        work_logistic_regression,
        "predict_proba",
        ("C", "form", "solver", "tol", "max_iter", "random_state", "penalty"),
        tolerance=SOLVER_TOLERANCE,
    ),
    "majority": Calculation(work_baseline, "predict_proba", ("class_order",)),
    "mean": Calculation(work_baseline, "predict"),
    "mlp": Calculation(work_network, "predict_proba", None, FEW_UNITS, tolerance=SOLVER_TOLERANCE),
    "mlp_regressor": Calculation(work_network, "predict", None, FEW_UNITS, tolerance=SOLVER_TOLERANCE),
    "naive_bayes": Calculation(
        work_naive_bayes,
        "predict_proba",
        ("alpha", "smooth_prior", "var_smoothing", "ddof", "handle_unknown", "handle_missing"),
        is_nominal=True,
    ),
    "perceptron": Calculation(
        work_perceptron,
        "decision_function",
        ("eta0", "coef_init", "intercept_init", "max_iter", "shuffle", "pocket", "averaged", "random_state"),
    ),
    "random_forest": Calculation(
        work_forest, "predict_proba", FOREST, {**FEW_TREES, **FOREST_CRITERIA}, is_nominal=True
    ),
    "random_forest_regressor": Calculation(work_forest, "predict", FOREST, FEW_TREES, is_nominal=True),
    "ridge": Calculation(work_least_squares, "predict", ("alpha",), tolerance=SOLVER_TOLERANCE),
    "svm": Calculation(
        work_svm,
        "decision_function",
        ("C", "degree", "gamma", "coef0", "tol", "max_iter", "multi_class", "random_state"),
        {"kernel": ("linear", "poly", "rbf")},
        tolerance=SOLVER_TOLERANCE,
    ),
}
"""A learner's name in the registry -> its calculation."""

TOLD = (
    "n_neighbors", "weights", "metric", "ties", "regression", "alpha", "smooth_prior", "criterion", "max_depth",
    "min_samples_split", "voting", "eta0", "pocket", "averaged", "C", "kernel", "gamma", "penalty", "form",
)  # fmt: skip
"""The parameters that a reader of a sheet needs; others stand in the formulas."""

SINGLE_STEPS: Mapping[str, Callable[..., Step]] = {
    "accuracy": work_accuracy,
    "cost": work_cost,
    "density": work_density,
    "distance": work_distance,
    "entropy": partial(work_counts, entropy),
    "gain": work_gain,
    "gain_ratio": partial(work_gain, criterion="gain_ratio"),
    "gini": partial(work_counts, gini),
    "information": work_information,
    "misclassification": partial(work_counts, misclassification),
    "question": work_question,
    "scale": work_scale,
    "smoothing": work_smoothing,
    "squared_error": partial(work_impurity, squared_error),
    "update": work_update,
    "vote": work_vote,
    "weight": work_weight,
}
"""The word of ``step=`` -> the function that calculates it; its parameters are the keys."""
