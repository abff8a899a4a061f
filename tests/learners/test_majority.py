"""Majority class and mean: scikit-learn's dummy estimators are the oracle, and no feature is looked at."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.dummy import DummyClassifier, DummyRegressor

from bakeoff.learners import MajorityClassifier, MeanRegressor

X = np.arange(10.0).reshape(5, 2)
LABELS = ["no", "yes", "yes", "no", "yes"]
TARGETS = np.array([1.0, 2.0, 4.0, 8.0, 16.0])
WEIGHT = np.array([3.0, 1.0, 0.0, 2.5, 1.0])


@pytest.mark.parametrize("weight", [None, WEIGHT])
def test_classifier_is_the_dummy_classifier_of_strategy_prior(weight: Any) -> None:
    ours, theirs = MajorityClassifier().fit(X, LABELS, weight), DummyClassifier().fit(X, LABELS, weight)
    assert ours.predict(X).tolist() == theirs.predict(X).tolist()
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), rtol=1e-15)
    np.testing.assert_allclose(ours.predict_log_proba(X), theirs.predict_log_proba(X), rtol=1e-12)
    np.testing.assert_allclose(ours.class_prior_, theirs.class_prior_, rtol=1e-15)


@pytest.mark.parametrize("weight", [None, WEIGHT])
def test_regressor_is_the_dummy_regressor_of_strategy_mean(weight: Any) -> None:
    ours, theirs = MeanRegressor().fit(X, TARGETS, weight), DummyRegressor().fit(X, TARGETS, weight)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-15)
    assert ours.mean_ == pytest.approx(theirs.constant_.item())


def test_a_tie_goes_to_the_smallest_class() -> None:
    assert MajorityClassifier().fit(X[:4], ["b", "a", "a", "b"]).predict(X[:1]).tolist() == ["a"]


def test_weight_two_equals_the_row_twice() -> None:
    repeats = [2, 1, 1, 3, 1]
    weighted, repeated = MajorityClassifier().fit(X, LABELS, repeats), MajorityClassifier()
    repeated.fit(X.repeat(repeats, axis=0), np.repeat(LABELS, repeats))
    assert weighted.class_prior_.tolist() == repeated.class_prior_.tolist()
    mean = MeanRegressor().fit(X.repeat(repeats, axis=0), TARGETS.repeat(repeats)).mean_
    assert MeanRegressor().fit(X, TARGETS, repeats).mean_ == pytest.approx(mean, rel=1e-15)


def test_nominal_and_missing_cells_and_unknown_values_do_not_matter() -> None:
    table = pd.DataFrame({"colour": pd.Categorical(["red", None, "blue"]), "size": [1.0, np.nan, 3.0]})
    query = pd.DataFrame({"colour": pd.Categorical(["green"]), "size": [np.nan]})
    assert MajorityClassifier().fit(table, [0, 1, 1]).predict(query).tolist() == [1]
    assert MeanRegressor().fit(table, [0.0, 1.0, 5.0]).predict(query).tolist() == [2.0]


def test_one_row_and_one_class_are_enough() -> None:
    assert MajorityClassifier().fit([[1.0]], ["only"]).predict_proba([[5.0]]).tolist() == [[1.0]]
    assert MeanRegressor().fit([[1.0]], [7.0]).predict([[5.0]]).tolist() == [7.0]


@pytest.mark.parametrize("learner", [MajorityClassifier(), MeanRegressor()])
@pytest.mark.parametrize(
    ("rows", "y", "weight", "message"),
    [
        ([[np.inf], [1.0]], [0, 1], None, "infinity"),
        ([[0.0], [1.0]], [0, 1, 1], None, "inconsistent"),
        ([[0.0], [1.0]], [0, 1], [0.0, 0.0], "(?i)zero"),
        ([[0.0], [1.0]], [0, 1], [-1.0, 1.0], "[Nn]egative"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(learner: Any, rows: Any, y: Any, weight: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        learner.fit(rows, y, weight)
