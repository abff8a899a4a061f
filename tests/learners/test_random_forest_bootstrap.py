"""Bootstrap samples: a weight is the number of times that a row counts, and the order of rows does not matter."""

from typing import Any

import numpy as np
import pytest
from random_forests import (
    FOREST_CLASSES,
    choose_target,
    list_fitted_bytes,
    make_forest,
    make_mixed_table,
)
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.metrics import r2_score

from bakeoff.learners import RandomForestClassifier, RandomForestRegressor
from bakeoff.learners.random_forest.batch_grower import TrainingRows

pytestmark = pytest.mark.filterwarnings("ignore:Some inputs do not have OOB scores")

OPTIONS: list[dict[str, Any]] = [
    {},
    {"oob_score": True},
    {"max_samples": 0.4},
    {"max_samples": 50, "feature_subset": "tree"},
    {"bootstrap": False, "max_samples": 0.5, "max_features": 2},
    {"max_leaf_nodes": 8, "min_samples_leaf": 0.02, "min_weight_fraction_leaf": 0.02},
    {"ccp_alpha": 0.01, "class_weight": "balanced"},
]


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("forest_class", FOREST_CLASSES)
def test_a_row_of_weight_w_is_the_row_w_times_to_the_last_bit(forest_class: Any, options: dict[str, Any]) -> None:
    X, y, weight = make_mixed_table()
    y = choose_target(forest_class, y)
    weighted = make_forest(forest_class, options).fit(X, y, sample_weight=weight)
    repeated = make_forest(forest_class, options).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    assert list_fitted_bytes(weighted) == list_fitted_bytes(repeated)


@pytest.mark.parametrize("options", [*OPTIONS, {"bootstrap": False}])
@pytest.mark.parametrize("forest_class", FOREST_CLASSES)
def test_rows_in_another_order_give_the_same_forest_to_the_last_bit(forest_class: Any, options: dict[str, Any]) -> None:
    X, y, weight = make_mixed_table()
    y = choose_target(forest_class, y)
    needs_whole_weights = "max_samples" in options and options.get("bootstrap") is False
    if not needs_whole_weights:
        weight = weight * 0.37
    order = np.random.default_rng(1).permutation(len(y))
    forest = make_forest(forest_class, options).fit(X, y, sample_weight=weight)
    reordered = make_forest(forest_class, options).fit(X[order], y[order], sample_weight=weight[order])
    assert list_fitted_bytes(forest) == list_fitted_bytes(reordered)
    if forest.oob_score:
        name = "oob_prediction_" if forest_class is RandomForestRegressor else "oob_decision_function_"
        np.testing.assert_array_equal(getattr(forest, name)[order], getattr(reordered, name))


@pytest.mark.parametrize("forest_class", FOREST_CLASSES)
def test_without_a_draw_a_weight_is_a_weight_and_the_row_is_one_row(forest_class: Any) -> None:
    X, y, weight = make_mixed_table()
    y = choose_target(forest_class, y)
    repeated_X = np.repeat(X, weight, axis=0)
    repeated_y = np.repeat(y, weight)
    no_draw = {"bootstrap": False}
    weighted = make_forest(forest_class, no_draw).fit(X, y, sample_weight=weight)
    repeated = make_forest(forest_class, no_draw).fit(repeated_X, repeated_y)
    np.testing.assert_array_equal(weighted.predict(X), repeated.predict(X))

    # The limits of rows tell one row of weight 2 from two rows, in a forest as in a tree.
    for limit in ({"min_samples_leaf": 2}, {"min_samples_split": 4}):
        forest = forest_class(5, bootstrap=False, random_state=0, **limit)
        one_of_two = forest.fit([[0.0], [1.0]], [0, 1], sample_weight=[2, 2]).trees_[0]
        two_of_one = forest.fit([[0.0], [0.0], [1.0], [1.0]], [0, 0, 1, 1]).trees_[0]
        assert (one_of_two.node_count, two_of_one.node_count) == (1, 3)


def test_rows_are_drawn_in_proportion_to_their_weights() -> None:
    X = np.arange(5.0)[:, None]
    y = X[:, 0]
    weight = np.array([0.5, 1.25, 0.0, 3.0, 0.25])
    forest = RandomForestRegressor(400, max_samples=100, random_state=0).fit(X, y, sample_weight=weight)
    counts = np.zeros(5)
    for tree in forest.trees_:
        leaves = np.flatnonzero(tree.is_leaf)
        np.add.at(counts, tree.value[leaves, 0].astype(int), tree.n_node_samples[leaves])
    np.testing.assert_allclose(counts / counts.sum(), weight / weight.sum(), atol=0.01)


def test_class_weights_count_in_the_criterion_and_not_in_the_draw() -> None:
    X, y = load_wine(return_X_y=True)
    options: dict[str, Any] = {"n_estimators": 5, "max_depth": 1, "max_features": None, "random_state": 0}
    plain = RandomForestClassifier(**options).fit(X, y)
    weighted = RandomForestClassifier(**options, class_weight={2: 1000}).fit(X, y)
    for plain_tree, weighted_tree in zip(plain.trees_, weighted.trees_, strict=True):
        assert plain_tree.n_node_samples[0] == weighted_tree.n_node_samples[0] == len(y)
        expected = plain_tree.value[0] * [1, 1, 1000]
        np.testing.assert_allclose(weighted_tree.value[0], expected / expected.sum())


