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
    def words(self) -> str:
        """The numbers in words, such as ``probability of each class``."""
        what = "each class" if len(self.names) > 1 else self.names[0]
        return f"{WORDS[self.method] if self.codes else 'prediction of'} {what}"

    def compute(self, X: pd.DataFrame) -> np.ndarray:
        """Return the numbers for rows X (m, d), shape (m, k).

        Raises
        ------
        InvalidPredictions
            The model gives no such numbers.
        """
        if not self.codes:
            return predict_values(self.model, X, classes=None).astype(np.float64)[:, np.newaxis]
        if self.method == PROBABILITY:
            return predict_probabilities(self.model, X).astype(np.float64)[:, list(self.codes)]
        if self.method == DECISION:
            scores = compute_decision(self.model, X).astype(np.float64)[:, np.newaxis]
            # The decision value of two classes is that of the second one.
            return scores if self.codes[0] else -scores
        classes = get_classes(self.model)
        codes = locate_labels(predict_values(self.model, X, classes), classes)  # (m,)
        return (codes[:, np.newaxis] == self.codes).astype(np.float64)


def find_outputs(model: Any, target: str, positive: str | None) -> ModelOutputs:
    """Choose the output of a model to explain.

    Probabilities come first, then the decision value of two classes, then predictions: of more classes, some learners
    give a decision value for each pair.

    Parameters
    ----------
    model : estimator
        Fitted.
    target : str
        The name of the target.
    positive : str or None
        The positive class, if there is one.
    """
    if not hasattr(model, "classes_"):
        return ModelOutputs(model, PREDICTION, (target,))
    classes = [str(label) for label in model.classes_]
    is_binary = len(classes) == 2
    codes = tuple(range(len(classes)))
    if is_binary:
        codes = (classes.index(positive) if positive in classes else 1,)
    method = PREDICTION
    if hasattr(model, PROBABILITY):
        method = PROBABILITY
    elif is_binary and hasattr(model, DECISION):
        method = DECISION
    return ModelOutputs(model, method, tuple(classes[code] for code in codes), codes)
