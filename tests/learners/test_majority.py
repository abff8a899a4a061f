"""Majority class and mean: scikit-learn's dummy estimators are the oracle, and no feature is looked at."""

from typing import Any

import numpy as np
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
