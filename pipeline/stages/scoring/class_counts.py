"""Scores that are functions of how many rows of each class are predicted as which class, counted once for all of them.

scikit-learn's functions count anew for each score and check the labels several times, which takes a hundred times as
long as the counting. The formulas are theirs, operation by operation, so that the results are equal to the last bit.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class ClassCounts:
    """The rows of each class, or the sums of their weights.

    Attributes
    ----------
    pairs : ndarray of shape (c, c)
        By true class (rows) and predicted class (columns).
    true, predicted : ndarray of shape (c,)
        By true class, and by predicted class. They are not the sums of `pairs`: with weights, another order of the
        same additions has another last bit.
    """

    pairs: np.ndarray
    true: np.ndarray
    predicted: np.ndarray

    @classmethod
    def count(cls, truth: np.ndarray, predicted: np.ndarray, n_classes: int, weights: np.ndarray | None) -> ClassCounts:
        """Count the rows.

        Parameters
        ----------
        truth, predicted : ndarray of int of shape (m,)
            Positions of classes.
        n_classes : int
        weights : ndarray of shape (m,) or None
        """
        codes = truth * n_classes + predicted  # (m,)
        pairs = np.bincount(codes, weights, n_classes * n_classes)  # (c * c,)
        return cls(
            pairs.reshape(n_classes, n_classes),
            np.bincount(truth, weights, n_classes),
            np.bincount(predicted, weights, n_classes),
        )

    @property
    def correct(self) -> np.ndarray:
        """The rows of each class that are predicted as such, shape (c,)."""
        return np.diagonal(self.pairs)

    @property
    def occurring_pairs(self) -> np.ndarray:
        """`pairs` of the classes that are true or predicted for a row, shape (at most c, the same)."""
        occurs = np.flatnonzero((self.true > 0) | (self.predicted > 0))
        return np.ascontiguousarray(self.pairs[np.ix_(occurs, occurs)])

    def score_classes(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return precision, recall and F1 of each class, each of shape (c,), NaN where one is 0/0."""
        correct = self.correct
        # As scikit-learn adds them: with weights, the differences are rounded.
        predicted = correct + (self.predicted - correct)  # (c,)
        true = correct + (self.true - correct)  # (c,)
        f1 = _divide(2.0 * correct, true + predicted)
        return _divide(correct, predicted), _divide(correct, true), f1

    def compute_balanced_accuracy(self) -> float:
        """Return the mean recall of the classes that occur in the truth."""
        pairs = self.occurring_pairs
        recall = _divide(np.diagonal(pairs), pairs.sum(axis=1))
        return float(np.mean(recall[~np.isnan(recall)]))

    def compute_mcc(self) -> float:
        """Return the correlation of true and predicted classes; 0 if all rows are of one class on either side."""
        pairs = self.occurring_pairs
        true = pairs.sum(axis=1, dtype=np.float64)
        predicted = pairs.sum(axis=0, dtype=np.float64)
        n_correct = np.trace(pairs, dtype=np.float64)
        n_rows = predicted.sum()
        covariance = n_correct * n_rows - np.dot(true, predicted)
        predicted_variance = n_rows**2 - np.dot(predicted, predicted)
        true_variance = n_rows**2 - np.dot(true, true)
        variances = predicted_variance * true_variance
        if variances == 0:
            return 0.0
        return float(covariance / np.sqrt(variances))

    def compute_kappa(self) -> float:
        """Return the agreement beyond chance; NaN if chance cannot disagree."""
        observed = self.pairs.astype(np.float64)
        predicted = observed.sum(axis=0)  # (c,)
        true = observed.sum(axis=1)  # (c,)
        expected = np.outer(predicted, true) / predicted.sum()  # (c, c)
        differs = 1 - np.eye(len(observed))
        disagreement_by_chance = np.sum(differs * expected)
        if disagreement_by_chance == 0:
            return float("nan")
        return float(1 - np.sum(differs * observed) / disagreement_by_chance)


def _divide(counts: np.ndarray, totals: np.ndarray) -> np.ndarray:
    """Return the ratios, shape (c,), NaN where the total is 0."""
    ratios = np.full(len(counts), np.nan)
    np.divide(counts, totals, out=ratios, where=totals != 0)
    return ratios
