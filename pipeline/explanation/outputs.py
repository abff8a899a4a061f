"""What of a model is explained: a probability for each class, a decision value, the predicted class, or a number."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np
import pandas as pd

from bakeoff.pipeline.stages.scoring import (
    compute_decision,
    get_classes,
    locate_labels,
    predict_probabilities,
    predict_values,
)

PROBABILITY = "predict_proba"
DECISION = "decision_function"
PREDICTION = "predict"
WORDS = {PROBABILITY: "probability of", DECISION: "decision value of", PREDICTION: "share of rows predicted as"}


@final
@dataclass(frozen=True)
class ModelOutputs:
    """k numbers that a model gives for each row.

    Attributes
    ----------
    model : estimator
        Fitted; it takes the columns of the dataset.
    method : {"predict_proba", "decision_function", "predict"}
        What the numbers come from; for classes, ``predict`` gives 1 for the predicted class and 0 for others.
    names : tuple of k str
        The classes, of two of them the positive one alone; for regression the target.
    codes : tuple of k int
        The positions of these classes among those of the model; empty for regression.
    """

    model: Any
    method: str
    names: tuple[str, ...]
    codes: tuple[int, ...] = ()

    @property
    def is_of_classes(self) -> bool:
        """Whether the model predicts classes."""
        return bool(self.codes)

    def describe_all(self) -> str:
        """Return the numbers in words, such as ``probability of each class``."""
        what = "each class" if len(self.names) > 1 else self.names[0]
        return f"{WORDS[self.method] if self.is_of_classes else 'prediction of'} {what}"

    def describe_choice(self, learner: str, target: str) -> str:
        """Return a sentence on the explained output, with the reason if it is not a probability."""
        if not self.is_of_classes:
            return f"Explained is the prediction of {target}."
        if self.method == PREDICTION:
            return (
                f"{learner} gives neither probabilities nor a decision value for each class: explained is which class "
                "is predicted, as 1 or 0."
            )
        if self.method == DECISION:
            return (
                f"{learner} gives no probabilities: explained are its decision values, which have no unit. With "
                "calibration=platt, a run has probabilities."
            )
        of = f"that {target} is {self.names[0]}" if len(self.names) == 1 else f"of each {target}"
        return f"Explained is the probability {of}."

    def compute(self, X: pd.DataFrame) -> np.ndarray:
        """Return the numbers for rows X (m, d), shape (m, k).

        Raises
        ------
        InvalidPredictions
            The model gives no such numbers.
        """
        if not self.is_of_classes:
            return predict_values(self.model, X, classes=None).astype(np.float64)[:, np.newaxis]
        if self.method == PREDICTION:
            classes = get_classes(self.model)
            codes = locate_labels(predict_values(self.model, X, classes), classes)  # (m,)
            return (codes[:, np.newaxis] == self.codes).astype(np.float64)
        respond = predict_probabilities if self.method == PROBABILITY else compute_decision
        scores = respond(self.model, X).astype(np.float64)
        if scores.ndim == 1:
            # The decision value of two classes is that of the second one.
            scores = np.column_stack([-scores, scores])
        return scores[:, list(self.codes)]


def find_outputs(model: Any, target: str, positive: str | None, trial: pd.DataFrame) -> ModelOutputs:
    """Choose the output of a model to explain: probabilities if it has them, else decision values, else predictions.

    Parameters
    ----------
    model : estimator
        Fitted.
    target : str
        The name of the target.
    positive : str or None
        The positive class, if there is one.
    trial : DataFrame of shape (m, d)
        A few rows, on which the decision values are tried.
    """
    if not hasattr(model, "classes_"):
        return ModelOutputs(model, PREDICTION, (target,))
    classes = [str(label) for label in model.classes_]
    codes = tuple(range(len(classes)))
    if len(classes) == 2:
        # With two classes, one is sufficient.
        codes = (classes.index(positive) if positive in classes else 1,)
    return ModelOutputs(
        model, _choose_method(model, len(classes), trial), tuple(classes[code] for code in codes), codes
    )


def _choose_method(model: Any, n_classes: int, trial: pd.DataFrame) -> str:
    if hasattr(model, PROBABILITY):
        return PROBABILITY
    if hasattr(model, DECISION):
        values = np.asarray(model.decision_function(trial))
        # Some learners give a value for each pair of classes, which says nothing of one class.
        if values.ndim == 1 or values.shape[1] == n_classes:
            return DECISION
    return PREDICTION
