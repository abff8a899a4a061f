"""Trees whose thresholds are random: where they lie, what they depend on, and how they are chosen."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import kstest
from sklearn.datasets import load_diabetes

from bakeoff.learners import DecisionTreeClassifier, DecisionTreeRegressor


def test_the_threshold_of_one_column_is_uniform_between_its_extremes() -> None:
    X = np.array([[0.0], [0.5], [1.0], [4.0]])
    thresholds = []
    for seed in range(300):
        tree = DecisionTreeClassifier(splitter="random", max_depth=1, random_state=seed).fit(X, [0, 1, 0, 1])
        thresholds.append(tree.fitted_tree_.threshold[0])
    assert min(thresholds) > 0
    assert max(thresholds) <= 4
    assert kstest(np.array(thresholds) / 4, "uniform").pvalue > 0.01


def test_a_node_takes_the_better_of_the_drawn_cuts() -> None:
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.random(200), np.repeat([0.0, 1.0], 100), rng.random(200)])
    y = np.repeat([0, 1], 100)
    for seed in range(20):
        tree = DecisionTreeClassifier(splitter="random", random_state=seed).fit(X, y)
        # Any cut of the second column separates the classes.
        assert (tree.get_depth(), tree.fitted_tree_.feature[0]) == (1, 1)


@pytest.mark.parametrize("limit", [{}, {"min_samples_leaf": 5}, {"max_leaf_nodes": 9}, {"max_features": 2}])
def test_limits_hold_and_rows_are_where_the_questions_lead(limit: dict[str, Any]) -> None:
    X, y = load_diabetes(return_X_y=True)
    X = X[:150].copy()
    X[::7, 2] = np.nan
    learner = DecisionTreeRegressor(splitter="random", random_state=3, **limit)
    tree = learner.fit(X, y[:150]).fitted_tree_
    reached = np.bincount(tree.apply(X), minlength=tree.node_count)
    np.testing.assert_array_equal(reached[tree.is_leaf], tree.n_node_samples[tree.is_leaf])
    assert reached[tree.is_leaf].min() >= limit.get("min_samples_leaf", 1)
    assert tree.n_leaves <= limit.get("max_leaf_nodes", 150)
    again = learner.fit(X, y[:150]).fitted_tree_
    np.testing.assert_array_equal(tree.threshold, again.threshold)


def test_missing_cells_can_be_the_question() -> None:
    X = np.array([[1.0], [1.0], [np.nan], [np.nan]])
    tree = DecisionTreeClassifier(splitter="random", random_state=0).fit(X, [0, 0, 1, 1])
    np.testing.assert_array_equal(tree.predict([[1.0], [7.0], [np.nan]]), [0, 0, 1])


def test_gain_ratio_is_refused() -> None:
    with pytest.raises(ValueError, match="splitter='random' compares features"):
        DecisionTreeClassifier(splitter="random", criterion="gain_ratio").fit([[0.0], [1.0]], [0, 1])
