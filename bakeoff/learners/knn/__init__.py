"""k nearest neighbours: predict from the targets of the training rows nearest to the query."""

from bakeoff.learners.knn.classifier import KNeighborsClassifier
from bakeoff.learners.knn.regressor import KNeighborsRegressor

__all__ = ["KNeighborsClassifier", "KNeighborsRegressor"]
