"""Multilayer perceptron: `classifier` and `regressor` on their `base`, the `network`, and its `training`."""

from bakeoff.learners.mlp.classifier import MLPClassifier
from bakeoff.learners.mlp.regressor import MLPRegressor

__all__ = ["MLPClassifier", "MLPRegressor"]
