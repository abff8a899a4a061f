"""Decision trees: the lectures' numbers, the rule of splitting, limits of growth, and input of every kind."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from bakeoff.learners import DecisionTreeClassifier, DecisionTreeRegressor
from bakeoff.learners.decision_tree import draw, export_text
from bakeoff.learners.trees import Tree
from bakeoff.learners.trees.splitting.splits import compute_gain_ratio

CLASSES = np.repeat([0, 1], [9, 11])
FIRST_SPLIT = np.repeat([0, 1], [4, 16])  # 4 : 0 and 5 : 11
SECOND_SPLIT = np.repeat([0, 1, 0, 1], [8, 1, 3, 8])  # 8 : 3 and 1 : 8


def split_once(column: np.ndarray, y: np.ndarray, criterion: Any, nominal: Any = None) -> Tree:
    """Return the tree of one question about one column."""
    stump = DecisionTreeClassifier(criterion=criterion, max_depth=1, categorical_features=nominal)
    return stump.fit(column[:, None], y).fitted_tree_


def average_leaves(tree: Tree) -> float:
    """Return the mean impurity of the leaves below the root, over rows."""
    return float(np.average(tree.impurity[1:], weights=tree.weighted_n_node_samples[1:]))


def test_w8_equality_goes_right_in_the_lectures_tree() -> None:
    # Cuts half-way at x2 = 3 and x1 = 5.
    X = [[1.0, 2.0], [9.0, 2.0], [4.0, 4.0], [6.0, 4.0], [1.0, 1.0], [9.0, 1.0]]
    tree = DecisionTreeClassifier().fit(X, ["Blue", "Blue", "Blue", "Red", "Blue", "Blue"])
    assert tree.predict([[5.0, 3.0]]) == ["Red"]
    assert tree.predict([[5.0, 2.999]]) == ["Blue"]
    assert tree.predict([[4.999, 3.0]]) == ["Blue"]


@pytest.mark.parametrize(
    ("criterion", "unit", "impurities", "cost"),
    [
        ("entropy", np.log(2), [0.636514, 0.682908], 6.689899),
        ("entropy", 1, [0.918296, 0.985228], 9.651484),
        ("gini", 1, [4 / 9, 24 / 49], 4.761905),
        ("misclassification", 1, [1 / 3, 3 / 7], 4),
    ],
)
def test_w9_costs_of_the_split_of_three_and_seven(
    criterion: str, unit: float, impurities: list[float], cost: float
) -> None:
    tree = split_once(np.repeat([0, 1], [3, 7]), np.array([0, 0, 1, 0, 0, 0, 1, 1, 1, 1]), criterion)
    assert unit * tree.impurity[1:] == pytest.approx(impurities, abs=1e-6)
    assert 10 * unit * average_leaves(tree) == pytest.approx(cost, abs=1e-6)


@pytest.mark.parametrize(("counts", "bits"), [([1, 1, 1, 1], 2), ([97, 1, 1, 1], 0.2419), ([11, 9], 0.99277)])
def test_w11_to_w15_entropy_in_bits(counts: list[int], bits: float) -> None:
    y = np.repeat(np.arange(len(counts)), counts)
    tree = DecisionTreeClassifier(criterion="entropy").fit(np.zeros((len(y), 1)), y).fitted_tree_
    assert tree.impurity == pytest.approx([bits], abs=5e-5)


@pytest.mark.parametrize(
    ("split", "impurities", "conditional", "gain", "ratio"),
    [
        (FIRST_SPLIT, [0.99277, 0, 0.89604], 0.71683, 0.27594, 0.38223),
        (SECOND_SPLIT, [0.99277, 0.84535, 0.50326], 0.69141, 0.30137, 0.30356),
    ],
)
@pytest.mark.parametrize("nominal", [None, [0]])
def test_w16_w17_gain_and_gain_ratio_of_the_two_splits(
    split: np.ndarray, impurities: list[float], conditional: float, gain: float, ratio: float, nominal: Any
) -> None:
    tree = split_once(split, CLASSES, "entropy", nominal)
    assert tree.impurity == pytest.approx(impurities, abs=5e-6)
    assert average_leaves(tree) == pytest.approx(conditional, abs=5e-6)
    assert tree.gain[0] / 20 == pytest.approx(gain, abs=5e-6)
    branches = tree.weighted_n_node_samples[1:, None]
    assert compute_gain_ratio(tree.gain[:1] / 20, [*branches], np.array([20])) == pytest.approx([ratio], abs=5e-6)


@pytest.mark.parametrize(("criterion", "feature"), [("entropy", 1), ("log_loss", 1), ("gain_ratio", 0), ("gini", 1)])
@pytest.mark.parametrize("nominal", [None, [0, 1]])
def test_w18_the_criterion_decides_between_the_two_splits(
    criterion: Any, feature: int, nominal: list[int] | None
) -> None:
    tree = DecisionTreeClassifier(criterion=criterion, max_depth=1, categorical_features=nominal)
    tree.fit(np.column_stack([FIRST_SPLIT, SECOND_SPLIT]), CLASSES)
    assert tree.fitted_tree_.feature[0] == feature


def test_w18_the_second_splits_weighted_gini_is_the_smaller() -> None:
    costs = [average_leaves(split_once(split, CLASSES, "gini")) for split in (FIRST_SPLIT, SECOND_SPLIT)]
    assert costs == pytest.approx([0.34375, 0.30707], abs=5e-6)


def test_a_zero_gain_split_is_made_when_it_leads_on() -> None:
    X, y = [[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0]
    assert DecisionTreeClassifier().fit(X, y).score(X, y) == 1


@pytest.mark.parametrize(
    ("limit", "holds"),
    [
        ({"max_depth": 3}, lambda tree, n: tree.max_depth == 3),
        ({"min_samples_split": 40}, lambda tree, n: tree.n_node_samples[~tree.is_leaf].min() >= 40),
        ({"min_samples_leaf": 7}, lambda tree, n: tree.n_node_samples.min() >= 7),
        ({"min_samples_leaf": 0.05}, lambda tree, n: tree.n_node_samples.min() >= 0.05 * n),
        ({"min_weight_fraction_leaf": 0.1}, lambda tree, n: tree.weighted_n_node_samples.min() >= 0.1 * n),
        ({"max_leaf_nodes": 6}, lambda tree, n: tree.n_leaves == 6),
    ],
)
def test_every_limit_of_growth_holds(limit: dict[str, Any], holds: Callable[..., bool]) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 3)), rng.integers(0, 2, 200)
    X[rng.random(X.shape) < 0.1] = np.nan
    for learner in (DecisionTreeClassifier, DecisionTreeRegressor):
        tree = learner(**limit).fit(X, y).fitted_tree_
        assert tree.node_count > 1
        assert holds(tree, 200)


def test_min_impurity_decrease_is_in_squared_units_of_the_target() -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(200, 2))
    y = (X[:, 0] > 0) + 0.1 * rng.normal(size=200)
    for exponent in (-400, -40, 0, 40, 400):
        unit = 2.0**exponent
        assert DecisionTreeRegressor(min_impurity_decrease=0.01 * unit**2).fit(X, y * unit).get_n_leaves() == 2


def test_min_impurity_decrease_is_weighted_by_the_nodes_share() -> None:
    X, y = [[0], [1], [2], [3]], [0, 0, 1, 0]
    # Root: Gini 3/8, after the first cut 1/2 · 1/2, a fall of 1/8; below: half the rows, a fall of 1/2, weighted 1/4.
    assert DecisionTreeClassifier(min_impurity_decrease=0.125).fit(X, y).get_n_leaves() == 3
    assert DecisionTreeClassifier(min_impurity_decrease=0.126).fit(X, y).get_n_leaves() == 1


def test_drawn_features_depend_on_the_seed_alone() -> None:
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(100, 6)), rng.integers(0, 3, 100)
    trees = [DecisionTreeClassifier(max_features=2, random_state=seed).fit(X, y) for seed in (0, 0, 1)]
    np.testing.assert_array_equal(trees[0].fitted_tree_.threshold, trees[1].fitted_tree_.threshold)
    assert trees[0].fitted_tree_.feature.tolist() != trees[2].fitted_tree_.feature.tolist()
    assert all(tree.score(X, y) == 1 for tree in trees)


def test_drawing_goes_on_where_the_drawn_feature_is_constant() -> None:
    X = np.zeros((20, 5))
    X[:, 3] = np.arange(20)
    y = np.arange(20) % 2
    assert DecisionTreeClassifier(max_features=1, random_state=0).fit(X, y).score(X, y) == 1


def test_thresholds_separate_neighbouring_and_far_floats() -> None:
    for low, high in [(1.0, np.nextafter(1.0, 2.0)), (0.0, 5e-324), (-1.7e308, 1.7e308), (1e150, 1.1e150)]:
        tree = DecisionTreeClassifier().fit([[low], [high]], [0, 1])
        assert tree.predict([[low], [high]]).tolist() == [0, 1]


def test_a_large_offset_of_targets_does_not_hide_them() -> None:
    X = np.arange(40.0)[:, None]
    y = 1e9 + (np.arange(40) % 5) * 1e-3
    np.testing.assert_array_equal(DecisionTreeRegressor().fit(X, y).predict(X), y)


@pytest.mark.parametrize("learner", [DecisionTreeClassifier, DecisionTreeRegressor])
def test_nothing_to_learn_gives_one_leaf(learner: type) -> None:
    for X, y in [([[1.0, 2.0]], [3]), ([[1.0]] * 4, [0, 1, 1, 1]), ([[1.0], [2.0]], [5, 5])]:
        tree = learner().fit(X, y)
        assert tree.get_n_leaves() == 1
        assert tree.feature_importances_.tolist() == [0.0] * len(X[0])
    majority_or_mean = 1 if learner is DecisionTreeClassifier else 0.75
    assert learner().fit([[1.0]] * 4, [0, 1, 1, 1]).predict([[9.0]])[0] == majority_or_mean


def test_targets_whose_squares_overflow_are_refused() -> None:
    with pytest.raises(ValueError, match="1e\\+152"):
        DecisionTreeRegressor().fit([[0], [1]], [0, 1e200])


def test_decision_path_leads_from_the_root_to_the_leaf() -> None:
    X, y = np.arange(8.0)[:, None], [0, 0, 1, 1, 0, 0, 1, 1]
    tree = DecisionTreeClassifier().fit(X, y)
    path = tree.decision_path(X).toarray()
    assert path[:, 0].all()
    assert path[np.arange(8), tree.apply(X)].all()
    np.testing.assert_array_equal(path.sum(axis=1) - 1, tree.fitted_tree_.depth[tree.apply(X)])


def test_text_and_drawing_agree() -> None:
    X, y = [[1.0, 2.0], [4.0, 4.0], [6.0, 4.0]], ["Blue", "Blue", "Red"]
    tree = DecisionTreeClassifier().fit(X, y)
    assert export_text(tree) == "|-- x1 < 5.00 → Blue (2 rows)\n|-- x1 >= 5.00 → Red (1 row)\n"
    drawing = draw(tree)
    assert drawing.labels == ["x1 < 5.00?", "Blue (2 rows)", "Red (1 row)"]
    assert drawing.x.tolist() == [0.5, 0, 1]
    assert drawing.y.tolist() == [0, -1, -1]
    assert drawing.edges == [(0, 1, "x1 < 5.00"), (0, 2, "x1 >= 5.00")]
    with pytest.raises(ValueError, match="1 names"):
        export_text(tree, feature_names=["a"])
    assert export_text(DecisionTreeClassifier().fit([[1]], [7])) == " → 7 (1 row)\n".strip(" ")


def test_small_thresholds_and_means_keep_their_digits() -> None:
    tree = DecisionTreeRegressor().fit([[1e-4], [2e-4]], [0.00123456, 20.0])
    assert export_text(tree) == "|-- x1 < 0.00015 → 0.00123 (1 row)\n|-- x1 >= 0.00015 → 20.00 (1 row)\n"


def test_a_question_about_missing_cells_is_drawn_in_words() -> None:
    tree = DecisionTreeClassifier().fit([[np.nan], [np.nan], [1.0]], [0, 0, 1])
    assert draw(tree).labels[0] == "x1 missing?"


def test_nodes_without_a_cut_and_targets_near_zero_are_no_cause_for_warnings() -> None:
    X, y = [[0.0], [0.0], [1.0], [2.0]], np.array([0.0, 1.0, 2.0, 2.0]) * 1e-200
    tree = DecisionTreeRegressor().fit(X, y)
    np.testing.assert_array_equal(tree.predict([[0.0], [1.5], [3.0]]), np.array([0.5, 2.0, 2.0]) * 1e-200)
