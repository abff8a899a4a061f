"""Decision trees on nominal columns and missing cells."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from bakeoff.learners import DecisionTreeClassifier, DecisionTreeRegressor
from bakeoff.learners.decision_tree import export_text

READING = pd.DataFrame(
    {
        "Author": ["known", "unknown", "unknown", "known", "known", "known"],
        "Thread": ["new", "new", "old", "old", "new", "old"],
        "Length": ["long", "short", "long", "long", "short", "long"],
        "Where": ["home", "work", "work", "home", "home", "work"],
    }
).astype("category")
ACTION = np.array(["skips", "reads", "skips", "skips", "reads", "skips"])


def test_w23_gains_of_the_reading_table_and_its_tree() -> None:
    stump = DecisionTreeClassifier(criterion="entropy", max_depth=1)
    gains = [stump.fit(READING[[name]], ACTION).fitted_tree_.gain[0] / 6 for name in READING]
    assert gains == pytest.approx([0.0441, 0.4591, 0.9183, 0], abs=5e-5)
    tree = DecisionTreeClassifier(criterion="entropy").fit(READING, ACTION)
    assert export_text(tree) == "|-- Length = long → skips (4 rows)\n|-- Length = short → reads (2 rows)\n"
    new = pd.DataFrame(
        {"Author": ["known", "unknown"], "Thread": ["new"] * 2, "Length": ["short"] * 2, "Where": ["work"] * 2}
    )
    assert tree.predict(new).tolist() == ["reads", "reads"]


def _make_table(n: int, values: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return n rows of three nominal columns, and three classes that depend on two of them."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, values, (n, 3)).astype(float)
    score = (X[:, 0] * 2 + X[:, 1]) % 3
    noise = rng.random(n) < 0.1
    return X, (score + noise).astype(int) % 3


def test_an_unseen_value_and_an_empty_branch_get_the_nodes_majority() -> None:
    X = pd.DataFrame({"c": pd.Categorical(["a", "a", "b", "b", "b"], categories=["a", "b", "empty"])})
    for nominal_splits in ("multiway", "binary"):
        tree = DecisionTreeClassifier(nominal_splits=nominal_splits).fit(X, [0, 0, 1, 1, 1])
        query = pd.DataFrame({"c": ["a", "b", "empty", "never seen", None]})
        assert tree.predict(query).tolist() == [0, 1, 1, 1, 1]
        assert tree.predict_proba(query)[2:] == pytest.approx(np.array([[0.4, 0.6]] * 3))


def test_binary_grouping_finds_the_best_of_all_groupings_for_two_classes_and_for_targets() -> None:
    rng = np.random.default_rng(3)
    X = rng.integers(0, 6, 80)
    for learner, y in (
        (DecisionTreeClassifier, rng.integers(0, 2, 80)),
        (DecisionTreeRegressor, rng.normal(size=80)),
    ):
        tree = learner(max_depth=1, nominal_splits="binary", categorical_features=[0]).fit(X[:, None], y).fitted_tree_
        within = []
        for group in range(1, 63):
            left = (group >> X) & 1 == 1
            within.append(_sum_squares(y[left]) + _sum_squares(y[~left]))
        leaf = tree.apply(X[:, None].astype(float))
        found = _sum_squares(y[leaf == 1]) + _sum_squares(y[leaf == 2])
        assert found == pytest.approx(min(within))


def _sum_squares(y: np.ndarray) -> float:
    """Return the sum of squared deviations from the mean, of targets (n,) or class indicators (n, c)."""
    return float(np.sum((y - y.mean(axis=0)) ** 2))


def test_binary_grouping_learns_more_than_two_classes() -> None:
    X, y = _make_table(300, 6)
    tree = DecisionTreeClassifier(nominal_splits="binary", categorical_features=[0, 1, 2]).fit(X, y)
    assert np.all(tree.fitted_tree_.n_children[~tree.fitted_tree_.is_leaf] == 2)
    full = DecisionTreeClassifier(categorical_features=[0, 1, 2]).fit(X, y)
    assert tree.score(X, y) == full.score(X, y)


@pytest.mark.parametrize("seed", range(6))
def test_binary_grouping_of_more_classes_cuts_the_values_in_the_order_of_the_most_frequent_class(seed: int) -> None:
    rng = np.random.default_rng(seed)
    cells, y = rng.integers(0, 6, 80), rng.choice(3, 80, p=[0.3, 0.5, 0.2])
    tree = DecisionTreeClassifier(max_depth=1, nominal_splits="binary", categorical_features=[0])
    leaf = tree.fit(cells[:, None], y).apply(cells[:, None])
    by_share = np.argsort([np.mean(y[cells == value] == 1) for value in range(6)])
    cuts = [np.isin(cells, by_share[:k]) for k in range(1, 6)]
    indicators = np.eye(3)[y]
    found, *possible = (_sum_squares(indicators[cut]) + _sum_squares(indicators[~cut]) for cut in (leaf == 1, *cuts))
    assert found == pytest.approx(min(possible))


def test_limits_hold_for_branches_of_values() -> None:
    X, y = _make_table(300, 9)
    for nominal_splits in ("multiway", "binary"):
        learner = DecisionTreeClassifier(
            categorical_features=[0, 1, 2], min_samples_leaf=12, nominal_splits=nominal_splits
        )
        tree = learner.fit(X, y).fitted_tree_
        assert tree.n_node_samples.min() >= 12


def test_max_leaf_nodes_counts_all_branches() -> None:
    X, y = _make_table(300, 4)
    for max_leaves in (3, 4, 8, 12):
        tree = DecisionTreeClassifier(categorical_features=[0, 1, 2], max_leaf_nodes=max_leaves).fit(X, y)
        assert tree.get_n_leaves() <= max_leaves
        assert tree.get_n_leaves() == 1 + 3 * ((max_leaves - 1) // 3)


@pytest.mark.parametrize("criterion", ["gini", "gain_ratio"])
def test_a_missing_number_goes_to_the_side_that_was_better(criterion: Any) -> None:
    x = np.array([[0.0], [1.0], [2.0], [5.0], [6.0], [7.0], [np.nan], [np.nan]])
    for class_of_missing in (0, 1):
        y = [0, 0, 0, 1, 1, 1, class_of_missing, class_of_missing]
        tree = DecisionTreeClassifier(criterion=criterion).fit(x, y)
        assert tree.get_n_leaves() == 2
        assert tree.predict([[np.nan], [0.5], [6.5]]).tolist() == [class_of_missing, 0, 1]


def test_missing_itself_can_be_the_question() -> None:
    x = np.array([[0.0], [1.0], [2.0], [np.nan], [np.nan]])
    tree = DecisionTreeClassifier().fit(x, [0, 0, 0, 1, 1])
    assert export_text(tree) == "|-- x1 is known → 0 (3 rows)\n|-- x1 is missing → 1 (2 rows)\n"
    assert tree.predict([[1e300], [np.nan]]).tolist() == [0, 1]


def test_without_missing_cells_in_training_they_go_to_the_fuller_side_or_right() -> None:
    tree = DecisionTreeClassifier().fit([[0.0], [1.0], [2.0], [9.0]], [0, 0, 0, 1])
    assert tree.predict([[np.nan]]).tolist() == [0]
    tree = DecisionTreeRegressor().fit([[0.0], [7.0], [8.0], [9.0]], [0, 1, 1, 1])
    assert tree.predict([[np.nan]]).tolist() == [1]
    assert DecisionTreeClassifier().fit([[0.0], [1.0]], [0, 1]).predict([[np.nan]]).tolist() == [1]


def test_a_missing_value_of_a_nominal_feature_is_a_value() -> None:
    X = pd.DataFrame({"c": pd.Categorical(["a", "b", None, None])})
    for nominal_splits in ("multiway", "binary"):
        tree = DecisionTreeClassifier(nominal_splits=nominal_splits).fit(X, [0, 0, 1, 1])
        assert tree.predict(X).tolist() == [0, 0, 1, 1]
        assert "missing" in export_text(tree)


def test_a_wholly_missing_column_is_never_asked() -> None:
    X = np.column_stack([np.full(10, np.nan), np.arange(10)])
    tree = DecisionTreeClassifier().fit(X, np.arange(10) // 5)
    assert set(tree.fitted_tree_.feature) == {1, -1}
