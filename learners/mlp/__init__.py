"""Multilayer perceptron: `classifier` and `regressor` on their `base`, the `network`, and its `training`."""

from bakeoff.learners.mlp.multilayer_perceptron import MLPClassifier, MLPRegressor

__all__ = ["MLPClassifier", "MLPRegressor"]
