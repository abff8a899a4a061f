"""The formulas of the scores, of what a model said beside the truth.

They are scikit-learn's, without its checks of input: on a small fold those take a hundred times as long as the scores
themselves, since each score checks the same arrays again.  A score that is not defined on some rows (ROC AUC where one
class is absent) is NaN, never a silent 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.stats import rankdata


@dataclass(frozen=True)
class Outcome:
    """What a model said of m rows, beside the truth.

    Attributes
    ----------
    truth, predicted : ndarray of shape (m,)
    probabilities : ndarray of shape (m, c) or None
        Columns in the order of all the dataset's classes; 0 for a class that training did not have.
    decision : ndarray of shape (m,) or (m, c) or None
        Decision values, where there are no probabilities.
    classes : ndarray of shape (c,) or None
        None for regression.
    positive : object or None
    seconds : float
        Wall time of the prediction.
    """

    truth: np.ndarray
    predicted: np.ndarray
    probabilities: np.ndarray | None = None
    decision: np.ndarray | None = None
    classes: np.ndarray | None = None
    positive: object | None = None
    seconds: float = 0.0

    @cached_property
    def class_scores(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Precision, recall and F1 of each class, each of shape (c,), counted once for all three; NaN where it is 0/0.

        Of an outcome as `coded` gives it.
        """
        assert self.classes is not None
        table = counts(self.truth, self.predicted, len(self.classes))
        right, called, there = table.diagonal(), table.sum(axis=0), table.sum(axis=1)
        with np.errstate(invalid="ignore"):
            return right / called, right / there, 2 * right / (called + there)


def counts(truth: np.ndarray, predicted: np.ndarray, c: int) -> np.ndarray:
    """Count rows by true class (rows) and predicted class (columns), given as positions: shape (c, c)."""
    return np.bincount(truth * c + predicted, minlength=c * c).reshape(c, c)


def accuracy(outcome: Outcome) -> float:
    """Fraction of the rows whose class is predicted."""
    return float(np.mean(outcome.truth == outcome.predicted))


def balanced_accuracy(outcome: Outcome) -> float:
    """Mean recall of the classes that are there."""
    return float(np.nanmean(outcome.class_scores[1]))


def of_classes(outcome: Outcome, place: int) -> float:
    """Return precision (0), recall (1) or F1 (2) of the positive class, else the mean; NaN where one is 0/0."""
    each = outcome.class_scores[place]
    if outcome.positive is None:
        return float(np.mean(each))
    assert outcome.classes is not None
    return float(each[outcome.classes == outcome.positive][0])


def log_loss(outcome: Outcome) -> float:
    """Mean negative log-probability of the true class, in nats; clipping by the rounding error keeps it finite."""
    assert outcome.probabilities is not None
    of_truth = _finite(outcome.probabilities)[np.arange(len(outcome.truth)), outcome.truth]  # (m,)
    epsilon = np.finfo(of_truth.dtype).eps
    return float(-np.mean(np.log(np.clip(of_truth, epsilon, 1 - epsilon))))


def roc_auc(outcome: Outcome) -> float:
    """Area under the ROC curve; for more classes the mean over each class against the rest."""
    classes = outcome.classes
    assert classes is not None
    if len(np.unique(outcome.truth)) < len(classes):
        return float("nan")
    if len(classes) == 2:
        ranking = outcome.decision if outcome.probabilities is None else outcome.probabilities[:, 1]
        assert ranking is not None
        return float(area(outcome.truth == 1, ranking))
    if outcome.probabilities is None:
        return float("nan")
    return float(np.mean(area(outcome.truth[:, np.newaxis] == classes, outcome.probabilities)))


def area(positive: np.ndarray, ranking: np.ndarray) -> np.ndarray:
    """Fraction of the pairs of a positive and a negative row that are ranked in this order; a tie is half a pair.

    It is the rank sum of the p positive rows less the least that it can be, p(p+1)/2, over all pairs (Mann and
    Whitney).

    Parameters
    ----------
    positive : ndarray of bool, shape (m,) or (m, c)
    ranking : ndarray of the same shape

    Returns
    -------
    float or ndarray of shape (c,)
    """
    p = np.count_nonzero(positive, axis=0)
    ranks = rankdata(_finite(ranking), axis=0)  # from 1; tied rows share the mean
    fraction: np.ndarray = (np.sum(ranks * positive, axis=0) - p * (p + 1) / 2) / (p * (len(positive) - p))
    return fraction


def mse(outcome: Outcome) -> float:
    """Mean squared error."""
    return float(np.mean((outcome.truth - _finite(outcome.predicted)) ** 2))


def mae(outcome: Outcome) -> float:
    """Mean absolute error."""
    return float(np.mean(np.abs(outcome.truth - _finite(outcome.predicted))))


def r2(outcome: Outcome) -> float:
    """Fraction of the variance explained; NaN where the targets do not vary."""
    variance = np.mean((outcome.truth - np.mean(outcome.truth)) ** 2)
    return float(1 - mse(outcome) / variance) if len(np.unique(outcome.truth)) > 1 else float("nan")


def _finite(values: np.ndarray) -> np.ndarray:
    if not np.isfinite(values).all():
        raise ValueError("the learner's predictions, probabilities or decision values contain NaN or infinity.")
    return values
