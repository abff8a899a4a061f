"""The objectives that learners minimize on their training rows: times are comparable only at equal values of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.metrics.pairwise import rbf_kernel

MOST_VECTORS = 5000
"""The maximum number of support vectors: the norm of the weights needs the square of this number of kernel values."""


def squared_error(model: Any, X: Any, y: Any) -> float:
    """Return the mean squared error plus the penalty, if there is one, divided by n."""
    penalty = getattr(model, "alpha", 0.0) * np.square(model.coef_).sum()
    return float(np.square(y - model.predict(X)).mean() + penalty / len(y))


def log_loss(model: Any, X: Any, y: Any) -> float:
    """Return the mean negative log-likelihood plus ½‖w‖² / (C n)."""
    own = model.predict_log_proba(X)[np.arange(len(y)), np.searchsorted(model.classes_, y)]
    return float(-own.mean() + np.square(model.coef_).sum() / (2 * model.C * len(y)))


def hinge(model: Any, X: Any, y: Any) -> float:
    """Return ½‖w‖² / n + C · mean slack for two classes and the rbf kernel.

    The result is NaN for more classes, another kernel, or too many support vectors.
    """
    vectors = model.support_vectors_
    if len(model.classes_) > 2 or model.kernel != "rbf" or len(vectors) > MOST_VECTORS:
        return float("nan")
    gamma = 1.0 / (X.shape[1] * X.var()) if model.gamma == "scale" else model.gamma
    dual = np.ravel(model.dual_coef_)
    norm = dual @ rbf_kernel(vectors, gamma=gamma) @ dual
    slack = np.maximum(0.0, 1.0 - np.where(y == model.classes_[1], 1, -1) * model.decision_function(X))
    return float(norm / (2 * len(y)) + model.C * slack.mean())


def training_error(model: Any, X: Any, y: Any) -> float:
    """Return the fraction of misclassified training rows, or the mean squared error."""
    missed = model.predict(X) != y if is_classifier(model) else np.square(model.predict(X) - y)
    return float(np.mean(missed))


OBJECTIVES: dict[str, Callable[[Any, Any, Any], float]] = {
    "linear_regression": squared_error,
    "ridge": squared_error,
    "logistic_regression": log_loss,
    "svm": hinge,
    "perceptron": training_error,
    "decision_tree": training_error,
    "decision_tree_regressor": training_error,
    "random_forest": training_error,
    "random_forest_regressor": training_error,
    "mlp": lambda model, X, y: float(model.loss_),
    "mlp_regressor": lambda model, X, y: float(model.loss_),
}
