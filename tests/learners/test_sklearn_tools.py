"""scikit-learn's tools for trees take ours: their names, their types and what they draw."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
import sklearn.ensemble
import sklearn.tree
from sklearn.datasets import load_diabetes, load_iris
from sklearn.inspection import partial_dependence
from sklearn.metrics import matthews_corrcoef, mean_absolute_error

from bakeoff.learners import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)

Tree = DecisionTreeClassifier | DecisionTreeRegressor

IRIS = load_iris(return_X_y=True)
FITTED: dict[str, Callable[[], Tree]] = {
    "classes": lambda: DecisionTreeClassifier(max_depth=4).fit(*load_iris(return_X_y=True)),
    "numbers": lambda: DecisionTreeRegressor(max_leaf_nodes=20).fit(*load_diabetes(return_X_y=True)),
    "pruned": lambda: DecisionTreeClassifier(ccp_alpha=0.01).fit(*load_iris(return_X_y=True)),
    "one node": lambda: DecisionTreeClassifier().fit([[1.0], [1.0]], [0, 1]),
}


@pytest.fixture(params=FITTED)
def tree(request: pytest.FixtureRequest) -> Tree:
    return FITTED[request.param]()


def grid_of(tree: Tree) -> np.ndarray:
    """Return rows around every threshold of a tree, and rows with a missing cell: (m, d)."""
    rng = np.random.default_rng(0)
    thresholds = tree.fitted_tree_.threshold[~tree.fitted_tree_.is_leaf]
    cells = np.concatenate([thresholds, np.nextafter(thresholds, -np.inf), thresholds + 0.1, [np.nan]])
    grid: np.ndarray = rng.choice(cells, size=(200, tree.n_features_in_))
    return grid


def descend(tree: Any, row: np.ndarray) -> int:
    """Follow a row down a tree of scikit-learn's form, as its documentation says, without rounding to 32 bits."""
    node = 0
    while tree.children_left[node] != -1:
        cell = row[tree.feature[node]]
        goes_left = tree.missing_go_to_left[node] if np.isnan(cell) else cell <= tree.threshold[node]
        node = tree.children_left[node] if goes_left else tree.children_right[node]
    return node


def test_the_tree_in_scikit_learns_form_leads_every_row_to_the_same_node(tree: Tree) -> None:
    grid = grid_of(tree)
    theirs = tree.tree_
    assert isinstance(theirs, sklearn.tree._tree.Tree)
    assert [descend(theirs, row) for row in grid] == tree.apply(grid).tolist()


def test_the_tree_in_scikit_learns_form_has_the_same_numbers(tree: Tree) -> None:
    ours = tree.fitted_tree_
    theirs = tree.tree_
    for name in ("node_count", "max_depth", "n_leaves"):
        assert getattr(theirs, name) == getattr(ours, name)
    for name in ("impurity", "n_node_samples", "weighted_n_node_samples"):
        np.testing.assert_array_equal(getattr(theirs, name), getattr(ours, name))
    np.testing.assert_array_equal(theirs.value[:, 0], ours.value)
    np.testing.assert_allclose(theirs.compute_feature_importances(), tree.feature_importances_, atol=1e-12)


