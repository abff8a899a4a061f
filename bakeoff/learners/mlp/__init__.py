"""Multilayer perceptron: the estimators, and the ``network`` with its training."""

from bakeoff.learners.mlp.multilayer_perceptron import MLPClassifier, MLPRegressor

__all__ = ["MLPClassifier", "MLPRegressor"]
