"""The searches of k nearest neighbours: all of them agree with brute force and with scikit-learn."""

import pickle
from typing import Any

import numpy as np
import pytest
import skops.io
from example_counts import examples
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_iris
from sklearn.neighbors import KNeighborsClassifier as SklearnClassifier
from sklearn.neighbors import NearestNeighbors

from bakeoff.learners import KNeighborsClassifier, KNeighborsRegressor
from bakeoff.learners.definitions.k_nearest_neighbors import nearest
from bakeoff.learners.knn import metrics
from bakeoff.learners.knn.metrics import MinkowskiMetric, fit_metric
from bakeoff.learners.knn.searchers import (
    BruteForce,
    Float32Prefilter,
    KDTree,
    SimpleMatchingSearch,
    choose_brute_force,
)


def build_p_norm(p: float, e: int) -> MinkowskiMetric:
    return MinkowskiMetric(p, np.arange(e), np.zeros(e, dtype=bool), np.ones(e), np.ones(e))


def rank_by_definition(Q: np.ndarray, T: np.ndarray, p: float, k: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return, for each query, the rows as near as the k-th and their distances, in order; coordinates are columns."""
    table = build_p_norm(p, T.shape[0]).measure_all_pairs(Q, T, missing=False)
    neighbours = [nearest(distance, k, all_ties=True) for distance in table]
    return [(rows, distance[rows]) for rows, distance in zip(neighbours, table, strict=True)]


@examples(150)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(1, 400),
    e=st.integers(1, 5),
    p=st.sampled_from([1.0, 2.0, 3.5, np.inf]),
    levels=st.sampled_from([1, 2, 5, 0]),
    whole_ties=st.booleans(),
    data=st.data(),
)
def test_every_search_finds_what_the_definition_says(
    seed: int, n: int, e: int, p: float, levels: int, whole_ties: bool, data: Any
) -> None:
    rng = np.random.default_rng(seed)
    k = data.draw(st.integers(1, min(n, 20)))

    def rows(m: int) -> np.ndarray:
        return rng.normal(size=(e, m)) if levels == 0 else rng.integers(0, levels, (e, m)).astype(float)

    T, Q, metric = rows(n), rows(7), build_p_norm(p, e)
    expected = rank_by_definition(Q, T, p, k)
    for search in (BruteForce(metric, T), KDTree(metric, T, 5)):
        found, distance = search.find_nearest(Q, k, whole_ties=whole_ties)
        for i, (row, near) in enumerate(expected):
            size = row.size if whole_ties else k
            np.testing.assert_array_equal(found[i, :size], row[:size])
            np.testing.assert_array_equal(distance[i, :size], near[:size])
            assert (found[i, size:] == -1).all()


@pytest.mark.parametrize("shift", [0.0, 1e6])
@pytest.mark.parametrize("scale", [1.0, 1e-9, 1e9])
def test_scores_err_by_less_than_their_bound(shift: float, scale: float) -> None:
    rng = np.random.default_rng(0)
    T = (rng.standard_cauchy(size=(30, 500)) + shift) * scale
    Q = (rng.standard_cauchy(size=(30, 40)) + shift) * scale
    scores = Float32Prefilter(T)
    assert scores.far_rows.size < 10
    z, q = ((A.T - scores.centre) / scores.radius for A in (T[:, scores.near_rows], Q))
    exact = (z**2).sum(axis=1) - 2 * q @ z.T
    left = np.hstack([-2 * q, np.ones((40, 1))]).astype(np.float32)
    bound = 1.1 * 38 * 2.0**-24 * (2 * np.linalg.norm(q, axis=1) + 1)
    assert (np.abs(left @ scores.augmented_rows - exact) <= bound[:, None] / 2).all()


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("column", [None, 3.0, 1e200])
def test_a_table_is_kept_without_a_copy_if_its_cells_are_the_coordinates(order: Any, column: float | None) -> None:
    X = np.random.default_rng(0).normal(size=(300, 9))
    if column is not None:
        X[:, 4] = column  # a constant, which is shifted to 0
    X, Q = np.array(X[:260], order=order), X[260:]
    X.flags.writeable = False
    model = KNeighborsClassifier().fit(X, np.arange(260) % 3)
    assert np.shares_memory(model._search.T, X) == (column is None)
    T, Q_T, metric = np.array(X.T, order="C"), np.array(Q.T, order="C"), build_p_norm(2.0, 9)
    if column is not None:
        T[4] = Q_T[4] = 0.0
    for k in (1, 5, 100):  # the last is too many for the prefilter
        distance, index = model.kneighbors(Q, k)
        expected_index, expected = BruteForce(metric, T).find_nearest(Q_T, k, whole_ties=False)
        np.testing.assert_array_equal(index, expected_index)
        np.testing.assert_array_equal(distance, expected)
    expected_index, _ = BruteForce(metric, T).find_nearest(T, 4, whole_ties=False)
    np.testing.assert_array_equal(model.kneighbors(n_neighbors=3, return_distance=False), expected_index[:, 1:])


def test_a_table_with_a_missing_cell_in_a_late_row_is_copied() -> None:
    X = np.random.default_rng(0).normal(size=(300, 9))
    X[299, 8] = np.nan
    model = KNeighborsClassifier().fit(X, np.arange(300) % 3)
    assert not np.shares_memory(model._search.T, X)
    distance, index = model.kneighbors(X[:7] + 0.1)
    theirs, their_index = NearestNeighbors(metric="nan_euclidean").fit(X).kneighbors(X[:7] + 0.1)
    np.testing.assert_allclose(distance, theirs, rtol=1e-9)
    np.testing.assert_array_equal(index, their_index)


@pytest.mark.parametrize(("n", "d", "far"), [(3000, 2, 0.0), (3000, 30, 0.0), (3000, 30, 1e9), (2000, 8, 1e-9)])
def test_larger_tables_agree_between_searches(n: int, d: int, far: float) -> None:
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(n, d)) + far, np.arange(float(n))
    X[::7] = X[1]  # many equal rows
    Q = np.vstack([X[:60], rng.normal(size=(60, d)) + far, np.full((1, d), 1e9)])
    models = [KNeighborsRegressor(5, algorithm=algorithm).fit(X, y) for algorithm in ("auto", "brute", "kd_tree")]
    first, *others = [model.kneighbors(Q) for model in models]
    for other in others:
        np.testing.assert_array_equal(first[0], other[0])
        np.testing.assert_array_equal(first[1], other[1])


@pytest.mark.parametrize("parameters", [{"algorithm": "auto"}, {"algorithm": "kd_tree"}, {"metric": "gower"}])
def test_a_saved_model_predicts_the_same(parameters: dict[str, Any]) -> None:
    rng = np.random.default_rng(0)
    X, y, Q = rng.normal(size=(900, 3)), rng.integers(0, 2, 900), rng.normal(size=(50, 3))
    model = KNeighborsClassifier(**parameters).fit(X, y)
    before = model.predict_proba(Q)
    stored = skops.io.dumps(model)
    loaded = skops.io.loads(stored, trusted=skops.io.get_untrusted_types(data=stored))
    for copy in (loaded, pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(copy.predict_proba(Q), before)


@pytest.mark.parametrize("parameters", [{"metric": "hamming"}, {"metric": max}])
def test_the_tree_refuses_what_it_cannot_divide(parameters: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="algorithm='kd_tree' supports only numeric columns and p-norms"):
        KNeighborsClassifier(1, algorithm="kd_tree", **parameters).fit([[0], [1]], [0, 1])


@examples(80)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(1, 300),
    e=st.integers(1, 6),
    values=st.integers(1, 6),
    metric=st.sampled_from(["euclidean", "manhattan", "hamming", "gower"]),
    whole_ties=st.booleans(),
    data=st.data(),
)
def test_counted_agreement_finds_what_comparing_finds(
    seed: int, n: int, e: int, values: int, metric: str, whole_ties: bool, data: Any
) -> None:
    rng = np.random.default_rng(seed)
    k = data.draw(st.integers(1, min(n, 20)))
    T = rng.integers(0, values, (e, n)).astype(float)
    Q = rng.integers(-1, values + 2, (e, 9)).astype(float)  # with values that no training row has
    Q[0, ::4] += 0.5
    learnt = fit_metric(T, np.ones(e, dtype=bool), metric, 2, None, np.full(e, 0.3) if seed % 2 else None)
    counting = choose_brute_force(learnt, T)
    assert isinstance(counting, SimpleMatchingSearch)
    rows, distances = counting.find_nearest(Q, k, whole_ties=whole_ties)
    expected_rows, expected_distances = BruteForce(learnt, T).find_nearest(Q, k, whole_ties=whole_ties)
    np.testing.assert_array_equal(rows, expected_rows)
    np.testing.assert_array_equal(distances, expected_distances)


@pytest.mark.parametrize(("e", "values"), [(300, 2), (3, 700)])
@pytest.mark.parametrize("whole_ties", [True, False])
def test_more_columns_and_values_than_a_byte_holds_are_counted(e: int, values: int, whole_ties: bool) -> None:
    rng = np.random.default_rng(e)
    T, Q = (rng.integers(0, values, (e, size)).astype(float) for size in (200, 9))
    learnt = fit_metric(T, np.ones(e, dtype=bool), "hamming", 2, None, None)
    counting = choose_brute_force(learnt, T)
    assert isinstance(counting, SimpleMatchingSearch)
    for ours, theirs in zip(
        counting.find_nearest(Q, 5, whole_ties=whole_ties),
        BruteForce(learnt, T).find_nearest(Q, 5, whole_ties=whole_ties),
        strict=True,
    ):
        np.testing.assert_array_equal(ours, theirs)


def test_agreement_is_not_counted_where_it_is_no_whole_number_of_columns() -> None:
    T, nominal = np.zeros((3, 50)), np.ones(3, dtype=bool)
    weighted = fit_metric(T, nominal, "euclidean", 2, None, [1.0, 2.0, 1.0])
    equal = fit_metric(T, nominal, "euclidean", 2, None, None)
    largest = fit_metric(T, nominal, "chebyshev", 2, None, None)
    mixed = fit_metric(T, np.array([True, False, True]), "euclidean", 2, None, None)
    holes = np.where(np.arange(50) == 7, np.nan, T)
    assert isinstance(choose_brute_force(equal, T), SimpleMatchingSearch)
    for metric, rows in ((weighted, T), (largest, T), (mixed, T), (equal, holes), (equal, T + 0.5), (equal, T - 1)):
        assert not isinstance(choose_brute_force(metric, rows), SimpleMatchingSearch)
    missing = np.array([[0.0], [np.nan], [0.0]])  # is left out of the distance
    np.testing.assert_array_equal(
        choose_brute_force(equal, T).find_nearest(missing, 2, whole_ties=False)[1], [[0.0, 0.0]]
    )


@pytest.mark.parametrize("size", [1, 2, 3, 20, 21, 22, 401])
def test_a_pair_has_the_same_distance_however_many_are_asked_for(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(size)
    T, Q = rng.normal(size=(7, 400)), rng.normal(size=(7, 30))
    query, row = rng.integers(30, size=size), rng.integers(400, size=size)
    metric = build_p_norm(2.0, 7)
    expected = metric.measure_all_pairs(Q, T, missing=False)[query, row]
    np.testing.assert_array_equal(metric.measure_pairs(Q, query, T, row, missing=False), expected)
    monkeypatch.setattr(metrics, "CELLS_PER_PAIR_BLOCK", 70)  # ten pairs at once
    np.testing.assert_array_equal(metric.measure_pairs(Q, query, T, row, missing=False), expected)


SEARCHES: list[dict[str, Any]] = [
    {},
    {"algorithm": "brute"},
    {"algorithm": "kd_tree"},
    {"metric": "manhattan"},
    {"ties": "random", "random_state": 0},
]


def draw_rows(n: int = 600, d: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """Return rows without equal distances."""
    rng = np.random.default_rng(0)
    return rng.normal(size=(n, d)), rng.integers(0, 2, n)


@pytest.mark.parametrize("parameters", SEARCHES)
@pytest.mark.parametrize("themselves", [True, False])
def test_neighbours_and_distances_are_scikit_learns(parameters: dict[str, Any], themselves: bool) -> None:
    X, y = draw_rows()
    queries = None if themselves else draw_rows(70)[0] + 0.1
    distance, index = KNeighborsClassifier(4, **parameters).fit(X, y).kneighbors(queries)
    theirs = SklearnClassifier(4, metric=parameters.get("metric", "minkowski")).fit(X, y)
    expected_distance, expected_index = theirs.kneighbors(queries)
    np.testing.assert_array_equal(index, expected_index)
    np.testing.assert_allclose(distance, expected_distance, rtol=1e-12)


def test_no_training_row_is_its_own_neighbour_even_among_equal_rows() -> None:
    X = np.array([[0.0], [0.0], [0.0], [0.0], [1.0]])
    distance, index = KNeighborsRegressor(2).fit(X, np.arange(5.0)).kneighbors()
    assert index.tolist() == [[1, 2], [0, 2], [0, 1], [0, 1], [0, 1]]
    assert distance.tolist() == [[0, 0]] * 4 + [[1, 1]]


def test_a_neighbour_is_the_row_as_it_was_given_whatever_rows_have_no_weight() -> None:
    X = np.array([[0.0], [9.0], [1.0], [5.0]])
    model = KNeighborsRegressor(1).fit(X, X[:, 0], sample_weight=[1, 0, 2, 1])
    assert model.kneighbors([[8.0]])[1].tolist() == [[3]]
    assert model.kneighbors()[1].tolist() == [[2], [0], [2]]


def test_more_neighbours_than_others_are_refused() -> None:
    X, y = load_iris(return_X_y=True)
    model = KNeighborsClassifier(3).fit(X, y)
    with pytest.raises(ValueError, match=r"n_neighbors=150 is too large.*at most 149"):
        model.kneighbors(n_neighbors=150)


@pytest.mark.parametrize("algorithm", ["auto", "brute", "ball_tree"])
@pytest.mark.parametrize("metric", ["l2", "cityblock", "infinity", "p", "mahalanobis", "hamming"])
def test_a_ball_tree_is_a_name_for_a_search_of_the_same_neighbours(metric: str, algorithm: str) -> None:
    X, y = load_iris(return_X_y=True)
    expected = KNeighborsClassifier(metric=metric, algorithm="brute").fit(X, y).predict_proba(X + 0.1)
    ours = KNeighborsClassifier(metric=metric, algorithm=algorithm).fit(X, y)
    np.testing.assert_array_equal(ours.predict_proba(X + 0.1), expected)
