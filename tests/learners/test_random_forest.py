"""Random forests: both ways of drawing features, both votes, rows out of the bag, and scikit-learn beside it."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.ensemble import RandomForestClassifier as ScikitLearnClassifier
from sklearn.ensemble import RandomForestRegressor as ScikitLearnRegressor
from sklearn.model_selection import KFold, cross_val_score

from bakeoff.learners import DecisionTreeClassifier, RandomForestClassifier, RandomForestRegressor
from bakeoff.learners.random_forest.bootstrap import TrainingRows
from bakeoff.learners.trees.criteria import SquaredDistance
from bakeoff.learners.trees.growing.grower import GrowthLimits, grow_frontier
from bakeoff.learners.trees.rows.class_target import ClassTarget
from bakeoff.learners.trees.rows.frontier import Frontier
from bakeoff.learners.trees.rows.numeric_target import NumericTarget


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
    monkeypatch.setattr("bakeoff.learners.random_forest.batch_grower.MAX_ROWS_PER_BATCH", 1)
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


# Weights: how often a row is there


WAYS: list[dict[str, Any]] = [
    {},
    {"oob_score": True},
    {"max_samples": 0.4},
    {"max_samples": 50, "feature_subset": "tree"},
    {"bootstrap": False, "max_samples": 0.5, "max_features": 2},
    {"max_leaf_nodes": 8, "min_samples_leaf": 0.02, "min_weight_fraction_leaf": 0.02},
    {"ccp_alpha": 0.01, "class_weight": "balanced"},
]


def _mixed_table(seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return rounded rows, some of them equal, with missing cells and a nominal column; targets; whole weights."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.normal(size=(120, 3)).round(1), rng.integers(0, 3, 120)])
    X[::9, 1] = np.nan
    X[60:75] = X[:15]
    y = np.nan_to_num(X[:, 0] + X[:, 1]) + X[:, 3] + rng.normal(size=120).round(1)
    y[60:70] = y[:10]
    return X, y, rng.integers(0, 4, 120)


def _forest(kind: Any, way: dict[str, Any]) -> Any:
    way = {name: value for name, value in way.items() if kind is RandomForestClassifier or name != "class_weight"}
    return kind(12, categorical_features=[3], random_state=4, **way)


def _fitted_bits(forest: Any) -> list[bytes]:
    """Return all that was learned, as bytes."""
    trees = [np.asarray(part).tobytes() for tree in forest.trees_ for part in vars(tree).values()]
    return [*trees, str(getattr(forest, "oob_score_", None)).encode()]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", [RandomForestClassifier, RandomForestRegressor])
def test_a_row_of_weight_w_is_the_row_w_times_to_the_last_bit(kind: Any, way: dict[str, Any]) -> None:
    X, y, weight = _mixed_table()
    y = y if kind is RandomForestRegressor else (y > 1).astype(int) + (y > 2)
    one = _forest(kind, way).fit(X, y, sample_weight=weight)
    two = _forest(kind, way).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    assert _fitted_bits(one) == _fitted_bits(two)


@pytest.mark.parametrize("way", [*WAYS, {"bootstrap": False}])
@pytest.mark.parametrize("kind", [RandomForestClassifier, RandomForestRegressor])
def test_rows_in_another_order_give_the_same_forest_to_the_last_bit(kind: Any, way: dict[str, Any]) -> None:
    X, y, weight = _mixed_table()
    y = y if kind is RandomForestRegressor else (y > 1).astype(int) + (y > 2)
    weight = weight if "max_samples" in way and way.get("bootstrap") is False else weight * 0.37
    order = np.random.default_rng(1).permutation(len(y))
    one, two = (
        _forest(kind, way).fit(X[rows], y[rows], sample_weight=weight[rows]) for rows in (np.arange(len(y)), order)
    )
    assert _fitted_bits(one) == _fitted_bits(two)
    if one.oob_score:
        tested = "oob_prediction_" if kind is RandomForestRegressor else "oob_decision_function_"
        np.testing.assert_array_equal(getattr(one, tested)[order], getattr(two, tested))


@pytest.mark.parametrize("way", [{}, {"max_samples": 0.3}, {"bootstrap": False}])
def test_weights_of_one_are_no_weights(way: dict[str, Any]) -> None:
    X, y, _ = _mixed_table()
    one, two = _forest(RandomForestRegressor, way).fit(X, y), _forest(RandomForestRegressor, way)
    assert _fitted_bits(one) == _fitted_bits(two.fit(X, y, sample_weight=np.ones(len(y))))


def test_rows_are_drawn_in_proportion_to_their_weights() -> None:
    X, weight = np.arange(5.0)[:, None], np.array([0.5, 1.25, 0.0, 3.0, 0.25])
    forest = RandomForestRegressor(400, max_samples=100, random_state=0).fit(X, X[:, 0], sample_weight=weight)
    counts = np.zeros(5)
    for tree in forest.trees_:
        leaves = np.flatnonzero(tree.is_leaf)
        np.add.at(counts, tree.value[leaves, 0].astype(int), tree.n_node_samples[leaves])
    np.testing.assert_allclose(counts / counts.sum(), weight / weight.sum(), atol=0.01)


def test_all_rows_without_bootstrap_give_every_tree_the_weights_as_they_are() -> None:
    X, y = load_wine(return_X_y=True)
    weight = np.random.default_rng(0).random(len(y))
    forest = RandomForestClassifier(1, bootstrap=False, max_features=None, random_state=0).fit(X, y, weight)
    tree = DecisionTreeClassifier().fit(X, y, weight)
    np.testing.assert_array_equal(forest.trees_[0].threshold, tree.tree_.threshold)
    np.testing.assert_allclose(forest.predict_proba(X), tree.predict_proba(X))


def test_class_weights_count_in_the_criterion_and_not_in_the_draw() -> None:
    X, y = load_wine(return_X_y=True)
    plain = RandomForestClassifier(5, max_depth=1, max_features=None, random_state=0).fit(X, y)
    heavy = RandomForestClassifier(5, max_depth=1, max_features=None, class_weight={2: 1000}, random_state=0).fit(X, y)
    for one, other in zip(plain.trees_, heavy.trees_, strict=True):
        assert one.n_node_samples[0] == other.n_node_samples[0] == len(y)
        share = one.value[0] * [1, 1, 1000]
        np.testing.assert_allclose(other.value[0], share / share.sum())


def test_the_score_out_of_the_bag_is_weighted_and_rows_of_weight_zero_have_no_answer_there() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    weight = np.where(y == 0, 3.0, 1.0)
    weight[:20] = 0
    forest = RandomForestClassifier(30, max_depth=2, oob_score=True, random_state=0).fit(X, y, sample_weight=weight)
    answers = forest.oob_decision_function_
    assert answers.shape == (len(y), 2)
    assert np.isnan(answers[:20]).all()
    known = ~np.isnan(answers[:, 0])
    right = answers[known].argmax(axis=1) == y[known]
    assert forest.oob_score_ == pytest.approx(np.average(right, weights=weight[known]))
    assert forest.oob_score_ != pytest.approx(right.mean())


def test_weights_that_sum_to_one_are_warned_of_with_the_cure() -> None:
    X, y = load_wine(return_X_y=True)
    weight = np.full(len(y), 1 / len(y))
    with pytest.warns(UserWarning, match=r"sums to 1, .* draws 1 of 178 rows. Multiply the weights by 178"):
        RandomForestClassifier(2).fit(X, y, sample_weight=weight)
    given = RandomForestClassifier(20, max_samples=len(y), random_state=0).fit(X, y, sample_weight=weight)
    assert given.score(X, y) > 0.95


def test_a_part_without_replacement_refuses_weights_that_are_no_numbers_of_rows() -> None:
    X, y = load_wine(return_X_y=True)
    forest = RandomForestClassifier(2, bootstrap=False, max_samples=0.5)
    with pytest.raises(
        ValueError, match=r"holds 0\.5, but bootstrap=False with max_samples=0\.5 .* give whole numbers"
    ):
        forest.fit(X, y, sample_weight=np.full(len(y), 0.5))


# Limits that are those of the trees


def test_leaves_are_limited_and_trees_cut_back_as_those_of_a_tree() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    alone = {"n_estimators": 1, "bootstrap": False, "max_features": None, "random_state": 0}
    for limit in ({"max_leaf_nodes": 5}, {"ccp_alpha": 0.01}):
        forest, tree = RandomForestClassifier(**alone, **limit).fit(X, y), DecisionTreeClassifier(**limit).fit(X, y)
        np.testing.assert_array_equal(forest.trees_[0].threshold, tree.tree_.threshold)
    forest = RandomForestClassifier(10, max_leaf_nodes=5, random_state=0).fit(X, y)
    assert {tree.n_leaves for tree in forest.trees_} == {5}


# Processes


@pytest.mark.slow
@pytest.mark.parametrize("kind", [RandomForestClassifier, RandomForestRegressor])
def test_any_number_of_processes_gives_the_same_forest(kind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bakeoff.learners.random_forest.batch_grower.MAX_ROWS_PER_BATCH", 500)  # a few trees at a time
    X, y, weight = _mixed_table()
    y = y if kind is RandomForestRegressor else (y > 1).astype(int)
    one = _forest(kind, {"oob_score": True}).fit(X, y, sample_weight=weight)
    for n_jobs in (2, -1):
        many = _forest(kind, {"oob_score": True, "n_jobs": n_jobs}).fit(X, y, sample_weight=weight)
        assert _fitted_bits(one) == _fitted_bits(many)


def test_no_processes_at_all_are_refused() -> None:
    with pytest.raises(ValueError, match="n_jobs is 0; it can be"):
        RandomForestClassifier(2, n_jobs=0).fit([[0.0], [1.0]], [0, 1])


# Predicting with all trees at once


@pytest.mark.parametrize("nominal", [None, [3], [0, 1, 2, 3]])
@pytest.mark.parametrize("missing", [False, True])
def test_rows_stop_where_they_stop_in_each_tree(nominal: Any, missing: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bakeoff.learners.random_forest.predictor.NODES_PER_GROUP", 300)
    X, y, _ = _mixed_table()
    X = X if missing else np.nan_to_num(X)
    forest = RandomForestRegressor(9, categorical_features=nominal, max_features=2, random_state=0).fit(X, y)
    query = np.vstack([X, X[:, ::-1], np.full((1, 4), 99.0)])
    table = forest._check_query(query)
    expected = np.sum([tree.value[tree.apply(table), 0] for tree in forest.trees_], axis=0) / 9
    np.testing.assert_allclose(forest.predict(query), expected, rtol=1e-12)


# Ways of sorting and counting


@pytest.mark.parametrize("kind", ["labels", "many labels", "values"])
@pytest.mark.parametrize("weighted", [False, True])
def test_rows_sorted_at_each_level_give_the_tree_of_rows_kept_sorted(kind: str, weighted: bool) -> None:
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=(1500, 3)), rng.integers(0, 4, (1500, 2))])
    X[rng.random(1500) < 0.1, 0] = np.nan
    weight = rng.uniform(0.5, 2, 1500) if weighted else np.ones(1500)
    y = X[:, 1] + X[:, 3] + rng.normal(size=1500)
    c = {"labels": 3, "many labels": 12, "values": 0}[kind]
    target = ClassTarget(rng.integers(0, c, 1500), weight, c, "gini") if c else NumericTarget(y, weight)
    growth = GrowthLimits(SquaredDistance(classes=c > 0), min_samples_leaf=2, multiway=weighted)
    n_values = np.array([0, 0, 0, 4, 4])
    one, two = (
        grow_frontier(Frontier.from_rows(X, n_values > 0, target, draws_features=drawing), n_values, growth)[0]
        for drawing in (False, True)
    )
    assert one.node_count > 300
    for name, column in vars(one).items():
        np.testing.assert_allclose(column, getattr(two, name), rtol=1e-9, atol=1e-12, err_msg=name)


@pytest.mark.parametrize("kind", [RandomForestClassifier, RandomForestRegressor])
@pytest.mark.parametrize("nominal_splits", ["multiway", "binary"])
def test_values_that_are_counted_split_as_values_that_are_sorted(
    kind: Any, nominal_splits: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y, weight = _mixed_table()
    X[:, :3] = np.nan_to_num(X[:, :3]).round()
    y = y if kind is RandomForestRegressor else (y > 1).astype(int) + (y > 2)
    forest = kind(9, categorical_features=[0, 2, 3], nominal_splits=nominal_splits, max_features=2, random_state=0)
    counted = _fitted_bits(forest.fit(X, y, sample_weight=weight))
    monkeypatch.setattr("bakeoff.learners.trees.splitting.value_groups.MAX_KEYS_PER_ROW", 0)
    assert _fitted_bits(forest.fit(X, y, sample_weight=weight)) == counted


@pytest.mark.parametrize("given", [{}, {"bootstrap": False, "max_samples": 0.5}])
def test_heavy_weights_cost_no_more_than_light_ones_and_draw_as_they_weigh(given: dict[str, Any]) -> None:
    X, y = np.arange(40.0)[:, None], np.arange(40) % 2
    rows = TrainingRows.from_table(X, y, np.full(40, 1e6), merge_equal=True)
    drawn = rows.draw_counts(np.random.default_rng(0), 20_000_000, replacement=not given)
    assert drawn.sum() == 20_000_000
    np.testing.assert_allclose(drawn, 500_000, rtol=0.02)
    forest = RandomForestClassifier(3, random_state=0, **given).fit(X, y, sample_weight=np.full(40, 1e6))
    np.testing.assert_array_equal(forest.predict(X), y)
    if given:
        with pytest.raises(ValueError, match="divide the weights"):
            forest.fit(X, y, sample_weight=np.full(40, 1e150))
    else:
        np.testing.assert_array_equal(forest.fit(X, y, sample_weight=np.full(40, 1e150)).predict(X), y)
