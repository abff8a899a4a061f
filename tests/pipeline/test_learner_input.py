"""Whether a learner depends on the units of the columns is what its predictions show."""

from __future__ import annotations

import numpy as np
import pytest
from doubles import Recorder
from sklearn.base import clone, is_classifier
from sklearn.ensemble import BaggingClassifier, VotingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from bakeoff.learners import REGISTRY
from bakeoff.pipeline.stages.preprocessing.auto import is_scale_sensitive

UNITS = np.array([1.0, 1000.0, 0.03125])
FREE = [name for name, learner in REGISTRY.items() if not is_scale_sensitive(learner())]


def test_trees_naive_bayes_and_the_baselines_do_not_depend_on_units() -> None:
    assert set(FREE) == {
        "decision_tree", "decision_tree_regressor", "random_forest", "random_forest_regressor", "naive_bayes",
        "majority", "mean",
    }  # fmt: skip


@pytest.mark.parametrize("name", FREE)
def test_a_learner_that_says_so_predicts_the_same_in_other_units(name: str) -> None:
    rng = np.random.default_rng(0)
    X = rng.integers(-8, 8, size=(80, 3)).astype(float)  # exact in every unit
    y = X[:, 0] + X[:, 1] * X[:, 2] > 0
    learner = REGISTRY[name]()
    if "random_state" in learner.get_params():
        learner.set_params(random_state=0)
    if name == "naive_bayes":
        learner.set_params(var_smoothing=0)  # it is a fraction of the largest variance of all columns
    target = y if is_classifier(learner) else y.astype(float)
    expected = clone(learner).fit(X[:60], target[:60]).predict(X)
    scaled = clone(learner).fit(X[:60] * UNITS, target[:60]).predict(X * UNITS)
    assert scaled.tolist() == expected.tolist()


@pytest.mark.parametrize(
    ("learner", "expected"),
    [
        (DecisionTreeClassifier(), False),
        (GaussianNB(), False),
        (LogisticRegression(), True),
        (BaggingClassifier(LogisticRegression()), True),
        (VotingClassifier([("tree", DecisionTreeClassifier()), ("bayes", GaussianNB())]), False),
        (Recorder(), True),
    ],
)
def test_estimators_of_others_are_known_by_module_and_by_their_parts(learner: object, expected: bool) -> None:
    assert is_scale_sensitive(learner) is expected
