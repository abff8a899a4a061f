"""The rules of C4.5 and its pruning are what the definition says, each by itself, and all together are WEKA's J48."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

import numpy as np
import pytest
from example_counts import examples
from hypothesis import given
from hypothesis import strategies as st
from tree_comparison import EQUAL, as_node, assert_same_prediction, parts, question_at
from weka_outputs import J48, TREE_TABLES, load_table, read_output

from bakeoff.learners import DecisionTreeClassifier, DecisionTreeRegressor
from bakeoff.learners.decision_tree import export_text
from bakeoff.learners.definitions.c45 import (
    Rules,
    averaged_features,
    choose,
    collapse,
    grow_c45,
    leaves_of,
    list_candidates,
    prune,
)
from bakeoff.learners.definitions.decision_tree import Node, predict_row
from bakeoff.learners.trees import Tree, training_table
from bakeoff.learners.trees.training_table import find_bins

NO_RULES = Rules(average_gain=False, cut_minimum=False, two_branches=False, mdl_correction=False)
QUINLAN = Rules()
EACH_RULE = {
    "none": NO_RULES,
    "average_gain": replace(NO_RULES, average_gain=True),
    "cut_minimum": replace(NO_RULES, cut_minimum=True),
    "two_branches": replace(NO_RULES, two_branches=True),
    "mdl_correction": replace(NO_RULES, mdl_correction=True),
    "all": QUINLAN,
}


def rows_of(seed: int, n: int, c: int, nominal: list[int]) -> tuple[np.ndarray, np.ndarray]:
    """Return rows (n, 4), those of nominal columns as codes, and classes (n,) that partly depend on them."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4)).round(1)
    for j in nominal:
        # Some values are so rare that their branches are small.
        X[:, j] = rng.choice([0, 1, 2, 3], n, p=[0.5, 0.35, 0.1, 0.05])
    score = X[:, 0] + (X[:, 1] > 0) + rng.normal(size=n)
    return X, np.digitize(score, np.quantile(score, np.arange(1, c) / c))


def options_of(rules: Rules) -> dict[str, Any]:
    options = asdict(rules)
    return {"criterion": "gain_ratio", "min_samples_leaf": options.pop("least_rows"), **options}


class Walk:
    """A walk down a learner's tree and the definition's at once; rounding alone may tell two questions apart."""

    def __init__(self, X: np.ndarray, y: np.ndarray, nominal: list[int], rules: Rules) -> None:
        self.X = X
        self.y = y
        self.nominal = nominal
        self.rules = rules

    def count_same(self, node: Node, tree: Tree, k: int = 0) -> int:
        """Compare from two nodes down, and return how many nodes of the definition's tree were compared."""
        assert_same_prediction(node, tree, k, np.unique(self.y))
        asked = question_at(tree, k)
        if asked != node.question:
            self.assert_as_good(node, asked)
            return 1
        if asked is None:
            return 1
        children = parts(self.X, node.rows, asked).values()
        assert [tuple(part) for part in children] == [tuple(child.rows) for child in node.branches.values()]
        pairs = zip(node.branches.values(), tree.children(k), strict=True)
        return 1 + sum(self.count_same(branch, tree, child) for branch, child in pairs)

    def assert_as_good(self, node: Node, asked: Any) -> None:
        """Check that the other question would be chosen if its merit were greater by a rounding error."""
        assert asked is not None
        X, y = self.X[node.rows], self.y[node.rows]
        candidates = list_candidates(X, y, self.nominal, len(np.unique(self.y)), self.rules)
        best = choose(candidates, averaged_features(self.X, self.nominal), self.rules)
        ratios = {one.question[0]: one.ratio for one in candidates}
        assert best is not None
        assert ratios[asked[0]] == pytest.approx(ratios[best[0]], abs=EQUAL)


@pytest.mark.parametrize("rules", EACH_RULE.values(), ids=EACH_RULE)
@examples(15)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(12, 70),
    c=st.integers(2, 4),
    nominal=st.sampled_from([[], [2], [1, 3], [0, 1, 2, 3]]),
    least_rows=st.integers(1, 4),
)
def test_a_tree_with_the_rules_of_c45_is_that_of_the_definition(
    rules: Rules, seed: int, n: int, c: int, nominal: list[int], least_rows: int
) -> None:
    X, y = rows_of(seed, n, c, nominal)
    rules = replace(rules, least_rows=least_rows)
    fast = DecisionTreeClassifier(**options_of(rules), categorical_features=nominal or None).fit(X, y)
    node = grow_c45(X, y, nominal, rules)
    assert Walk(X, y, nominal, rules).count_same(node, fast.fitted_tree_) >= 1


