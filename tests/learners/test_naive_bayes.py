"""Naive Bayes: the lectures' tables, scikit-learn's figures, mixed and missing cells, and bad input."""

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from example_counts import examples
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.naive_bayes import CategoricalNB, GaussianNB
from sklearn.preprocessing import scale
from weka_outputs import BAYES_TABLES, NAIVE_BAYES, load_table, read_output

from bakeoff.learners import NaiveBayesClassifier

MORTGAGE = pd.DataFrame(
    [
        ("true", "low", "single", "Approve"),
        ("true", "low", "couple", "Approve"),
        ("true", "low", "single", "Approve"),
        ("true", "high", "single", "Approve"),
        ("false", "high", "couple", "Approve"),
        ("true", "low", "couple", "Reject"),
        ("false", "low", "couple", "Reject"),
        ("true", "low", "children", "Reject"),
        ("false", "low", "single", "Reject"),
        ("false", "high", "children", "Reject"),
    ],
    columns=["job", "dep", "fam", "class"],
)
APPLICANT = [["true", "high", "children"]]
READING = [
    ("known", "new", "long", "home", "skips"),
    ("unknown", "new", "short", "work", "reads"),
    ("unknown", "old", "long", "work", "skips"),
    ("known", "old", "long", "home", "skips"),
    ("known", "new", "short", "home", "reads"),
    ("known", "old", "long", "work", "skips"),
]


def mortgage(**parameters: Any) -> NaiveBayesClassifier:
    model = NaiveBayesClassifier(categorical_features=["job", "dep", "fam"], **parameters)
    return model.fit(MORTGAGE[["job", "dep", "fam"]], MORTGAGE["class"])


def applicant(*cells: Any) -> pd.DataFrame:
    return pd.DataFrame([cells or APPLICANT[0]], columns=["job", "dep", "fam"])


def reading(**parameters: Any) -> NaiveBayesClassifier:
    table = np.array(READING)
    return NaiveBayesClassifier(categorical_features=[0, 1, 2, 3], **parameters).fit(table[:, :4], table[:, 4])


def choose_column(tables: list[np.ndarray | None], j: int) -> np.ndarray:
    """Return the fitted table of column j, which is nominal."""
    table = tables[j]
    assert table is not None
    return table


def nominal_table(n: int = 200, d: int = 4, k: int = 5, c: int = 3) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(7)
    return rng.integers(0, k, (n, d)), rng.integers(0, c, n)


# The lectures' numbers


@pytest.mark.parametrize(
    ("alpha", "expected"),
    [
        (0.0, {("job", "true"): (4 / 5, 2 / 5), ("dep", "low"): (3 / 5, 4 / 5), ("fam", "single"): (3 / 5, 1 / 5),
               ("fam", "couple"): (2 / 5, 2 / 5), ("fam", "children"): (0.0, 2 / 5)}),
        (1.0, {("job", "true"): (5 / 7, 3 / 7), ("dep", "low"): (4 / 7, 5 / 7), ("fam", "single"): (4 / 8, 2 / 8),
               ("fam", "couple"): (3 / 8, 3 / 8), ("fam", "children"): (1 / 8, 3 / 8)}),
    ],
)  # fmt: skip
def test_mortgage_probabilities_of_each_value_with_and_without_laplace(
    alpha: float, expected: dict[tuple[str, str], tuple[float, float]]
) -> None:
    model = mortgage(alpha=alpha)
    assert model.class_prior_ == pytest.approx([0.5, 0.5], abs=1e-15)
    for (column, value), probabilities in expected.items():
        j = list(model.feature_names_in_).index(column)
        position = choose_column(model.categories_, j).tolist().index(value)
        assert np.exp(choose_column(model.feature_log_prob_, j)[:, position]) == pytest.approx(probabilities, abs=1e-15)


@pytest.mark.parametrize(
    ("alpha", "joint", "posterior"),
    [(0.0, [0.0, 0.016], [0.0, 1.0]), (1.0, [15 / 784, 18 / 784], [5 / 11, 6 / 11])],
)
def test_mortgage_applicant_is_rejected(alpha: float, joint: list[float], posterior: list[float]) -> None:
    model = mortgage(alpha=alpha)
    assert np.exp(model.predict_joint_log_proba(applicant()))[0] == pytest.approx(joint, rel=1e-12)
    assert model.predict_proba(applicant())[0] == pytest.approx(posterior, rel=1e-12)
    assert model.predict(applicant()).tolist() == ["Reject"]