def test_a_tree_that_was_fitted_before_scikit_learns_trees_were_imported_is_taken_as_well() -> None:
    script = """
import sys
from bakeoff.learners import DecisionTreeClassifier
tree = DecisionTreeClassifier().fit([[0.0], [1.0]], [0, 1])
assert "sklearn.tree" not in sys.modules
from sklearn.tree import export_text
print(export_text(tree))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert "|--- feature_0 <= 0.50" in done.stdout


def test_a_tree_on_nominal_columns_has_no_such_form_and_says_what_to_read() -> None:
    tree = DecisionTreeClassifier(categorical_features=[0]).fit(np.array([["a"], ["b"]], dtype=object), [0, 1])
    assert not hasattr(tree, "tree_")
    with pytest.raises(AttributeError, match="use fitted_tree_, or encode the columns"):
        tree.tree_  # noqa: B018


@pytest.fixture
def forest() -> RandomForestClassifier:
    return RandomForestClassifier(n_estimators=7, max_depth=4, random_state=0).fit(*IRIS)


def test_a_forest_is_a_list_of_fitted_trees(forest: RandomForestClassifier) -> None:
    X = IRIS[0]
    assert isinstance(forest, sklearn.ensemble.RandomForestClassifier)
    assert len(forest.estimators_) == 7
    assert bool(RandomForestClassifier())
    assert [member.get_n_leaves() for member in forest.estimators_] == [tree.n_leaves for tree in forest.trees_]
    assert isinstance(forest.estimators_[0], DecisionTreeClassifier)
    assert (forest.estimators_[0].max_depth, forest.estimators_[0].max_features_, forest.n_classes_) == (4, 2, 3)
    average = np.mean([member.predict_proba(X) for member in forest.estimators_], axis=0)
    np.testing.assert_allclose(forest.predict_proba(X), average)
    assert sklearn.tree.export_text(forest.estimators_[3]).count("class") == forest.trees_[3].n_leaves


def test_the_trees_of_a_forest_know_its_columns() -> None:
    cells = np.array([["a", "x"], ["b", "x"], ["a", "y"], ["b", "y"]] * 5, dtype=object)
    y = np.array([0.0, 1.0, 2.0, 3.0] * 5)
    forest = RandomForestRegressor(n_estimators=3, categorical_features=[0, 1], random_state=0).fit(cells, y)
    average = np.mean([member.predict(cells) for member in forest.estimators_], axis=0)
    np.testing.assert_allclose(forest.predict(cells), average)


def test_an_out_of_bag_score_of_ones_own() -> None:
    X, y = IRIS
    own = RandomForestClassifier(n_estimators=40, oob_score=matthews_corrcoef, random_state=0).fit(X, y)
    assert own.oob_score_ == pytest.approx(matthews_corrcoef(y, own.oob_decision_function_.argmax(axis=1)))
    X, y = load_diabetes(return_X_y=True)
    regressor = RandomForestRegressor(n_estimators=40, oob_score=mean_absolute_error, random_state=0).fit(X, y)
    assert regressor.oob_score_ == pytest.approx(mean_absolute_error(y, regressor.oob_prediction_))


def test_rows_that_every_tree_has_drawn_are_counted_in_a_warning() -> None:
    with pytest.warns(
        UserWarning, match=r"Some inputs do not have OOB scores: \d+ of 149 rows were drawn by every tree"
    ):
        RandomForestClassifier(n_estimators=2, oob_score=True, random_state=0).fit(*IRIS)


def test_no_out_of_bag_score_where_every_tree_has_all_rows() -> None:
    with pytest.raises(ValueError, match="Out of bag estimation only available if bootstrap=True"):
        RandomForestClassifier(oob_score=True, bootstrap=False).fit(*IRIS)


def test_more_draws_than_rows() -> None:
    X, y = IRIS
    one = RandomForestClassifier(n_estimators=3, max_samples=1.5, random_state=0).fit(X, y)
    other = RandomForestClassifier(n_estimators=3, max_samples=225, random_state=0).fit(X, y)
    np.testing.assert_array_equal(one.predict_proba(X), other.predict_proba(X))


def test_balanced_subsample_gives_all_classes_of_a_tree_the_same_weight() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    y = np.repeat([0, 1, 2], [150, 40, 10])
    forest = RandomForestClassifier(n_estimators=20, max_depth=2, class_weight="balanced_subsample", random_state=0)
    for tree in forest.fit(X, y).trees_:
        np.testing.assert_allclose(tree.value[0], 1 / 3)
        assert tree.weighted_n_node_samples[0] == pytest.approx(200)
    # Where every tree has all rows, it is "balanced".
    whole = [
        RandomForestClassifier(n_estimators=3, bootstrap=False, class_weight=name, random_state=0).fit(X, y)
        for name in ("balanced", "balanced_subsample")
    ]
    np.testing.assert_array_equal(whole[0].predict_proba(X), whole[1].predict_proba(X))


def test_partial_dependence_of_trees_is_the_mean_of_predictions_where_columns_are_independent() -> None:
    # With every combination of values once, the weighted traversal and the mean over all rows agree.
    numbers, letters = np.meshgrid(np.arange(4.0), ["a", "b", "c"])
    X = pd.DataFrame({"number": numbers.ravel(), "letter": pd.Categorical(letters.ravel())})
    y = X["number"] ** 2 + X["letter"].map({"a": 0.0, "b": 5.0, "c": 1.0}).astype(float) * (X["number"] > 1)
    tree = DecisionTreeRegressor().fit(X, y)
    forest = RandomForestRegressor(3, bootstrap=False, random_state=0).fit(X, y)
    for learner in (tree, forest):
        for column in ("number", "letter"):
            values = sorted(set(X[column]))
            asked = {"custom_values": {column: np.array(values)}, "categorical_features": ["letter"]}
            by_recursion = partial_dependence(learner, X, [column], method="recursion", **asked)["average"][0]
            by_rows = [y[X[column] == value].mean() for value in values]
            np.testing.assert_allclose(by_recursion, by_rows)


def test_partial_dependence_of_a_tree_is_scikit_learns() -> None:
    X, y = load_diabetes(return_X_y=True)
    ours = DecisionTreeRegressor(max_depth=3).fit(X, y)
    theirs = sklearn.tree.DecisionTreeRegressor(max_depth=3, random_state=0).fit(X, y)
    for features in ([2], [2, 8]):
        one, other = (partial_dependence(tree, X, features, grid_resolution=20)["average"] for tree in (ours, theirs))
        np.testing.assert_allclose(one, other)
