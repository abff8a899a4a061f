"""Multilayer perceptron: `classifier` and `regressor` on their `base`, `network`, `losses`, `solvers`, `training`."""

from bakeoff.learners.mlp.classifier import MLPClassifier
from bakeoff.learners.mlp.regressor import MLPRegressor

__all__ = ["MLPClassifier", "MLPRegressor"]
