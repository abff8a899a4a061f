"""Random forests: ``growing`` draws rows and grows batches of trees, ``base`` is what both estimators share."""

from learners.random_forest.classifier import RandomForestClassifier
from learners.random_forest.regressor import RandomForestRegressor

BATCH = 1 << 15
"""Rows of all trees that grow together."""

__all__ = ["BATCH", "RandomForestClassifier", "RandomForestRegressor"]
