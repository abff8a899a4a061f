"""The rules of C4.5 are what the definition says, each by itself and all together."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

import numpy as np
import pytest
from example_counts import examples
from hypothesis import given
from hypothesis import strategies as st
from tree_comparison import EQUAL, assert_same_prediction, parts, question_at

from bakeoff.learners import DecisionTreeClassifier
from bakeoff.learners.definitions.c45 import Rules, averaged_features, choose, grow_c45, list_candidates
from bakeoff.learners.definitions.decision_tree import Node
from bakeoff.learners.trees import Tree
from bakeoff.learners.trees.rows import binning
from bakeoff.learners.trees.rows.binning import Bins

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


def test_of_many_trees_nearly_all_nodes_are_the_definitions() -> None:
    compared = 0
    total = 0
    for seed in range(4):
        nominal = [[], [1, 3]][seed % 2]
        X, y = rows_of(seed, 120, 3, nominal)
        fast = DecisionTreeClassifier(**options_of(QUINLAN), categorical_features=nominal or None).fit(X, y)
        node = grow_c45(X, y, nominal)
        compared += Walk(X, y, nominal, QUINLAN).count_same(node, fast.fitted_tree_)
        total += fast.fitted_tree_.node_count
    assert total > 40
    assert compared > 0.9 * total


@pytest.mark.parametrize("rule", ["average_gain", "cut_minimum", "two_branches", "mdl_correction"])
def test_each_rule_changes_trees(rule: str) -> None:
    X, y = rows_of(3, 150, 3, [1, 3])
    without = DecisionTreeClassifier(**options_of(NO_RULES), categorical_features=[1, 3]).fit(X, y)
    other = DecisionTreeClassifier(**options_of(EACH_RULE[rule]), categorical_features=[1, 3]).fit(X, y)
    assert (without.fitted_tree_.feature.tolist(), without.fitted_tree_.threshold.tolist()) != (
        other.fitted_tree_.feature.tolist(),
        other.fitted_tree_.threshold.tolist(),
    )


def test_sorted_rows_and_histograms_give_one_c45_tree(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    X = rng.integers(0, 12, (1200, 5)).astype(float)
    y = (X[:, 0] + X[:, 1] + rng.normal(0, 4, 1200) > 11).astype(int)
    counted = DecisionTreeClassifier(**options_of(QUINLAN)).fit(X, y)
    assert Bins.from_columns(X.T) is not None
    monkeypatch.setattr(binning, "MIN_ROWS_PER_BIN", 10**6)
    assert Bins.from_columns(X.T) is None
    presorted = DecisionTreeClassifier(**options_of(QUINLAN)).fit(X, y)
    assert counted.fitted_tree_.feature.tolist() == presorted.fitted_tree_.feature.tolist()
    np.testing.assert_array_equal(counted.fitted_tree_.threshold, presorted.fitted_tree_.threshold)


def test_a_row_of_weight_two_counts_twice_in_every_rule_but_the_number_of_rows() -> None:
    X, y = rows_of(5, 90, 3, [1])
    options = options_of(replace(QUINLAN, least_rows=1))
    twice = DecisionTreeClassifier(**options, categorical_features=[1]).fit(np.vstack([X, X]), np.concatenate([y, y]))
    weighted = DecisionTreeClassifier(**options, categorical_features=[1]).fit(X, y, np.full(90, 2.0))
    assert twice.fitted_tree_.feature.tolist() == weighted.fitted_tree_.feature.tolist()
    np.testing.assert_array_equal(twice.fitted_tree_.threshold, weighted.fitted_tree_.threshold)


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
    for node in inner:
        least = min(25, tree.n_node_samples[node] / 20)
        assert tree.n_node_samples[tree.children(node)].min() >= least
