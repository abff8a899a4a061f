"""Learners that give what is no prediction, as a user might write them, for tests of what is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from sklearn.dummy import DummyClassifier, DummyRegressor


def _change_first(values: np.ndarray, value: Any) -> np.ndarray:
    changed = values.copy()
    changed[0] = value
    return changed


LABELS: dict[str, Callable[[np.ndarray], Any]] = {
    "as fitted": lambda labels: labels,
    "foreign": lambda labels: np.full(len(labels), "maybe"),
    "one foreign": lambda labels: ["maybe", *labels[1:]],
    "not rounded": lambda labels: np.full(len(labels), 0.4),
    "missing": lambda labels: _change_first(labels.astype(object), None),
    "NaN": lambda labels: np.full(len(labels), np.nan),
    "lists": lambda labels: [[label] * 2 for label in labels],
    "too few": lambda labels: labels[1:],
    "too many": lambda labels: np.append(labels, labels[:1]),
    "number": lambda labels: 0,
}
PROBABILITIES: dict[str, Callable[[np.ndarray], Any]] = {
    "as fitted": lambda table: table,
    "percent": lambda table: 100 * table,
    "negative": lambda table: table + np.array([[-1.5, 1.5]]),
    "sum": lambda table: 0.9 * table,
    "NaN": lambda table: _change_first(table, np.nan),
    "infinite": lambda table: _change_first(table, np.inf),
    "one column": lambda table: table[:, :1],
    "flat": lambda table: table[:, 1],
    "more columns": lambda table: np.column_stack([table, np.zeros(len(table))]),
    "too few": lambda table: table[1:],
}
CLASSES: dict[str, Callable[[np.ndarray], Any]] = {
    "as fitted": lambda classes: classes,
    "reversed": lambda classes: classes[::-1],
    "foreign": lambda classes: np.array([*classes[:-1], "zebra"]),
    "absent": lambda classes: None,
}
NUMBERS: dict[str, Callable[[np.ndarray], Any]] = {
    "as fitted": lambda values: values,
    "column": lambda values: values[:, np.newaxis],
    "NaN": lambda values: _change_first(values, np.nan),
    "infinite": lambda values: _change_first(values, -np.inf),
    "text": lambda values: values.astype(str),
    "complex": lambda values: values.astype(complex),
    "two columns": lambda values: np.column_stack([values, values]),
    "too few": lambda values: values[1:],
}


class WaywardClassifier(DummyClassifier):
    """Gives labels, probabilities, decision values and classes that its parameters name.

    Parameters
    ----------
    labels, probabilities, decision, classes : str
        Keys of `LABELS`, `PROBABILITIES` (for decision values as well) and `CLASSES`.
    """

    def __init__(
        self,
        labels: str = "as fitted",
        probabilities: str = "as fitted",
        decision: str = "as fitted",
        classes: str = "as fitted",
        strategy: str = "prior",
    ) -> None:
        super().__init__(strategy=strategy)
        self.labels = labels
        self.probabilities = probabilities
        self.decision = decision
        self.classes = classes

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Keep the classes as the parameter says."""
        super().fit(X, y)
        self.sorted_classes_ = np.unique(y)
        self.classes_ = CLASSES[self.classes](self.sorted_classes_)
        return self

    def predict(self, X: Any) -> Any:
        """Return the first class, changed."""
        return LABELS[self.labels](np.full(len(X), self.sorted_classes_[0]))

    def predict_proba(self, X: Any) -> Any:
        """Return equal probabilities, changed."""
        n_classes = len(self.sorted_classes_)
        return PROBABILITIES[self.probabilities](np.full((len(X), n_classes), 1 / n_classes))


class WaywardDecision(WaywardClassifier):
    """The same, with decision values in the place of probabilities."""

    predict_proba = property()

    def decision_function(self, X: Any) -> Any:
        """Return the numbers of the rows, changed."""
        values = np.linspace(-1, 1, len(X))
        return NUMBERS[self.decision](values)


class WaywardRegressor(DummyRegressor):
    """Predicts numbers that its parameter names.

    Parameters
    ----------
    values : str
        A key of `NUMBERS`.
    """

    def __init__(self, values: str = "as fitted") -> None:
        super().__init__()
        self.values = values

    def predict(self, X: Any) -> Any:
        """Return the mean, changed."""
        return NUMBERS[self.values](np.full(len(X), float(self.constant_[0, 0])))
