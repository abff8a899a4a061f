"""The calculations by hand of nearest neighbours, naive Bayes and the baselines end with the learner's own numbers."""

from __future__ import annotations

import warnings
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
from example_counts import examples
from hypothesis import given
from hypothesis import strategies as st
from small_tables import grid, labels_of

from bakeoff.learners import (
    KNeighborsClassifier,
    KNeighborsRegressor,
    MajorityClassifier,
    MeanRegressor,
    NaiveBayesClassifier,
)
from bakeoff.learners.definitions import k_nearest_neighbors as knn
from bakeoff.learners.definitions import naive_bayes
from bakeoff.learners.definitions.calculations import CALCULATIONS
from bakeoff.learners.definitions.local_regression import predict_plane
from bakeoff.learners.definitions.majority_vote import average, majority_vote
from bakeoff.learners.definitions.scaling import scale
from bakeoff.learners.definitions.steps import Problem, Step

N_TABLES = 60
SEEDS = st.integers(0, 10**6)
TABLES: dict[str, Any] = {"seed": SEEDS, "n": st.integers(4, 14), "d": st.integers(1, 3), "c": st.integers(2, 3)}
NORMAL_METRICS = ("mahalanobis", "minkowski")
"""Metrics whose rounding decides among equal distances, so that they are compared on normal numbers."""


def make_problem(seed: int, n: int, d: int, c: int | None, *, whole: bool = True, nominal: bool = False) -> Problem:
    """Return n rows of d columns, with labels of c classes or with numbers, and three queries."""
    rng = np.random.default_rng(seed)
    X = grid(seed, n, d) if whole else rng.normal(size=(n, d))
    Q = grid(seed + 1, 3, d) if whole else rng.normal(size=(3, d))
    if nominal:
        # A value of a query is one that training has shown.
        X, Q = X.astype(object), rng.permuted(X, axis=0)[:3].astype(object)
    y = rng.integers(-3, 9, n).astype(float) if c is None else labels_of(seed, n, c)
    names = tuple(f"x{j + 1}" for j in range(d))
    classes = None if c is None else np.unique(y)
    return Problem(X, y, Q, names, "y", nominal=range(d) if nominal else (), classes=classes)


def answers_of(name: str, learner: Any, problem: Problem) -> list[Step]:
    """Return the last step for each query, after a comparison with the learner's own numbers."""
    calculation = CALCULATIONS[name]
    steps = [step for step in calculation.work(learner, problem) if step.answer is not None]
    own = np.array([step.response for step in steps])
    learned = getattr(learner, calculation.response)(problem.queries)
    tolerance = calculation.tolerance_of(learner)
    np.testing.assert_allclose(own, learned.reshape(own.shape), rtol=tolerance, atol=tolerance)
    if calculation.response == "predict_proba":
        assert [step.answer for step in steps] == learner.predict(problem.queries).tolist()
    return steps


@examples(N_TABLES)
@given(
    **TABLES,
    k=st.integers(1, 14),
    metric=st.sampled_from(["euclidean", "manhattan", "chebyshev", "hamming", "mahalanobis", "minkowski"]),
    weights=st.sampled_from(["uniform", "distance", "gaussian"]),
    ties=st.sampled_from(["auto", "first", "all"]),
    bandwidth=st.sampled_from([1.0, 2.5]),
)
def test_neighbours_vote_step_by_step(
    seed: int, n: int, d: int, c: int, k: int, metric: str, weights: str, ties: str, bandwidth: float
) -> None:
    n = max(n, 6)
    problem = make_problem(seed, n, d, c, whole=metric not in NORMAL_METRICS)
    params: dict[str, Any] = {"metric": metric, "weights": weights, "ties": ties, "bandwidth": bandwidth, "p": 3}
    k = min(k, n)
    learner = KNeighborsClassifier(k, **params).fit(problem.X, problem.y)
    steps = answers_of("knn", learner, problem)
    V = np.atleast_2d(np.cov(problem.X, rowvar=False))
    votes: dict[str, Any] = {
        "uniform": knn.uniform,
        "distance": knn.inverse,
        "gaussian": partial(knn.gaussian, h=bandwidth),
    }
    measure = partial(knn.measure, metric=metric, p=3, V=V)
    defined = partial(knn.predict_row, k=k, weights=votes[weights], distances=measure, all_ties=learner.ties_ == "all")
    assert [step.answer for step in steps] == [defined(problem.X, problem.y, q) for q in problem.queries]

    numbers = make_problem(seed, n, d, None, whole=metric not in NORMAL_METRICS)
    regressor = KNeighborsRegressor(k, **params).fit(numbers.X, numbers.y)
    means = answers_of("knn_regressor", regressor, numbers)
    expected = [defined(numbers.X, numbers.y, q, combine=average) for q in numbers.queries]
    assert [step.answer for step in means] == expected


@examples(N_TABLES)
@given(
    **TABLES, k=st.integers(1, 14), weights=st.sampled_from(["uniform", "distance", "gaussian"]), whole=st.booleans()
)
def test_planes_through_neighbours_step_by_step(
    seed: int, n: int, d: int, c: int, k: int, weights: str, whole: bool
) -> None:
    problem = make_problem(seed, n, d, None, whole=whole)
    learner = KNeighborsRegressor(min(k, n), weights=weights, regression="linear").fit(problem.X, problem.y)
    for step, q in zip(answers_of("knn_regressor", learner, problem), problem.queries, strict=True):
        rows = np.array(step.rows) - 1
        if weights == "uniform":
            assert step.answer == predict_plane(problem.X[rows], problem.y[rows], np.ones(len(rows)), q)


