"""Equal votes go to the smallest class, also where only rounding tells them apart."""

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
