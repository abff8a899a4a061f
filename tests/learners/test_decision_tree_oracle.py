"""Decision trees against scikit-learn's on the bundled data sets."""

from typing import Any

import numpy as np
import pytest
from sklearn import datasets
from sklearn.tree import DecisionTreeClassifier as ScikitLearnClassifier
from sklearn.tree import DecisionTreeRegressor as ScikitLearnRegressor

from bakeoff.learners import DecisionTreeClassifier, DecisionTreeRegressor

CASES = [
    *((name, criterion) for name in ("iris", "wine", "breast_cancer", "digits") for criterion in ("gini", "entropy")),
    ("diabetes", "squared_error"),
]


def _load(name: str) -> tuple[np.ndarray, np.ndarray]:
    X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    return X.astype(np.float32).astype(np.float64), y  # scikit-learn sees features in single precision


def _compare(ours: Any, theirs: Any, X: np.ndarray, rows: np.ndarray, node: int, other: int) -> tuple[int, int]:
    """Walk both trees; a different split must gain the same, and where it parts rows differently the walk ends.

    Returns how many nodes were compared, and how many of them were ties.
    """
    assert ours.impurity[node] == pytest.approx(theirs.impurity[other], rel=1e-9, abs=1e-9)
    assert ours.n_node_samples[node] == theirs.n_node_samples[other]
    if theirs.children_left[other] < 0:
        assert ours.feature[node] < 0
        return 1, 0
    left, right = theirs.children_left[other], theirs.children_right[other]
    children = list(ours.children(node))
    fall = ours.weighted_n_node_samples[children] @ ours.impurity[children]
    assert fall == pytest.approx(
        theirs.weighted_n_node_samples[[left, right]] @ theirs.impurity[[left, right]], rel=1e-7, abs=1e-9
    )
    goes_left = X[rows, ours.feature[node]] < ours.threshold[node]
    goes_left_there = X[rows, theirs.feature[other]] <= theirs.threshold[other]
    tie = ours.feature[node] != theirs.feature[other]
    if not tie and np.array_equal(goes_left, goes_left_there):
        assert ours.threshold[node] == pytest.approx(theirs.threshold[other], rel=1e-6)
    if np.array_equal(goes_left, ~goes_left_there):
        left, right = right, left
    elif not np.array_equal(goes_left, goes_left_there):
        return 1, 1
    one = _compare(ours, theirs, X, rows[goes_left], children[0], left)
    two = _compare(ours, theirs, X, rows[~goes_left], children[1], right)
    return 1 + one[0] + two[0], tie + one[1] + two[1]


@pytest.mark.parametrize(("name", "criterion"), CASES)
@pytest.mark.parametrize("weighted", [False, True])
def test_same_fall_of_impurity_at_every_node_and_same_splits_but_for_ties(
    name: str, criterion: Any, weighted: bool
) -> None:
    X, y = _load(name)
    weight = np.random.default_rng(0).uniform(0.5, 2, y.size) if weighted else None
    regression = criterion == "squared_error"
    ours = (DecisionTreeRegressor if regression else DecisionTreeClassifier)(criterion=criterion)
    theirs = (ScikitLearnRegressor if regression else ScikitLearnClassifier)(criterion=criterion, random_state=0)
    ours.fit(X, y, sample_weight=weight)
    theirs.fit(X, y, sample_weight=weight)
    compared, ties = _compare(ours.fitted_tree_, theirs.tree_, X, np.arange(y.size), 0, 0)
    assert compared >= 9
    assert ties < compared


@pytest.mark.parametrize("name", ["iris", "wine", "breast_cancer", "digits", "diabetes"])
def test_limited_trees_predict_alike(name: str) -> None:
    X, y = _load(name)
    regression = name == "diabetes"
    limits: list[dict[str, Any]] = [{"max_depth": 2}, {"min_samples_leaf": 20, "max_depth": 3}, {"max_leaf_nodes": 4}]
    for limit in limits:
        ours = (DecisionTreeRegressor if regression else DecisionTreeClassifier)(**limit).fit(X, y)
        theirs = (ScikitLearnRegressor if regression else ScikitLearnClassifier)(**limit, random_state=0).fit(X, y)
        assert ours.score(X, y) == pytest.approx(theirs.score(X, y), abs=0.01)
        assert ours.get_n_leaves() == theirs.get_n_leaves()
        assert sorted(ours.fitted_tree_.impurity) == pytest.approx(sorted(theirs.tree_.impurity), abs=0.02, rel=0.01)


def test_missing_cells_split_as_scikit_learns() -> None:
    X, y = _load("breast_cancer")
    X[np.random.default_rng(0).random(X.shape) < 0.2] = np.nan
    ours, theirs = DecisionTreeClassifier(max_depth=3).fit(X, y), ScikitLearnClassifier(max_depth=3, random_state=0)
    theirs.fit(X, y)
    assert sorted(ours.fitted_tree_.impurity) == pytest.approx(sorted(theirs.tree_.impurity))
    assert np.mean(ours.predict(X) == theirs.predict(X)) == 1
