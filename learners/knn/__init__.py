"""k nearest neighbours: predict what the training rows nearest to the query have."""

from bakeoff.learners.knn.estimators import KNeighborsClassifier, KNeighborsRegressor

__all__ = ["KNeighborsClassifier", "KNeighborsRegressor"]
