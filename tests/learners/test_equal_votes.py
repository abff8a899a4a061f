"""Equal votes go to the first class in the order that is given, also where only rounding tells them apart."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from bakeoff.learners import (
    DecisionTreeClassifier,
    KNeighborsClassifier,
    MajorityClassifier,
    NaiveBayesClassifier,
    RandomForestClassifier,
)
from bakeoff.learners.base.estimator import choose_classes
from bakeoff.learners.decision_tree import export_text
from bakeoff.learners.definitions.majority_vote import majority_vote

SUM = 0.1 + 0.2
"""Larger than .3 by one unit in the last place."""


def test_scores_that_only_rounding_tells_apart_are_equal() -> None:
    scores = np.array([[0.3, SUM], [SUM, 0.3], [-0.3, -SUM], [-SUM, -0.3], [0.0, 0.0]])
    assert choose_classes(scores, None).tolist() == [0] * 5
    assert choose_classes(scores, np.array([1, 0])).tolist() == [1] * 5
    assert choose_classes(np.array([[0.3, 0.3 + 1e-9], [-1e-9, 0.0]]), None).tolist() == [1, 1]
    assert majority_vote(np.array([1, 1, 0]), np.array([0.1, 0.2, 0.3])) == 0


@pytest.mark.parametrize(
    "learner",
    [
        MajorityClassifier(),
        DecisionTreeClassifier(),
        RandomForestClassifier(3, bootstrap=False),
        NaiveBayesClassifier(alpha=0),
        KNeighborsClassifier(1, ties="all"),
    ],
    ids=lambda learner: type(learner).__name__,
)
def test_weights_of_one_and_two_tenths_equal_one_of_three(learner: Any) -> None:
    X = np.zeros((3, 1))
    for unit in (1.0, 10.0 / 3.0, 7.0):
        weight = unit * np.array([0.1, 0.2, 0.3]) * 2
        assert learner.fit(X, [1, 1, 0], sample_weight=weight).predict([[0.0]]).tolist() == [0]


X = np.array([[0.0], [0.0], [0.0], [0.0]])
TIED = np.array(["a", "b", "a", "b"])
VOTERS: list[Any] = [
    MajorityClassifier(),
    DecisionTreeClassifier(),
    KNeighborsClassifier(n_neighbors=4),
    RandomForestClassifier(n_estimators=3, bootstrap=False, voting="majority"),
    RandomForestClassifier(n_estimators=3, bootstrap=False),
]


@pytest.mark.parametrize("learner", VOTERS, ids=lambda learner: type(learner).__name__)
def test_of_equal_votes_the_first_class_of_the_order_wins(learner: Any) -> None:
    for order, winner in ((None, "a"), (["a", "b"], "a"), (["b", "a"], "b"), (["new", "b", "a"], "b")):
        fitted = learner.set_params(class_order=order).fit(X, TIED)
        assert fitted.predict([[0.0]]).tolist() == [winner]
        assert fitted.classes_.tolist() == ["a", "b"]
        # The order decides nothing else.
        if getattr(learner, "voting", "average") == "average":
            np.testing.assert_allclose(fitted.predict_proba([[0.0]]), [[0.5, 0.5]])


@pytest.mark.parametrize("learner", VOTERS[:4], ids=lambda learner: type(learner).__name__)
def test_an_order_without_a_class_or_with_one_twice_is_refused(learner: Any) -> None:
    with pytest.raises(ValueError, match="lacks the class 'b'"):
        learner.set_params(class_order=["a", "c"]).fit(X, TIED)
    with pytest.raises(ValueError, match="names a class twice"):
        learner.set_params(class_order=["a", "b", "a"]).fit(X, TIED)
    learner.set_params(class_order=None)


def test_text_and_pruning_of_a_tree_follow_the_order() -> None:
    tree = DecisionTreeClassifier(class_order=["b", "a"]).fit(X, TIED)
    assert export_text(tree) == "→ b (4 rows)\n"
    # The root has equal votes: with b as its class, it makes no error on the validation rows, and is pruned to.
    cells = np.array([[0.0], [1.0]])
    sizes = []
    for order in (["a", "b"], ["b", "a"]):
        tree = DecisionTreeClassifier(class_order=order).fit(cells, ["a", "b"])
        tree.prune([[0.0], [0.2], [1.0]], ["b", "b", "b"], method="bottom_up")
        sizes.append((tree.get_n_leaves(), tree.predict([[0.0]])[0]))
    assert sizes == [(2, "a"), (1, "b")]
