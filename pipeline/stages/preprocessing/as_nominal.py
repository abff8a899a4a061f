"""Nominal columns after an imputer, which returns text without categories."""

from __future__ import annotations

from typing import Any, Self

import pandas as pd
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin


class AsNominal(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Make every column categorical, with the values of the training rows; it follows an imputer of nominal columns.

    Attributes
    ----------
    categories_ : list of list of str
        The values of each column.
    """

    def fit(self, X: pd.DataFrame, y: Any = None) -> Self:
        """Learn the values of each column of X, of shape (n, d)."""
        self.feature_names_in_ = X.columns.to_numpy(dtype=object)
        self.n_features_in_ = X.shape[1]
        self.categories_ = [sorted(map(str, X[name].dropna().unique())) for name in X.columns]
        return self

    def transform(self, X: pd.DataFrame) -> pd.DataFrame:
        """Return X with categorical columns; a value that the training rows lack becomes a missing cell."""
        columns = {}
        for name, values in zip(X.columns, self.categories_, strict=True):
            cells = X[name].astype(object)
            known_cells = cells.where(cells.isin(values))
            columns[name] = pd.Categorical(known_cells, categories=values)
        return pd.DataFrame(columns, index=X.index)
