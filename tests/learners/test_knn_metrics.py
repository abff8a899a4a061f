"""The distances of k nearest neighbours: the lectures' numbers, metric axioms, mixed columns, missing cells."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from example_counts import examples
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.spatial.distance import cdist
from sklearn.datasets import load_iris
from sklearn.metrics import nan_euclidean_distances

from bakeoff.learners import KNeighborsClassifier, KNeighborsRegressor

POINTS = np.array([[-1, 3], [2, 1], [-2, 2], [-1, 2], [-1, 0], [1, 1]])
COLOURS = np.array(["Red", "Blue", "Red", "Blue", "Blue", "Red"])
QUERY = np.array([[1, 2]])
BY_HAND = np.array([[2.2667, -0.6], [-0.6, 1.1]])

PEOPLE = pd.DataFrame(
    {
        "age": [20.0, 30.0, 40.0, 60.0],
        "job": pd.Categorical(["smith", "baker", "smith", "baker"]),
        "town": pd.Categorical(["Ulm", "Ulm", "Köln", "Ulm"]),
    }
)


def measure_distances(X: Any, Q: Any, metric: Any, **parameters: Any) -> np.ndarray:
    """Return the distance from each query to each row, in the order of the rows: shape (m, n)."""
    n = len(X)
    model = KNeighborsRegressor(n, metric=metric, **parameters).fit(X, np.zeros(n))
    distance, index = model.kneighbors(Q)
    table = np.empty_like(distance)
    np.put_along_axis(table, index, distance, axis=1)
    return table


def sum_absolute_powers(x: np.ndarray, z: np.ndarray, power: float = 1.0) -> float:
    return float((np.abs(x - z) ** power).sum())


@pytest.mark.parametrize(
    ("metric", "p", "expected"),
    [
        ("manhattan", 2, [3, 2, 3, 2, 4, 1]),
        ("l1", 2, [3, 2, 3, 2, 4, 1]),
        ("chebyshev", 2, [2, 1, 3, 2, 2, 1]),
        ("linf", 2, [2, 1, 3, 2, 2, 1]),
        ("minkowski", np.inf, [2, 1, 3, 2, 2, 1]),
        ("minkowski", 3, [2.0801, 1.2599, 3, 2, 2.5198, 1]),
        ("euclidean", 3, np.sqrt([5, 2, 9, 4, 8, 1])),
        ("l2", 3, np.sqrt([5, 2, 9, 4, 8, 1])),
        ("mahalanobis", 2, [1.4142, 1.0078, 2.1542, 1.4361, 2.9262, 1.0308]),
    ],
)
def test_colours_in_other_metrics(metric: str, p: float, expected: Any) -> None:
    np.testing.assert_allclose(measure_distances(POINTS, QUERY, metric, p=p)[0], expected, atol=5e-5)


def test_mahalanobis_learns_the_covariance_or_takes_it() -> None:
    learnt = measure_distances(POINTS, QUERY, "mahalanobis")
    V = np.cov(POINTS, rowvar=False)
    np.testing.assert_allclose(V, BY_HAND, atol=5e-5)
    np.testing.assert_allclose(measure_distances(POINTS, QUERY, "mahalanobis", metric_params={"V": V}), learnt)
    np.testing.assert_allclose(
        measure_distances(POINTS, QUERY, "mahalanobis", metric_params={"VI": np.linalg.inv(V)}), learnt, rtol=1e-12
    )
    biased = measure_distances(POINTS, QUERY, "mahalanobis", metric_params={"V": np.cov(POINTS, rowvar=False, ddof=0)})
    np.testing.assert_allclose(biased[0], [1.5492, 1.1040, 2.3598, 1.5732, 3.2055, 1.1292], atol=5e-5)


def test_mahalanobis_turns_red_to_blue() -> None:
    assert KNeighborsClassifier(1).fit(POINTS, COLOURS).predict(QUERY) == ["Red"]
    assert KNeighborsClassifier(1, metric="mahalanobis").fit(POINTS, COLOURS).predict(QUERY) == ["Blue"]


@pytest.mark.parametrize("scale", [[1, 1], [1e150, 1e-150], [1e-100, 1e100]])
def test_mahalanobis_does_not_see_units(scale: list[float]) -> None:
    moved = measure_distances(POINTS * scale, QUERY * scale, "mahalanobis")
    np.testing.assert_allclose(moved, measure_distances(POINTS, QUERY, "mahalanobis"), rtol=1e-9)


@pytest.mark.parametrize("X", [[[0, 1], [1, 1], [2, 1]], [[0, 0], [1, 2], [3, 6]], [[0, 1], [1, 0]]])
def test_mahalanobis_refuses_columns_that_depend_on_each_other(X: Any) -> None:
    with pytest.raises(ValueError, match="metric='mahalanobis': the covariance V is singular"):
        KNeighborsClassifier(1, metric="mahalanobis").fit(X, range(len(X)))


@pytest.mark.filterwarnings("ignore:Parameter p is found:SyntaxWarning")
@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"metric": "mahalanobis", "metric_params": {"V": np.eye(3)}}, r"finite symmetric matrix of shape \(2, 2\)"),
        ({"metric": "mahalanobis", "metric_params": {"V": np.eye(2), "VI": np.eye(2)}}, "either V or VI"),
        ({"metric": "l1", "metric_params": {"w": [1, 2]}}, "accepts none"),
        ({"metric_params": {"w": [1, 2]}, "feature_weights": [1, 2]}, "give only one of them"),
        ({"p": 0.5}, "'p' parameter .* must be a float in the range"),
        ({"metric_params": {"p": 0.5}}, "must be at least 1"),
        ({"metric": "nan_euclidean", "algorithm": "ball_tree"}, "triangle inequality"),
        ({"metric": "mahalanobis", "feature_weights": [1, 2]}, "feature_weights has no meaning"),
        ({"feature_weights": [1, 2, 3]}, "feature_weights has shape"),
        ({"feature_weights": [1, -2]}, "feature_weights must be finite and non-negative"),
        ({"feature_weights": [0, 0]}, "at least one above 0"),
        ({"metric": lambda x, z: -1.0}, "metric: the callable returned -1.0"),
    ],
)
def test_metrics_that_do_not_fit_are_refused(parameters: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        KNeighborsClassifier(1, **parameters).fit(POINTS, COLOURS).predict(QUERY)


def test_callable_metric_gets_rows_and_its_parameters() -> None:
    np.testing.assert_allclose(
        measure_distances(POINTS, QUERY, sum_absolute_powers), measure_distances(POINTS, QUERY, "l1")
    )
    squared = measure_distances(POINTS, QUERY, sum_absolute_powers, metric_params={"power": 2.0})
    np.testing.assert_allclose(squared, measure_distances(POINTS, QUERY, "l2") ** 2)


@pytest.mark.parametrize("p", [1, 1.5, 2, 3, 40])
def test_feature_weights_multiply_the_terms(p: float) -> None:
    rng = np.random.default_rng(0)
    X, Q, w = rng.normal(size=(300, 3)), rng.normal(size=(20, 3)), [0.5, 0.0, 3.0]
    np.testing.assert_allclose(
        measure_distances(X, Q, "minkowski", p=p, feature_weights=w), cdist(Q, X, "minkowski", p=p, w=w), rtol=1e-12
    )


def test_feature_weights_of_chebyshev_gower_and_hamming() -> None:
    X, Q = POINTS.astype(float), QUERY.astype(float)
    terms = np.abs(Q[:, None] - X[None])
    np.testing.assert_allclose(measure_distances(X, Q, "linf", feature_weights=[1, 4]), (terms * [1, 4]).max(axis=2))
    by_range = terms / [4, 3] * [1, 4]
    np.testing.assert_allclose(measure_distances(X, Q, "gower", feature_weights=[1, 4]), by_range.sum(axis=2) / 5)
    np.testing.assert_allclose(measure_distances(X, Q, "hamming", feature_weights=[1, 4]), ((terms != 0) @ [1, 4]) / 5)


def test_gower_of_mixed_columns() -> None:
    query = pd.DataFrame({"age": [30.0], "job": pd.Categorical(["smith"]), "town": pd.Categorical(["Bonn"])})
    expected = [[(0.25 + 0 + 1) / 3, (0 + 1 + 1) / 3, (0.25 + 0 + 1) / 3, (0.75 + 1 + 1) / 3]]
    np.testing.assert_allclose(measure_distances(PEOPLE, query, "gower"), expected)


def test_nominal_columns_differ_by_one_in_any_norm() -> None:
    np.testing.assert_allclose(measure_distances(PEOPLE, PEOPLE, "l1")[0], [0, 11, 21, 41])
    np.testing.assert_allclose(measure_distances(PEOPLE, PEOPLE, "l2")[0], np.sqrt([0, 101, 401, 1601]))
    np.testing.assert_allclose(measure_distances(PEOPLE, PEOPLE, "hamming")[0], np.array([0, 2, 2, 2]) / 3)
    with pytest.raises(ValueError, match="mahalanobis' supports numbers only"):
        KNeighborsClassifier(1, metric="mahalanobis").fit(PEOPLE, [0, 1, 0, 1])


def test_a_constant_column_tells_nothing() -> None:
    X, Q = np.array([[0.0, 7.0], [1.0, 7.0]]), np.array([[0.9, 7.0], [0.1, 9.0]])
    for metric in ("gower", "euclidean", "manhattan", "hamming"):
        assert np.isfinite(measure_distances(X, Q, metric)).all()
    np.testing.assert_allclose(measure_distances(X, Q, "gower"), [[0.45, 0.05], [0.05, 0.45]])
    np.testing.assert_array_equal(measure_distances(np.ones((3, 2)), np.ones((1, 2)), "gower"), [[0, 0, 0]])


@examples(60)
@given(
    X=arrays(np.float64, (4, 3), elements=st.floats(-1e3, 1e3, width=32)),
    p=st.sampled_from([1.0, 1.5, 2.0, 7.0, np.inf]),
    metric=st.sampled_from(["minkowski", "gower", "hamming"]),
)
def test_distances_are_metrics(X: np.ndarray, p: float, metric: str) -> None:
    D = measure_distances(X, X, metric, p=p)
    np.testing.assert_array_equal(np.diag(D), 0)
    np.testing.assert_array_equal(D, D.T)
    assert (D >= 0).all()
    assert (D[:, :, None] + D[None, :, :] >= D[:, None, :] * (1 - 1e-12)).all()


def test_missing_cells_leave_their_column_out_and_scale_up() -> None:
    rng = np.random.default_rng(0)
    X, Q = rng.normal(size=(200, 4)), rng.normal(size=(30, 4))
    X[:, 1:][rng.random((200, 3)) < 0.3] = np.nan
    Q[:, 1:][rng.random((30, 3)) < 0.3] = np.nan
    np.testing.assert_allclose(measure_distances(X, Q, "euclidean"), nan_euclidean_distances(Q, X), rtol=1e-9)
    terms = np.abs(Q[:, None] - X[None])
    np.testing.assert_allclose(measure_distances(X, Q, "l1"), np.nanmean(terms, axis=2) * 4)
    np.testing.assert_allclose(measure_distances(X, Q, "minkowski", p=3), np.cbrt(np.nanmean(terms**3, axis=2) * 4))
    np.testing.assert_allclose(measure_distances(X, Q, "chebyshev"), np.nanmax(terms, axis=2))
    width = np.nanmax(X, axis=0) - np.nanmin(X, axis=0)
    np.testing.assert_allclose(measure_distances(X, Q, "gower"), np.nanmean(terms / width, axis=2))


def test_a_missing_cell_in_the_query_does_not_change_the_other_queries() -> None:
    rng = np.random.default_rng(0)
    X, Q = rng.normal(size=(500, 4)), rng.normal(size=(20, 4))
    model = KNeighborsRegressor(weights="distance", algorithm="auto").fit(X, X[:, 0])
    before = model.predict(Q)
    Q[3, 2] = np.nan
    after = model.predict(Q)
    np.testing.assert_array_equal(np.delete(after, 3), np.delete(before, 3))
    assert np.isfinite(after).all()


def test_rows_that_share_no_column_are_infinitely_far_apart() -> None:
    X = [[1.0, np.nan], [2.0, np.nan], [np.nan, 5.0]]
    np.testing.assert_array_equal(measure_distances(X, [[1.0, np.nan]], "l2"), [[0, np.sqrt(2), np.inf]])
    for weights in ("uniform", "distance", "gaussian"):
        model = KNeighborsRegressor(2, weights=weights).fit(X, [1.0, 2.0, 9.0])
        assert np.isfinite(model.predict([[np.nan, 7.0], [1.5, np.nan]])).all()


def test_missing_nominal_cells() -> None:
    jobs: list[Any] = ["smith", None, "smith", "baker"]
    table = PEOPLE.astype({"job": object}).assign(job=jobs).astype({"job": "category"})
    np.testing.assert_allclose(
        measure_distances(table, table, "gower")[0], [0, (0.25 + 0) / 2, (0.5 + 0 + 1) / 3, (1 + 1) / 3]
    )


def test_missing_cells_are_refused_where_they_have_no_meaning() -> None:
    X = [[1.0, np.nan], [2.0, 0.0], [0.0, 5.0]]
    for parameters in (
        {"missing": "error"},
        {"metric": "mahalanobis"},
        {"metric": sum_absolute_powers},
        {"algorithm": "kd_tree"},
    ):
        with pytest.raises(ValueError, match="NaN"):
            KNeighborsClassifier(1, **parameters).fit(X, [0, 1, 1])
    with pytest.raises(ValueError, match=r"rows in which all values are missing \(the first: 1\)"):
        KNeighborsClassifier(1).fit([[1.0], [np.nan]], [0, 1])


def test_columns_of_very_different_scale_still_count() -> None:
    X = np.array([[1e200, 0.0], [1e200, 1.0], [1e200, 2.0]])
    np.testing.assert_array_equal(measure_distances(X, [[1e200, 2.5]], "l2"), [[2.5, 1.5, 0.5]])


@pytest.mark.parametrize("constant", [0.1, 0.3, 1 / 3, 1e9 + 0.1])
def test_a_constant_column_has_no_variance_though_its_mean_is_rounded(constant: float) -> None:
    rng = np.random.default_rng(0)
    for n in (7, 10, 33):
        X = np.column_stack([rng.normal(size=n), np.full(n, constant)])
        with pytest.raises(ValueError, match="constant"):
            measure_distances(X, X, "mahalanobis")


@pytest.mark.parametrize("offset", [1e3, 1e6, 1e9])
def test_mahalanobis_refuses_collinear_columns_far_from_zero(offset: float) -> None:
    for seed in range(50):
        A = np.round(offset + np.random.default_rng(seed).normal(size=(40, 2)), 2)
        X = np.column_stack([A, A.sum(axis=1)])
        with pytest.raises(ValueError, match="collinear"):
            measure_distances(X, X, "mahalanobis")


def test_mahalanobis_takes_columns_far_from_zero_that_are_not_collinear() -> None:
    X = np.round(np.random.default_rng(0).normal(size=(40, 3)), 2)
    far = measure_distances(X + 1e9, X + 1e9, "mahalanobis")
    np.testing.assert_allclose(far, measure_distances(X, X, "mahalanobis"), atol=1e-5)


@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e9])
@pytest.mark.parametrize("name", ["V", "VI"])
def test_a_covariance_is_symmetric_in_the_units_of_its_columns(unit: float, name: str) -> None:
    V = np.array([[1.0, 0.5 * unit], [0.0, unit**2]])
    with pytest.raises(ValueError, match="symmetric"):
        measure_distances(POINTS, QUERY, "mahalanobis", metric_params={name: V})
    V[1, 0] = V[0, 1] * (1 + 1e-12)
    assert np.isfinite(measure_distances(POINTS, QUERY, "mahalanobis", metric_params={name: V})).all()


def test_a_column_that_changes_in_its_last_digit_only_does_not_enter_gowers_distance() -> None:
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=30), np.where(rng.random(30) < 0.5, 0.3, 0.1 + 0.2)])
    constant = np.column_stack([X[:, 0], np.full(30, 0.3)])
    np.testing.assert_array_equal(measure_distances(X, X, "gower"), measure_distances(constant, constant, "gower"))


def test_a_power_may_be_infinite_and_given_with_weights() -> None:
    X, y = load_iris(return_X_y=True)
    largest = KNeighborsClassifier(p=np.inf).fit(X, y)
    assert largest.effective_metric_ == "chebyshev"
    with pytest.warns(SyntaxWarning, match="p is found in metric_params"):
        squared = KNeighborsClassifier(metric_params={"p": 1, "w": [1, 2, 0, 1]}).fit(X, y)
    expected = cdist(X[:5], X, "minkowski", p=1, w=[1, 2, 0, 1])
    np.testing.assert_allclose(squared.kneighbors(X[:5])[0], np.sort(expected)[:, :5], atol=1e-12)