@examples(N_TABLES)
@given(**TABLES, k=st.integers(1, 14), ties=st.sampled_from(["auto", "first", "all"]))
def test_nominal_neighbours_differ_in_a_fraction_of_the_columns(
    seed: int, n: int, d: int, c: int, k: int, ties: str
) -> None:
    problem = make_problem(seed, n, d, c, nominal=True)
    learner = KNeighborsClassifier(min(k, n), metric="hamming", ties=ties, categorical_features=range(d))
    answers_of("knn", learner.fit(problem.X, problem.y), problem)


@examples(N_TABLES)
@given(**TABLES, alpha=st.sampled_from([0.0, 0.5, 1.0, 2.0]), smooth_prior=st.booleans())
def test_counts_are_multiplied_step_by_step(
    seed: int, n: int, d: int, c: int, alpha: float, smooth_prior: bool
) -> None:
    problem = make_problem(seed, n, d, c, nominal=True)
    learner = NaiveBayesClassifier(alpha=alpha, smooth_prior=smooth_prior, categorical_features=range(d))
    steps = answers_of("naive_bayes", learner.fit(problem.X, problem.y), problem)
    for step, q in zip(steps, problem.queries, strict=True):
        defined = naive_bayes.class_probabilities(problem.X, problem.y, q, alpha, smooth_prior=smooth_prior)
        np.testing.assert_allclose(step.response, defined, rtol=1e-12)


@examples(N_TABLES)
@given(**TABLES, var_smoothing=st.sampled_from([0.0, 1e-9, 0.1]), ddof=st.integers(0, 1), whole=st.booleans())
def test_densities_are_multiplied_step_by_step(
    seed: int, n: int, d: int, c: int, var_smoothing: float, ddof: int, whole: bool
) -> None:
    problem = make_problem(seed, n, d, c, whole=whole)
    if var_smoothing == 0:
        problem = make_problem(seed, 3 * n, d, c, whole=False)
    learner = NaiveBayesClassifier(var_smoothing=var_smoothing, ddof=ddof)
    try:
        learner.fit(problem.X, problem.y)
        answers_of("naive_bayes", learner, problem)
    except ValueError as error:
        # A class without variance, and a query so far away that all densities are 0.
        if "variance 0" not in str(error) and "densities" not in str(error):
            raise


def test_a_constant_column_is_named_and_left_out_of_the_densities() -> None:
    problem = make_problem(3, 12, 2, 2, whole=False)
    X = np.column_stack([problem.X, np.full(12, 5.0)])
    queries = np.column_stack([problem.queries, [5.0, 6.0, -1e9]])
    wider = Problem(X, problem.y, queries, ("x1", "x2", "same"), "y")
    learner = NaiveBayesClassifier(var_smoothing=0.1).fit(X, problem.y)
    answers_of("naive_bayes", learner, wider)
    steps = list(CALCULATIONS["naive_bayes"].work(learner, wider))
    assert [step.sentence for step in steps if "same" in step.sentence] == [
        "Leave out constant columns, which do not distinguish the classes: same."
    ]
    (normals,) = (step for step in steps if "mean μ" in step.sentence)
    assert normals.formula.endswith("+ 0.1·V")
    assert [row[0] for row in normals.table[1:]] == ["x1 | 0", "x1 | 1", "x2 | 0", "x2 | 1"]
    defined = [naive_bayes.class_probabilities(X, problem.y, q, numeric=range(3)) for q in queries]
    narrow = [naive_bayes.class_probabilities(problem.X, problem.y, q, numeric=range(2)) for q in problem.queries]
    assert np.array_equal(defined, narrow)


@examples(N_TABLES)
@given(**TABLES)
def test_baselines_combine_all_rows(seed: int, n: int, d: int, c: int) -> None:
    problem, numbers = make_problem(seed, n, d, c), make_problem(seed, n, d, None)
    votes = answers_of("majority", MajorityClassifier().fit(problem.X, problem.y), problem)
    assert [step.answer for step in votes] == [majority_vote(problem.y)] * 3
    means = answers_of("mean", MeanRegressor().fit(numbers.X, numbers.y), numbers)
    assert [step.answer for step in means] == [average(numbers.y)] * 3


def test_a_given_order_of_the_classes_breaks_ties() -> None:
    problem = make_problem(0, 4, 1, 2)
    learner = MajorityClassifier(class_order=[1, 0]).fit(problem.X, np.array([0, 1, 1, 0]))
    tied = replace(problem, y=np.array([0, 1, 1, 0]))
    assert answers_of("majority", learner, tied)[0].answer == 1


@pytest.mark.parametrize(
    ("learner", "words"),
    [
        (KNeighborsClassifier(2, categorical_features=[0]), "metric=hamming"),
        (KNeighborsClassifier(2, metric="gower"), "metric=gower"),
        (KNeighborsClassifier(2, metric_params={"p": 3}), "metric_params"),
        (KNeighborsClassifier(2, weights="gaussian", bandwidth=1e-3), "bandwidth"),
    ],
)
def test_what_has_no_rule_is_refused(learner: Any, words: str) -> None:
    nominal = [0] if learner.categorical_features == [0] else ()
    problem = Problem(np.array([[1.0], [2.0], [3.0]]), np.array([0, 1, 1]), np.array([[9.5]]), ("x",), "y", nominal)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        learner.fit(problem.X, problem.y)
    with pytest.raises(ValueError, match=words):
        list(CALCULATIONS["knn"].work(learner, problem))


def test_a_constant_column_is_not_divided() -> None:
    constant = np.full(3, 0.1)
    for method in ("min_max", "standardize"):
        assert scale(constant, constant, method) == pytest.approx(np.zeros(3), abs=1e-15)
