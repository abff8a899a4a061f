"""Ties of k-NN: distances that only rounding tells apart are equal, and nominal columns let all tied rows vote."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from example_counts import examples
from hypothesis import given
from hypothesis import strategies as st

from bakeoff.learners import KNeighborsClassifier, KNeighborsRegressor
from bakeoff.learners.definitions import k_nearest_neighbors as knn

ALGORITHMS: list[Any] = ["brute", "kd_tree", "ball_tree"]
SEEDS = st.integers(0, 10**6)
UNITS = [0.1, 1 / 3, 1e-9, 7e12]
"""Units in which multiples are no exact floats."""


def draw_grid(seed: int, n: int, d: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return rows (n, d) and queries (6, d) of whole cells, many of them at equal distances, and labels (n,)."""
    rng = np.random.default_rng(seed)
    rows = rng.integers(-4, 5, (n, d)).astype(float)
    queries = rng.integers(-4, 5, (6, d)).astype(float)
    return rows, queries, rng.integers(0, 3, n)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "chebyshev"])
@pytest.mark.parametrize("n_copies", [1, 300])
def test_two_tenths_lie_halfway_between_one_and_three(algorithm: Any, metric: Any, n_copies: int) -> None:
    X = np.repeat([[0.1], [0.3], [0.9]], n_copies, axis=0)
    y = np.repeat([0, 1, 2], n_copies)
    model = KNeighborsClassifier(1, ties="all", algorithm=algorithm, metric=metric).fit(X, y)
    np.testing.assert_allclose(model.predict_proba([[0.2]]), [[0.5, 0.5, 0.0]])
    regressor = KNeighborsRegressor(1, ties="all", algorithm=algorithm, metric=metric).fit(X, y)
    assert regressor.predict([[0.2]]) == pytest.approx(0.5)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@examples(60)
@given(
    seed=SEEDS,
    n=st.sampled_from([5, 40, 900]),
    d=st.integers(1, 3),
    p=st.sampled_from([1.0, 2.0, 3.0, np.inf]),
    k=st.integers(1, 5),
    unit=st.sampled_from(UNITS),
)
def test_the_unit_of_the_columns_does_not_break_ties(
    algorithm: Any, seed: int, n: int, d: int, p: float, k: int, unit: float
) -> None:
    X, Q, y = draw_grid(seed, n, d)
    whole = KNeighborsClassifier(k, ties="all", algorithm=algorithm, p=p).fit(X, y)
    scaled = KNeighborsClassifier(k, ties="all", algorithm=algorithm, p=p).fit(X * unit, y)
    np.testing.assert_array_equal(scaled.predict_proba(Q * unit), whole.predict_proba(Q))


@examples(60)
@given(seed=SEEDS, d=st.integers(1, 3), p=st.sampled_from([1.0, 2.0, 3.0, np.inf]), k=st.integers(1, 5))
def test_the_ties_are_those_of_the_definition(seed: int, d: int, p: float, k: int) -> None:
    X, Q, y = draw_grid(seed, 30, d)

    def measure(rows: np.ndarray, q: np.ndarray) -> np.ndarray:
        return knn.minkowski(rows, q, p)

    fast = KNeighborsClassifier(k, ties="all", p=p).fit(X / 10, y)
    expected = [knn.predict_row(X / 10, y, q, k, distances=measure, all_ties=True) for q in Q / 10]
    np.testing.assert_array_equal(fast.predict(Q / 10), expected)


@examples(30)
@given(seed=SEEDS)
def test_a_path_over_k_breaks_no_ties(seed: int) -> None:
    X, Q, y = draw_grid(seed, 40, 2)
    for fitted in KNeighborsClassifier(ties="all").path(X / 10, y, "n_neighbors", [1, 3, 8]):
        alone = KNeighborsClassifier(fitted.n_neighbors, ties="all").fit(X, y)
        np.testing.assert_array_equal(fitted.predict_proba(Q / 10), alone.predict_proba(Q))


def test_rows_that_differ_far_from_the_origin_are_not_tied() -> None:
    # A thousandth of a unit at a million is 10^7 times the last place of the cells.
    X = 1e6 + np.array([[0.001], [0.003], [0.0035]])
    proba = KNeighborsClassifier(1, ties="all").fit(X, [0, 1, 2]).predict_proba([[1e6 + 0.00201]])
    np.testing.assert_array_equal(proba, [[0.0, 1.0, 0.0]])


NOMINAL = pd.DataFrame({"colour": pd.Categorical([*"rrgbgb"]), "size": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]})


@pytest.mark.parametrize("learner", [KNeighborsClassifier, KNeighborsRegressor])
@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        ({}, "all"),
        ({"feature_weights": [0.0, 1.0]}, "first"),
        ({"feature_weights": [0.5, 1.0]}, "all"),
        ({"metric": "gower"}, "all"),
        ({"metric": "hamming", "categorical_features": None}, "all"),
        ({"metric": lambda a, b: float(a[0] != b[0])}, "all"),
        ({"ties": "first"}, "first"),
        ({"ties": "random"}, "random"),
    ],
)
def test_by_default_all_ties_vote_where_a_nominal_column_enters_the_distance(
    learner: Any, parameters: dict[str, Any], expected: str
) -> None:
    table = NOMINAL
    if "categorical_features" in parameters:
        table = NOMINAL.assign(colour=NOMINAL["colour"].cat.codes)
    assert learner(2, **parameters).fit(table, [0, 1, 0, 1, 0, 1]).ties_ == expected


@pytest.mark.parametrize("parameters", [{}, {"metric": "mahalanobis"}, {"algorithm": "kd_tree"}, {"p": 1}])
def test_by_default_the_first_of_tied_rows_votes_where_all_columns_are_numbers(parameters: dict[str, Any]) -> None:
    X = [[1.0, 2.0], [2.0, 1.0], [4.0, 4.0], [1.0, 1.0]]
    assert KNeighborsClassifier(1, **parameters).fit(X, [0, 1, 0, 1]).ties_ == "first"


@examples(20)
@given(seed=SEEDS, k=st.integers(1, 5))
def test_by_default_the_order_of_nominal_rows_does_not_matter(seed: int, k: int) -> None:
    X, Q, y = draw_grid(seed, 40, 3)
    order = np.random.default_rng(seed).permutation(40)
    one = KNeighborsClassifier(k, categorical_features=[0, 1, 2]).fit(X, y)
    two = KNeighborsClassifier(k, categorical_features=[0, 1, 2]).fit(X[order], y[order])
    np.testing.assert_array_equal(one.predict_proba(Q), two.predict_proba(Q))
    every = KNeighborsClassifier(k, ties="all", categorical_features=[0, 1, 2]).fit(X, y)
    np.testing.assert_array_equal(one.predict_proba(Q), every.predict_proba(Q))