@pytest.mark.parametrize("forest_class", FOREST_CLASSES)
def test_the_out_of_bag_prediction_of_a_row_is_that_of_the_trees_that_have_not_drawn_it(forest_class: Any) -> None:
    X, y = load_wine(return_X_y=True)
    forest = forest_class(9, oob_score=True, random_state=0).fit(X, y)
    drawn = [rows for rows, _ in forest.list_draws(X, y)]
    values = np.array([tree.value[tree.apply(X)] for tree in forest.trees_])  # (9, n, c), or (9, n, 1) of means
    values[[np.isin(np.arange(len(y)), rows) for rows in drawn]] = np.nan
    name = "oob_prediction_" if forest_class is RandomForestRegressor else "oob_decision_function_"
    predictions = getattr(forest, name).reshape(values.shape[1:])
    known = ~np.isnan(values[:, :, 0]).all(axis=0)  # (n,)
    assert 0 < known.mean() < 1
    np.testing.assert_allclose(predictions[known], np.nanmean(values[:, known], axis=0))
    assert np.isnan(predictions[~known]).all()


def test_the_out_of_bag_score_is_weighted_and_rows_of_weight_zero_have_no_prediction() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    weight = np.where(y == 0, 3.0, 1.0)
    weight[:20] = 0
    forest = RandomForestClassifier(30, max_depth=2, oob_score=True, random_state=0).fit(X, y, sample_weight=weight)
    predictions = forest.oob_decision_function_
    assert predictions.shape == (len(y), 2)
    assert np.isnan(predictions[:20]).all()
    has_prediction = ~np.isnan(predictions[:, 0])
    is_correct = predictions[has_prediction].argmax(axis=1) == y[has_prediction]
    assert forest.oob_score_ == pytest.approx(np.average(is_correct, weights=weight[has_prediction]))
    assert forest.oob_score_ != pytest.approx(is_correct.mean())
    regressor = RandomForestRegressor(30, oob_score=True, random_state=0).fit(X, X[:, 0], sample_weight=weight)
    known = ~np.isnan(regressor.oob_prediction_)
    expected = r2_score(X[known, 0], regressor.oob_prediction_[known], sample_weight=weight[known])
    assert regressor.oob_score_ == pytest.approx(expected)


def test_weights_that_sum_to_one_give_a_warning_that_names_the_remedy() -> None:
    X, y = load_wine(return_X_y=True)
    weight = np.full(len(y), 1 / len(y))
    with pytest.warns(UserWarning, match=r"sums to 1, .* draws 1 of 178 rows. Multiply the weights by 178"):
        RandomForestClassifier(2).fit(X, y, sample_weight=weight)
    forest = RandomForestClassifier(20, max_samples=len(y), random_state=0).fit(X, y, sample_weight=weight)
    assert forest.score(X, y) > 0.95


def test_drawing_a_part_without_replacement_rejects_fractional_weights() -> None:
    X, y = load_wine(return_X_y=True)
    forest = RandomForestClassifier(2, bootstrap=False, max_samples=0.5)
    with pytest.raises(
        ValueError, match=r"contains 0\.5, but bootstrap=False with max_samples=0\.5 .* give integer weights"
    ):
        forest.fit(X, y, sample_weight=np.full(len(y), 0.5))


@pytest.mark.parametrize("options", [{}, {"bootstrap": False, "max_samples": 0.5}])
def test_large_weights_cost_no_more_than_small_ones_and_are_drawn_in_proportion(options: dict[str, Any]) -> None:
    X = np.arange(40.0)[:, None]
    y = np.arange(40) % 2
    weight = np.full(40, 1e6)
    replacement = not options
    rows = TrainingRows.from_table(X, y, weight, merge_equal=True)
    counts = rows.draw_counts(np.random.default_rng(0), 20_000_000, replacement=replacement)
    assert counts.sum() == 20_000_000
    np.testing.assert_allclose(counts, 500_000, rtol=0.02)
    forest = RandomForestClassifier(3, random_state=0, **options).fit(X, y, sample_weight=weight)
    np.testing.assert_array_equal(forest.predict(X), y)
    largest_weight = np.full(40, 1e150)
    if replacement:
        np.testing.assert_array_equal(forest.fit(X, y, sample_weight=largest_weight).predict(X), y)
    else:
        with pytest.raises(ValueError, match="divide all weights"):
            forest.fit(X, y, sample_weight=largest_weight)


def test_as_many_draws_without_replacement_as_copies_are_all_rows_with_any_weights() -> None:
    X, y, weight = np.arange(4.0).reshape(-1, 1), [0, 0, 1, 1], [0.5, 1.5, 1.0, 1.0]
    given: dict[str, Any] = {"n_estimators": 2, "bootstrap": False, "random_state": 0}
    part, whole = (RandomForestClassifier(max_samples=share, **given).fit(X, y, weight) for share in (1.0, None))
    np.testing.assert_array_equal(part.predict_proba(X), whole.predict_proba(X))