def test_sorted_rows_and_histograms_give_one_c45_tree(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    X = rng.integers(0, 12, (1200, 5)).astype(float)
    y = (X[:, 0] + X[:, 1] + rng.normal(0, 4, 1200) > 11).astype(int)
    counted = DecisionTreeClassifier(**options_of(QUINLAN)).fit(X, y)
    assert find_bins(X.T)[0] is not None
    monkeypatch.setattr(training_table, "MIN_ROWS_PER_BIN", 10**6)
    assert find_bins(X.T)[0] is None
    presorted = DecisionTreeClassifier(**options_of(QUINLAN)).fit(X, y)
    assert counted.fitted_tree_.feature.tolist() == presorted.fitted_tree_.feature.tolist()
    np.testing.assert_array_equal(counted.fitted_tree_.threshold, presorted.fitted_tree_.threshold)


@pytest.mark.parametrize(
    ("options", "cure"),
    [
        ({"average_gain": True}, "criterion='gain_ratio'"),
        ({"average_gain": True, "criterion": "entropy"}, "criterion='gain_ratio'"),
        ({"mdl_correction": True, "criterion": "gini"}, "criterion='gain_ratio' or 'entropy'"),
    ],
)
def test_a_rule_in_bits_needs_a_criterion_in_bits(options: dict[str, Any], cure: str) -> None:
    with pytest.raises(ValueError, match=cure):
        DecisionTreeClassifier(**options).fit([[0.0], [1.0]], [0, 1])


@pytest.mark.parametrize("criterion", ["gini", "entropy", "gain_ratio", "misclassification"])
def test_both_sides_of_a_cut_hold_the_minimum_under_every_criterion(criterion: Any) -> None:
    X, y = rows_of(1, 400, 2, [])
    tree = DecisionTreeClassifier(criterion=criterion, cut_minimum=True).fit(X, y).fitted_tree_
    inner = np.flatnonzero(tree.feature >= 0)
    assert inner.size > 5
    for node in inner.tolist():
        least = min(25, tree.n_node_samples[node] / 20)
        assert tree.n_node_samples[tree.children(node)].min() >= least


PRUNED: dict[str, Any] = {"collapse": True, "pruning_confidence": 0.25, "subtree_raising": True, "thresholds": "values"}


def assert_same_rows(node: Node, tree: Tree, X: np.ndarray, rows: np.ndarray, k: int = 0) -> None:
    """Compare the rows of each branch, from two nodes down; branches may be numbered in another order."""
    assert sorted(node.rows.tolist()) == sorted(rows.tolist())
    assert tree.n_node_samples[k] == len(rows)
    if not node.branches:
        assert question_at(tree, k) is None
        return
    asked = question_at(tree, k)
    assert asked is not None
    assert asked == node.question
    ours = {answer: part for answer, part in parts(X, rows, asked).items() if len(part)}
    assert ours.keys() == node.branches.keys()
    for child, (answer, part) in zip(tree.children(k), ours.items(), strict=True):
        assert_same_rows(node.branches[answer], tree, X, part, child)


@pytest.mark.parametrize("raising", [True, False])
@examples(20)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(20, 120),
    c=st.integers(2, 4),
    nominal=st.sampled_from([[], [2], [1, 3], [0, 1, 2, 3]]),
    confidence=st.sampled_from([0.01, 0.1, 0.25, 0.5]),
)
def test_a_tree_is_collapsed_and_pruned_as_the_definition_says(
    raising: bool, seed: int, n: int, c: int, nominal: list[int], confidence: float
) -> None:
    X, y = rows_of(seed, n, c, nominal)
    rows = np.arange(n)
    options = {**options_of(QUINLAN), "categorical_features": nominal or None}
    grown = DecisionTreeClassifier(**options).fit(X, y)
    # The definition prunes the very tree that the learner has grown, so that no tie of questions tells them apart.
    node = as_node(grown.fitted_tree_, X, y)
    collapse(node)
    collapsed = DecisionTreeClassifier(**options, collapse=True).fit(X, y)
    assert_same_rows(node, collapsed.fitted_tree_, X, rows)
    prune(node, X, y, confidence, raising)
    options |= {"pruning_confidence": confidence, "subtree_raising": raising}
    pruned = DecisionTreeClassifier(**options, collapse=True).fit(X, y)
    assert_same_rows(node, pruned.fitted_tree_, X, rows)
    assert pruned.predict(X).tolist() == [predict_row(node, x) for x in X]
    assert pruned.get_n_leaves() == len(leaves_of(node))


