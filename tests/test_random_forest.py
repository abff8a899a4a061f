"""Random forests: both ways of drawing features, both votes, rows out of the bag, and scikit-learn beside it."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.ensemble import RandomForestClassifier as ScikitLearnClassifier
from sklearn.ensemble import RandomForestRegressor as ScikitLearnRegressor
from sklearn.model_selection import KFold, cross_val_score

from learners import DecisionTreeClassifier, RandomForestClassifier, RandomForestRegressor


def _mean_score(learner: Any, X: np.ndarray, y: np.ndarray) -> float:
    scores = []
    for seed in range(3):
        folds = KFold(5, shuffle=True, random_state=seed)
        scores.append(cross_val_score(learner.set_params(random_state=seed), X, y, cv=folds).mean())
    return float(np.mean(scores))


@pytest.mark.parametrize("load", [load_wine, load_breast_cancer])
def test_accuracy_is_scikit_learns_within_noise(load: Any) -> None:
    X, y = load(return_X_y=True)
    ours, theirs = _mean_score(RandomForestClassifier(40), X, y), _mean_score(ScikitLearnClassifier(40), X, y)
    assert ours == pytest.approx(theirs, abs=0.015)


def test_r2_is_scikit_learns_within_noise() -> None:
    X, y = load_diabetes(return_X_y=True)
    ours, theirs = _mean_score(RandomForestRegressor(30), X, y), _mean_score(ScikitLearnRegressor(30), X, y)
    assert ours == pytest.approx(theirs, abs=0.03)


def test_one_tree_on_all_rows_and_features_is_the_decision_tree() -> None:
    X, y = load_wine(return_X_y=True)
    forest = RandomForestClassifier(1, bootstrap=False, max_features=None, random_state=0).fit(X, y)
    tree = DecisionTreeClassifier().fit(X, y)
    np.testing.assert_array_equal(forest.trees_[0].threshold, tree.tree_.threshold)
    np.testing.assert_array_equal(forest.predict_proba(X), tree.predict_proba(X))


def test_trees_grown_together_are_the_trees_grown_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = load_wine(return_X_y=True)
    together = RandomForestClassifier(7, random_state=3).fit(X, y)
    monkeypatch.setattr("learners.random_forest.BATCH", 1)
    alone = RandomForestClassifier(7, random_state=3).fit(X, y)
    for one, other in zip(together.trees_, alone.trees_, strict=True):
        np.testing.assert_array_equal(one.feature, other.feature)
        np.testing.assert_array_equal(one.threshold, other.threshold)


def test_subsets_by_tree_keep_a_tree_to_its_features() -> None:
    X, y = load_wine(return_X_y=True)
    forest = RandomForestClassifier(20, feature_subset="tree", max_features=3, random_state=0).fit(X, y)
    used = [set(tree.feature[~tree.is_leaf]) for tree in forest.trees_]
    assert all(len(features) <= 3 for features in used)
    assert len(set().union(*used)) > 6
    assert forest.score(X, y) > 0.95


def test_without_replacement_a_tree_has_the_fraction_of_rows_each_once() -> None:
    X, y = np.arange(40.0)[:, None], np.arange(40.0)
    forest = RandomForestRegressor(5, bootstrap=False, max_samples=0.25, random_state=0).fit(X, y)
    for tree in forest.trees_:
        assert tree.n_node_samples[0] == 10
        assert tree.n_leaves == 10


def test_a_hard_vote_counts_trees_and_a_soft_one_averages_them() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    hard = RandomForestClassifier(10, max_depth=2, voting="majority", random_state=0).fit(X, y)
    soft = RandomForestClassifier(10, max_depth=2, random_state=0).fit(X, y)
    values = [tree.value[tree.apply(X)] for tree in soft.trees_]
    np.testing.assert_allclose(soft.predict_proba(X), np.mean(values, axis=0))
    votes = np.mean([np.argmax(value, axis=1) for value in values], axis=0)
    np.testing.assert_allclose(hard.predict_proba(X)[:, 1], votes)


def test_out_of_bag_scores_estimate_those_of_new_rows() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    forest = RandomForestClassifier(60, oob_score=True, random_state=0).fit(X, y)
    assert forest.oob_score_ == pytest.approx(cross_val_score(forest, X, y, cv=5).mean(), abs=0.03)
    assert forest.oob_score_ < forest.score(X, y)
    X, y = load_diabetes(return_X_y=True)
    regressor = RandomForestRegressor(60, oob_score=True, random_state=0).fit(X, y)
    assert regressor.oob_score_ == pytest.approx(cross_val_score(regressor, X, y, cv=5).mean(), abs=0.08)


def test_importances_find_what_matters_and_sum_to_one() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 5))
    forest = RandomForestClassifier(20, random_state=0).fit(X, X[:, 3] > 0)
    assert np.argmax(forest.feature_importances_) == 3
    assert forest.feature_importances_.sum() == pytest.approx(1)


def test_nominal_columns_and_missing_cells_pass_as_in_the_trees() -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"colour": rng.choice(["red", "green", "blue"], 200), "size": rng.normal(size=200)})
    y = (X["colour"] == "red") | (X["size"] > 1)
    X.loc[::9, "size"] = np.nan
    X.loc[::11, "colour"] = None
    for nominal_splits in ("multiway", "binary"):
        forest = RandomForestClassifier(
            30, categorical_features=["colour"], nominal_splits=nominal_splits, random_state=0
        )
        assert forest.fit(X, y).score(X, y) > 0.95
        unseen = pd.DataFrame({"colour": ["violet"], "size": [0.0]})
        assert forest.predict_proba(unseen).sum() == pytest.approx(1)


def test_the_same_seed_gives_the_same_forest() -> None:
    X, y = load_diabetes(return_X_y=True)
    one, two, other = (RandomForestRegressor(5, random_state=seed).fit(X, y).predict(X) for seed in (0, 0, 1))
    np.testing.assert_array_equal(one, two)
    assert not np.array_equal(one, other)
