"""k nearest neighbours: predict from the targets of the training rows nearest to the query."""

from bakeoff.learners.knn.neighbors import KNeighborsClassifier, KNeighborsRegressor

__all__ = ["KNeighborsClassifier", "KNeighborsRegressor"]
