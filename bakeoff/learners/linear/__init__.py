"""Linear models: the prediction is a weighted sum of the features, or the side of a hyperplane."""

from bakeoff.learners.linear.linear_regression import LinearRegression, Ridge
from bakeoff.learners.linear.logistic_regression import LogisticRegression
from bakeoff.learners.linear.perceptron import Perceptron

__all__ = ["LinearRegression", "LogisticRegression", "Perceptron", "Ridge"]
