"""Trees, pruning and forests are what the definitions say, node by node."""

from __future__ import annotations

import math
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import numpy as np
import pytest
from example_counts import examples
from hypothesis import example, given
from hypothesis import strategies as st
from tree_comparison import Comparison, as_node, assert_same_cut_tree

from bakeoff.learners import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from bakeoff.learners.definitions import splits
from bakeoff.learners.definitions.decision_tree import Node, grow_tree, predict_row, region_of
from bakeoff.learners.definitions.majority_vote import average, majority_vote
from bakeoff.learners.definitions.pruning import accuracy, minus_squared_error, prune
from bakeoff.learners.definitions.random_forest import Draw, grow_forest, predict_row_by_vote

LIMITS = st.fixed_dictionaries(
    {"max_depth": st.sampled_from([None, None, 1, 2, 3]), "min_samples_split": st.integers(2, 5)}
)
CELLS = np.array([-7.5, -0.1, 0.0, 0.3, 2.0, 1e6])
ASKED = np.add.outer(CELLS, CELLS).ravel() / 2
"""Cells of queries: those of training, and every threshold that can lie half-way between two of them."""


def table(seed: int, n: int, d: int, c: int, values: int = 6) -> tuple[np.ndarray, np.ndarray]:
    """Return rows (n, d) with many equal cells, and classes (n,), or targets where c is 0."""
    rng = np.random.default_rng(seed)
    X = CELLS[rng.integers(0, values, (n, d))]
    return X, rng.integers(0, c, n) if c else rng.integers(-4, 5, n) / 4


def queries_for(seed: int, d: int) -> np.ndarray:
    """Return ten rows (10, d), many of whose cells are equal to thresholds."""
    return ASKED[np.random.default_rng(seed).integers(0, ASKED.size, (10, d))]


def definition_of(X: np.ndarray, y: np.ndarray, criterion: str, nominal: list[int], limits: dict[str, Any]) -> Node:
    """Return the tree of the definition."""
    depth = math.inf if limits["max_depth"] is None else limits["max_depth"]
    by_ratio = criterion == "gain_ratio"
    return grow_tree(X, y, splits.IMPURITIES[criterion], by_ratio, nominal, depth, limits["min_samples_split"])


@pytest.mark.parametrize("criterion", ["gini", "entropy", "gain_ratio", "misclassification"])
@examples(100)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(8, 24),
    d=st.integers(2, 4),
    c=st.integers(2, 5),
    nominal=st.sampled_from([[], [], [0], [0, 1, 2, 3]]),
    limits=LIMITS,
)
def test_a_classification_tree_is_split_of_r_and_t(
    criterion: Any, seed: int, n: int, d: int, c: int, nominal: list[int], limits: dict[str, Any]
) -> None:
    X, y = table(seed, n, d, c)
    nominal = nominal[:d]
    fast = DecisionTreeClassifier(criterion=criterion, categorical_features=nominal or None, **limits).fit(X, y)
    tree = definition_of(X, y, criterion, nominal, limits)
    by_ratio = criterion == "gain_ratio"
    comparison = Comparison(
        X, y, splits.IMPURITIES[criterion], by_ratio, nominal, exact=criterion == "gini" and not nominal
    )
    comparison.assert_same(tree, fast.fitted_tree_)
    if comparison.exact:
        queries = queries_for(seed, d)
        assert fast.predict(queries).tolist() == [predict_row(tree, query) for query in queries]


@examples(60)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(8, 24),
    d=st.integers(2, 4),
    nominal=st.sampled_from([[], [], [0], [0, 1, 2, 3]]),
    limits=LIMITS,
)
def test_a_regression_tree_is_split_of_r_and_t(
    seed: int, n: int, d: int, nominal: list[int], limits: dict[str, Any]
) -> None:
    X, y = table(seed, n, d, c=0)
    nominal = nominal[:d]
    fast = DecisionTreeRegressor(categorical_features=nominal or None, **limits).fit(X, y)
    tree = definition_of(X, y, "squared_error", nominal, limits)
    Comparison(X, y, splits.squared_error, nominal=nominal).assert_same(tree, fast.fitted_tree_)


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_a_tree_of_few_rows_is_split_of_r_and_t(n: int) -> None:
    for seed in range(40):
        X, y = table(seed, n, 2, 3, values=3)
        fast = DecisionTreeClassifier().fit(X, y)
        Comparison(X, y, splits.gini, exact=True).assert_same(grow_tree(X, y), fast.fitted_tree_)


@pytest.mark.parametrize("c", [2, 3, 6])
@pytest.mark.parametrize("values", [3, 6])
def test_a_large_tree_of_counted_or_sorted_rows_is_split_of_r_and_t(c: int, values: int) -> None:
    X, y = table(c, 400, 4, c, values)
    fast = DecisionTreeClassifier(max_depth=5).fit(X, y)
    compared = Comparison(X, y, splits.gini, exact=True).assert_same(grow_tree(X, y, max_depth=5), fast.fitted_tree_)
    assert compared == fast.fitted_tree_.node_count > 20


# Pruning


