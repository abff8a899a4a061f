"""Multilayer perceptron: the `estimators` on their `base`, the `network`, its `losses`, `solvers`, and `training`."""

from bakeoff.learners.mlp.estimators import MLPClassifier, MLPRegressor

__all__ = ["MLPClassifier", "MLPRegressor"]
