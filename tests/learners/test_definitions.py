"""Neighbours, naive Bayes and the perceptron do what their definitions say.

The other learners are compared in test_definitions_solvers.py and test_definitions_trees.py.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
from example_counts import examples
from hypothesis import given
from hypothesis import strategies as st
from small_tables import grid, labels_of, quiet

from bakeoff.learners import KNeighborsRegressor, NaiveBayesClassifier, Perceptron
from bakeoff.learners.definitions import k_nearest_neighbors as knn
from bakeoff.learners.definitions import naive_bayes
from bakeoff.learners.definitions.perceptron import train_perceptron

SEEDS = st.integers(0, 10**6)
INF = float("inf")

# k nearest neighbours

NEIGHBOURS = {
    "seed": SEEDS,
    "n": st.integers(1, 40),
    "d": st.integers(1, 4),
    "k": st.integers(1, 40),
    "p": st.sampled_from([1, 2, INF]),
    "algorithm": st.sampled_from(["auto", "brute", "kd_tree"]),
}


@examples(150)
@given(**NEIGHBOURS, whole=st.booleans())
def test_neighbours_are_the_rows_at_the_smallest_distances(
    seed: int, n: int, d: int, k: int, p: float, algorithm: str, whole: bool
) -> None:
    X, Q = grid(seed, n, d), grid(seed + 1, 6, d)
    if not whole:
        X += np.random.default_rng(seed).normal(size=X.shape)
    k = min(k, n)
    distance, index = KNeighborsRegressor(k, p=p, algorithm=algorithm, leaf_size=3).fit(X, np.zeros(n)).kneighbors(Q)
    for i, q in enumerate(Q):
        defined = knn.minkowski(X, q, p)
        nearest = knn.nearest(defined, k)
        np.testing.assert_array_equal(index[i], nearest)
        np.testing.assert_array_equal(distance[i], defined[nearest])


@examples(30)
@given(SEEDS, st.integers(2, 4))
def test_other_metrics_are_as_defined(seed: int, d: int) -> None:
    rng = np.random.default_rng(seed)
    X, Q = rng.normal(size=(20, d)), rng.normal(size=(4, d))
    whole, others = grid(seed, 20, d), grid(seed + 1, 4, d)
    V = np.cov(X, rowvar=False)
    for table, queries, metric, defined in (
        (X, Q, {"metric": "mahalanobis"}, partial(knn.mahalanobis, V=V)),
        (X, Q, {"p": 3}, partial(knn.minkowski, p=3)),
        (whole, others, {"metric": "hamming"}, knn.hamming),
    ):
        distance, _ = KNeighborsRegressor(20, **metric).fit(table, np.zeros(20)).kneighbors(queries)
        expected = [np.sort(defined(table, q)) for q in queries]
        np.testing.assert_allclose(distance, expected, rtol=1e-9, atol=1e-12)


# Naive Bayes


@examples(120)
@given(
    seed=SEEDS,
    n=st.integers(1, 30),
    d=st.integers(1, 4),
    c=st.integers(1, 4),
    alpha=st.sampled_from([0.0, 0.5, 1.0]),
    smooth_prior=st.booleans(),
)
def test_counted_probabilities_are_as_defined(
    seed: int, n: int, d: int, c: int, alpha: float, smooth_prior: bool
) -> None:
    X, Q = grid(seed, n, d), grid(seed + 1, 6, d)
    Q[0, 0] = 7.0  # a value that training has not shown
    y = labels_of(seed, n, min(c, n))
    fast = NaiveBayesClassifier(alpha=alpha, smooth_prior=smooth_prior, categorical_features=range(d)).fit(X, y)
    expected = [naive_bayes.class_probabilities(X, y, q, alpha, smooth_prior=smooth_prior) for q in Q]
    np.testing.assert_allclose(fast.predict_proba(Q), expected, rtol=1e-10, atol=1e-15)


@examples(60)
@given(seed=SEEDS, n=st.integers(6, 30), c=st.integers(1, 3))
def test_a_mixed_table_has_the_probabilities_of_the_definition(seed: int, n: int, c: int) -> None:
    rng = np.random.default_rng(seed)
    y = np.arange(n) % c
    X = np.column_stack([rng.normal(size=(n, 2)) + y[:, None], grid(seed, n, 1)])
    Q = np.column_stack([rng.normal(size=(6, 2)), grid(seed + 1, 6, 1)])
    for ddof in (0, 1):
        fast = NaiveBayesClassifier(var_smoothing=0, categorical_features=[2], ddof=ddof).fit(X, y)
        expected = np.array([naive_bayes.class_probabilities(X, y, q, numeric=[0, 1], ddof=ddof) for q in Q])
        # Where products of densities underflow in all classes, the definition returns the prior.
        prior = naive_bayes.smoothed_fractions(np.bincount(y), 1.0)
        comparable = (expected != prior).any(axis=1) | (c == 1)
        np.testing.assert_allclose(fast.predict_proba(Q)[comparable], expected[comparable], rtol=1e-9, atol=1e-15)


# Perceptron


@examples(80)
@given(seed=SEEDS, n=st.integers(2, 300), d=st.integers(1, 5), c=st.integers(2, 3), passes=st.integers(1, 8))
def test_the_perceptron_turns_at_the_same_rows(seed: int, n: int, d: int, c: int, passes: int) -> None:
    X, y = grid(seed, n, d), labels_of(seed, n, min(c, n))
    start, eta = np.arange(d) - 1.0, 0.5
    given: dict[str, Any] = {"eta0": eta, "coef_init": start, "intercept_init": 3.0, "max_iter": passes}
    given |= {"shuffle": False, "pocket": False}
    with quiet():
        fast = Perceptron(**given).fit(X, y)
        averaged = Perceptron(**given, averaged=True).fit(X, y)
    losses = np.zeros(fast.n_iter_)
    positive = [1] if len(fast.classes_) == 2 else fast.classes_
    for k, label in enumerate(positive):
        found = train_perceptron(X, np.where(y == label, 1, -1), start, 3.0, eta, passes)
        np.testing.assert_array_equal(fast.coef_[k], found.w)
        assert fast.intercept_[k] == found.b
        losses[: len(found.losses)] += found.losses
        np.testing.assert_allclose(averaged.coef_[k], found.mean_w, rtol=1e-9, atol=1e-9)
        assert averaged.intercept_[k] == pytest.approx(found.mean_b, rel=1e-9, abs=1e-9)
    assert fast.loss_curve_ == losses.tolist()
