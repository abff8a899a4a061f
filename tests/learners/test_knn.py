"""k nearest neighbours as in the lectures: votes, ties, weights, regression, and invalid input."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from example_counts import examples
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_diabetes, load_iris
from sklearn.neighbors import KNeighborsClassifier as SklearnClassifier
from sklearn.neighbors import KNeighborsRegressor as SklearnRegressor
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from bakeoff.learners import KNeighborsClassifier, KNeighborsRegressor

POINTS = np.array([[-1, 3], [2, 1], [-2, 2], [-1, 2], [-1, 0], [1, 1]])
COLOURS = np.array(["Red", "Blue", "Red", "Blue", "Blue", "Red"])
QUERY = np.array([[1, 2]])
SPEED = np.array([[4.0], [8.0], [12.0], [16.0], [20.0], [24.0]])
STOPPING = np.array([7.0, 16.0, 24.0, 36.0, 50.0, 80.0])


def fit_colours(k: int, **parameters: Any) -> KNeighborsClassifier:
    return KNeighborsClassifier(k, **parameters).fit(POINTS, COLOURS)


def compute_red_odds(k: int, **parameters: Any) -> float:
    """Return the red votes for one blue vote."""
    blue, red = fit_colours(k, **parameters).predict_proba(QUERY)[0]
    return float(red / blue)


def draw_grid(rng: np.random.Generator, n: int, d: int = 2) -> np.ndarray:
    """Draw rows with many equal distances."""
    return rng.integers(0, 4, (n, d)).astype(float)


def test_colours_distances_are_the_lectures() -> None:
    distance, index = fit_colours(6).kneighbors(QUERY)
    assert (index[0] + 1).tolist() == [6, 2, 4, 1, 5, 3]
    np.testing.assert_allclose(distance[0] ** 2, [1, 2, 4, 5, 8, 9], rtol=1e-15)


@pytest.mark.parametrize(("k", "colour"), [(1, "Red"), (3, "Blue"), (5, "Blue")])
def test_colours_majority(k: int, colour: str) -> None:
    assert fit_colours(k).predict(QUERY) == [colour]


@pytest.mark.parametrize("k", [2, 4, 6])
def test_equal_votes_go_to_the_smallest_class(k: int) -> None:
    np.testing.assert_array_equal(fit_colours(k).predict_proba(QUERY), [[0.5, 0.5]])
    assert fit_colours(k).predict(QUERY) == ["Blue"]


@pytest.mark.parametrize(
    ("k", "red", "blue"),
    [(2, 1.0, 0.7071), (3, 1.0, 1.2071), (4, 1.4472, 1.2071), (5, 1.4472, 1.5607), (6, 1.7805, 1.5607)],
)
def test_inverse_distance_votes(k: int, red: float, blue: float) -> None:
    assert compute_red_odds(k, weights="distance") == pytest.approx(red / blue, abs=1e-4)


@pytest.mark.parametrize(("k", "red", "blue"), [(3, 0.2420, 0.2008), (5, 0.2747, 0.2081)])
def test_gaussian_votes(k: int, red: float, blue: float) -> None:
    assert compute_red_odds(k, weights="gaussian") == pytest.approx(red / blue, abs=1e-3)
    assert fit_colours(k, weights="gaussian").predict(QUERY) == ["Red"]


def test_gaussian_votes_do_not_vanish_far_away() -> None:
    assert fit_colours(3, weights="gaussian").predict([[1000, 1]]) == ["Blue"]  # point 2 is nearest


def test_callable_votes() -> None:
    def inverse(distance: np.ndarray) -> np.ndarray:
        return 1 / distance

    assert compute_red_odds(5, weights=inverse) == pytest.approx(compute_red_odds(5, weights="distance"))
    ties = KNeighborsClassifier(2, weights=inverse, ties="all").fit(POINTS, COLOURS)
    assert np.isfinite(ties.predict_proba([[1, 2], [0.5, 2]])).all()


@pytest.mark.parametrize("function", [lambda d: -d, lambda d: d[:, :1], lambda d: d * np.inf])
def test_callable_votes_must_be_finite_and_positive(function: Any) -> None:
    with pytest.raises(ValueError, match="weights: the callable must"):
        fit_colours(3, weights=function).predict(QUERY)
    with pytest.raises(ValueError, match="All neighbors of some sample is getting zero weights"):
        fit_colours(3, weights=lambda d: 0 * d).predict(QUERY)


@pytest.mark.parametrize("scaler", [MinMaxScaler(), StandardScaler()])
def test_scaled_colours(scaler: Any) -> None:
    model = KNeighborsClassifier(1).fit(scaler.fit_transform(POINTS), COLOURS)
    assert model.predict(scaler.transform(QUERY)) == ["Red"]


def test_tied_rows_first_takes_the_lowest_row() -> None:
    chebyshev = {"metric": "chebyshev"}  # points 6 (Red) and 2 (Blue) are both at distance 1
    assert fit_colours(1, **chebyshev).kneighbors(QUERY, return_distance=False) == [[1]]
    assert fit_colours(1, **chebyshev).predict(QUERY) == ["Blue"]


def test_tied_rows_random_are_drawn_and_seeded() -> None:
    def nearest(seed: int) -> int:
        model = fit_colours(1, metric="chebyshev", ties="random", random_state=seed)
        assert model.predict(QUERY) == COLOURS[model.kneighbors(QUERY, return_distance=False)[0]]
        return int(model.kneighbors(QUERY, return_distance=False)[0, 0])

    drawn = [nearest(seed) for seed in range(20)]
    assert set(drawn) == {1, 5}
    assert drawn == [nearest(seed) for seed in range(20)]


@examples(60)
@given(
    seed=st.integers(0, 10**6),
    k=st.integers(1, 9),
    ties=st.sampled_from(["first", "all"]),
    weights=st.sampled_from(["uniform", "distance", "gaussian"]),
    learner=st.sampled_from([KNeighborsClassifier, KNeighborsRegressor]),
)
def test_weight_two_is_the_row_twice(seed: int, k: int, ties: str, weights: str, learner: Any) -> None:
    rng = np.random.default_rng(seed)
    X, y, Q = draw_grid(rng, 30), rng.integers(0, 3, 30), draw_grid(rng, 10)
    weight = rng.integers(0, 4, 30)
    model = learner(k, ties=ties, weights=weights)
    predict = "predict_proba" if learner is KNeighborsClassifier else "predict"
    weighted = getattr(model.fit(X, y, sample_weight=weight), predict)(Q)
    repeated = getattr(model.fit(X.repeat(weight, axis=0), y.repeat(weight)), predict)(Q)
    np.testing.assert_allclose(weighted, repeated, rtol=1e-12)


def test_fractions_of_weight_take_more_rows() -> None:
    X, y = np.arange(6.0)[:, None], [0, 0, 0, 1, 1, 1]
    halves = KNeighborsClassifier(2).fit(X, y, sample_weight=[0.5] * 6)
    np.testing.assert_allclose(halves.predict_proba([[0]]), [[3 / 4, 1 / 4]])  # four rows weigh 2
    cut = KNeighborsRegressor(1).fit(X, X[:, 0], sample_weight=[0.75] * 6)
    np.testing.assert_allclose(cut.predict([[-1]]), 0.25)  # row 0 with 0.75, row 1 with what is wanted still


def test_parameters_of_voting_may_change_after_fit() -> None:
    model = fit_colours(1)
    np.testing.assert_array_equal(
        model.set_params(n_neighbors=5, weights="distance").predict_proba(QUERY),
        fit_colours(5, weights="distance").predict_proba(QUERY),
    )


@pytest.mark.parametrize("weights", ["uniform", "distance"])
@pytest.mark.parametrize("k", [1, 5, 20])
def test_predictions_are_scikit_learns(k: int, weights: str) -> None:
    X, y = load_diabetes(return_X_y=True)
    ours = KNeighborsRegressor(k, weights=weights).fit(X[:300], y[:300]).predict(X[300:])
    theirs = SklearnRegressor(k, weights=weights, algorithm="kd_tree").fit(X[:300], y[:300]).predict(X[300:])
    np.testing.assert_allclose(ours, theirs, rtol=1e-12)
    label = np.where(y > 140, "high", "low")
    classifiers = [cls(k, weights=weights, algorithm="kd_tree") for cls in (KNeighborsClassifier, SklearnClassifier)]
    ours, theirs = (model.fit(X[:300], label[:300]).predict_proba(X[300:]) for model in classifiers)
    np.testing.assert_allclose(ours, theirs, rtol=1e-12)


def test_regression_averages_targets() -> None:
    model = KNeighborsRegressor(2).fit(SPEED, STOPPING)
    np.testing.assert_allclose(model.predict([[5], [23]]), [11.5, 65.0])


@pytest.mark.parametrize("offset", [1e3, 1e6])
def test_local_planes_of_collinear_columns_far_from_zero_are_those_of_independent_ones(offset: float) -> None:
    for seed in range(20):
        rng = np.random.default_rng(seed)
        A = offset + np.round(rng.normal(size=(60, 2)), 2) / 100
        y = 100 * (A[:, 0] - offset) + rng.normal(size=60)
        table = np.column_stack([A, A.sum(axis=1)])
        # The first 50 rows are all neighbours of each query, so that scaling alone decides about the plane.
        one = KNeighborsRegressor(50, regression="linear").fit(A[:50], y[:50]).predict(A[50:])
        two = KNeighborsRegressor(50, regression="linear").fit(table[:50], y[:50]).predict(table[50:])
        np.testing.assert_allclose(one, two, atol=1e-6)


def test_local_plane_through_few_equal_or_collinear_rows_is_finite() -> None:
    model = KNeighborsRegressor(1, regression="linear").fit(SPEED, STOPPING)
    np.testing.assert_allclose(model.predict(SPEED + 1), STOPPING)
    same = KNeighborsRegressor(3, regression="linear").fit(np.full((4, 2), 0.1), [1.0, 2, 3, 4])
    np.testing.assert_allclose(same.predict([[0.1, 5.0]]), [2.0])
    X = np.hstack([SPEED, SPEED * 1e8, np.ones((6, 1))])
    collinear = KNeighborsRegressor(6, regression="linear").fit(X, 3 * SPEED[:, 0])
    np.testing.assert_allclose(collinear.predict(X + 0.0), 3 * SPEED[:, 0])


def test_local_plane_refuses_nominal_columns_and_missing_cells() -> None:
    table = pd.DataFrame({"speed": SPEED[:, 0], "road": pd.Categorical(list("ababab"))})
    with pytest.raises(ValueError, match="regression='linear' supports numbers only"):
        KNeighborsRegressor(regression="linear").fit(table, STOPPING)
    with pytest.raises(ValueError, match="NaN"):
        KNeighborsRegressor(regression="linear").fit([[1], [np.nan], [2], [3], [4]], [1, 2, 3, 4, 5])


@pytest.mark.parametrize("learner", [KNeighborsClassifier, KNeighborsRegressor])
def test_too_many_neighbours_are_refused_with_the_cure(learner: Any) -> None:
    sentence = r"n_neighbors=7 is too large: training has 6 samples. Use n_neighbors of at most 6, or more"
    with pytest.raises(ValueError, match=sentence):
        learner(7).fit(SPEED, STOPPING.astype(int))
    model = learner(6).fit(SPEED, STOPPING.astype(int))
    with pytest.raises(ValueError, match=sentence):
        model.kneighbors(SPEED, 7)
    with pytest.raises(ValueError, match=sentence):
        model.set_params(n_neighbors=7).predict(SPEED)
    with pytest.raises(ValueError, match=r"6 samples with a total weight of 3\. Use n_neighbors of at most 3"):
        learner(5).fit(SPEED, STOPPING.astype(int), sample_weight=[0.5] * 6)


@pytest.mark.parametrize("wrong", [0, -1, 1.5, "two"])
def test_neighbours_wanted_must_be_a_positive_integer(wrong: Any) -> None:
    with pytest.raises(ValueError, match="n_neighbors"):
        fit_colours(1).kneighbors(QUERY, wrong)
    with pytest.raises(ValueError, match="n_neighbors"):
        fit_colours(wrong)


@pytest.mark.parametrize("scale", [1e-150, 1e150, 1e-300, 1e300])
@pytest.mark.parametrize("weights", ["uniform", "distance"])
@pytest.mark.parametrize("algorithm", ["auto", "brute", "kd_tree"])
def test_scale_of_the_data_does_not_matter(scale: float, weights: str, algorithm: str) -> None:
    X, y = load_iris(return_X_y=True)
    model = KNeighborsClassifier(7, weights=weights, algorithm=algorithm, ties="all")
    plain = model.fit(X, y).predict(X + 0.03)
    np.testing.assert_array_equal(model.fit(X * scale, y).predict((X + 0.03) * scale), plain)


def test_huge_targets_do_not_overflow() -> None:
    model = KNeighborsRegressor(4).fit([[0], [1], [2], [3]], [1e308, 1.5e308, 1e308, 1.5e308])
    np.testing.assert_allclose(model.predict([[1]]), 1.25e308)


def test_later_changes_of_the_callers_rows_do_not_change_the_model() -> None:
    X = np.asfortranarray(POINTS.astype(float))
    model = KNeighborsRegressor(2, regression="linear").fit(X, np.arange(6.0))
    before = model.predict(QUERY)
    X[:] = 0
    np.testing.assert_array_equal(model.predict(QUERY), before)
