"""Random forests: many trees, drawn rows, drawn features.

``drawing`` says which rows a tree is given, ``growing`` grows batches of trees, ``bag`` keeps what they say of rows out
of it, ``walking`` sends rows down all trees, ``base`` is what both estimators share.
"""

from bakeoff.learners.random_forest.classifier import RandomForestClassifier
from bakeoff.learners.random_forest.regressor import RandomForestRegressor

BATCH = 1 << 16
"""Rows of all trees that grow together."""

__all__ = ["BATCH", "RandomForestClassifier", "RandomForestRegressor"]
