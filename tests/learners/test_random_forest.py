"""Random forests: draws of rows and features, both kinds of voting, out-of-bag scores, and scikit-learn beside them."""

from typing import Any

import numpy as np
import pytest
from random_forests import NOMINAL_FEATURE, choose_target, make_mixed_table
from sklearn.datasets import load_breast_cancer, load_wine

from bakeoff.learners import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)


def test_feature_subsets_by_tree_limit_a_tree_to_its_features() -> None:
    X, y = load_wine(return_X_y=True)
    forest = RandomForestClassifier(20, feature_subset="tree", max_features=3, random_state=0).fit(X, y)
    used = [set(tree.feature[~tree.is_leaf]) for tree in forest.trees_]
    assert all(len(features) <= 3 for features in used)
    assert len(set().union(*used)) > 6
    assert forest.score(X, y) > 0.95


def test_without_replacement_a_tree_has_the_fraction_of_rows_each_once() -> None:
    X = np.arange(40.0)[:, None]
    y = np.arange(40.0)
    forest = RandomForestRegressor(5, bootstrap=False, max_samples=0.25, random_state=0).fit(X, y)
    for tree in forest.trees_:
        assert tree.n_node_samples[0] == 10
        assert tree.n_leaves == 10


def test_leaves_are_limited_and_trees_pruned_as_those_of_a_decision_tree() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    options: dict[str, Any] = {"n_estimators": 1, "bootstrap": False, "max_features": None, "random_state": 0}
    limits: list[dict[str, Any]] = [{"max_leaf_nodes": 5}, {"ccp_alpha": 0.01}]
    for limit in limits:
        forest = RandomForestClassifier(**options, **limit).fit(X, y)
        tree = DecisionTreeClassifier(**limit).fit(X, y)
        np.testing.assert_array_equal(forest.trees_[0].threshold, tree.fitted_tree_.threshold)
    forest = RandomForestClassifier(10, max_leaf_nodes=5, random_state=0).fit(X, y)
    assert {tree.n_leaves for tree in forest.trees_} == {5}


@pytest.mark.parametrize("nominal_splits", ["multiway", "binary"])
@pytest.mark.parametrize(
    ("forest_class", "tree_class"),
    [(RandomForestClassifier, DecisionTreeClassifier), (RandomForestRegressor, DecisionTreeRegressor)],
)
def test_without_draws_a_tree_is_a_decision_tree_of_the_same_rows_weights_values_and_missing_cells(
    forest_class: Any, tree_class: Any, nominal_splits: str
) -> None:
    X, y, weight = make_mixed_table()
    y, weight = choose_target(forest_class, y), weight * 0.37
    options: dict[str, Any] = {"categorical_features": [NOMINAL_FEATURE], "nominal_splits": nominal_splits}
    forest = forest_class(1, bootstrap=False, max_features=None, random_state=0, **options).fit(X, y, weight)
    tree = tree_class(**options).fit(X, y, weight)
    np.testing.assert_array_equal(forest.trees_[0].feature, tree.fitted_tree_.feature)
    np.testing.assert_array_equal(forest.trees_[0].threshold, tree.fitted_tree_.threshold)
    np.testing.assert_allclose(forest.trees_[0].value, tree.fitted_tree_.value)
    query = np.vstack([X, np.full((1, 4), 99.0), np.full((1, 4), np.nan)])
    np.testing.assert_allclose(forest.predict(query), tree.predict(query))


def test_importances_find_the_relevant_feature_and_sum_to_one() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 5))
    forest = RandomForestClassifier(20, random_state=0).fit(X, X[:, 3] > 0)
    assert np.argmax(forest.feature_importances_) == 3
    assert forest.feature_importances_.sum() == pytest.approx(1)


@pytest.mark.parametrize("nominal", [None, [3], [0, 1, 2, 3]])
@pytest.mark.parametrize("missing", [False, True])
def test_rows_stop_where_they_stop_in_each_tree(nominal: Any, missing: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    # Several groups of trees.
    monkeypatch.setattr("bakeoff.learners.random_forest.predictor.NODES_PER_GROUP", 300)
    X, y, _ = make_mixed_table()
    X = X if missing else np.nan_to_num(X)
    forest = RandomForestRegressor(9, categorical_features=nominal, max_features=2, random_state=0).fit(X, y)
    query = np.vstack([X, X[:, ::-1], np.full((1, 4), 99.0)])
    table = forest._check_query(query)
    predictions = [tree.value[tree.apply(table), 0] for tree in forest.trees_]
    np.testing.assert_allclose(forest.predict(query), np.sum(predictions, axis=0) / 9, rtol=1e-12)
