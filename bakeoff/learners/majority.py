"""Majority class and mean: the baseline that every learner should exceed.

No feature is used. With row weights s_i,

    P(k) = Σ_i s_i [y_i = k] / Σ_i s_i,   ŷ = argmax_k P(k);        for regression   ŷ = Σ_i s_i y_i / Σ_i s_i.

`bakeoff.learners.definitions.majority_vote` states both.

Cost: O(n) to fit, in addition to the checks of X; O(m c) for probabilities, O(m) for values.

Reference: R. C. Holte, "Very simple classification rules perform well on most commonly used datasets", Machine
Learning 11, 1993 (which calls this baseline "0R").
"""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils import Tags

from bakeoff.learners.base.estimator import ProbabilisticClassifier, Regressor
from bakeoff.learners.base.input_checks import with_input_tags
from bakeoff.learners.base.scaling import column_units


class MajorityClassifier(ProbabilisticClassifier):
    """Predict the most frequent class of the training rows; ties go to the smallest class.

    Parameters
    ----------
    categorical_features : {"from_dtype"}, array-like of bool, int or str, or None
        The nominal columns, which are accepted but not used.
    class_order : array-like of the classes, optional
        The order that breaks ties between equally frequent classes; by default the smallest class is predicted.

    Attributes
    ----------
    classes_ : ndarray of shape (c,)
    class_prior_ : ndarray of shape (c,)
        The weighted fraction of each class.

    Examples
    --------
    >>> MajorityClassifier().fit([[0], [1], [2]], ["no", "yes", "yes"]).predict([[7]])
    array(['yes'], dtype='<U3')
    """

    scale_sensitive: ClassVar[bool] = False

    def __init__(self, categorical_features: Any = "from_dtype", class_order: Any = None) -> None:
        self.categorical_features = categorical_features
        self.class_order = class_order

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Count the classes.

        Parameters
        ----------
        X : array-like of shape (n, d)
        y : array-like of shape (n,)
        sample_weight : array-like of shape (n,), optional

        Returns
        -------
        self
        """
        _, codes, weight = self._check_fit(X, y, sample_weight)
        relative_weight = weight / weight.max()  # (n,), whose sum cannot overflow
        counts = np.bincount(codes, weights=relative_weight)  # (c,)
        self.class_prior_ = counts / counts.sum()
        return self

    def _class_scores(self, X: np.ndarray) -> np.ndarray:
        return np.tile(self.class_prior_, (X.shape[0], 1))

    def __sklearn_tags__(self) -> Tags:
        tags = with_input_tags(super().__sklearn_tags__(), allow_nan=True, categorical=True)
        tags.classifier_tags.poor_score = True
        return tags


class MeanRegressor(Regressor):
    """Predict the mean of the training targets.

    Parameters
    ----------
    categorical_features : {"from_dtype"}, array-like of bool, int or str, or None
        The nominal columns, which are accepted but not used.

    Attributes
    ----------
    mean_ : float
        The predicted value, in the target's unit.

    Examples
    --------
    >>> MeanRegressor().fit([[0], [1]], [2.0, 4.0]).predict([[7]])
    array([3.])
    """

    scale_sensitive: ClassVar[bool] = False

    def __init__(self, categorical_features: Any = "from_dtype") -> None:
        self.categorical_features = categorical_features

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Average the targets.

        Parameters
        ----------
        X : array-like of shape (n, d)
        y : array-like of shape (n,)
        sample_weight : array-like of shape (n,), optional

        Returns
        -------
        self
        """
        _, y, weight = self._check_fit(X, y, sample_weight)
        # In this unit and with relative weights, no sum overflows.
        unit = column_units(y[:, None])[0]
        relative_weight = weight / weight.max()  # (n,)
        mean = np.average(y / unit, weights=relative_weight)
        self.mean_ = float(mean * unit)
        return self

    def _values(self, X: np.ndarray) -> np.ndarray:
        return np.full(X.shape[0], self.mean_)

    def __sklearn_tags__(self) -> Tags:
        tags = with_input_tags(super().__sklearn_tags__(), allow_nan=True, categorical=True)
        tags.regressor_tags.poor_score = True
        return tags
