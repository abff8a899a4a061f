"""scikit-learn's tools for trees take ours: their names, their types and what they draw."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import sklearn.tree
from sklearn.datasets import load_diabetes, load_iris

from bakeoff.learners import DecisionTreeClassifier, DecisionTreeRegressor

Tree = DecisionTreeClassifier | DecisionTreeRegressor

FITTED: dict[str, Callable[[], Tree]] = {
    "classes": lambda: DecisionTreeClassifier(max_depth=4).fit(*load_iris(return_X_y=True)),
    "numbers": lambda: DecisionTreeRegressor(max_leaf_nodes=20).fit(*load_diabetes(return_X_y=True)),
    "pruned": lambda: DecisionTreeClassifier(ccp_alpha=0.01).fit(*load_iris(return_X_y=True)),
    "one node": lambda: DecisionTreeClassifier().fit([[1.0], [1.0]], [0, 1]),
}


@pytest.fixture(params=FITTED)
def tree(request: pytest.FixtureRequest) -> Tree:
    return FITTED[request.param]()


def grid_of(tree: Tree) -> np.ndarray:
    """Return rows around every threshold of a tree, and rows with a missing cell: (m, d)."""
    rng = np.random.default_rng(0)
    thresholds = tree.fitted_tree_.threshold[~tree.fitted_tree_.is_leaf]
    cells = np.concatenate([thresholds, np.nextafter(thresholds, -np.inf), thresholds + 0.1, [np.nan]])
    grid: np.ndarray = rng.choice(cells, size=(200, tree.n_features_in_))
    return grid


def descend(tree: Any, row: np.ndarray) -> int:
    """Follow a row down a tree of scikit-learn's form, as its documentation says, without rounding to 32 bits."""
    node = 0
    while tree.children_left[node] != -1:
        cell = row[tree.feature[node]]
        goes_left = tree.missing_go_to_left[node] if np.isnan(cell) else cell <= tree.threshold[node]
        node = tree.children_left[node] if goes_left else tree.children_right[node]
    return node


def test_the_tree_in_scikit_learns_form_leads_every_row_to_the_same_node(tree: Tree) -> None:
    grid = grid_of(tree)
    theirs = tree.tree_
    assert isinstance(theirs, sklearn.tree._tree.Tree)
    assert [descend(theirs, row) for row in grid] == tree.apply(grid).tolist()


def test_the_tree_in_scikit_learns_form_has_the_same_numbers(tree: Tree) -> None:
    ours = tree.fitted_tree_
    theirs = tree.tree_
    for name in ("node_count", "max_depth", "n_leaves"):
        assert getattr(theirs, name) == getattr(ours, name)
    for name in ("impurity", "n_node_samples", "weighted_n_node_samples"):
        np.testing.assert_array_equal(getattr(theirs, name), getattr(ours, name))
    np.testing.assert_array_equal(theirs.value[:, 0], ours.value)
    np.testing.assert_allclose(theirs.compute_feature_importances(), tree.feature_importances_, atol=1e-12)


def test_plot_tree_and_export_text_show_the_questions_and_answers() -> None:
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot

    X, y = load_iris(return_X_y=True)
    tree = DecisionTreeClassifier(max_depth=2).fit(X, y)
    text = sklearn.tree.export_text(tree, feature_names=load_iris().feature_names)
    assert text.splitlines() == [
        "|--- petal length (cm) <= 2.45",
        "|   |--- class: 0",
        "|--- petal length (cm) >  2.45",
        "|   |--- petal width (cm) <= 1.75",
        "|   |   |--- class: 1",
        "|   |--- petal width (cm) >  1.75",
        "|   |   |--- class: 2",
    ]
    figure, axes = pyplot.subplots()
    drawn = [note.get_text() for note in sklearn.tree.plot_tree(tree, ax=axes)]
    pyplot.close(figure)
    assert drawn[0] == "x[2] <= 2.45\ngini = 0.667\nsamples = 150\nvalue = [50, 50, 50]"
    assert "gini = 0.168\nsamples = 54\nvalue = [0, 49, 5]" in drawn


def test_export_graphviz_shows_the_means_of_a_regression_tree() -> None:
    tree = DecisionTreeRegressor(max_depth=1).fit([[1], [2], [3], [4]], [0.0, 0.0, 6.0, 8.0])
    assert "value = 7.0" in sklearn.tree.export_graphviz(tree)


def test_a_tree_that_was_fitted_before_scikit_learns_trees_were_imported_is_taken_as_well() -> None:
    script = """
import sys
from bakeoff.learners import DecisionTreeClassifier
tree = DecisionTreeClassifier().fit([[0.0], [1.0]], [0, 1])
assert "sklearn.tree" not in sys.modules
from sklearn.tree import export_text
print(export_text(tree))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert "|--- feature_0 <= 0.50" in done.stdout


def test_a_tree_on_nominal_columns_has_no_such_form_and_says_what_to_read() -> None:
    tree = DecisionTreeClassifier(categorical_features=[0]).fit(np.array([["a"], ["b"]], dtype=object), [0, 1])
    assert not hasattr(tree, "tree_")
    with pytest.raises(AttributeError, match="read fitted_tree_, or encode the columns"):
        tree.tree_  # noqa: B018


def test_a_stored_tree_of_an_earlier_version_is_read() -> None:
    tree = FITTED["classes"]()
    old = DecisionTreeClassifier()
    state = dict(vars(tree))
    state["tree_"] = state.pop("fitted_tree_")
    old.__setstate__(state)
    X = load_iris().data
    np.testing.assert_array_equal(old.predict(X), tree.predict(X))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(old)).apply(X), tree.apply(X))


def test_friedmans_criterion_is_replaced_with_a_warning() -> None:
    with pytest.warns(FutureWarning, match="friedman_mse"):
        tree = DecisionTreeRegressor(criterion="friedman_mse")
    assert tree.criterion == "squared_error"


def test_log_loss_is_entropy() -> None:
    X, y = load_iris(return_X_y=True)
    by_name = [DecisionTreeClassifier(criterion=name).fit(X, y).fitted_tree_ for name in ("entropy", "log_loss")]
    for field in vars(by_name[0]):
        np.testing.assert_array_equal(getattr(by_name[0], field), getattr(by_name[1], field))


def test_a_node_of_all_rows_may_be_required_to_split() -> None:
    X, y = load_iris(return_X_y=True)
    assert DecisionTreeClassifier(min_samples_split=1.0).fit(X, y).get_depth() == 1


def test_a_tree_that_is_not_fitted_says_so() -> None:
    from sklearn.exceptions import NotFittedError

    for ask in (lambda tree: tree.tree_, lambda tree: tree.apply([[0.0]]), lambda tree: tree.decision_path([[0.0]])):
        with pytest.raises(NotFittedError):
            ask(DecisionTreeClassifier())
