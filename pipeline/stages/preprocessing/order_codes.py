"""Ordered columns as numbers."""

from __future__ import annotations

from typing import Any, Self

import pandas as pd
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin


class OrderCodes(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Replace each value of an ordered column by its position in the order: 0, 1, 2, ….

    scikit-learn's OrdinalEncoder would number the values of a table in alphabetical order.

    Attributes
    ----------
    values_ : list of list
        The values of each column in their order: all that the column declares, those that the training rows lack
        included.
    """

    def fit(self, X: pd.DataFrame, y: Any = None) -> Self:
        """Read the order of the values of each categorical column of X, of shape (n, d)."""
        self.feature_names_in_ = X.columns.to_numpy(dtype=object)
        self.n_features_in_ = X.shape[1]
        self.values_ = [list(X[name].cat.categories) for name in X.columns]
        return self

    def transform(self, X: pd.DataFrame) -> pd.DataFrame:
        """Return the positions as float64; a value that is not in the order becomes a missing cell."""
        columns = {}
        for name, values in zip(self.feature_names_in_, self.values_, strict=True):
            position_of = {value: float(position) for position, value in enumerate(values)}
            columns[name] = X[name].astype(object).map(position_of).astype("float64")
        return pd.DataFrame(columns, index=X.index)
