"""The graph of neighbours, and the neighbours of the training rows themselves."""

from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.neighbors import KNeighborsClassifier as SklearnClassifier

from bakeoff.learners import KNeighborsClassifier, KNeighborsRegressor

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


@pytest.mark.parametrize("mode", ["connectivity", "distance"])
@pytest.mark.parametrize("parameters", SEARCHES)
@pytest.mark.parametrize("themselves", [True, False])
def test_the_graph_is_scikit_learns(mode: str, parameters: dict[str, Any], themselves: bool) -> None:
    X, y = draw_rows()
    queries = None if themselves else draw_rows(70)[0] + 0.1
    ours = KNeighborsClassifier(4, **parameters).fit(X, y).kneighbors_graph(queries, mode=mode)
    theirs = SklearnClassifier(4, metric=parameters.get("metric", "minkowski")).fit(X, y)
    expected = theirs.kneighbors_graph(queries, mode=mode)
    assert ours.format == "csr"
    np.testing.assert_array_equal(ours.indptr, expected.indptr)
    np.testing.assert_array_equal(ours.indices, expected.indices)  # nearest first
    np.testing.assert_allclose(ours.data, expected.data, rtol=1e-12)


def test_no_training_row_is_its_own_neighbour_even_among_equal_rows() -> None:
    X = np.array([[0.0], [0.0], [0.0], [0.0], [1.0]])
    model = KNeighborsRegressor(2).fit(X, np.arange(5.0))
    distance, index = model.kneighbors()
    assert index.tolist() == [[1, 2], [0, 2], [0, 1], [0, 1], [0, 1]]
    assert distance.tolist() == [[0, 0]] * 4 + [[1, 1]]
    graph = model.kneighbors_graph(mode="distance")
    assert graph.nnz == 10  # edges of length 0 are edges
    assert graph.sum() == 2


def test_an_edge_leads_to_the_row_as_it_was_given_whatever_rows_have_no_weight() -> None:
    X = np.array([[0.0], [9.0], [1.0], [5.0]])
    model = KNeighborsRegressor(1).fit(X, X[:, 0], sample_weight=[1, 0, 2, 1])
    assert model.kneighbors_graph([[8.0]]).toarray().tolist() == [[0, 0, 0, 1]]
    assert model.kneighbors_graph().toarray().tolist() == [[0, 0, 1, 0], [1, 0, 0, 0], [0, 0, 1, 0]]


def test_the_number_of_neighbours_may_be_given() -> None:
    X, y = load_iris(return_X_y=True)
    model = KNeighborsClassifier(3).fit(X, y)
    assert (model.kneighbors_graph(X, 7).sum(axis=1) == 7).all()
    assert model.kneighbors_graph(X, 150).shape == (150, 150)
    assert model.kneighbors_graph(None, 149).sum() == 150 * 149


def test_a_mode_that_is_none_and_more_neighbours_than_others_are_refused() -> None:
    X, y = load_iris(return_X_y=True)
    model = KNeighborsClassifier(3).fit(X, y)
    with pytest.raises(ValueError, match="mode is 'weights'; it must be 'connectivity' or 'distance'"):
        model.kneighbors_graph(X, mode="weights")
    with pytest.raises(ValueError, match=r"n_neighbors=150 is too large.*at most 149"):
        model.kneighbors(n_neighbors=150)
