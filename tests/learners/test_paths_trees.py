"""One growth for many values of a parameter: every estimator of a path is the one that fitting anew would give."""

from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from bakeoff.learners import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)

pytestmark = pytest.mark.filterwarnings("ignore:Some inputs do not have OOB scores")

LIMITS: dict[str, list[Any]] = {
    "max_depth": [3, 1, None, 20, 7, 3],
    "max_leaf_nodes": [5, 2, None, 40, 13],
    "ccp_alpha": [0.002, 0.0, 0.02, 1e-4, 0.5],
}
TREES = [DecisionTreeClassifier, DecisionTreeRegressor]
FORESTS = [RandomForestClassifier, RandomForestRegressor]


def table(learner: Any, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return noisy rows: two numeric features, one of them with missing cells, and two of few values."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.normal(size=(180, 2)), rng.integers(0, 4, (180, 2))])
    truth = (X[:, 0] > 0) + (X[:, 2] == 1) * 2 - X[:, 1]
    X[rng.random(180) < 0.1, 0] = np.nan
    noisy = truth + rng.normal(size=180)
    regression = isinstance(learner, (DecisionTreeRegressor, RandomForestRegressor))
    return X, noisy if regression else np.array(["low", "mid", "top"])[np.clip(noisy, 0, 2).astype(int)]


def same(one: Any, two: Any, X: np.ndarray) -> None:
    """Compare predictions to the last bit, parameters, and the trees."""
    for answer in ("predict_proba", "predict"):
        if hasattr(one, answer):
            assert getattr(one, answer)(X).tobytes() == getattr(two, answer)(X).tobytes()
    assert {k: str(v) for k, v in one.get_params().items()} == {k: str(v) for k, v in two.get_params().items()}
    pairs = (
        [(one.fitted_tree_, two.fitted_tree_)]
        if hasattr(one, "fitted_tree_")
        else zip(one.trees_, two.trees_, strict=True)
    )
    for ours, theirs in pairs:
        for name in ("feature", "threshold", "first_child", "n_children", "depth", "impurity", "value", "gain"):
            np.testing.assert_array_equal(getattr(ours, name), getattr(theirs, name), err_msg=name)


def check(learner: Any, X: Any, y: Any, parameter: str, values: list[Any], **weight: Any) -> None:
    """Compare a path with a fit for each value."""
    assert parameter in learner.path_parameters
    fitted = list(learner.path(X, y, parameter, values, **weight))
    assert len(fitted) == len(values)
    for value, one in zip(values, fitted, strict=True):
        assert getattr(one, parameter) == value
        same(one, clone(learner).set_params(**{parameter: value}).fit(X, y, **weight), np.asarray(X))


@pytest.mark.parametrize("parameter", list(LIMITS))
@pytest.mark.parametrize("tree", TREES)
@pytest.mark.parametrize("nominal_splits", ["multiway", "binary"])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_path_of_trees_is_a_fit_for_each_value(
    parameter: str, tree: Any, nominal_splits: str, weighted: bool
) -> None:
    learner = tree(categorical_features=[2, 3], nominal_splits=nominal_splits)
    X, y = table(learner)
    weight = np.random.default_rng(1).uniform(0, 2, len(y)) * (np.arange(len(y)) % 7 > 0)
    check(learner, X, y, parameter, LIMITS[parameter], sample_weight=weight if weighted else None)


@pytest.mark.parametrize("parameter", list(LIMITS))
@pytest.mark.parametrize(
    "beside",
    [
        {"max_leaf_nodes": 9},
        {"max_depth": 4},
        {"ccp_alpha": 0.004},
        {"max_features": 2, "random_state": 3},
        {"max_features": 2, "random_state": 3, "max_leaf_nodes": 9},
        {"min_samples_leaf": 4, "min_impurity_decrease": 0.001},
    ],
)
@pytest.mark.parametrize("tree", TREES)
def test_other_parameters_keep_their_say(parameter: str, beside: dict[str, Any], tree: Any) -> None:
    learner = tree(**beside)
    X, y = table(learner, seed=2)
    check(learner, X, y, parameter, LIMITS[parameter])


@pytest.mark.slow
@pytest.mark.parametrize("forest", FORESTS)
@pytest.mark.parametrize(
    "beside",
    [
        {},
        {"oob_score": True},
        {"feature_subset": "tree", "max_features": 2, "bootstrap": False},
        {"max_leaf_nodes": 6, "ccp_alpha": 0.01},
    ],
)
@pytest.mark.parametrize("weighted", [False, True])
def test_a_path_of_forests_is_a_fit_for_each_value(forest: Any, beside: dict[str, Any], weighted: bool) -> None:
    learner = forest(random_state=5, categorical_features=[2, 3], **beside)
    X, y = table(learner)
    values = [4, 1, 11, 4]
    weight = np.random.default_rng(1).uniform(0, 2, len(y)) * (np.arange(len(y)) % 7 > 0) if weighted else None
    check(learner, X, y, "n_estimators", values, sample_weight=weight)
    for value, one in zip(values, learner.path(X, y, "n_estimators", values, weight), strict=True):
        if learner.oob_score:
            again = clone(learner).set_params(n_estimators=value).fit(X, y, weight)
            assert one.oob_score_ == again.oob_score_
            tested = "oob_prediction_" if hasattr(one, "oob_prediction_") else "oob_decision_function_"
            np.testing.assert_array_equal(getattr(one, tested), getattr(again, tested))
