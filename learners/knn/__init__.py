"""k nearest neighbours: predict what the training rows nearest to the query have."""

from bakeoff.learners.knn.classifier import KNeighborsClassifier
from bakeoff.learners.knn.regressor import KNeighborsRegressor

__all__ = ["KNeighborsClassifier", "KNeighborsRegressor"]