@pytest.mark.parametrize("options", [{"average_gain": False}, {"cut_minimum": False}, PRUNED | {"collapse": False}])
def test_weights_of_two_prune_like_rows_that_occur_twice(options: dict[str, Any]) -> None:
    X, y = rows_of(8, 80, 3, [1])
    chosen = {**options_of(replace(QUINLAN, least_rows=1)), **PRUNED, **options, "categorical_features": [1]}
    twice = DecisionTreeClassifier(**chosen).fit(np.vstack([X, X]), np.concatenate([y, y]))
    weighted = DecisionTreeClassifier(**chosen).fit(X, y, np.full(80, 2.0))
    assert twice.fitted_tree_.feature.tolist() == weighted.fitted_tree_.feature.tolist()
    np.testing.assert_allclose(twice.fitted_tree_.value, weighted.fitted_tree_.value)
    np.testing.assert_allclose(twice.fitted_tree_.impurity, weighted.fitted_tree_.impurity)


def test_raising_without_pruning_is_refused() -> None:
    with pytest.raises(ValueError, match=r"pruning_confidence=0\.25"):
        DecisionTreeClassifier(subtree_raising=True).fit([[0.0], [1.0]], [0, 1])


@pytest.mark.parametrize("tree", [DecisionTreeClassifier, DecisionTreeRegressor])
def test_thresholds_are_the_largest_values_up_to_the_middle_and_part_the_rows_alike(tree: Any) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3)).round(1)
    X[:, 2] += 1e9  # where neighbouring values are far from neighbouring floats
    X[rng.random(200) < 0.1, 1] = np.nan
    y = (X[:, 0] > 0.3) * 2 + rng.integers(0, 2, 200)
    middle = tree(min_samples_leaf=3).fit(X, y)
    values = tree(min_samples_leaf=3, thresholds="values").fit(X, y)
    np.testing.assert_array_equal(middle.apply(X), values.apply(X))
    for node in np.flatnonzero(np.isfinite(middle.fitted_tree_.threshold)).tolist():
        column = X[:, middle.fitted_tree_.feature[node]]
        up_to = column[column <= middle.fitted_tree_.threshold[node]].max()
        assert values.fitted_tree_.threshold[node] == np.nextafter(up_to, np.inf)


def test_neighbouring_floats_are_parted_at_the_lower_value() -> None:
    low = 1.0
    high = np.nextafter(low, 2.0)
    tree = DecisionTreeClassifier(thresholds="values").fit([[low], [high]], [0, 1])
    assert tree.predict([[low], [high]]).tolist() == [0, 1]


def test_text_shows_on_which_side_equality_is() -> None:
    tree = DecisionTreeClassifier(thresholds="values").fit([[1.0], [2.0], [4.0]], ["a", "a", "b"])
    assert tree.predict([[2.0], [2.1]]).tolist() == ["a", "b"]
    assert export_text(tree) == "|-- x1 <= 2.00 → a (2 rows)\n|-- x1 > 2.00 → b (1 row)\n"


OURS_OF_WEKA: dict[str, dict[str, Any]] = {
    "": {},
    "-U": {"pruning_confidence": None, "subtree_raising": False},
    "-S": {"subtree_raising": False},
    "-C 0.1": {"pruning_confidence": 0.1},
    "-C 0.5 -M 5": {"pruning_confidence": 0.5, "min_samples_leaf": 5},
    "-U -J": {"pruning_confidence": None, "subtree_raising": False, "mdl_correction": False},
    "-U -J -doNotMakeSplitPointActualValue": {
        "pruning_confidence": None,
        "subtree_raising": False,
        "mdl_correction": False,
        "thresholds": "midpoints",
    },
    "-O -M 1": {"collapse": False, "min_samples_leaf": 1},
}
"""Options of J48, and what differs from Quinlan's defaults."""


@pytest.mark.parametrize("table", TREE_TABLES)
@pytest.mark.parametrize("options", OURS_OF_WEKA)
def test_predictions_and_leaves_are_j48s(options: str, table: str) -> None:
    data = load_table(table)
    X, y = data.half(0)
    queries, _ = data.half(1)
    theirs = read_output(J48, options, table)
    chosen = {**options_of(QUINLAN), **PRUNED, **OURS_OF_WEKA[options]}
    # Equal votes go to the smallest class here, and to the first of the file in WEKA, so that codes are predicted.
    codes = np.array([data.classes.index(label) for label in y])
    ours = DecisionTreeClassifier(**chosen).fit(X, codes)
    # A cell that equals a middle goes left in WEKA.
    ours.fitted_tree_.threshold = (
        np.nextafter(ours.fitted_tree_.threshold, np.inf) if "-doNot" in options else ours.fitted_tree_.threshold
    )
    predicted = np.array(data.classes)[ours.predict(queries)]
    assert predicted.tolist() == theirs.predicted.tolist()
    # WEKA also counts the leaves of values that no row has.
    if all(categories is None for categories in ours.categories_):
        assert (ours.get_n_leaves(), ours.fitted_tree_.node_count) == (theirs.leaves, theirs.nodes)
