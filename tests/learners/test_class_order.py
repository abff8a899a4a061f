"""Equal votes go to the class that comes first in the order that is given, everywhere in a learner."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from bakeoff.learners import (
    DecisionTreeClassifier,
    KNeighborsClassifier,
    MajorityClassifier,
    RandomForestClassifier,
)
from bakeoff.learners.decision_tree import export_rules

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
    with pytest.raises(ValueError, match="does not hold the class 'b'"):
        learner.set_params(class_order=["a", "c"]).fit(X, TIED)
    with pytest.raises(ValueError, match="names a class twice"):
        learner.set_params(class_order=["a", "b", "a"]).fit(X, TIED)
    learner.set_params(class_order=None)


def test_text_and_pruning_of_a_tree_follow_the_order() -> None:
    tree = DecisionTreeClassifier(class_order=["b", "a"]).fit(X, TIED)
    assert export_rules(tree) == ["b (4 rows)"]
    # The root has equal votes: with b as its class, it makes no error on the validation rows, and is pruned to.
    cells = np.array([[0.0], [1.0]])
    sizes = []
    for order in (["a", "b"], ["b", "a"]):
        tree = DecisionTreeClassifier(class_order=order).fit(cells, ["a", "b"])
        tree.prune([[0.0], [0.2], [1.0]], ["b", "b", "b"], method="bottom_up")
        sizes.append((tree.get_n_leaves(), tree.predict([[0.0]])[0]))
    assert sizes == [(2, "a"), (1, "b")]
