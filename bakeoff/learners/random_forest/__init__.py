"""Random forests: many trees, each grown on randomly drawn rows and features.

``bootstrap`` draws the rows of a tree, ``batch_grower`` grows trees in batches, and ``predictor`` predicts with all
trees at once. ``base`` combines them for both estimators and scores the out-of-bag rows. The trees are grown in
`bakeoff.learners.trees`.
"""

from bakeoff.learners.random_forest.forest import RandomForestClassifier, RandomForestRegressor

__all__ = ["RandomForestClassifier", "RandomForestRegressor"]