@examples(80)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(12, 30),
    m=st.integers(4, 30),
    method=st.sampled_from(["best_first", "bottom_up"]),
    regression=st.booleans(),
    nominal=st.sampled_from([[], [0, 1]]),
)
@example(seed=1, n=24, m=24, method="best_first", regression=False, nominal=[])  # of equals the nearest to the root
def test_pruning_leaves_the_tree_of_the_definition(
    seed: int, n: int, m: int, method: Any, regression: bool, nominal: list[int]
) -> None:
    rng = np.random.default_rng(seed)
    X, _ = table(seed, n + m, 3, 2)
    signal = X[:, 0] > 0.2
    y = signal + rng.normal(size=n + m) if regression else signal ^ (rng.random(n + m) < 0.3)
    learner: Any = DecisionTreeRegressor if regression else DecisionTreeClassifier
    full = learner(categorical_features=nominal or None).fit(X[:n], y[:n])
    tree = as_node(full.fitted_tree_, X[:n], y[:n])
    score: Callable[..., float] = minus_squared_error if regression else accuracy
    before = score(tree, X[n:], y[n:])
    list(prune(tree, X[n:], y[n:], method, score))
    pruned = deepcopy(full).prune(X[n:], y[n:], method=method)
    assert_same_cut_tree(tree, pruned.fitted_tree_)
    path = pruned.pruning_path_
    assert path["score"][[0, -1]] == pytest.approx([before, score(tree, X[n:], y[n:])])
    assert path["leaves"][[0, -1]].tolist() == [full.get_n_leaves(), pruned.get_n_leaves()]
    assert path["depth"][[0, -1]].tolist() == [full.get_depth(), pruned.get_depth()]
    assert np.all(np.diff(path["leaves"]) < 0)
    gains = np.diff(path["score"])
    assert np.all(gains > 0 if method == "bottom_up" else gains >= -1e-10)
    combine = average if regression else majority_vote
    expected = [predict_row(tree, x, combine) for x in X]
    np.testing.assert_allclose(np.asarray(pruned.predict(X), dtype=float), np.array(expected, dtype=float), rtol=1e-12)


# Random forests, from the same draws


FORESTS = {
    "seed": st.integers(0, 10**6),
    "n": st.integers(8, 24),
    "d": st.integers(2, 5),
    "max_features": st.integers(1, 5),
    "feature_subset": st.sampled_from(["split", "split", "tree"]),
}


@examples(40)
@given(**FORESTS, c=st.integers(2, 4), voting=st.sampled_from(["average", "majority"]))
def test_a_classification_forest_is_the_trees_of_its_draws_and_their_vote(
    seed: int, n: int, d: int, max_features: int, feature_subset: str, c: int, voting: Any
) -> None:
    X, y = table(seed, n, d, c)
    y[:2] = 0, 1
    shape: dict[str, Any] = {"max_features": min(max_features, d), "feature_subset": feature_subset}
    fast = RandomForestClassifier(5, random_state=seed, voting=voting, **shape).fit(X, y)
    draws = [Draw(*drawn) for drawn in fast.list_draws(X, y)]
    forest = grow_forest(X, y, draws, min(max_features, d))
    for tree, own in zip(forest, fast.trees_, strict=True):
        comparison = Comparison(X, y, splits.gini, exact=True, classes=fast.classes_)
        assert comparison.assert_same(tree, own) == own.node_count
    queries = queries_for(seed, d)
    if voting == "majority":
        votes = [predict_row_by_vote(forest, query) for query in queries]
        assert fast.predict(queries).tolist() == votes
        of_trees = np.array([[predict_row(tree, query) for tree in forest] for query in queries])  # (m, 5)
        shares = (of_trees[:, :, None] == fast.classes_).mean(axis=1)
        np.testing.assert_allclose(fast.predict_proba(queries), shares, atol=1e-12)
    else:
        expected = [np.mean([fractions(tree, query, fast.classes_) for tree in forest], axis=0) for query in queries]
        np.testing.assert_allclose(fast.predict_proba(queries), expected, atol=1e-12)


def fractions(tree: Node, query: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Return the class fractions (c,) of the region that a query (d,) belongs to."""
    targets = region_of(tree, query).targets
    return (targets[:, None] == classes).mean(axis=0)


@examples(25)
@given(**FORESTS)
def test_a_regression_forest_is_the_trees_of_its_draws_and_their_average(
    seed: int, n: int, d: int, max_features: int, feature_subset: str
) -> None:
    X, _ = table(seed, n, d, 1)
    y = np.random.default_rng(seed).normal(size=n)
    shape: dict[str, Any] = {"max_features": min(max_features, d), "feature_subset": feature_subset}
    fast = RandomForestRegressor(5, random_state=seed, **shape).fit(X, y)
    draws = [Draw(*drawn) for drawn in fast.list_draws(X, y)]
    forest = grow_forest(X, y, draws, min(max_features, d), splits.squared_error)
    complete = True
    for tree, own in zip(forest, fast.trees_, strict=True):
        comparison = Comparison(X, y, splits.squared_error)
        compared = comparison.assert_same(tree, own)
        complete = complete and compared == own.node_count
    if complete:
        queries = queries_for(seed, d)
        expected = [predict_row_by_vote(forest, query, average) for query in queries]
        np.testing.assert_allclose(fast.predict(queries), expected, atol=1e-12)
