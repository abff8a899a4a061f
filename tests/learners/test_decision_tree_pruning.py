"""Pruning of trees: the two methods of the lectures against their definition, cost-complexity, pessimism."""

from typing import Any, Literal

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.tree import DecisionTreeClassifier as ScikitLearnClassifier
from sklearn.tree import DecisionTreeRegressor as ScikitLearnRegressor

from bakeoff.learners import DecisionTreeClassifier, DecisionTreeRegressor
from bakeoff.learners.trees.pruning.reduced_error import estimate_extra_errors


@pytest.mark.parametrize(("given", "validated"), [(["0", "1"], [0, 1]), ([0, 1], ["0", "1"])])
def test_labels_of_another_type_are_not_taken_for_classes_that_training_lacked(given: Any, validated: Any) -> None:
    tree = DecisionTreeClassifier().fit([[0.0], [1.0]], given)
    with pytest.raises(ValueError, match="give both as text, or both as numbers"):
        tree.prune([[0.0], [1.0]], validated, "bottom_up")
    assert tree.prune([[0.0], [1.0]], np.array(given, dtype=object), "bottom_up").get_n_leaves() == 2


@pytest.mark.parametrize("method", ["best_first", "bottom_up"])
def test_the_unit_of_the_target_does_not_decide_what_is_pruned(method: Literal["best_first", "bottom_up"]) -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(200, 2))
    y = (X[:, 0] > 0) + 0.1 * rng.normal(size=200)

    def prune_in(unit: float) -> DecisionTreeRegressor:
        return DecisionTreeRegressor().fit(X[:140], y[:140] * unit).prune(X[140:], y[140:] * unit, method)

    wanted = prune_in(1.0)
    assert 1 < wanted.get_n_leaves() < 120
    for exponent in (-400, -40, -20, 20, 400):
        unit = 2.0**exponent
        np.testing.assert_array_equal(prune_in(unit).predict(X), wanted.predict(X) * unit)


def test_the_two_methods_differ_on_data_made_for_it() -> None:
    # Below x = 4 the truth is 0, but training says 0 1 0 1.  The deepest cut neither helps nor harms the validation
    # rows; the whole subtree does harm.  Bottom-up stops at the equal step below, best-first takes the subtree at once.
    X = np.array([[0.0], [1.0], [2.0], [3.0], [4.0], [5.0], [6.0], [7.0], [8.0], [9.0]])
    y = np.array([0, 1, 0, 0, 0, 1, 1, 1, 1, 1])
    validation = np.array([[1.0], [9.0], [9.0]])
    truth = np.array([0, 1, 1])
    trees = {}
    for method in ("bottom_up", "best_first"):
        trees[method] = DecisionTreeClassifier().fit(X, y).prune(validation, truth, method=method)
    assert trees["bottom_up"].get_n_leaves() > trees["best_first"].get_n_leaves() == 2
    assert trees["best_first"].score(validation, truth) == 1


def test_an_equal_score_prunes_best_first_and_not_bottom_up() -> None:
    X, y = np.arange(8.0)[:, None], np.array([0, 0, 1, 1, 0, 0, 1, 1])
    elsewhere = np.array([[-1.0], [9.0]])
    assert DecisionTreeClassifier().fit(X, y).prune(elsewhere, [0, 1], method="bottom_up").get_n_leaves() == 4
    assert DecisionTreeClassifier().fit(X, y).prune(elsewhere, [0, 1], method="best_first").get_n_leaves() == 2


def test_validation_weights_count_as_repeated_rows() -> None:
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(120, 2)), rng.integers(0, 2, 120)
    weight = rng.integers(0, 4, 60)
    one = DecisionTreeClassifier().fit(X[:60], y[:60]).prune(X[60:], y[60:], sample_weight=weight)
    two = DecisionTreeClassifier().fit(X[:60], y[:60])
    two.prune(np.repeat(X[60:], weight, axis=0), np.repeat(y[60:], weight))
    for name, values in one.pruning_path_.items():
        np.testing.assert_allclose(values, two.pruning_path_[name], err_msg=name)


def test_a_validation_class_unknown_to_the_tree_is_an_error_wherever_it_stands() -> None:
    tree = DecisionTreeClassifier().fit([["0"], ["1"]], ["a", "b"])
    tree.prune([["0"], ["1"], ["1"]], ["a", "b", "zebra"])
    assert tree.get_n_leaves() == 2
    assert tree.pruning_path_["score"].tolist() == pytest.approx([2 / 3])


def test_cost_complexity_path_and_pruning_are_scikit_learns() -> None:
    cases = [
        (DecisionTreeClassifier, ScikitLearnClassifier, *load_breast_cancer(return_X_y=True)),
        (DecisionTreeRegressor, ScikitLearnRegressor, *load_diabetes(return_X_y=True)),
    ]
    for ours, theirs, X, y in cases:
        X = X[:200].astype(np.float32).astype(np.float64)
        path = ours().cost_complexity_pruning_path(X, y[:200])
        wanted = theirs(random_state=0).cost_complexity_pruning_path(X, y[:200])
        np.testing.assert_allclose(path.ccp_alphas[-5:], wanted.ccp_alphas[-5:])
        np.testing.assert_allclose(path.impurities[-5:], wanted.impurities[-5:])
        alpha = float(wanted.ccp_alphas[-4:-2].mean())
        leaves = theirs(ccp_alpha=alpha, random_state=0).fit(X, y[:200]).get_n_leaves()
        assert ours(ccp_alpha=alpha).fit(X, y[:200]).get_n_leaves() == leaves


def test_pessimistic_estimates_are_quinlans() -> None:
    # C4.5 (1993), section 4.2: U_25%(0, 6) = .206, U_25%(0, 9) = .143, U_25%(0, 1) = .750, U_25%(1, 16) = .157.
    n, errors = np.array([6.0, 9.0, 1.0, 16.0]), np.array([0.0, 0.0, 0.0, 1.0])
    assert (errors + estimate_extra_errors(n, errors, 0.25)) / n == pytest.approx(
        [0.206, 0.143, 0.750, 0.157], abs=0.012
    )


def test_pessimistic_pruning_removes_more_at_lower_confidence_and_takes_no_rows() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    y = ((X[:, 0] > 0) ^ (rng.random(300) < 0.2)).astype(int)
    leaves = [DecisionTreeClassifier().fit(X, y).get_n_leaves()]
    for confidence in (0.5, 0.25, 0.01):
        tree = DecisionTreeClassifier().fit(X, y).prune(method="pessimistic", confidence=confidence)
        leaves.append(tree.get_n_leaves())
    assert leaves == sorted(leaves, reverse=True)
    assert 2 <= leaves[-1] < leaves[0]


def test_pruning_refuses_what_it_cannot_do() -> None:
    tree = DecisionTreeClassifier().fit([[0], [1]], [0, 1])
    unknown: Any = "random"
    with pytest.raises(ValueError, match="method"):
        tree.prune([[0]], [0], method=unknown)
    with pytest.raises(ValueError, match="pass X and y"):
        tree.prune()
    with pytest.raises(ValueError, match="confidence"):
        tree.prune(method="pessimistic", confidence=0)
    with pytest.raises(ValueError, match="regressor"):
        DecisionTreeRegressor().fit([[0], [1]], [0, 1]).prune(method="pessimistic")
