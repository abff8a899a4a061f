"""Equally good splits are tied whatever rounding makes of them: names, units and mirror images do not decide."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from example_counts import examples
from hypothesis import given
from hypothesis import strategies as st

from bakeoff.learners import DecisionTreeClassifier, DecisionTreeRegressor
from bakeoff.learners.definitions.splits import IMPURITIES, pick_question

CRITERIA: list[Any] = ["gini", "entropy", "gain_ratio", "misclassification"]
SEEDS = st.integers(0, 10**6)
TENTHS = np.array([0.0, 0.1, 0.2, 0.3, 0.6, 0.7, 1.0])
"""Shares whose complements are not their exact mirror images."""


def draw_table(seed: int, c: int = 3, n: int = 24) -> tuple[np.ndarray, np.ndarray]:
    """Return rows (n, 3) of few values, so that many splits are equally good, and codes or targets 0, …, c - 1."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 4, (n, 3)).astype(float)
    y = rng.integers(0, c, n)
    y[:c] = np.arange(c)  # every class occurs
    return X, y


def describe(tree: Any) -> list[tuple[int, float]]:
    """Return the feature and threshold of each node, level by level."""
    grown = tree.fitted_tree_
    return list(zip(grown.feature.tolist(), np.nan_to_num(grown.threshold).tolist(), strict=True))


def grow_classifier(criterion: Any, X: np.ndarray, y: np.ndarray, **given: Any) -> DecisionTreeClassifier:
    return DecisionTreeClassifier(criterion=criterion, **given).fit(X, y)


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("n", [24, 3000])
@examples(25)
@given(seed=SEEDS)
def test_the_first_of_a_column_and_its_mirror_image_is_asked(criterion: Any, n: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    share = TENTHS[rng.integers(0, TENTHS.size, (n, 3))]
    y = rng.integers(0, 4, n)
    X = np.empty((n, 6))
    X[:, 0::2] = share
    X[:, 1::2] = 1 - share
    feature = grow_classifier(criterion, X, y, max_depth=2).fitted_tree_.feature
    asked = feature[feature >= 0]
    assert not np.any(asked % 2)
    swapped = grow_classifier(criterion, X[:, [1, 0, 3, 2, 5, 4]], y, max_depth=2).fitted_tree_.feature
    assert swapped[0] == feature[0]


@pytest.mark.parametrize("criterion", CRITERIA)
@examples(60)
@given(seed=SEEDS, weighted=st.booleans(), leaves=st.none() | st.integers(2, 12))
def test_the_names_of_classes_do_not_choose_a_split(
    criterion: Any, seed: int, weighted: bool, leaves: int | None
) -> None:
    X, y = draw_table(seed, c=5)
    rng = np.random.default_rng(seed + 1)
    weight = rng.integers(1, 4, y.size) / 10 if weighted else None
    learner = DecisionTreeClassifier(criterion=criterion, max_leaf_nodes=leaves)
    one = describe(learner.fit(X, y, sample_weight=weight))
    assert one == describe(learner.fit(X, rng.permutation(5)[y], sample_weight=weight))


@pytest.mark.parametrize("criterion", CRITERIA)
@examples(40)
@given(seed=SEEDS, c=st.integers(2, 4))
def test_the_names_of_categories_do_not_choose_a_split(criterion: Any, seed: int, c: int) -> None:
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 7, (30, 4)).astype(float)
    y = rng.integers(0, c, 30)
    names = rng.permutation(7).astype(float)
    renamed = names[X.astype(int)]
    one = grow_classifier(criterion, X, y, categorical_features=[0, 1, 2, 3])
    other = grow_classifier(criterion, renamed, y, categorical_features=[0, 1, 2, 3])
    np.testing.assert_array_equal(one.predict_proba(X), other.predict_proba(renamed))
    assert one.fitted_tree_.feature[0] == other.fitted_tree_.feature[0]
    assert sorted(one.fitted_tree_.feature) == sorted(other.fitted_tree_.feature)


@examples(60)
@given(seed=SEEDS, factor=st.sampled_from([0.1, 1 / 3, 3.0, 7e-9, 1.1e12, 1e-150]), n=st.sampled_from([12, 24, 1100]))
def test_the_unit_of_a_target_does_not_choose_a_split(seed: int, factor: float, n: int) -> None:
    X, y = draw_table(seed, c=6, n=n)
    one = DecisionTreeRegressor(max_depth=5).fit(X, y)
    other = DecisionTreeRegressor(max_depth=5).fit(X, y * factor)
    assert describe(one) == describe(other)


@examples(60)
@given(seed=SEEDS, offset=st.sampled_from([0.3, -2024.0, 1e6 + 0.1]))
def test_the_zero_of_a_target_does_not_choose_a_split(seed: int, offset: float) -> None:
    X, y = draw_table(seed, c=4)
    one = DecisionTreeRegressor().fit(X, y / 10)
    other = DecisionTreeRegressor().fit(X, y / 10 + offset)
    assert describe(one) == describe(other)


@pytest.mark.parametrize("criterion", [*CRITERIA, "squared_error"])
@examples(60)
@given(seed=SEEDS, kinds=st.sampled_from([[], [0, 1, 2]]))
def test_ties_are_those_of_the_definition(criterion: Any, seed: int, kinds: list[int]) -> None:
    X, y = draw_table(seed, c=4, n=16)
    grower: Any = DecisionTreeRegressor if criterion == "squared_error" else DecisionTreeClassifier
    target = y / 10 if criterion == "squared_error" else y
    tree = grower(criterion=criterion, max_depth=1, categorical_features=kinds).fit(X, target).fitted_tree_
    by_ratio = criterion == "gain_ratio"
    question = pick_question(X, target, range(3), IMPURITIES[criterion], by_ratio, kinds)
    assert question is not None
    asked = (tree.feature[0], None if kinds else tree.threshold[0])
    assert asked == question


@pytest.mark.parametrize("criterion", CRITERIA)
@examples(15)
@given(seed=SEEDS)
def test_many_rows_and_few_ask_the_same_of_equally_good_questions(criterion: Any, seed: int) -> None:
    # Rows repeated 200 times are searched by histograms or by listed cuts in place of the dense scan.
    X, y = draw_table(seed, c=5)
    few = grow_classifier(criterion, X, y, max_depth=3)
    many = grow_classifier(criterion, np.repeat(X, 200, axis=0), np.repeat(y, 200), max_depth=3)
    assert describe(few) == describe(many)