@pytest.mark.parametrize(("smooth_prior", "expected"), [(True, (0.8200, 0.9011)), (False, (0.7915, 0.8836))])
def test_reading_table_tells_the_smoothed_prior_from_the_plain_one(
    smooth_prior: bool, expected: tuple[float, float]
) -> None:
    model = reading(smooth_prior=smooth_prior)
    e7_e8 = np.array([["known", "new", "short", "work"], ["unknown", "new", "short", "work"]])
    assert model.predict_proba(e7_e8)[:, 0] == pytest.approx(expected, abs=5e-5)
    assert model.predict(e7_e8).tolist() == ["reads", "reads"]
    assert model.class_prior_[0] == pytest.approx(3 / 8 if smooth_prior else 2 / 6)


# The same figures as scikit-learn


def load_standardized(load: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the columns that vary, each with variance 1, and the target.

    GaussianNB smooths all columns by the same amount, which is that of each column if their variances are equal.
    """
    X, y = load(return_X_y=True)
    return scale(X[:, np.ptp(X, axis=0) > 0]), y


@pytest.mark.parametrize("load", [load_iris, load_wine, load_digits])
def test_columns_of_equal_variance_agree_with_gaussian_naive_bayes(load: Any) -> None:
    X, y = load_standardized(load)
    ours, theirs = NaiveBayesClassifier(smooth_prior=False).fit(X, y), GaussianNB().fit(X, y)
    joint, expected = ours.predict_joint_log_proba(X), theirs.predict_joint_log_proba(X)
    # scikit-learn's own rounding of a variance is 1e-14 of it, and digits' joint logarithms reach -1e12.
    assert np.abs(joint - expected).max() <= max(1e-10, 1e-13 * np.abs(expected).max())
    np.testing.assert_allclose(ours.predict_log_proba(X), theirs.predict_log_proba(X), rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(ours.theta_, theirs.theta_, rtol=1e-12)
    np.testing.assert_allclose(ours.var_, theirs.var_, rtol=1e-12)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))


@pytest.mark.parametrize("alpha", [1e-3, 1.0, 7.5])
def test_nominal_columns_agree_with_categorical_naive_bayes(alpha: float) -> None:
    X, y = nominal_table()
    weight = np.random.default_rng(1).uniform(0.1, 3, y.size)
    ours = NaiveBayesClassifier(alpha=alpha, smooth_prior=False, categorical_features=[0, 1, 2, 3]).fit(X, y, weight)
    theirs = CategoricalNB(alpha=alpha).fit(X, y, weight)
    np.testing.assert_allclose(ours.predict_joint_log_proba(X), theirs.predict_joint_log_proba(X), atol=1e-10)
    np.testing.assert_allclose(ours.predict_log_proba(X), theirs.predict_log_proba(X), atol=1e-10)
    for mine, other in zip(ours.category_count_, theirs.category_count_, strict=True):
        assert mine is not None
        np.testing.assert_allclose(mine, other, rtol=1e-12)


# Priors and pseudo-counts


def test_given_class_prior_is_used_as_it_is() -> None:
    model = mortgage(class_prior=[0.9, 0.1])
    assert model.class_prior_.tolist() == [0.9, 0.1]
    odds = model.predict_proba(applicant())[0]
    assert odds[0] / odds[1] == pytest.approx(9 * 15 / 18)


@pytest.mark.parametrize("prior", [[1.0], [0.5, 0.6], [-0.5, 1.5], [math.nan, 1.0], [[0.5, 0.5]]])
def test_a_class_prior_that_is_no_distribution_is_refused(prior: Any) -> None:
    with pytest.raises(ValueError, match=r"class_prior=.* sum to 1"):
        mortgage(class_prior=prior)


def test_dirichlet_parameters_per_value_and_class_enter_numerator_and_denominator() -> None:
    alphas = [[1.0, 2.0, 3.0], [0.0, 0.5, 4.0]]  # children, couple, single
    model = mortgage(alpha=0.0, feature_alpha={"fam": alphas})
    expected = np.array([[1 / 11, 4 / 11, 6 / 11], [2 / 9.5, 2.5 / 9.5, 5 / 9.5]])
    np.testing.assert_allclose(np.exp(choose_column(model.feature_log_prob_, 2)), expected, rtol=1e-12)
    job_probabilities = np.exp(choose_column(model.feature_log_prob_, 0))
    np.testing.assert_allclose(job_probabilities, [[1 / 5, 4 / 5], [3 / 5, 2 / 5]], rtol=1e-12)


def test_one_dirichlet_number_for_every_column_is_alpha() -> None:
    every = mortgage(alpha=1.0, feature_alpha={0: 2.5, "dep": [2.5, 2.5], 2: 2.5})
    plain = mortgage(alpha=2.5)
    for mine, other in zip(every.feature_log_prob_, plain.feature_log_prob_, strict=True):
        assert mine is not None
        assert other is not None
        np.testing.assert_allclose(mine, other, rtol=1e-12)


@pytest.mark.parametrize(
    ("given_alpha", "message"),
    [
        ({"age": 1.0}, "'age', which is not a nominal column"),
        ({"fam": [1.0, 2.0]}, "one per value"),
        ({0: -1.0}, "non-negative"),
    ],
)
def test_wrong_dirichlet_parameters_are_named(given_alpha: dict[Any, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        mortgage(feature_alpha=given_alpha)


def test_enormous_pseudo_count_flattens_every_distribution() -> None:
    model = mortgage(alpha=1e308)
    assert model.predict_proba(applicant())[0] == pytest.approx([0.5, 0.5])
    assert np.exp(choose_column(model.feature_log_prob_, 2)) == pytest.approx(np.full((2, 3), 1 / 3))


def test_declared_domain_counts_where_a_value_never_occurs() -> None:
    table = MORTGAGE[["fam"]].astype(pd.CategoricalDtype(["single", "couple", "children", "widowed"]))
    model = NaiveBayesClassifier().fit(table, MORTGAGE["class"])
    family_probabilities = np.exp(choose_column(model.feature_log_prob_, 0)[0])
    np.testing.assert_allclose(family_probabilities, [4 / 9, 3 / 9, 1 / 9, 1 / 9], rtol=1e-12)


# Unknown values, missing cells, impossible rows


def test_an_unknown_value_and_a_missing_cell_say_nothing() -> None:
    model = mortgage()
    without = np.exp(model.predict_joint_log_proba(applicant("purple", "high", None)))[0]
    assert without == pytest.approx([0.5 * 3 / 7, 0.5 * 2 / 7], rel=1e-12)


def test_an_unknown_value_is_an_error_by_choice() -> None:
    with pytest.raises(ValueError, match="Column 'job' contains a value that was not seen in training"):
        mortgage(handle_unknown="error").predict(applicant("purple", "high", "single"))


def test_a_missing_cell_is_an_error_by_choice() -> None:
    with pytest.raises(ValueError, match="NaN"):
        mortgage(handle_missing="error").predict(applicant(None, "high", "single"))
    with pytest.raises(ValueError, match="NaN"):
        NaiveBayesClassifier(handle_missing="error").fit([[1.0], [np.nan]], [0, 1])


def test_missing_training_cells_are_not_counted() -> None:
    X, y = load_iris(return_X_y=True)
    holes = np.random.default_rng(0).random(X.shape) < 0.3
    model = NaiveBayesClassifier(var_smoothing=0.0).fit(np.where(holes, np.nan, X), y)
    for code in range(3):
        for j in range(4):
            cells = X[(y == code) & ~holes[:, j], j]
            assert model.theta_[code, j] == pytest.approx(cells.mean(), rel=1e-12)
            assert model.var_[code, j] == pytest.approx(cells.var(), rel=1e-12)


def test_a_missing_numeric_cell_leaves_the_other_columns_evidence() -> None:
    X, y = load_iris(return_X_y=True)
    model, narrow = NaiveBayesClassifier().fit(X, y), NaiveBayesClassifier(var_smoothing=0).fit(X[:, :3], y)
    model.var_ -= model.epsilon_
    query = X.copy()
    query[:, 3] = np.nan
    np.testing.assert_allclose(
        model.predict_joint_log_proba(query), narrow.predict_joint_log_proba(X[:, :3]), atol=1e-10
    )


def test_a_class_without_cells_in_a_column_borrows_all_classes_figures() -> None:
    X = pd.DataFrame({"size": [1.0, 3.0, np.nan, np.nan], "colour": pd.Categorical(["r", "g", None, None])})
    model = NaiveBayesClassifier(alpha=0.0, var_smoothing=0.0).fit(X, ["a", "a", "b", "b"])
    assert model.theta_.tolist() == [[2.0], [2.0]]
    assert model.var_.tolist() == [[1.0], [1.0]]
    assert np.exp(choose_column(model.feature_log_prob_, 1)).tolist() == [[0.5, 0.5], [0.5, 0.5]]
    assert model.predict_proba(X) == pytest.approx(np.full((4, 2), 0.5))


def test_columns_without_any_cell_decide_nothing() -> None:
    X = pd.DataFrame({"size": [np.nan] * 3, "colour": pd.Categorical([None] * 3, ["r", "g"]), "kind": [None] * 3})
    model = NaiveBayesClassifier(alpha=0.0, categorical_features=["colour", "kind"]).fit(X, ["a", "b", "b"])
    query = pd.DataFrame({"size": [5.0], "colour": pd.Categorical(["g"], ["r", "g"]), "kind": ["new"]})
    assert model.predict_proba(query)[0] == pytest.approx([1 / 3, 2 / 3])


def test_without_pseudo_count_a_row_impossible_in_every_class_falls_to_the_prior() -> None:
    X, y = [["red", "big"], ["blue", "small"], ["blue", "small"]], [0, 1, 1]
    model = NaiveBayesClassifier(alpha=0.0, categorical_features=[0, 1]).fit(X, y)
    contradiction = [["red", "small"]]
    assert np.isneginf(model.predict_joint_log_proba(contradiction)).all()
    assert model.predict_proba(contradiction)[0] == pytest.approx([1 / 3, 2 / 3])
    assert model.predict(contradiction).tolist() == [1]


def test_without_pseudo_count_a_declared_value_nobody_showed_says_nothing() -> None:
    table = MORTGAGE[["fam"]].astype(pd.CategoricalDtype(["single", "couple", "children", "widowed"]))
    model = NaiveBayesClassifier(alpha=0.0).fit(table, MORTGAGE["class"])
    query = pd.DataFrame({"fam": pd.Categorical(["widowed"], categories=table["fam"].cat.categories)})
    assert model.predict_joint_log_proba(query).tolist() == [[math.log(0.5)] * 2]


# Laws


@examples(200)
@given(seed=st.integers(0, 2**32 - 1))
def test_predictions_are_the_same_in_other_units_with_other_zeros_and_signs(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, d, c = rng.integers(12, 60), rng.integers(1, 7), rng.integers(2, 5)
    y = np.arange(n) % c
    centres = rng.normal(size=(c, d))
    spreads = 10.0 ** rng.uniform(-2, 1, (c, d))
    X = centres[y] + spreads[y] * rng.normal(size=(n, d))
    queries = 3 * rng.normal(size=(20, d))
    constant_in_class = rng.random(d) < 0.2
    X[np.ix_(y == 0, constant_in_class)] = 0.5
    constant = rng.random(d) < 0.2  # in the training rows, but not in the queries
    X[:, constant] = 0.25
    X[rng.random((n, d)) < rng.choice([0.0, 0.1])] = np.nan
    factors = rng.choice([-1.0, 1.0], d) * 10.0 ** rng.uniform(-9, 9, d)
    shifts = factors * rng.uniform(-10, 10, d)
    model = NaiveBayesClassifier(ddof=int(rng.integers(2)))
    expected = model.fit(X, y).predict_log_proba(queries)
    expected_classes = model.predict(queries)
    model.fit(X * factors + shifts, y)
    moved = queries * factors + shifts
    np.testing.assert_allclose(model.predict_log_proba(moved), expected, rtol=1e-7, atol=1e-4)
    assert model.predict(moved).tolist() == expected_classes.tolist()
    assert model.numeric_features_.tolist() == np.flatnonzero(~constant).tolist()


def test_a_constant_column_counts_for_nothing_however_far_a_query_is_from_it() -> None:
    X = np.array([[0.0, 7.0], [1.0, 7.0], [2.0, 7.0], [4.0, 7.0]])
    y = [0, 0, 1, 1]
    model, narrow = NaiveBayesClassifier().fit(X, y), NaiveBayesClassifier().fit(X[:, :1], y)
    far = np.array([[0.5, 1e300], [3.0, -1e12], [1.4, np.nan]])
    assert model.numeric_features_.tolist() == [0]
    assert model.predict_joint_log_proba(far).tolist() == narrow.predict_joint_log_proba(far[:, :1]).tolist()


@pytest.mark.parametrize("given_as", [np.asarray, pd.DataFrame, list])
def test_weight_zero_equals_no_row_so_its_values_belong_to_no_domain(given_as: Any) -> None:
    rows, y = [["a", 1.0], ["b", 2.0], ["z", 9.0], ["a", 3.0]], np.array([0, 1, 1, 1])
    with_idle = NaiveBayesClassifier(categorical_features=[0]).fit(given_as(rows), y, [1, 1, 0, 1])
    without = NaiveBayesClassifier(categorical_features=[0]).fit(given_as(rows[:2] + rows[3:]), y[[0, 1, 3]])
    assert list(choose_column(with_idle.categories_, 0)) == ["a", "b"]
    np.testing.assert_array_equal(with_idle.feature_log_prob_[0], without.feature_log_prob_[0])
    np.testing.assert_array_equal(with_idle.theta_, without.theta_)


# Bad input


def test_a_class_constant_in_a_column_needs_smoothing_of_variances() -> None:
    X, y = [[1.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]
    with pytest.raises(ValueError, match="variance 0 in column 0: give var_smoothing > 0"):
        NaiveBayesClassifier(var_smoothing=0.0).fit(X, y)
    assert NaiveBayesClassifier().fit(X, y).predict([[1.0], [1.1]]).tolist() == [0, 1]


def test_values_too_large_to_square_are_refused() -> None:
    with pytest.raises(ValueError, match="variance overflows"):
        NaiveBayesClassifier().fit([[1e200], [-1e200], [0.0]], [0, 0, 1])
    model = NaiveBayesClassifier().fit([[0.0], [1.0], [2.0], [4.0]], [0, 0, 1, 1])
    with pytest.raises(ValueError, match="so far from the training data"):
        model.predict([[1e200]])


def test_values_too_small_to_square_are_refused() -> None:
    with pytest.raises(ValueError, match="tiny values"):
        NaiveBayesClassifier().fit([[1e-200], [2e-200], [5e-200], [6e-200]], [0, 0, 1, 1])


def test_log_probabilities_stay_exact_where_the_probability_underflows() -> None:
    model = NaiveBayesClassifier().fit([[0.0], [1.0], [100.0], [101.0]], [0, 0, 1, 1])
    log_proba = model.predict_log_proba([[0.5]])
    assert model.predict_proba([[0.5]])[0, 1] == 0.0
    assert np.isfinite(log_proba).all()
    assert log_proba[0, 1] == pytest.approx(-20000, rel=0.02)


def test_gaussians_predict_what_weka_predicts() -> None:
    for name in BAYES_TABLES:
        data = load_table(name)
        X, y = data.half(0)
        queries, _ = data.half(1)
        gaussians = NaiveBayesClassifier().fit(X, y).predict(queries)
        # WEKA rounds numbers to the mean gap of their column before it takes means and variances.
        assert np.mean(gaussians == read_output(NAIVE_BAYES, "", name).predicted) > 0.97


@pytest.mark.parametrize("options", [{}, {"ddof": 1}])
def test_with_every_density_weight_two_is_the_row_twice_and_the_order_of_rows_does_not_matter(
    options: dict[str, Any],
) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3)).round(1)
    X[rng.random((60, 3)) < 0.1] = np.nan
    y = rng.integers(0, 3, 60)
    weight = rng.integers(1, 4, 60)
    queries = rng.normal(size=(40, 3))
    queries[0, 1] = np.nan
    weighted = NaiveBayesClassifier(**options).fit(X, y, weight)
    shuffled = rng.permutation(np.repeat(np.arange(60), weight))
    repeated = NaiveBayesClassifier(**options).fit(X[shuffled], y[shuffled])
    np.testing.assert_allclose(weighted.predict_log_proba(queries), repeated.predict_log_proba(queries), rtol=1e-9)


def test_the_variance_divides_by_one_less_where_something_is_left() -> None:
    X = np.array([[1.0, 2.0], [3.0, np.nan], [4.0, 5.0], [7.0, 1.0]])
    y = ["a", "a", "a", "b"]
    model = NaiveBayesClassifier(ddof=1, var_smoothing=0).fit(X, y)
    np.testing.assert_allclose(model.var_[0], [np.var([1, 3, 4], ddof=1), np.var([2, 5], ddof=1)])
    # The only row of its class has no such variance: that of all rows about all classes is taken.
    np.testing.assert_allclose(model.var_[1], [np.var([1, 3, 4, 7]), np.var([2, 5, 1])])
    np.testing.assert_allclose(model.theta_, [[8 / 3, 3.5], [7.0, 1.0]])
