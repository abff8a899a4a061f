"""Regression trees and forests by absolute deviations from medians, against sums of |y - median| and scikit-learn."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import sklearn.tree
from example_counts import examples
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_diabetes
from sklearn.metrics import mean_absolute_error

from bakeoff.learners import DecisionTreeRegressor, RandomForestRegressor


def deviate(y: np.ndarray, weight: np.ndarray) -> Fraction:
    """Return the least sum of weighted absolute deviations of targets from any one of them."""
    targets = [Fraction(float(value)) for value in y]
    weights = [Fraction(float(value)) for value in weight]
    sums = [sum(w * abs(v - centre) for v, w in zip(targets, weights, strict=True)) for centre in targets]
    return Fraction(min(sums, default=0))


def list_gains(X: np.ndarray, y: np.ndarray, weight: np.ndarray) -> dict[tuple[int, float, bool], Fraction]:
    """Return the decrease of the sum of deviations by every cut: its feature, threshold and side of missing cells."""
    gains = {}
    whole = deviate(y, weight)
    for j, column in enumerate(X.T):
        missing = np.isnan(column)
        known = np.unique(column[~missing])
        thresholds = [(low + high) / 2 for low, high in pairwise(known.tolist())]
        if missing.any() and known.size:
            thresholds.append(np.inf)
        for s in thresholds:
            for missing_left in (False, True) if missing.any() and s < np.inf else (False,):
                left = (column < s) | (missing & missing_left)
                parts = deviate(y[left], weight[left]) + deviate(y[~left], weight[~left])
                gains[j, s, missing_left] = whole - parts
    return gains


@examples(40)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(2, 14),
    with_missing=st.booleans(),
    weights=st.sampled_from(["none", "whole", "fractions"]),
)
def test_the_root_takes_the_first_cut_of_least_absolute_deviation(
    seed: int, n: int, with_missing: bool, weights: str
) -> None:
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 5, size=(n, 3)).astype(float)
    if with_missing:
        X[rng.random(X.shape) < 0.2] = np.nan
    y = rng.integers(0, 8, size=n).astype(float)
    weight = {"none": np.ones(n), "whole": rng.integers(1, 4, n), "fractions": rng.integers(1, 9, n) / 8}[weights]
    tree = DecisionTreeRegressor(criterion="absolute_error", max_depth=1).fit(X, y, weight).fitted_tree_
    gains = list_gains(X, y, weight.astype(float))
    if not gains or np.ptp(y) == 0:
        assert tree.node_count == 1
        return
    largest = max(gains.values())
    first = next(cut for cut, gain in sorted(gains.items()) if gain == largest)
    assert (tree.feature[0], tree.threshold[0]) == first[:2]
    assert tree.gain[0] == pytest.approx(float(largest), abs=1e-9)
    assert tree.impurity[0] == pytest.approx(float(deviate(y, weight.astype(float))) / weight.sum())
    assert tree.weighted_n_node_samples[1:] @ tree.impurity[1:] == pytest.approx(
        float(deviate(y, weight.astype(float)) - largest)
    )


def test_nodes_predict_the_middle_of_their_medians() -> None:
    # The table of scikit-learn's documentation of the criterion, with the medians and deviations computed by hand.
    X = [[3], [5], [3], [8], [5]]
    y = [6, 7, 3, 4, 3]
    tree = DecisionTreeRegressor(criterion="absolute_error", max_leaf_nodes=2).fit(X, y).fitted_tree_
    assert tree.value.ravel().tolist() == [4.0, 4.5, 4.0]
    assert tree.impurity.tolist() == [1.4, 1.5, 4 / 3]
    weighted = DecisionTreeRegressor(criterion="absolute_error", max_leaf_nodes=2)
    weighted.fit(X, y, sample_weight=[0.6, 0.3, 0.1, 1.0, 0.3])
    assert weighted.fitted_tree_.value.ravel().tolist() == [4.0, 6.0, 4.0]
    np.testing.assert_allclose(weighted.fitted_tree_.impurity, [2.5 / 2.3, 0.3 / 0.7, 1.2 / 1.6])


@pytest.mark.parametrize("limit", [{"max_depth": 4}, {"max_leaf_nodes": 12}])
def test_limited_trees_are_scikit_learns(limit: dict[str, Any]) -> None:
    X, y = load_diabetes(return_X_y=True)
    ours = DecisionTreeRegressor(criterion="absolute_error", **limit).fit(X, y)
    theirs = sklearn.tree.DecisionTreeRegressor(criterion="absolute_error", random_state=0, **limit).fit(X, y)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X))
    np.testing.assert_allclose(np.sort(ours.fitted_tree_.impurity), np.sort(theirs.tree_.impurity))


def test_a_row_of_weight_two_is_the_row_twice() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y = rng.integers(0, 20, 60).astype(float)
    times = rng.integers(1, 4, 60)
    weighted = DecisionTreeRegressor(criterion="absolute_error", max_depth=5).fit(X, y, times)
    repeated = DecisionTreeRegressor(criterion="absolute_error", max_depth=5).fit(
        X.repeat(times, axis=0), y.repeat(times)
    )
    np.testing.assert_array_equal(weighted.fitted_tree_.threshold, repeated.fitted_tree_.threshold)
    np.testing.assert_array_equal(weighted.fitted_tree_.value, repeated.fitted_tree_.value)


def test_forests_of_medians_resist_outliers() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    clean = X[:, 0] * 3 + X[:, 1]
    y = np.where(rng.random(300) < 0.1, 1e4, clean)
    errors = {}
    for criterion in ("squared_error", "absolute_error"):
        forest = RandomForestRegressor(10, criterion=criterion, min_samples_leaf=30, random_state=0).fit(X, y)
        errors[criterion] = mean_absolute_error(clean, forest.predict(X))
    assert errors["absolute_error"] < errors["squared_error"] / 3


def test_one_tree_of_a_forest_on_all_rows_is_the_decision_tree() -> None:
    X, y = load_diabetes(return_X_y=True)
    tree = DecisionTreeRegressor(criterion="absolute_error", max_depth=4).fit(X, y)
    forest = RandomForestRegressor(1, criterion="absolute_error", bootstrap=False, max_depth=4).fit(X, y)
    np.testing.assert_array_equal(tree.fitted_tree_.threshold, forest.trees_[0].threshold)


def test_medians_are_not_backfitted() -> None:
    X, y = load_diabetes(return_X_y=True)
    tree = DecisionTreeRegressor(criterion="absolute_error", max_depth=4).fit(X, y)
    n_leaves = tree.get_n_leaves()
    with pytest.raises(ValueError, match="backfit adds rows to means"):
        tree.prune(X, y, backfit=True)
    assert tree.get_n_leaves() == n_leaves


@pytest.mark.parametrize("learner", [DecisionTreeRegressor, RandomForestRegressor])
def test_nominal_columns_are_refused(learner: Any) -> None:
    cells = np.array([["a"], ["b"]] * 3, dtype=object)
    with pytest.raises(ValueError, match="absolute_error' splits numeric columns only"):
        learner(criterion="absolute_error", categorical_features=[0]).fit(cells, [0.0, 1.0] * 3)
