"""The predictions of a fitted estimator as a table."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import is_classifier

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.stages.scoring import get_classes, predict_probabilities, predict_values

PREDICTION = "prediction"
PROBABILITY_PREFIX = "probability_"


def predict_table(estimator: Any, X: pd.DataFrame) -> pd.DataFrame:
    """Predict for each row of a table.

    Parameters
    ----------
    estimator : estimator
        Fitted.
    X : DataFrame of shape (m, d)
        Of `convert_rows`.

    Returns
    -------
    DataFrame of shape (m, 1 or 1 + c)
        ``prediction``, and ``probability_<class>`` if the estimator has probabilities.

    Raises
    ------
    UserError
        The learner does not accept a value, or gives what is no prediction, such as a label that is no class.
    """
    try:
        table = pd.DataFrame({PREDICTION: _predict(estimator, X)})
        if hasattr(estimator, "predict_proba"):
            probabilities = predict_probabilities(estimator, X)  # (m, c)
            for label, column in zip(estimator.classes_, probabilities.T, strict=True):
                table[f"{PROBABILITY_PREFIX}{label}"] = column
    except ValueError as error:
        raise UserError(str(error)) from error
    return table


def _predict(estimator: Any, X: pd.DataFrame) -> np.ndarray:
    """Return the predictions for X (m, d), shape (m,), checked against the classes, if the estimator has any."""
    if hasattr(estimator, "classes_"):
        return predict_values(estimator, X, get_classes(estimator))
    if is_classifier(estimator):
        return np.asarray(estimator.predict(X))
    return predict_values(estimator, X, classes=None)


def list_outputs(estimator: Any) -> list[str]:
    """Return the names of the columns of `predict_table`."""
    if not hasattr(estimator, "predict_proba"):
        return [PREDICTION]
    return [PREDICTION, *(f"{PROBABILITY_PREFIX}{label}" for label in estimator.classes_)]
