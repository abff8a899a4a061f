"""The predictions of a fitted estimator as a table."""

from __future__ import annotations

from typing import Any

import pandas as pd

from bakeoff.pipeline.errors import UserError

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
        The learner does not accept a value.
    """
    try:
        table = pd.DataFrame({PREDICTION: estimator.predict(X)})
        if hasattr(estimator, "predict_proba"):
            probabilities = estimator.predict_proba(X)  # (m, c)
            for label, column in zip(estimator.classes_, probabilities.T, strict=True):
                table[f"{PROBABILITY_PREFIX}{label}"] = column
    except ValueError as error:
        raise UserError(str(error)) from error
    return table


def list_outputs(estimator: Any) -> list[str]:
    """Return the names of the columns of `predict_table`."""
    if not hasattr(estimator, "predict_proba"):
        return [PREDICTION]
    return [PREDICTION, *(f"{PROBABILITY_PREFIX}{label}" for label in estimator.classes_)]
