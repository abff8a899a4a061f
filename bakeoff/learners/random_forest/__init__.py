"""Random forests: many trees, each grown on randomly drawn rows and features.

``forest`` has both estimators, ``batch_grower`` draws rows and grows trees in batches, and ``predictor`` predicts with
all trees at once. The trees are grown in `bakeoff.learners.trees`.
"""

from bakeoff.learners.random_forest.forest import RandomForestClassifier, RandomForestRegressor

__all__ = ["RandomForestClassifier", "RandomForestRegressor"]
