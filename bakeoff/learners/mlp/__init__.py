"""Multilayer perceptron: the estimators, the `network`, and its `training`."""

from bakeoff.learners.mlp.multilayer_perceptron import MLPClassifier, MLPRegressor

__all__ = ["MLPClassifier", "MLPRegressor"]
