"""Metrics that compare rows as wholes, given distances, and predictions of the training rows from the others."""

import warnings
from typing import Any

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.datasets import load_iris
from sklearn.metrics import pairwise_distances
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier as SklearnClassifier

from bakeoff.learners import KNeighborsClassifier, KNeighborsRegressor
from bakeoff.learners.knn.metrics import BOOLEAN_METRICS, PAIRWISE_METRICS

OTHER_WEIGHTS = np.array([1.0, 0.5, 2.0])


def draw_rows(metric: str, n: int, seed: int = 0) -> np.ndarray:
    """Return rows without equal distances: angles for haversine, mostly zeros for metrics of booleans."""
    rng = np.random.default_rng(seed)
    if metric == "haversine":
        return rng.uniform(-1.5, 1.5, size=(n, 2))
    rows = rng.uniform(0.1, 2.0, size=(n, 40))
    return rows * (rng.random(rows.shape) < 0.4) if metric in BOOLEAN_METRICS else rows


def fit_distances(X: np.ndarray, **parameters: Any) -> KNeighborsRegressor:
    return KNeighborsRegressor(len(X), **parameters).fit(X, np.zeros(len(X)))


@pytest.mark.parametrize("metric", sorted(PAIRWISE_METRICS))
def test_metrics_of_whole_rows_are_scikit_learns(metric: str) -> None:
    X, Q = draw_rows(metric, 30), draw_rows(metric, 7, seed=1)
    as_they_are = (Q != 0, X != 0) if metric in BOOLEAN_METRICS else (Q, X)
    V = {"V": X.var(axis=0, ddof=1)} if metric == "seuclidean" else {}
    expected = pairwise_distances(*as_they_are, metric=metric, **V)
    distance, index = fit_distances(X, metric=metric).kneighbors(Q)
    np.testing.assert_allclose(distance, np.take_along_axis(expected, index, axis=1), rtol=1e-12, atol=1e-14)
    assert (np.diff(distance, axis=1) >= 0).all()
    alone = [fit_distances(X, metric=metric).kneighbors(Q[[i]])[0] for i in range(len(Q))]
    np.testing.assert_array_equal(np.concatenate(alone), distance)


def test_rows_without_a_direction_have_no_angle() -> None:
    X = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]])
    with pytest.raises(ValueError, match="'cosine' is not defined for some rows"):
        KNeighborsClassifier(1, metric="cosine").fit(X, [0, 1, 1]).predict(X)


@pytest.mark.parametrize("algorithm", ["auto", "brute", "ball_tree"])
@pytest.mark.parametrize("metric", ["l2", "cityblock", "infinity", "p", "canberra", "mahalanobis", "hamming"])
def test_a_ball_tree_is_a_name_for_a_search_of_the_same_neighbours(metric: str, algorithm: str) -> None:
    X, y = load_iris(return_X_y=True)
    expected = KNeighborsClassifier(metric=metric, algorithm="brute").fit(X, y).predict_proba(X + 0.1)
    ours = KNeighborsClassifier(metric=metric, algorithm=algorithm).fit(X, y)
    np.testing.assert_array_equal(ours.predict_proba(X + 0.1), expected)


@pytest.mark.parametrize("parameters", [{}, {"ties": "all"}, {"ties": "random"}, {"weights": "distance"}])
def test_given_distances_predict_as_the_rows_do(parameters: dict[str, Any]) -> None:
    X, y = load_iris(return_X_y=True)
    weight = np.arange(150) % 3 * 0.75
    D = cdist(X, X)
    settings = {"n_neighbors": 7, "random_state": 3, **parameters}
    rows = KNeighborsClassifier(**settings).fit(X, y, sample_weight=weight)
    given = KNeighborsClassifier(metric="precomputed", **settings).fit(D, y, sample_weight=weight)
    np.testing.assert_allclose(given.predict_proba(D[::7]), rows.predict_proba(X[::7]), rtol=1e-12)
    np.testing.assert_allclose(given.kneighbors()[0], rows.kneighbors()[0], rtol=1e-12)
    # Cross-validation cuts the rows and the columns of a table of distances.
    scores = cross_val_score(KNeighborsClassifier(metric="precomputed"), D, y)
    np.testing.assert_array_equal(scores, cross_val_score(KNeighborsClassifier(), X, y))


def test_given_distances_that_are_none_are_refused() -> None:
    D = cdist(np.eye(4), np.eye(4))
    with pytest.raises(ValueError, match="Negative values"):
        KNeighborsClassifier(1, metric="precomputed").fit(-D, [0, 0, 1, 1])
    with pytest.raises(ValueError, match="needs feature values"):
        KNeighborsRegressor(2, metric="precomputed", regression="linear").fit(D, [0, 0, 1, 1])


def test_powers_below_one_and_infinity() -> None:
    X, y = load_iris(return_X_y=True)
    with pytest.warns(UserWarning, match="0 < p < 1"):
        ours = KNeighborsClassifier(p=0.5).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = SklearnClassifier(p=0.5).fit(X, y)
    np.testing.assert_allclose(ours.kneighbors(X + 0.1)[0], theirs.kneighbors(X + 0.1)[0], rtol=1e-9)
    largest = KNeighborsClassifier(p=np.inf).fit(X, y)
    assert largest.effective_metric_ == "chebyshev"
    with pytest.warns(SyntaxWarning, match="p is found in metric_params"):
        squared = KNeighborsClassifier(metric_params={"p": 1, "w": [1, 2, 0, 1]}).fit(X, y)
    expected = cdist(X[:5], X, "minkowski", p=1, w=[1, 2, 0, 1])
    np.testing.assert_allclose(squared.kneighbors(X[:5])[0], np.sort(expected)[:, :5], atol=1e-12)
